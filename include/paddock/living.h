// A sandbox that lives on between commands. It is made and kept by a server (`paddock serve`),
// which is found as the command line finds it: $PADDOCK_URL with $PADDOCK_API_KEY, else
// $PADDOCK_SOCKET, else the server of this user.
//
//   #include "paddock/living.h"
//
//   int main() {
//     paddock::Result<paddock::Sandbox> made = paddock::Sandbox::create({.timeout_ms = 60'000});
//     if (!made) return std::fprintf(stderr, "%s\n", made.error().message.c_str()), 1;
//     paddock::Sandbox& sandbox = made.value();
//
//     (void)sandbox.write_file("/home/user/answer.py", "print(6 * 7)");
//     paddock::Result<paddock::ExecResult> done =
//         sandbox.exec({.argv = {"python3", "/home/user/answer.py"}});
//     if (done) std::printf("%s", done.value().out.c_str());  // 42
//     (void)sandbox.kill();
//   }
//
// Every call waits for its answer; several threads may call at once. A Sandbox that is destroyed
// leaves its sandbox running: it ends when it is killed, or when its time is over.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "paddock/error.h"
#include "paddock/policy.h"
#include "paddock/sandbox.h"

namespace paddock {

struct SandboxOptions {
  std::string template_name;          // a template or a snapshot; empty: base
  std::string name;                   // to find it by; unique among the caller's; may be empty
  std::vector<std::string> policies;  // presets or files; each can only narrow
  Policy policy;                      // what this call asks for: given or refused as a whole
  std::map<std::string, std::string> env, metadata;
  // Set as env, never shown, and removed from everything that comes back.
  std::map<std::string, std::string> secrets;
  int64_t timeout_ms = 300'000;  // how long it lives; 0: until it is killed
  std::string agent;             // on whose behalf; for the record
};

struct ExecOptions {
  std::string user;        // empty: the template's default
  std::string input;       // what the command reads from stdin
  int64_t timeout_ms = 0;  // 0: as long as the sandbox lives
};

// What a command did. Output is kept up to a MiB each.
struct ExecResult {
  Outcome outcome;
  std::string out, err;
  bool out_truncated = false, err_truncated = false;
  uint64_t redactions = 0;
};

struct FileEntry {
  std::string name, path;
  std::string type;  // "file", "directory", "symlink" or "other"
  uint64_t size = 0;
  uint32_t mode = 0;
};

class Sandbox {
 public:
  static Result<Sandbox> create(const SandboxOptions& options = {});
  // One that exists, by id or name. One that is paused is resumed.
  static Result<Sandbox> connect(const std::string& id_or_name);

  Sandbox(Sandbox&&) noexcept;
  Sandbox& operator=(Sandbox&&) noexcept;
  ~Sandbox();

  const std::string& id() const;

  // Runs `command` and waits for its end. Of the command, argv, env and cwd count; secrets and a
  // program text are for paddock::run and refused here.
  Result<ExecResult> exec(const Command& command, const ExecOptions& options = {}) const;

  Result<std::string> read_file(const std::string& path) const;
  // Directories on the way are made. `mode` 0: 0644, or what the file has.
  Result<void> write_file(const std::string& path, const std::string& content,
                          uint32_t mode = 0) const;
  Result<std::vector<FileEntry>> list_files(const std::string& directory) const;
  Result<void> remove_file(const std::string& path) const;

  Result<void> pause() const;   // its processes stop where they are
  Result<void> resume() const;  // and go on
  Result<void> kill() const;    // returns when nothing of it is left

 private:
  struct State;
  explicit Sandbox(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace paddock
