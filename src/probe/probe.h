// What `paddock verify` runs inside a sandbox: it tries what a policy forbids and prints, one JSON
// line each, what came of it. Everything here is harmless even where it succeeds. Whether an answer
// is good is for the caller to judge. `paddock-probe check pid=4711 marker=/tmp/x/marker …` makes
// every check against what the caller set up on the host; `paddock-probe exceed memory 67108864`
// uses more of one limit than that.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "paddock/error.h"

namespace paddock::probe {

// A file of the host. Device and inode tell it from another one at the same path.
struct HostFile {
  std::string path;
  uint64_t device = 0, inode = 0;  // tells the host's file from another one at the same place
};

// What the caller set up on the host to be reached. On the command line each is a word name=value;
// lists repeat the word.
struct Targets {
  pid_t pid = 0;                     // a process of the host,
  std::string start_time;            // field 22 of its /proc/PID/stat,
  int signal = 0, signal_value = 0;  // and a signal it can recognise
  // A file that everyone on the host may read, in a folder where everyone may write.
  HostFile marker;
  std::string folder;
  uint16_t port4 = 0, port6 = 0;  // listeners on loopback
  bool egress = false;            // the policy opens the network to what it lists
  std::string abstract_socket, path_socket;
  int shared_memory = -1;  // System V id, and what is written in it
  std::string shared_text;
  std::vector<HostFile> denied;          // path:device:inode
  std::vector<std::string> hidden;       // paths as seen inside, in which nothing may be found
  std::vector<std::string> environment;  // the names that are declared
  std::map<std::string, std::string> namespaces;  // the host's, as in /proc/self/ns
  bool tmp_exec = false;
};
Result<Targets> parse_targets(const std::vector<std::string>& words);

// Prints each answer as it comes, so that those before a crash are kept.
class Answers {
 public:
  explicit Answers(const char* group) : group_(group) {}
  void held(const std::string& probe, const std::string& detail) const {
    print(probe, "held", detail);
  }
  void failed(const std::string& probe, const std::string& detail) const {
    print(probe, "failed", detail);
  }
  void untried(const std::string& probe, const std::string& why) const {
    print(probe, "untried", why);
  }
  // `succeeded` is what must not be true. If it is false, errno says why, and its text is the
  // detail.
  void judge(const std::string& probe, bool succeeded, const std::string& what_worked) const;

 private:
  void print(const std::string& probe, const char* answer, const std::string& detail) const;
  const char* group_;
};

void check_files(const Targets& targets);
void check_processes(const Targets& targets);
void check_network(const Targets& targets);
void check_egress(const Targets& targets);
void check_privileges(const Targets& targets);
void check_system_calls(const Targets& targets);
void check_surroundings(const Targets& targets);  // environment, descriptors, namespaces, IPC
void check_all(const Targets& targets);           // the above, and a last line {"done":true}

// Uses up to four times `value` of the limit, prints {"reached":N} if it survives, and returns the
// exit status.
int exceed(const std::string& limit, uint64_t value);

uint64_t exceed_connections(uint64_t value);
uint64_t exceed_net_total(uint64_t value);

// Runs `body` in a child. Returns its return value (0 to 255), 256 plus the signal that ended it,
// or -1 if no child could be made.
int in_child(const std::function<int()>& body);

std::string temporary_folder();  // $TMPDIR, or /tmp

}  // namespace paddock::probe
