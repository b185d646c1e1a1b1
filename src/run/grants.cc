#include "run/grants.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <set>

#include "base/fd.h"
#include "base/text.h"
#include "policy/path.h"
#include "record/log_location.h"
#include "store/state.h"

namespace paddock::runs {

namespace {

// Granting one of these as a whole, or something above it, gives the host away.
constexpr const char* kSystemTrees[] = {
    "/proc", "/sys", "/dev", "/run", "/var/run", "/var/lib/docker", "/var/lib/paddock", "/boot"};
constexpr const char* kSystemPlaces[] = {"/",        "/etc",     "/root", "/home",    "/var",
                                         "/var/lib", "/var/log", "/tmp",  "/var/tmp", "/usr"};
// What is written in these takes effect with the host's rights.
constexpr const char* kNeverWritten[] = {"/etc",       "/usr/bin",     "/usr/sbin",      "/usr/lib",
                                         "/usr/lib64", "/usr/libexec", "/bin",           "/sbin",
                                         "/lib",       "/lib64",       "/var/spool/cron"};
// Credentials beneath a home directory.
constexpr const char* kCredentials[] = {".ssh",
                                        ".gnupg",
                                        ".aws",
                                        ".azure",
                                        ".kube",
                                        ".docker",
                                        ".config/gcloud",
                                        ".netrc",
                                        ".npmrc",
                                        ".pypirc",
                                        ".git-credentials",
                                        ".password-store",
                                        ".mozilla",
                                        ".local/state/paddock"};

// Both the path as given and the place it leads to are judged, so that a link cannot hide either.
std::vector<std::string> readings(const std::string& path, const std::string& real) {
  return path == real ? std::vector<std::string>{path} : std::vector<std::string>{path, real};
}

// The places where Paddock keeps its own files. A program must not reach the record of what it did,
// nor the key that vouches for it.
std::vector<std::string> own_places(const Policy& policy) {
  std::vector<std::string> places;
  auto add = [&](const std::string& path) {
    places.push_back(path);
    if (char* real = ::realpath(path.c_str(), nullptr)) {
      places.push_back(real);
      std::free(real);
    }
  };
  if (Result<std::string> state = store::state_path()) {
    add(state.value());
    if (Result<std::string> log = record::log_location(state.value())) add(log.value());
  }
  if (policy.audit.path) add(*policy.audit.path);
  return places;
}

// A grant may lie inside such a place, or contain it.
std::string reaches_own_place(const std::string& path, const Policy& policy) {
  for (const std::string& place : own_places(policy))
    if (policy::contains_path(place, path) || policy::contains_path(path, place))
      return cat("it reaches ", printable(place), ", where Paddock keeps its records");
  return "";
}

// The path is looked at once, and what was found is what gets mounted: judging and opening it twice
// would leave a gap in which it could be replaced.
Result<wall::HostPath> look_at_grant(const std::string& path, const Policy& policy, const char* key,
                                     bool writable, std::set<std::string>& weakened) {
  std::string real;
  wall::HostPath found = TRY(wall::look_at(path, &real));
  for (const std::string& name : readings(path, real)) {
    std::string why = dangerous_grant(name, store::home_directory(), writable);
    if (why.empty()) why = reaches_own_place(name, policy);
    if (why.empty()) continue;
    if (!policy.danger.count("files.system_paths"))
      return Error{Code::denied, cat(key, " '", printable(path), "' is refused: ", why),
                   "name what is needed inside it, or accept the risk in a policy: [danger] allow "
                   "= [\"files.system_paths\"]"};
    weakened.insert("files.system_paths");
  }
  if (found.is_socket) {
    if (!policy.danger.count("files.sockets"))
      return Error{
          Code::denied,
          cat(key, " '", printable(path),
              "' is refused: it is a socket, and whoever listens there acts with its own rights"),
          "accept the risk in a policy: [danger] allow = [\"files.sockets\"]"};
    weakened.insert("files.sockets");
  }
  return found;
}

}  // namespace

// Judges the path as text. The caller passes the path as given and the one it leads to.
std::string dangerous_grant(const std::string& path, const std::string& home, bool writable) {
  for (const char* place : kSystemPlaces)
    if (path == place) return cat("it is ", path, " as a whole");
  for (const char* tree : kSystemTrees)
    if (policy::contains_path(tree, path) || policy::contains_path(path, tree))
      return cat("it reaches ", tree, ", which belongs to the machine");
  if (writable)
    for (const char* tree : kNeverWritten)
      if (policy::contains_path(tree, path)) return cat("the host runs or obeys what is in ", tree);
  if (home.empty() || home == "/") return "";
  if (policy::contains_path(path, home)) return "it contains your whole home directory";
  for (const char* name : kCredentials)
    if (policy::contains_path(home + "/" + name, path))
      return cat("~/", name, " holds credentials");
  return "";
}

Result<std::vector<std::string>> look_at_grants(wall::Request& request) {
  const Policy& policy = request.policy;
  std::set<std::string> weakened;
  if (policy.files.read)
    for (const std::string& path : *policy.files.read)
      request.read.push_back(TRY(look_at_grant(path, policy, "files.read", false, weakened)));
  if (policy.files.write)
    for (const std::string& path : *policy.files.write)
      request.write.push_back(TRY(look_at_grant(path, policy, "files.write", true, weakened)));
  if (policy.files.workspace) {
    request.workspace =
        TRY(look_at_grant(policy.files.workspace->path, policy, "the workspace",
                          policy.files.workspace->mode == WorkspaceMode::read_write, weakened));
    if (!request.workspace->is_directory)
      return Error{
          Code::invalid,
          cat("the workspace '", printable(request.workspace->path), "' is not a directory"), ""};
  }
  return std::vector<std::string>(weakened.begin(), weakened.end());
}

Result<wall::HostPath> look_at_workspace(Policy operators, const Workspace& workspace) {
  if (workspace.mode == WorkspaceMode::copy)
    return Error{
        Code::unsupported, "the workspace of living sandboxes cannot be a copy",
        "use :ro or :rw; or `paddock run --workspace DIR:copy`, which keeps changes apart"};
  wall::Request request;
  request.policy = std::move(operators);
  request.policy.files = {.workspace = workspace};
  (void)TRY(look_at_grants(request));
  return std::move(*request.workspace);
}

// The kernel throttles whole disks only. A partition's parent in sysfs is its disk. File systems
// without a block device have major number 0.
std::optional<std::pair<uint32_t, uint32_t>> disk_behind(const std::string& path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0 || major(info.st_dev) == 0) return std::nullopt;
  std::string node = cat("/sys/dev/block/", major(info.st_dev), ":", minor(info.st_dev));
  uint32_t disk_major = major(info.st_dev), disk_minor = minor(info.st_dev);
  if (::access((node + "/partition").c_str(), F_OK) == 0) {
    Result<std::string> parent = read_file(node + "/../dev", 64);
    if (!parent || std::sscanf(parent.value().c_str(), "%u:%u", &disk_major, &disk_minor) != 2)
      return std::nullopt;
  }
  return std::pair{disk_major, disk_minor};
}

}  // namespace paddock::runs
