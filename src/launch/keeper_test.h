// A keeper that is led by a test, over the channel that `paddock run` uses.
//
//   TestKeeper keeper;
//   keeper.start(process_plan("echo hello; exit 3"));
//   Ended ended = Ended::from_record(keeper.await(Record::Kind::ended));
//   EXPECT_EQ(keeper.output(), "hello\n");
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "launch/channel.h"
#include "launch/launcher.h"
#include "launch/plan.h"
#include "linux/child.h"
#include "linux/tree.h"

namespace paddock::launch {

// A directory that is gone after the test, whatever became of it.
class TestDirectory {
 public:
  TestDirectory() {
    char path[] = "/tmp/paddock_launch_test.XXXXXX";
    if (::mkdtemp(path)) path_ = path;
  }
  ~TestDirectory() {
    Result<Fd> tmp = open_file("/tmp", O_RDONLY | O_DIRECTORY);
    if (tmp && !path_.empty()) (void)kernel::remove_tree(tmp.value().get(), path_.substr(5));
  }
  TestDirectory(const TestDirectory&) = delete;

  const std::string& path() const { return path_; }
  std::string at(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// As Ended::killed_by has it.
inline int32_t limit_number(LimitKind limit) { return static_cast<int32_t>(limit); }

inline bool exists(const std::string& path) {
  struct stat info;
  return ::lstat(path.c_str(), &info) == 0;
}

// A plan of the process wall with nothing but a script for /bin/sh.
inline Plan process_plan(const std::string& script) {
  Plan plan;
  plan.id = "aaaaaaaaaaaaaaaa";
  plan.container = false;
  plan.ids = {::getuid(), ::getuid(), ::getgid(), ::getgid()};
  plan.own_root = false;
  plan.argv = {"/bin/sh", "-c", script};
  plan.env = {"PATH=/usr/bin:/bin"};
  plan.cwd = "/";
  return plan;
}

inline void add_directories(Plan& plan, const std::string& path) {
  for (size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1))
    plan.steps.push_back(
        {.kind = Step::Kind::directory, .target = path.substr(0, slash), .mode = 0755});
  plan.steps.push_back({.kind = Step::Kind::directory, .target = path, .mode = 0755});
}

inline void add_bind(Plan& plan, const std::string& path, uint64_t attributes = 0) {
  add_directories(plan, path);
  plan.steps.push_back(
      {.kind = Step::Kind::bind, .target = path, .text = path, .attributes = attributes});
}

// A plan of the container wall: the system read-only, /proc, two devices and a /tmp.
inline Plan container_plan(const std::string& script) {
  Plan plan = process_plan(script);
  plan.container = plan.own_root = true;
  plan.namespaces =
      CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS;
  plan.ids.inside_uid = plan.ids.inside_gid = 1000;
  plan.hostname = "inside";
  plan.scratch = "/tmp";
  add_bind(plan, "/usr", MOUNT_ATTR_RDONLY);
  for (const char* name : {"bin", "lib", "lib64"})
    plan.steps.push_back(
        {.kind = Step::Kind::symlink, .target = cat("/", name), .text = cat("usr/", name)});
  add_directories(plan, "/proc");
  plan.steps.push_back({.kind = Step::Kind::proc, .target = "/proc"});
  add_directories(plan, "/tmp");
  plan.steps.push_back({.kind = Step::Kind::tmpfs,
                        .target = "/tmp",
                        .mode = 01777,
                        .size = 16 << 20,
                        .inodes = 1000,
                        .attributes = MOUNT_ATTR_NOSUID});
  add_directories(plan, "/dev");
  for (const char* device : {"/dev/null", "/dev/zero"}) {
    plan.steps.push_back({.kind = Step::Kind::file, .target = device, .mode = 0644});
    plan.steps.push_back({.kind = Step::Kind::bind, .target = device, .text = device});
  }
  // In a coverage build what runs inside can write its counters only where it finds their folder.
  if (const char* counters = ::getenv("PADDOCK_COUNTERS")) add_bind(plan, counters);
  return plan;
}

// Why this host has no containers for the test; empty where it has.
inline std::string why_no_container() {
  Result<kernel::Child> child = kernel::fork_child(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID);
  if (!child) return child.error().message;
  if (child.value().pid == 0) ::_exit(0);
  (void)::waitpid(child.value().pid, nullptr, 0);
  return "";
}

#define SKIP_WITHOUT_CONTAINERS()                                                \
  if (std::string reason = paddock::launch::why_no_container(); !reason.empty()) \
  GTEST_SKIP() << "this host lets nobody make a container: " << reason

// A parent of no interest: the number in the fourth field of /proc/PID/stat.
inline pid_t parent_of(pid_t pid) {
  Result<std::string> stat = read_file(cat("/proc/", pid, "/stat"));
  if (!stat) return -1;
  size_t end = stat.value().rfind(") ");
  return end == std::string::npos ? -1 : std::atoi(stat.value().c_str() + end + 4);
}

class TestKeeper {
 public:
  explicit TestKeeper(bool ahead = false) {
    char* nothing[] = {nullptr};
    Result<KeeperProcess> keeper = fork_keeper(nothing, ahead);
    if (keeper) keeper_.emplace(std::move(keeper.value()));
    Result<Pipe> pipe = make_pipe();
    if (pipe) output_ = std::move(pipe.value());
    null_ = Fd(::open("/dev/null", O_RDWR | O_CLOEXEC));
  }

  int control() const { return keeper_->control.get(); }
  // The caller is gone, as after a SIGKILL; waits for the keeper's end.
  void let_go() { keeper_.reset(); }

  // Sends the plan with /dev/null as stdin and a pipe as stdout and stderr.
  void start(const Plan& plan, const std::vector<int>& more = {}) {
    std::vector<int> descriptors = {null_.get(), output_.write.get(), output_.write.get()};
    descriptors.insert(descriptors.end(), more.begin(), more.end());
    ASSERT_TRUE(send_plan(control(), encode(plan), descriptors));
    output_.write.reset();
  }
  void say(const Record& record) { EXPECT_TRUE(send_record(control(), record)); }

  // The next record; nothing when the keeper is gone, or silent for very long.
  std::optional<Received> next() {
    pollfd socket{control(), POLLIN, 0};
    if (::poll(&socket, 1, kPatienceMs) <= 0) {
      ADD_FAILURE() << "the keeper said nothing";
      return std::nullopt;
    }
    Result<Received> received = receive_record(control());
    if (!received || received.value().closed) return std::nullopt;
    return std::move(received.value());
  }
  // The next record of this kind. Those before it are dropped.
  Received await(Record::Kind kind) {
    while (std::optional<Received> received = next()) {
      if (received->record.kind == kind) return std::move(*received);
      last_error_ = received->record.kind == Record::Kind::failed ? received->record.text : "";
      if (!last_error_.empty()) break;
    }
    ADD_FAILURE() << "the keeper did not send record " << static_cast<int>(kind) << "; "
                  << last_error_;
    return {};
  }
  Ended ended() { return Ended::from_record(await(Record::Kind::ended).record); }
  Error failed() { return to_error(await(Record::Kind::failed).record); }

  // All that the program and its children print, until the last of them is gone.
  std::string output() { return read_all(output_.read.get(), 1 << 20).value(); }
  // Waits until it has printed this line, and returns what came before.
  std::string output_until(const std::string& line) {
    std::string text;
    while (!ends_with(text, line + "\n")) {
      pollfd pipe{output_.read.get(), POLLIN, 0};
      char byte;
      if (::poll(&pipe, 1, kPatienceMs) <= 0 || ::read(output_.read.get(), &byte, 1) != 1) {
        ADD_FAILURE() << "the program did not print " << line << ", but " << text;
        return text;
      }
      text += byte;
    }
    return text.substr(0, text.size() - line.size() - 1);
  }

 private:
  static constexpr int kPatienceMs = 60'000;  // much more than it takes on a busy machine

  std::optional<KeeperProcess> keeper_;
  Pipe output_;
  Fd null_;
  std::string last_error_;
};

}  // namespace paddock::launch
