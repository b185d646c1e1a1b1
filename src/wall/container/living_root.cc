#include "wall/container/living_root.h"

#include <sys/mount.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "net/address.h"
#include "net/synthetic.h"
#include "policy/path.h"

namespace paddock::wall {

namespace {

using launch::Step;

constexpr uint64_t kWritable = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
constexpr uint64_t kReadOnly = kWritable | MOUNT_ATTR_RDONLY;
constexpr uint64_t kDevice = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC;
constexpr size_t kLongestOption = 255;  // fsconfig(2)
// The cap of /dev/shm if the policy sets no memory limit.
constexpr uint64_t kSharedMemory = 256 << 20;
constexpr uint32_t kUser = 1000;  // the user inside

constexpr const char* kDevices[] = {"null", "zero", "full", "random", "urandom", "tty"};

// Where programs look for certificate authorities: Debian, Fedora, openSUSE, Alpine.
constexpr const char* kCaBundles[] = {"/etc/ssl/certs/ca-certificates.crt",
                                      "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
                                      "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"};
constexpr char kJavaTrustStore[] = "/etc/ssl/certs/java/cacerts";

// Builds the list step by step. Nothing on the host is touched here.
class Builder {
 public:
  Builder(const Request& request, const HostFacts& facts)
      : request_(request), living_(*request.living), facts_(facts) {}

  Result<std::vector<Step>> build() {
    TRY(check_volumes());
    TRY(add_overlay("/.root", "root", living_.layers, false));
    if (living_.host_usr) TRY(add_usr());
    step({.kind = Step::Kind::enter, .target = "/.root"});
    made_.clear();
    for (const char* name : {"/proc", "/dev", "/sys", "/run", "/etc"}) directory(name);
    directory("/tmp", 01777);
    add_run();
    add_proc();
    add_devices();
    add_etc();
    add_certificates();
    add_volumes();
    TRY(add_workspace());
    return std::move(steps_);
  }

 private:
  void step(Step step) { steps_.push_back(std::move(step)); }
  // A directory is made once, however many things lie beneath it.
  void directory(const std::string& path, uint32_t mode = 0755) {
    if (made_.insert(path).second)
      step({.kind = Step::Kind::directory, .target = path, .mode = mode});
  }
  void parents_of(const std::string& path) {
    for (size_t slash = path.find('/', 1); slash != std::string::npos;
         slash = path.find('/', slash + 1))
      directory(path.substr(0, slash));
  }
  void file(const std::string& path, std::string content, uint32_t mode = 0644,
            bool replace = false) {
    step({.kind = Step::Kind::file,
          .target = path,
          .text = std::move(content),
          .mode = mode,
          .replace = replace});
  }
  void symlink(const std::string& path, const std::string& target) {
    step({.kind = Step::Kind::symlink, .target = path, .text = target});
  }

  // Mounts something of the host's. `first_id` is the id on disk that becomes root's inside; the
  // ids after it follow.
  void bind(const std::string& source, const std::string& target, uint64_t attributes,
            std::optional<uint32_t> first_id) {
    Step bind{.kind = Step::Kind::bind,
              .target = target,
              .text = source,
              .attributes = attributes,
              .by_keeper = facts_.privileged};
    if (facts_.privileged && first_id) {
      bind.shift_owner = true;
      bind.owner = {*first_id, living_.ids.outside_uid, *first_id, living_.ids.outside_gid,
                    living_.ids.count};
    }
    step(std::move(bind));
  }

  // Stacks layers under a writable one. `name` is its folder in the sandbox's directory. The parts
  // have short names because the kernel bounds the length of an option.
  Result<void> add_overlay(const std::string& target, const std::string& name,
                           const std::vector<std::string>& layers, bool over_host_usr) {
    std::string part = cat("/.", name[0]), lower;
    for (size_t i = 0; i < layers.size(); ++i) {
      directory(cat(part, i));
      bind(layers[i], cat(part, i), kReadOnly, living_.disk_base);
      lower = cat(part, i, lower.empty() ? "" : ":", lower);
    }
    if (over_host_usr) {
      directory("/.host");
      bind("/usr", "/.host", kReadOnly, 0);
      lower += lower.empty() ? "/.host" : ":/.host";
    }
    if (lower.empty())
      return Error{Code::internal, "a living sandbox needs at least one layer", ""};
    if (lower.size() > kLongestOption)
      return Error{
          Code::unsupported,
          cat("the template has ", layers.size(), " layers, which is too many for an overlay"),
          "build it again in fewer steps"};
    std::string space = cat("/.space-", name);
    directory(space);
    bind(cat(living_.directory, "/", name), space, kWritable, living_.disk_base);
    directory(target);
    step({.kind = Step::Kind::overlay,
          .target = target,
          .text = cat("userxattr\nlowerdir=", lower, "\nupperdir=", space,
                      "/upper\nworkdir=", space, "/work"),
          .attributes = kWritable});
    return {};
  }

  // Without ids for its owners, /usr is only shown.
  Result<void> add_usr() {
    if (has_writable_usr(living_))
      return add_overlay("/.root/usr", "usr", living_.usr_layers, true);
    directory("/.root/usr");
    bind("/usr", "/.root/usr", kReadOnly, {});
    return {};
  }

  // /run is a tmpfs of our own: what stands there is Paddock's, whatever the template brings.
  void add_run() {
    step({.kind = Step::Kind::tmpfs,
          .target = "/run",
          .size = 32 << 20,
          .inodes = 8192,
          .attributes = kWritable});
    directory(kOwnFiles);
    directory(cat(kOwnFiles, "/bin"));
    file(kGuest, "", 0755);
    bind(living_.guest, kGuest, kReadOnly, {});
    symlink(cat(kOwnFiles, "/bin/sudo"), "paddock-guest");
    if (!living_.interpreters.empty()) {
      directory(kInterpreters);
      bind(living_.interpreters, kInterpreters, kReadOnly, {});
    }
    for (const auto& [name, content] : living_.files) {
      parents_of("/run/" + name);
      file("/run/" + name, content, 0444);
    }
  }

  // The masks are the same as in a run. The boot id is the sandbox's own, since the host's would
  // tell sandboxes that they share a machine.
  void add_proc() {
    step(
        {.kind = Step::Kind::proc, .target = "/proc", .attributes = kReadOnly | MOUNT_ATTR_NOEXEC});
    for (const std::string& path : facts_.proc_masks)
      step({.kind = Step::Kind::mask, .target = path});
    if (living_.boot_id.empty()) return;
    std::string own = cat(kOwnFiles, "/boot_id");
    file(own, living_.boot_id + "\n", 0444);
    step({.kind = Step::Kind::inner_bind,
          .target = "/proc/sys/kernel/random/boot_id",
          .text = own,
          .attributes = kReadOnly | MOUNT_ATTR_NOEXEC});
  }

  // The host's own device nodes are bound, as a user namespace cannot make any.
  void add_devices() {
    step({.kind = Step::Kind::tmpfs,
          .target = "/dev",
          .size = 64 << 10,
          .inodes = 256,
          .attributes = kDevice});
    for (const char* name : kDevices) {
      std::string path = cat("/dev/", name);
      file(path, "");
      step({.kind = Step::Kind::bind, .target = path, .text = path, .attributes = kDevice});
    }
    directory("/dev/pts");
    step({.kind = Step::Kind::devpts, .target = "/dev/pts", .attributes = kDevice});
    directory("/dev/mqueue");  // as in a run: see root_plan.cc
    step({.kind = Step::Kind::mqueue,
          .target = "/dev/mqueue",
          .attributes = kWritable | MOUNT_ATTR_NOEXEC});
    directory("/dev/shm");
    uint64_t size = request_.policy.limits[LimitKind::memory]
                        ? *request_.policy.limits[LimitKind::memory] / 2
                        : kSharedMemory;
    step({.kind = Step::Kind::tmpfs,
          .target = "/dev/shm",
          .mode = 01777,
          .size = size,
          .inodes = 65536,
          .attributes = kWritable});
    symlink("/dev/ptmx", "pts/ptmx");
    symlink("/dev/fd", "/proc/self/fd");
    symlink("/dev/stdin", "/proc/self/fd/0");
    symlink("/dev/stdout", "/proc/self/fd/1");
    symlink("/dev/stderr", "/proc/self/fd/2");
  }

  // Written again at each start, as container engines do, since a copy of the sandbox has another
  // name. They are ordinary files, so that programs inside can replace them.
  void add_etc() {
    file("/etc/hostname", living_.hostname + "\n", 0644, true);
    file("/etc/hosts",
         cat("127.0.0.1 localhost\n127.0.1.1 ", living_.hostname,
             "\n::1 localhost ip6-localhost ip6-loopback\n"),
         0644, true);
    std::string resolver =
        has_network(request_)
            ? cat("nameserver ", net::to_string(net::ipv4(net::kSyntheticGateway)),
                  "\noptions timeout:10\n")
            : "";
    file("/etc/resolv.conf", resolver, 0644, true);
  }

  // Covers a file of the image if there is one.
  void cover(const char* path, const std::string& own) {
    step({.kind = Step::Kind::inner_bind,
          .target = path,
          .text = own,
          .attributes = kReadOnly | MOUNT_ATTR_NOEXEC,
          .optional = true});
  }

  // Only where egress reads TLS: programs must trust its authority.
  void add_certificates() {
    if (request_.ca_bundle.empty()) return;
    file(kCaCertificate, request_.ca_certificate, 0444);
    file(kCaBundle, request_.ca_bundle, 0444);
    for (const char* path : kCaBundles) cover(path, kCaBundle);
    if (request_.java_trust_store.empty()) return;
    std::string store = cat(kOwnFiles, "/cacerts");
    file(store, request_.java_trust_store, 0444);
    cover(kJavaTrustStore, store);
  }

  // A volume must not cover what Paddock itself mounts.
  Result<void> check_volumes() const {
    for (const LivingRequest::Volume& volume : living_.volumes) {
      const std::string& target = volume.target;
      bool plain = target.size() > 1 && target[0] == '/' && target.back() != '/' &&
                   target.find("//") == std::string::npos;
      for (const std::string& part : split(target, '/'))
        plain = plain && part != "." && part != "..";
      for (const char* ours : {"/proc", "/dev", "/sys", "/run"})
        plain = plain && !policy::contains_path(ours, target);
      if (!plain || target == "/usr" || target == "/etc")
        return Error{
            Code::invalid, cat("mount a volume at '", printable(target), "': not a place for one"),
            "use an absolute path such as /mnt/data, outside of /proc, /dev, /sys and /run"};
    }
    return {};
  }

  // Shallow targets come first, so that a deeper one is mounted inside.
  void add_volumes() {
    std::vector<LivingRequest::Volume> volumes = living_.volumes;
    std::stable_sort(volumes.begin(), volumes.end(),
                     [](const auto& a, const auto& b) { return a.target < b.target; });
    for (const LivingRequest::Volume& volume : volumes) {
      parents_of(volume.target);
      directory(volume.target);
      bind(volume.source, volume.target, volume.read_only ? kReadOnly : kWritable,
           living_.disk_base);
    }
  }

  // What belongs to the directory's owner on the host belongs to the user inside, and the reverse.
  // What others inside own there (root, say) is stored under ids that no account has. What others
  // own on the host belongs to nobody inside.
  Result<void> add_workspace() {
    if (!living_.workspace) return {};
    const HostPath& source = *living_.workspace;
    directory(kWorkspace);
    Step bind{.kind = Step::Kind::bind,
              .target = kWorkspace,
              .text = source.path,
              .attributes = living_.workspace_read_only ? kReadOnly : kWritable,
              .identity = source.identity,
              .by_keeper = facts_.privileged};
    if (facts_.privileged) {
      auto is_stored = [&](uint32_t id) {
        return id >= living_.disk_base && id - living_.disk_base < living_.ids.count;
      };
      if (is_stored(source.uid) || is_stored(source.gid))
        return Error{Code::invalid,
                     cat("the workspace '", printable(source.path),
                         "' belongs to an id of sandboxes, not to an account"),
                     "give it to somebody: chown"};
      bind.shift_owner = true;
      bind.owner = {living_.disk_base, living_.ids.outside_uid,
                    living_.disk_base, living_.ids.outside_gid,
                    living_.ids.count, kUser,
                    source.uid,        source.gid};
    }
    step(std::move(bind));
    for (const std::string& path : request_.denied)
      if (policy::contains_path(source.path, path))
        step({.kind = Step::Kind::mask, .target = kWorkspace + path.substr(source.path.size())});
    return {};
  }

  const Request& request_;
  const LivingRequest& living_;
  const HostFacts& facts_;
  std::vector<Step> steps_;
  std::set<std::string> made_;
};

}  // namespace

Result<std::vector<launch::Step>> plan_living_root(const Request& request, const HostFacts& facts) {
  return Builder(request, facts).build();
}

}  // namespace paddock::wall
