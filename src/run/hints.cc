#include "run/hints.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>

#include "base/fd.h"
#include "base/text.h"
#include "policy/path.h"

namespace paddock::runs {

namespace {

// Programs that do nothing without a network, and those that need one for these words.
struct NetworkClient {
  std::string_view program;
  std::vector<std::string_view> words;  // empty: always
};
const std::vector<NetworkClient>& network_clients() {
  static const std::vector<NetworkClient> kClients = {
      {"curl", {}},
      {"wget", {}},
      {"ssh", {}},
      {"scp", {}},
      {"ping", {}},
      {"dig", {}},
      {"nslookup", {}},
      {"telnet", {}},
      {"ftp", {}},
      {"git", {"clone", "fetch", "pull", "push", "ls-remote"}},
      {"pip", {"install", "download"}},
      {"pip3", {"install", "download"}},
      {"uv", {"pip", "add", "sync"}},
      {"npm", {"install", "ci", "update"}},
      {"npx", {}},
      {"yarn", {}},
      {"pnpm", {"install", "add"}},
      {"apt", {"update", "install"}},
      {"apt-get", {"update", "install"}},
  };
  return kClients;
}

// What programs print when they cannot reach the network.
constexpr std::string_view kUnreachable[] = {
    "Could not resolve host",
    "Temporary failure in name resolution",
    "Name or service not known",
    "Network is unreachable",
    "getaddrinfo",
    "EAI_AGAIN",
    "ENETUNREACH",
    "Temporary failure resolving",
    "unable to resolve host",
    "Failed to resolve",
};

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// "python -m pip install" counts as "pip install".
bool is_network_client(const std::vector<std::string>& argv) {
  std::string program = base_name(argv[0]);
  std::vector<std::string> words(argv.begin() + 1, argv.end());
  bool is_module = starts_with(program, "python") && words.size() > 1 && words[0] == "-m";
  if (is_module) program = words[1];
  for (const NetworkClient& client : network_clients()) {
    if (client.program != program) continue;
    auto is_said = [&](std::string_view word) {
      return std::find(words.begin(), words.end(), word) != words.end();
    };
    return client.words.empty() || std::any_of(client.words.begin(), client.words.end(), is_said);
  }
  return false;
}

// A guess by well-known messages; it only decides whether a hint is shown.
bool says_unreachable(std::string_view tail) {
  return std::any_of(std::begin(kUnreachable), std::end(kUnreachable), [&](std::string_view text) {
    return tail.find(text) != std::string_view::npos;
  });
}

// The host of the first URL on the command line, or a placeholder. Only plain host names are
// repeated, since the text is shown as a command to type.
std::string wanted_host(const std::vector<std::string>& argv) {
  for (const std::string& word : argv) {
    size_t start = word.find("://");
    if (start == std::string::npos) continue;
    std::string host = word.substr(start + 3);
    host = host.substr(0, host.find_first_of("/?#"));
    host = host.substr(host.rfind('@') + 1);
    bool is_plain =
        !host.empty() && host.find_first_not_of(
                             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-:") ==
                             std::string::npos;
    if (is_plain) return host;
  }
  return "HOST";
}

bool is_file(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

std::string real_path(const std::string& path) {
  char* real = ::realpath(path.c_str(), nullptr);
  std::string text = real ? real : "";
  std::free(real);
  return text;
}

// Whether the program sees this host path at the same place inside.
bool is_seen(const wall::Request& request, const std::string& path) {
  auto holds = [&](const wall::HostPath& granted) {
    return policy::contains_path(granted.path, path);
  };
  if (std::any_of(request.read.begin(), request.read.end(), holds) ||
      std::any_of(request.write.begin(), request.write.end(), holds))
    return true;
  if (!request.root.empty()) return false;
  for (const char* tree :
       {"/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/proc", "/dev", "/sys"})
    if (policy::contains_path(tree, path)) return true;
  return false;
}

// The option that would show the path. For a program in some bin directory it grants all that
// belongs to it.
std::string grant_for(const std::string& path) {
  size_t bin = path.rfind("/bin/");
  return cat("--read ",
             printable(bin == std::string::npos || bin == 0 ? path : path.substr(0, bin)));
}

// Looks for a word of the command that names a file here and not inside.
std::string file_hint(const wall::Request& request, const std::string& directory) {
  const std::vector<std::string>& argv = request.command.argv;
  for (size_t i = 1; i < argv.size(); ++i) {
    const std::string& word = argv[i];
    if (word.empty() || word[0] == '-') continue;
    bool is_relative = word[0] != '/';
    std::string path = is_relative ? cat(directory, "/", word) : word;
    if (!is_file(path) || (is_relative ? request.workspace.has_value() : is_seen(request, path)))
      continue;
    if (request.workspace && policy::contains_path(request.workspace->path, path))
      return cat("'", printable(word),
                 "' is in the workspace, which is /workspace inside: name it relative to that");
    return cat("'", printable(word), "' is on this machine, and the sandbox does not see it (add ",
               is_relative ? "--workspace ." : cat("--read ", printable(path)), ")");
  }
  return "";
}

}  // namespace

std::vector<std::string> failure_hints(const wall::Request& request, const std::string& directory,
                                       std::string_view tail) {
  std::vector<std::string> hints;
  if (std::string hint = file_hint(request, directory); !hint.empty())
    hints.push_back(std::move(hint));
  const std::vector<std::string>& argv = request.command.argv;
  if (!wall::has_network(request) && (is_network_client(argv) || says_unreachable(tail)))
    hints.push_back(
        cat("the network is off in this run (open it with --allow-net ", wanted_host(argv), ")"));
  return hints;
}

std::string missing_program_hint(const wall::Request& request, const std::string& directory) {
  const std::string& name = request.command.argv[0];
  if (name.find('/') == std::string::npos) return "";
  // Where the name leads on the host: the workspace has another place inside.
  std::string path = name[0] == '/'
                         ? name
                         : cat(request.workspace ? request.workspace->path : directory, "/", name);
  bool in_workspace =
      request.workspace && (name[0] != '/' || starts_with(name, cat(wall::kWorkspace, "/")));
  if (in_workspace && name[0] == '/')
    path = request.workspace->path + name.substr(std::string_view(wall::kWorkspace).size());
  struct stat info;
  if (::lstat(path.c_str(), &info) != 0) return "";
  std::string real = real_path(path);
  if (real.empty()) return "it is a link that leads nowhere on this machine, either";
  bool in_sight = in_workspace && policy::contains_path(request.workspace->path, real);
  if (!in_workspace && !is_seen(request, path))
    return cat("it is on this machine, and the sandbox does not see it (add ",
               name[0] == '/' ? grant_for(real) : "--workspace .", ")");
  if (!in_sight && !is_seen(request, real))
    return cat("it is a link to ", printable(real), ", which the sandbox does not see (add ",
               grant_for(real), ")");
  // The kernel says "not found" also if a script exists and the interpreter in its first line does
  // not.
  Result<std::string> text = read_file(path, 64 << 20);
  if (!text || !starts_with(text.value(), "#!")) return "";
  std::string line = text.value().substr(2, text.value().find('\n') - 2);
  line.erase(0, line.find_first_not_of(" \t"));
  std::string interpreter = line.substr(0, line.find_first_of(" \t\r"));
  if (interpreter.empty() || is_seen(request, interpreter)) return "";
  return cat("its first line names ", printable(interpreter),
             ", which the sandbox does not see (add ", grant_for(interpreter), ")");
}

}  // namespace paddock::runs
