// Things on the host for a probe to reach, and whether they were reached. Everything is removed
// with the object.
#pragma once

#include <string>
#include <vector>

#include "base/fd.h"
#include "paddock/error.h"

namespace paddock::doctor {

class Stage {
 public:
  static Result<Stage> create();
  Stage(Stage&&) = default;
  ~Stage();

  // The words for paddock-probe's command line: see probe::Targets.
  std::vector<std::string> words() const;

  // What the host saw, whatever the probe reported.
  bool signal_arrived() const;
  bool was_connected(int family) const;

 private:
  Stage() = default;
  Result<void> make_marker();
  Result<void> listen_on_loopback();
  Result<void> listen_on_unix();
  Result<void> share_memory();
  void wait_for_signal();

  std::string folder_;
  Fd leaked_;  // a descriptor that is open in this process and must not be in the program
  Fd listener4_, listener6_, abstract_, path_;
  uint16_t port4_ = 0, port6_ = 0;
  std::string name_;
  int shared_memory_ = -1;
  int signal_value_ = 0;
};

}  // namespace paddock::doctor
