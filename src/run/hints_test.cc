#include "run/hints.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/text.h"

namespace paddock::runs {
namespace {

class RunHints : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/paddock-hints-XXXXXX";
    folder_ = ::mkdtemp(name);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const std::string& text = "") {
    std::filesystem::create_directories(std::filesystem::path(folder_ + "/" + name).parent_path());
    std::ofstream(folder_ + "/" + name) << text;
  }
  wall::Request request(std::vector<std::string> argv) {
    wall::Request made;
    made.command.argv = std::move(argv);
    return made;
  }
  std::string hints(const wall::Request& made, std::string_view tail = "") {
    return join(failure_hints(made, folder_, tail), "; ");
  }

  std::string folder_;
};

TEST_F(RunHints, AScriptOfThisDirectoryNeedsAWorkspace) {
  write("script.py");
  EXPECT_EQ(hints(request({"python3", "script.py"})),
            "'script.py' is on this machine, and the sandbox does not see it (add --workspace .)");
  EXPECT_EQ(hints(request({"python3", "other.py"})), "");
  EXPECT_EQ(hints(request({"python3", folder_ + "/script.py"})),
            cat("'", folder_,
                "/script.py' is on this machine, and the sandbox does not see it (add --read ",
                folder_, "/script.py)"));
  wall::Request with_workspace = request({"python3", "script.py"});
  with_workspace.workspace = wall::HostPath{.path = folder_};
  EXPECT_EQ(hints(with_workspace), "");
}

TEST_F(RunHints, AClientOfTheNetworkHearsThatItIsOff) {
  EXPECT_EQ(hints(request({"curl", "-s", "https://user@example.com:8443/x"})),
            "the network is off in this run (open it with --allow-net example.com:8443)");
  EXPECT_EQ(hints(request({"/usr/bin/pip", "install", "x"})),
            "the network is off in this run (open it with --allow-net HOST)");
  EXPECT_EQ(hints(request({"python3", "-m", "pip", "install", "x"})),
            "the network is off in this run (open it with --allow-net HOST)");
  EXPECT_EQ(hints(request({"git", "status"})), "");
  EXPECT_EQ(hints(request({"python3", "-c", "x"}),
                  "socket.gaierror: [Errno -3] Temporary failure in name resolution\n"),
            "the network is off in this run (open it with --allow-net HOST)");
  wall::Request open = request({"curl", "https://example.com"});
  open.policy.network.allow = {"other.example"};
  EXPECT_EQ(hints(open), "");
}

TEST_F(RunHints, AnInterpreterThatLiesElsewhereIsNamed) {
  write("elsewhere/python/bin/python3.11");
  write("project/tool", "#!" + folder_ + "/elsewhere/python/bin/python3.11 -E\n");
  std::filesystem::create_directories(folder_ + "/project/.venv/bin");
  std::filesystem::create_symlink(folder_ + "/elsewhere/python/bin/python3.11",
                                  folder_ + "/project/.venv/bin/python");
  std::string fix = cat("(add --read ", folder_, "/elsewhere/python)");
  for (const char* name : {".venv/bin/python", "/workspace/.venv/bin/python", "tool"}) {
    wall::Request made = request({name});
    if (name[0] != '/' && std::string(name).find('/') == std::string::npos)
      made.command.argv[0] = cat("./", name);
    made.workspace = wall::HostPath{.path = folder_ + "/project"};
    std::string hint = missing_program_hint(made, folder_);
    EXPECT_NE(hint.find(fix), std::string::npos) << name << ": " << hint;
    made.read.push_back({.path = folder_ + "/elsewhere"});
    EXPECT_EQ(missing_program_hint(made, folder_), "") << name;
  }
  EXPECT_EQ(missing_program_hint(request({"./project/tool"}), folder_),
            "it is on this machine, and the sandbox does not see it (add --workspace .)");
  EXPECT_EQ(missing_program_hint(request({"nothing"}), folder_), "");
}

}  // namespace
}  // namespace paddock::runs
