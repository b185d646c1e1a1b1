#include "store/host_executes.h"

#include <fnmatch.h>

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "base/value.h"
#include "store/deny.h"
#include "store/git_config.h"

namespace paddock::store {

namespace {

// Anywhere in the workspace. A trailing slash: everything below such a directory, or a link in its
// place.
struct Rule {
  const char* pattern;
  const char* why;
};

constexpr Rule kRules[] = {
    {".gitmodules", "git clones what it names"},
    {".hg/hgrc*", "Mercurial runs hooks and extensions named in it"},
    {".hg/sharedpath", "it sends Mercurial to another repository"},
    {".hgsub", "Mercurial clones what it names"},
    {".hgsubstate", "Mercurial clones what it names"},
    {".sl/config", "Sapling runs hooks and extensions named in it"},
    {".jj/", "Jujutsu runs programs named in its settings, and takes the repository from it"},
    {".vscode/", "VS Code runs tasks and programs named in it"},
    {"*.code-workspace", "VS Code runs tasks and programs named in it"},
    {".idea/", "JetBrains IDEs run configurations from it"},
    {".run/", "JetBrains IDEs run configurations from it"},
    {".fleet/", "JetBrains Fleet runs configurations from it"},
    {".zed/", "Zed runs tasks and programs named in it"},
    {".helix/", "Helix starts language servers and formatters named in it"},
    {".nova/", "Nova runs tasks and programs named in it"},
    {".vs/", "Visual Studio runs tasks and programs named in it"},
    {".theia/", "Theia runs tasks and programs named in it"},
    {".idx/", "the cloud editor runs hooks named in it"},
    {".gitpod.yml", "the cloud editor runs tasks named in it"},
    {".replit", "the cloud editor runs programs named in it"},
    {".devcontainer/", "editors build and start containers from it"},
    {".devcontainer.json", "editors build and start containers from it"},
    {".exrc", "vim runs it on start"},
    {".vimrc", "vim runs it on start"},
    {".nvimrc", "neovim runs it on start"},
    {".nvim.lua", "neovim runs it on start"},
    {".lvimrc", "a vim plug-in runs it when a file is opened"},
    {".config/nvim/", "neovim runs it on start"},
    {".dir-locals*.el", "Emacs evaluates it when a file is opened"},
    {".envrc", "direnv runs it on entering the directory"},
    {".direnv/", "direnv runs what lies in it"},
    {".tool-versions", "asdf and mise choose programs by it"},
    {"mise.toml", "mise runs hooks and sets the environment from it"},
    {"mise.*.toml", "mise runs hooks and sets the environment from it"},
    {".mise.toml", "mise runs hooks and sets the environment from it"},
    {".mise.*.toml", "mise runs hooks and sets the environment from it"},
    {".rtx*.toml", "mise runs hooks and sets the environment from it"},
    {"mise/config*.toml", "mise runs hooks and sets the environment from it"},
    {".mise/", "mise runs hooks and tasks from it"},
    {".config/mise*", "mise runs hooks and sets the environment from it"},
    {".config/mise/", "mise runs hooks and tasks from it"},
    {"devbox.json", "devbox runs its hooks on entering the directory"},
    {"devenv.nix", "devenv runs it on entering the directory"},
    {".bashrc", "the shell runs it on start"},
    {".bash_profile", "the shell runs it on start"},
    {".bash_login", "the shell runs it on start"},
    {".bash_logout", "the shell runs it on exit"},
    {".bash_aliases", "the shell runs it on start"},
    {".profile", "the shell runs it on start"},
    {".zshrc", "the shell runs it on start"},
    {".zshenv", "the shell runs it on start"},
    {".zprofile", "the shell runs it on start"},
    {".zlogin", "the shell runs it on start"},
    {".inputrc", "it binds keys to shell commands"},
    {".gitconfig", "git runs programs named in it"},
    {".config/git/", "git runs programs named in it"},
    {".config/fish/", "the shell runs it on start"},
    {".npmrc", "npm takes its shell, scripts and registry from it"},
    {".yarnrc", "yarn runs the program it names"},
    {".yarnrc.yml", "yarn runs the program and plugins it names"},
    {".yarn/", "yarn runs releases and plugins from it"},
    {".pnpmfile.cjs", "pnpm runs it on every install"},
    {".pnp.cjs", "node runs it before every program"},
    {".pnp.loader.mjs", "node runs it before every program"},
    {"bunfig.toml", "bun loads the programs it names before every other"},
    {".bunfig.toml", "bun loads the programs it names before every other"},
    {"pnpmfile.js", "pnpm runs it on every install"},
    {"node_modules/.bin/", "scripts and editors run programs from it"},
    {"pyvenv.cfg", "it makes a directory a Python environment"},
    {"sitecustomize.py", "Python runs it on every start"},
    {"usercustomize.py", "Python runs it on every start"},
    {"*.pth", "Python runs lines of it on every start"},
    {"pip.conf", "pip takes its package index from it"},
    {".pypirc", "it names where packages are uploaded"},
    {".pdbrc", "the Python debugger runs it on start"},
    {".irbrc", "irb runs it on start"},
    {".pryrc", "pry runs it on start"},
    {".bundle/", "bundler takes its sources and plug-ins from it"},
    {".rprofile", "R runs it on start"},
    {".renviron", "R sets its environment from it"},
    {".octaverc", "Octave runs it on start"},
    {".claude/", "an agent outside the sandbox runs hooks and permissions from it"},
    {".cursor/", "an agent outside the sandbox takes rules and tools from it"},
    {".codex/", "an agent outside the sandbox takes settings from it"},
    {".gemini/", "an agent outside the sandbox takes settings from it"},
    {".windsurf/", "an agent outside the sandbox takes rules from it"},
    {".continue/", "an agent outside the sandbox takes settings from it"},
    {".continuerules", "an agent outside the sandbox follows it"},
    {"agent.md", "an agent outside the sandbox follows it"},
    {"agents.md", "an agent outside the sandbox follows it"},
    {"agents.*.md", "an agent outside the sandbox follows it"},
    {"claude.md", "an agent outside the sandbox follows it"},
    {"claude.*.md", "an agent outside the sandbox follows it"},
    {"gemini.md", "an agent outside the sandbox follows it"},
    {"qwen.md", "an agent outside the sandbox follows it"},
    {"crush.md", "an agent outside the sandbox follows it"},
    {"warp.md", "an agent outside the sandbox follows it"},
    {"replit.md", "an agent outside the sandbox follows it"},
    {".rules", "an agent outside the sandbox follows it"},
    {".cursorrules", "an agent outside the sandbox follows it"},
    {".windsurfrules", "an agent outside the sandbox follows it"},
    {".clinerules", "an agent outside the sandbox follows it"},
    {".clinerules*", "an agent outside the sandbox follows it"},
    {".clinerules/", "an agent outside the sandbox follows it"},
    {".roorules*", "an agent outside the sandbox follows it"},
    {".roomodes", "an agent outside the sandbox takes modes and tools from it"},
    {".roo/", "an agent outside the sandbox takes rules and tools from it"},
    {".kilocode/", "an agent outside the sandbox takes rules and tools from it"},
    {".kilocodemodes", "an agent outside the sandbox takes modes and tools from it"},
    {".kiro/", "an agent outside the sandbox takes rules and hooks from it"},
    {".amazonq/", "an agent outside the sandbox takes rules and tools from it"},
    {".augment/", "an agent outside the sandbox takes rules from it"},
    {".augment-guidelines", "an agent outside the sandbox follows it"},
    {".junie/", "an agent outside the sandbox takes rules from it"},
    {".aiassistant/", "an agent outside the sandbox takes rules from it"},
    {".trae/", "an agent outside the sandbox takes rules from it"},
    {".qwen/", "an agent outside the sandbox takes settings from it"},
    {".openhands/", "an agent outside the sandbox runs its set-up and follows it"},
    {".openhands_instructions", "an agent outside the sandbox follows it"},
    {".goosehints", "an agent outside the sandbox follows it"},
    {".goose/", "an agent outside the sandbox takes settings from it"},
    {".crush/", "an agent outside the sandbox takes settings from it"},
    {".crush.json", "an agent outside the sandbox starts servers named in it"},
    {"crush.json", "an agent outside the sandbox starts servers named in it"},
    {".opencode/", "an agent outside the sandbox takes settings and plug-ins from it"},
    {"opencode.json*", "an agent outside the sandbox starts servers named in it"},
    {".agent/", "an agent outside the sandbox takes rules from it"},
    {".agents/", "an agent outside the sandbox takes rules from it"},
    {".aider*", "an agent outside the sandbox takes settings and commands from it"},
    {".github/copilot-instructions.md", "an agent outside the sandbox follows it"},
    {".github/instructions/", "an agent outside the sandbox follows it"},
    {".github/prompts/", "an agent outside the sandbox follows it"},
    {".github/chatmodes/", "an agent outside the sandbox takes modes and tools from it"},
    {".github/agents/", "an agent outside the sandbox takes modes and tools from it"},
    {".github/hooks/", "an agent outside the sandbox runs hooks from it"},
    {".mcp.json", "agents start the servers it names"},
    {"mcp.json", "agents start the servers it names"},
    {".github/workflows/", "the forge runs it with the repository's rights"},
    {".github/actions/", "the forge runs it with the repository's rights"},
    {".gitlab-ci.yml", "the forge runs it with the repository's rights"},
    {".gitlab/ci/", "the forge runs it with the repository's rights"},
    {".circleci/", "the forge runs it with the repository's rights"},
    {".forgejo/workflows/", "the forge runs it with the repository's rights"},
    {".gitea/workflows/", "the forge runs it with the repository's rights"},
    {".woodpecker.y*ml", "the forge runs it with the repository's rights"},
    {".woodpecker/", "the forge runs it with the repository's rights"},
    {".drone.*", "the forge runs it with the repository's rights"},
    {".builds/", "the forge runs it with the repository's rights"},
    {".build.yml", "the forge runs it with the repository's rights"},
    {".travis.yml", "the forge runs it with the repository's rights"},
    {"azure-pipelines*.y*ml", "the build service runs it with the repository's rights"},
    {".azure-pipelines/", "the build service runs it with the repository's rights"},
    {".azuredevops/", "the build service runs it with the repository's rights"},
    {"bitbucket-pipelines.yml", "the build service runs it with the repository's rights"},
    {".buildkite/", "the build service runs it with the repository's rights"},
    {"buildkite.y*ml", "the build service runs it with the repository's rights"},
    {"appveyor.yml", "the build service runs it with the repository's rights"},
    {".appveyor.yml", "the build service runs it with the repository's rights"},
    {"cloudbuild*.y*ml", "the build service runs it with the repository's rights"},
    {"cloudbuild*.json", "the build service runs it with the repository's rights"},
    {"buildspec*.y*ml", "the build service runs it with the repository's rights"},
    {"appspec.y*ml", "the build service runs it with the repository's rights"},
    {"amplify.yml", "the build service runs it with the repository's rights"},
    {".semaphore/", "the build service runs it with the repository's rights"},
    {".cirrus.yml", "the build service runs it with the repository's rights"},
    {".cirrus.star", "the build service runs it with the repository's rights"},
    {".teamcity/", "the build service runs it with the repository's rights"},
    {".tekton/", "the build service runs it with the repository's rights"},
    {"codefresh.y*ml", "the build service runs it with the repository's rights"},
    {".codefresh/", "the build service runs it with the repository's rights"},
    {"wercker.yml", "the build service runs it with the repository's rights"},
    {".zuul.yaml", "the build service runs it with the repository's rights"},
    {"zuul.yaml", "the build service runs it with the repository's rights"},
    {".zuul.d/", "the build service runs it with the repository's rights"},
    {"zuul.d/", "the build service runs it with the repository's rights"},
    {".readthedocs.y*ml", "the build service runs it with the repository's rights"},
    {"netlify.toml", "the build service runs it with the repository's rights"},
    {"vercel.json", "the build service runs it with the repository's rights"},
    {"render.yaml", "the build service runs it with the repository's rights"},
    {"jenkinsfile*", "the build server runs it"},
    {".husky/", "git hooks are taken from it"},
    {".githooks/", "git hooks are taken from it"},
    {".git-hooks/", "git hooks are taken from it"},
    {"lefthook*.yml", "git hooks are taken from it"},
    {"lefthook*.yaml", "git hooks are taken from it"},
    {"lefthook*.toml", "git hooks are taken from it"},
    {"lefthook*.json*", "git hooks are taken from it"},
    {".lefthook*", "git hooks are taken from it"},
    {".lefthook/", "git hooks are taken from it"},
    {".config/lefthook*", "git hooks are taken from it"},
    {".overcommit.yml", "git hooks are taken from it"},
    {".simple-git-hooks.*", "git hooks are taken from it"},
    {"simple-git-hooks.*", "git hooks are taken from it"},
    {".lintstagedrc*", "git hooks run the commands named in it"},
    {"lint-staged.config.*", "git hooks run it"},
    {".pre-commit-config.yaml", "git hooks are taken from it"},
    {".cargo/", "cargo runs linkers, runners and wrappers named in it"},
    {".bazelrc", "bazel runs programs and takes options named in it"},
    {"*.bazelrc", "bazel runs programs and takes options named in it"},
    {".bazelversion", "the bazel wrapper downloads and runs what it names"},
    {".bazeliskrc", "the bazel wrapper downloads and runs what it names"},
    {"tools/bazel", "the bazel wrapper runs it in place of bazel"},
    {".buckconfig*", "buck runs programs named in it"},
    {"directory.build.props", "MSBuild runs what it names, in every project below"},
    {"directory.build.targets", "MSBuild runs what it names, in every project below"},
    {"directory.build.rsp", "MSBuild takes options and loggers from it"},
    {"nuget.config", "NuGet takes packages from where it says"},
    {".sbtopts", "sbt takes options and agents from it"},
    {".jvmopts", "Java programs load the agents it names"},
    {"gradle-wrapper.jar", "the gradle wrapper runs it"},
    {"gradle-wrapper.properties", "the gradle wrapper downloads and runs what it names"},
    {"gradlew", "people and build servers run it unread"},
    {".mvn/", "maven runs wrappers and extensions from it"},
    {".ssh/", "ssh runs commands and trusts keys from it"},
    {".gnupg/", "gpg runs programs named in it"},
    {".config/systemd/", "systemd runs units from it"},
    {".config/autostart/", "the desktop runs it at login"},
    {"autostart/", "the desktop runs it at login"},
    {"*.desktop", "a desktop runs it on a click"},
    {".gdbinit", "gdb runs it on start"},
    {".lldbinit", "lldb runs it on start"},
};

// What ordinary commits change inside a git directory. The rest is settings, hooks, or work to be
// resumed.
constexpr const char* kGitHarmless[] = {
    "HEAD",         "ORIG_HEAD",        "FETCH_HEAD",  "MERGE_HEAD",  "MERGE_MODE",
    "MERGE_MSG",    "CHERRY_PICK_HEAD", "REVERT_HEAD", "AUTO_MERGE",  "COMMIT_EDITMSG",
    "SQUASH_MSG",   "description",      "index",       "packed-refs", "shallow",
    "info/exclude", "info/refs",
};

constexpr char kUnreadable[] = "\\";  // neither JSON nor git settings

// Folds each name, because the host's filesystem may take several spellings for the same file.
std::vector<std::string> folded(const std::string& path) {
  std::vector<std::string> names;
  for (const std::string& name : split(path, '/')) names.push_back(folded_name(name));
  return names;
}

// Compares `count` names from `at` on with the beginning of the pattern.
bool equal_at(const std::vector<std::string>& names, size_t at,
              const std::vector<std::string>& pattern, size_t count) {
  if (at + count > names.size()) return false;
  for (size_t i = 0; i < count; ++i)
    if (::fnmatch(pattern[i].c_str(), names[at + i].c_str(), 0) != 0) return false;
  return true;
}

// A pattern may match at any depth. A directory itself runs nothing; what is in it does.
bool matches(const std::vector<std::string>& names, const std::string& pattern,
             const Candidate& candidate) {
  bool below = ends_with(pattern, "/");
  std::vector<std::string> parts =
      split(below ? pattern.substr(0, pattern.size() - 1) : pattern, '/');
  for (size_t at = 0; at < names.size(); ++at) {
    size_t end = at + parts.size();
    bool fits = equal_at(names, at, parts, parts.size());
    if (fits && below && end < names.size()) return true;
    if (fits && end == names.size() && !candidate.is_directory) return true;
    // A link in place of a directory on the way: what it points to becomes the content.
    size_t left = names.size() - at;
    if (candidate.is_link && left < parts.size() && equal_at(names, at, parts, left)) return true;
  }
  return false;
}

// Only the difference of the settings counts, because ordinary use of git writes to the file all
// the time.
std::optional<std::string> git_setting_changes(const Candidate& candidate) {
  std::optional<GitSettings> before = parse_git_config(candidate.before().value_or(kUnreadable));
  std::optional<GitSettings> after = parse_git_config(candidate.after().value_or(kUnreadable));
  if (!before || !after) return "git settings that cannot be compared";
  std::vector<std::string> keys = risky_git_changes(*before, *after);
  if (keys.empty()) return std::nullopt;
  return cat("git settings that may run programs or move work elsewhere: ",
             printable(join(keys, ", ")));
}

// Inside a git directory everything is flagged but what ordinary commits write.
std::optional<std::string> inside_git_directory(const Candidate& candidate) {
  bool at_top = candidate.git_directory == ".";
  std::string inside =
      at_top ? candidate.path : candidate.path.substr(candidate.git_directory.size() + 1);
  if (candidate.git_is_new)
    return "makes a git repository here, with hooks and settings of its own";
  if (candidate.is_directory) return std::nullopt;
  if (candidate.is_link) return "git follows the link";
  if (inside == "config") return git_setting_changes(candidate);
  if (std::find(std::begin(kGitHarmless), std::end(kGitHarmless), inside) != std::end(kGitHarmless))
    return std::nullopt;
  if (starts_with(inside, "refs/") || starts_with(inside, "logs/")) return std::nullopt;
  if (starts_with(inside, "objects/") && inside != "objects/info/alternates" &&
      inside != "objects/info/http-alternates")
    return std::nullopt;
  if (starts_with(lower_ascii(inside), "hooks/")) return "git runs hooks";
  return "git takes settings or steps to run from it";
}

// package.json: the parts of it that package managers run.
std::optional<std::string> package_changes(const Candidate& candidate) {
  if (candidate.is_link) return "package managers follow the link";
  std::string old = candidate.before().value_or(kUnreadable),
              fresh = candidate.after().value_or(kUnreadable);
  if (fresh.empty()) return std::nullopt;
  Result<Value> before = parse_json(old.empty() ? "{}" : old, "package.json");
  Result<Value> after = parse_json(fresh, "package.json");
  if (!before || !after) return "scripts that cannot be compared";
  for (const char* key : {"scripts", "packageManager", "pnpm", "husky", "simple-git-hooks",
                          "lint-staged", "gypfile"}) {
    const Value *was = before.value().find(key), *is = after.value().find(key);
    if ((was ? to_json(*was) : "") != (is ? to_json(*is) : ""))
      return cat("package managers run its '", key, "'");
  }
  return std::nullopt;
}

// A driver that .gitattributes names is run by git on checkout and diff.
std::optional<std::string> attribute_changes(const Candidate& candidate) {
  if (candidate.is_link) return "git follows the link";
  std::optional<std::string> after = candidate.after();
  if (!after) return "too large to look into";
  for (const char* driver : {"filter=", "diff=", "merge="})
    if (after->find(driver) != std::string::npos) return "git runs the drivers it names";
  return std::nullopt;
}

}  // namespace

std::string git_hooks_path(const std::string& config) {
  std::optional<GitSettings> settings = parse_git_config(config);
  if (!settings) return "";
  std::string path;
  for (const auto& [key, value] : *settings)
    if (key == "core.hookspath") path = value;  // git: the last one counts
  return path;
}

// Every reason is collected once. The candidate's contents are read only if a rule asks for them.
std::vector<std::string> host_executes(const Candidate& candidate) {
  std::vector<std::string> why;
  auto add = [&](const std::optional<std::string>& reason) {
    if (reason && std::find(why.begin(), why.end(), *reason) == why.end()) why.push_back(*reason);
  };
  std::vector<std::string> names = folded(candidate.path);
  if (!candidate.git_directory.empty()) add(inside_git_directory(candidate));
  if (candidate.is_directory) return why;
  if (names.back() == ".git") add("it sends git to another repository");
  if (names.back() == "package.json") add(package_changes(candidate));
  if (names.back() == ".gitattributes") add(attribute_changes(candidate));
  if (!candidate.hooks_directory.empty() &&
      starts_with(candidate.path + "/", candidate.hooks_directory + "/"))
    add("git runs hooks from here (core.hooksPath)");
  for (const Rule& rule : kRules)
    if (matches(names, rule.pattern, candidate)) add(rule.why);
  return why;
}

}  // namespace paddock::store
