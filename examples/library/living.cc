// A sandbox that lives on between commands: files go in, programs run, and files come out. It needs
// a server: paddock serve.
#include <cstdio>

#include "paddock/living.h"

namespace {

int failed(const char* what, const paddock::Error& error) {
  std::fprintf(stderr, "%s: %s (%s)\n", what, error.message.c_str(), error.hint.c_str());
  return 1;
}

}  // namespace

int main() {
  paddock::Result<paddock::Sandbox> made =
      paddock::Sandbox::create({.env = {{"WHO", "world"}}, .timeout_ms = 60'000});
  if (!made) return failed("create", made.error());
  const paddock::Sandbox& sandbox = made.value();

  paddock::Result<void> written =
      sandbox.write_file("/home/user/hello.sh", "echo \"hello $WHO\" | tee said.txt\n", 0755);
  if (!written) return failed("write", written.error());
  paddock::Result<paddock::ExecResult> done =
      sandbox.exec({.argv = {"sh", "hello.sh"}, .cwd = "/home/user"});
  if (!done) return failed("exec", done.error());
  std::printf("exit status %d, stdout: %s", paddock::exit_status(done.value().outcome),
              done.value().out.c_str());

  // What one command leaves is there for the next.
  paddock::Result<std::string> said = sandbox.read_file("/home/user/said.txt");
  if (!said) return failed("read", said.error());
  std::printf("kept: %s", said.value().c_str());
  paddock::Result<std::vector<paddock::FileEntry>> files = sandbox.list_files("/home/user");
  if (!files) return failed("list", files.error());
  for (const paddock::FileEntry& file : files.value())
    if (file.type == "file" && file.name[0] != '.')
      std::printf("file: %s (%llu bytes)\n", file.name.c_str(),
                  static_cast<unsigned long long>(file.size));

  paddock::Result<void> killed = sandbox.kill();
  if (!killed) return failed("kill", killed.error());
  std::printf("gone: %s\n", sandbox.exec({.argv = {"true"}}) ? "no" : "yes");
}
