#include "store/host_executes.h"

#include <gtest/gtest.h>

#include "store/deny.h"
#include "store/git_config.h"

namespace paddock::store {
namespace {

struct Contents {
  std::string before, after;
};

std::vector<std::string> flags(const std::string& path, const Contents& contents = {},
                               const std::string& git = "") {
  Candidate candidate;
  candidate.path = path;
  candidate.git_directory = git;
  candidate.before = [&] { return std::optional(contents.before); };
  candidate.after = [&] { return std::optional(contents.after); };
  return host_executes(candidate);
}

TEST(HostExecutes, FlagsWhatRunsLater) {
  for (const char* path : {".vscode/tasks.json",
                           "deep/down/.vscode/settings.json",
                           ".VSCode/tasks.json",
                           ".devcontainer/x",
                           ".devcontainer.json",
                           ".envrc",
                           "a/.ENVRC",
                           ".npmrc",
                           "pyvenv.cfg",
                           "venv/lib/x.pth",
                           "sitecustomize.py",
                           ".claude/settings.json",
                           ".cursor/mcp.json",
                           ".mcp.json",
                           ".codex/config.toml",
                           ".github/workflows/ci.yml",
                           ".gitlab-ci.yml",
                           ".husky/pre-commit",
                           ".bashrc",
                           ".zshenv",
                           ".cargo/config",
                           ".mvn/x",
                           ".ssh/config",
                           "x.desktop",
                           "p.code-workspace",
                           ".git",
                           "sub/.git",
                           "GIT~1",
                           ".git.",
                           ".git::$INDEX_ALLOCATION",
                           ".gitmodules",
                           "gradle/wrapper/gradle-wrapper.jar",
                           ".idea/workspace.xml",
                           ".pre-commit-config.yaml",
                           "lefthook.yml",
                           ".pnpmfile.cjs",
                           ".config/systemd/user/x.service"})
    EXPECT_FALSE(flags(path).empty()) << path;
}

TEST(HostExecutes, FlagsSettingsOfOtherVersionControlEditorsAndTools) {
  for (const char* path : {".hg/hgrc",
                           "sub/.hg/hgrc-not-shared",
                           ".hgsub",
                           ".jj/repo/config.toml",
                           ".jj/working_copy/checkout",
                           ".sl/config",
                           ".helix/languages.toml",
                           ".helix/config.toml",
                           ".bazelrc",
                           "ci.bazelrc",
                           "tools/bazel",
                           ".bazelversion",
                           "bunfig.toml",
                           "a/bunfig.toml",
                           "lefthook.toml",
                           "lefthook-local.yml",
                           ".lefthook-local.json",
                           ".lefthook/pre-commit/x",
                           ".config/lefthook.yml",
                           "mise.production.toml",
                           ".config/mise.toml",
                           ".config/mise/conf.d/x.toml",
                           "mise/config.toml",
                           ".mise.local.toml",
                           ".overcommit.yml",
                           ".lintstagedrc.json",
                           ".pdbrc",
                           ".Rprofile",
                           "Directory.Build.props",
                           ".pnp.cjs"})
    EXPECT_FALSE(flags(path).empty()) << path;
}

TEST(HostExecutes, FlagsWhatBuildServicesRun) {
  for (const char* path :
       {"azure-pipelines.yml", "sub/azure-pipelines.release.yaml", ".azure-pipelines/x.yml",
        "bitbucket-pipelines.yml", ".buildkite/pipeline.yml", "appveyor.yml", ".appveyor.yml",
        "cloudbuild.yaml", "cloudbuild.dev.json", "buildspec.yml", "buildspec_release.yaml",
        ".woodpecker/test.yaml", ".drone.star", ".cirrus.yml", ".semaphore/semaphore.yml",
        ".teamcity/settings.kts", "Jenkinsfile.release", ".tekton/push.yaml"})
    EXPECT_FALSE(flags(path).empty()) << path;
}

TEST(HostExecutes, FlagsWhatAgentsFollow) {
  for (const char* path :
       {"AGENTS.md", "sub/AGENTS.md", "CLAUDE.md", "CLAUDE.local.md", "GEMINI.md", ".clinerules",
        ".clinerules/style.md", ".cursorrules", ".cursor/rules/x.mdc", ".windsurfrules",
        ".github/copilot-instructions.md", ".github/instructions/x.instructions.md",
        ".roo/rules/x.md", ".kiro/hooks/x", ".aider.conf.yml", ".junie/guidelines.md",
        "opencode.json", ".goosehints", "AGENTS.override.md"})
    EXPECT_FALSE(flags(path).empty()) << path;
}

TEST(HostExecutes, LeavesOrdinaryFilesAlone) {
  for (const char* path :
       {"main.py", "src/vscode/tasks.json", "README.md", ".gitignore", "Makefile", "envrc", ".env",
        "github/workflows/x", "a.pth.txt", "docs/agents-overview.md", "justfile", "tox.ini",
        ".hg/store/data/x.i", ".hg/dirstate", "src/bazel.cc", "vercel.md", "package-lock.json",
        "conftest.py"})
    EXPECT_TRUE(flags(path).empty()) << path;
}

TEST(HostExecutes, ALinkInPlaceOfADirectoryCounts) {
  Candidate candidate{.path = ".vscode", .is_link = true};
  EXPECT_FALSE(host_executes(candidate).empty());
  candidate.path = ".github";
  EXPECT_FALSE(host_executes(candidate).empty());
  candidate.path = "package.json";
  EXPECT_FALSE(host_executes(candidate).empty());
  candidate.path = "src";
  EXPECT_TRUE(host_executes(candidate).empty());
}

TEST(HostExecutes, InsideGitOnlyOrdinaryCommitsAreFine) {
  for (const char* path : {".git/HEAD", ".git/index", ".git/objects/ab/cdef", ".git/refs/heads/x",
                           ".git/logs/HEAD", ".git/COMMIT_EDITMSG"})
    EXPECT_TRUE(flags(path, {}, ".git").empty()) << path;
  for (const char* path :
       {".git/hooks/pre-commit", ".git/HOOKS/pre-commit", ".git/config.worktree",
        ".git/info/attributes", ".git/objects/info/alternates", ".git/rebase-merge/git-rebase-todo",
        ".git/modules/x/config", ".git/commondir"})
    EXPECT_FALSE(flags(path, {}, ".git").empty()) << path;
}

TEST(HostExecutes, ReadsGitSettings) {
  std::string base = "[core]\n\tbare = false\n";
  auto config = [&](const std::string& more) {
    return flags(".git/config", {base, base + more}, ".git");
  };
  for (const char* harmless :
       {"", "[user]\n\tname = \"A; B\"\n",
        "[branch \"x\"]\n\tremote = origin\n\tmerge = refs/heads/x\n", "# note\n"})
    EXPECT_TRUE(config(harmless).empty()) << harmless;
  for (const char* risky :
       {"\tfsmonitor = x\n", "\thooksPath = x\n", "\tsshCommand = x\n",
        "[filter \"x\"]\n\tclean = x\n", "[diff \"x\"]\n\ttextconv = x\n", "[alias]\n\tst = !x\n",
        "[credential]\n\thelper = x\n", "[include]\n\tpath = x\n", "[gpg]\n\tprogram = x\n",
        "[CORE] FSMonitor=x\n", "[remote \"origin\"]\n\turl = ext::sh -c x\n",
        "[branch \"x\"]\n\tremote = ext::x\n", "[branch \"x\"]\n\tremote = e\"xt:\"\":x\"\n",
        "\tfsmoni\\\ntor = x\n", "[sequence]\n\teditor = x\n", "\tpager = x\n", "\tworktree = /\n",
        "[user]\n\tsigningkey = x\n"})
    EXPECT_FALSE(config(risky).empty()) << risky;
  EXPECT_FALSE(flags(".git/config", {base + "\thooksPath = /dev/null\n", base}, ".git").empty())
      << "taking a guard away";
}

TEST(HostExecutes, ReadsPackageScripts) {
  std::string old = R"({"name":"x","scripts":{"test":"a"}})";
  EXPECT_TRUE(flags("package.json", {old, R"({"name":"y","scripts":{"test":"a"}})"}).empty());
  EXPECT_FALSE(
      flags("package.json", {old, R"({"name":"x","scripts":{"test":"a","postinstall":"b"}})"})
          .empty());
  EXPECT_FALSE(flags("package.json", {"", R"({"scripts":{"postinstall":"b"}})"}).empty());
  EXPECT_FALSE(flags("package.json", {old, "{"}).empty());
  EXPECT_TRUE(flags("package.json", {"", R"({"name":"x"})"}).empty());
}

TEST(HostExecutes, ReadsGitAttributes) {
  EXPECT_TRUE(flags(".gitattributes", {"", "*.txt text\n"}).empty());
  EXPECT_FALSE(flags("a/.gitattributes", {"", "* filter=x\n"}).empty());
}

TEST(HostExecutes, FindsTheHooksPath) {
  EXPECT_EQ(git_hooks_path("[core]\n\thooksPath = a\n[core]\n\thookspath = b\n"), "b");
  EXPECT_EQ(git_hooks_path("[other]\n\thooksPath = a\n"), "");
}

TEST(Deny, MatchesPathsAndGlobs) {
  auto denied = [](const std::string& pattern, const std::string& path) {
    return !denying_pattern({pattern}, "/home/ann/p", path).empty();
  };
  EXPECT_TRUE(denied("**/.env", ".env"));
  EXPECT_TRUE(denied("**/.env", "a/b/.env"));
  EXPECT_TRUE(denied("**/.env", "a/.ENV/below"));
  EXPECT_FALSE(denied("**/.env", "a/.environment"));
  EXPECT_TRUE(denied("/home/ann/p/secrets", "secrets/key"));
  EXPECT_TRUE(denied("/home/*/p/*.pem", "x.pem"));
  EXPECT_FALSE(denied("/home/*/p/*.pem", "d/x.pem"));
  EXPECT_TRUE(denied("/workspace/secrets", "secrets"));
  EXPECT_TRUE(denied("/**/key", "a/key"));
  EXPECT_TRUE(denied("secrets/**", "secrets/a/b"));
  EXPECT_TRUE(denied("/", "anything"));
  EXPECT_FALSE(denied("/home/bob", "anything"));
  std::string stars;
  for (int i = 0; i < 50; ++i) stars += "**/a/";
  EXPECT_FALSE(denied(stars + "b", std::string(80, 'a'))) << "and takes no time";
}

}  // namespace
}  // namespace paddock::store
