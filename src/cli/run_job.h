// `paddock run --job FD`: a run for another of Paddock's programs (tools/sandboxed.cc), which says
// over a socket what is to be run and with what rights, and hears there what became of it. Nothing
// of it can be seen on the command line or in the environment, and when that program goes, however
// it ends, the run does.
#pragma once

#include <string>

#include "base/fd.h"
#include "base/value.h"
#include "paddock/sandbox.h"
#include "run/record.h"

namespace paddock::cli {

struct Job {
  explicit Job(const std::string& descriptor);

  // {"argv","policy","env","secrets","agent","traceparent","name","raw"} on one line. The policy
  // stands for itself: what it leaves open is that of the preset `default`, as anywhere.
  Result<void> read();
  void tell(const Value& result) const;
  // Without what was given as a secret. Returns the exit status.
  int failed(const Error& error) const;

  Fd socket;
  Command command;
  Policy policy;
  runs::RunRecordOptions record;
  // stdin and stdout go to the program as they are.
  bool raw = false;
};

}  // namespace paddock::cli
