#include "wall/container/root_plan.h"

#include <sys/mount.h>

#include <algorithm>

#include "base/text.h"
#include "net/address.h"
#include "net/synthetic.h"
#include "policy/path.h"

namespace paddock::wall {

namespace {

using launch::Step;

constexpr uint64_t kReadOnly = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
constexpr uint64_t kWritable = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
constexpr uint64_t kData = kWritable | MOUNT_ATTR_NOEXEC;

// Names at the top of the root that are always ours, whatever an image brings.
const std::set<std::string> kOwnNames = {"proc",      "dev",  "sys",  "tmp", "run",   "home",
                                         "workspace", "root", "boot", "mnt", "media", "lost+found"};

constexpr const char* kDevices[] = {"null", "zero", "full", "random", "urandom", "tty"};

// A UUID of this run alone, derived from its id (FNV-1a with two offsets). It is nothing secret.
std::string boot_id_for(const std::string& id) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (uint64_t hash : {0xcbf29ce484222325u, 0x9e3779b97f4a7c15u}) {
    for (char c : id) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    for (int shift = 60; shift >= 0; shift -= 4) text += kDigits[hash >> shift & 15];
  }
  text[12] = '4';  // a random one, as the kernel's
  text[16] = 'a';
  return cat(text.substr(0, 8), "-", text.substr(8, 4), "-", text.substr(12, 4), "-",
             text.substr(16, 4), "-", text.substr(20));
}

// Builds the list step by step. Later steps cover earlier ones, so the denials come last.
class Builder {
 public:
  Builder(const Request& request, const HostFacts& facts, const LimitPlan& limits)
      : request_(request), facts_(facts), limits_(limits), privileged_(facts.privileged) {}

  Result<RootPlan> build() {
    for (const char* name :
         {"/proc", "/dev", "/tmp", "/home", kHome, "/run", "/var", "/var/tmp", "/etc", "/sys"})
      directory(name);
    if (request_.root.empty())
      add_host_system();
    else
      add_image();
    add_own_etc();
    add_proc();
    add_devices();
    add_scratch();
    TRY(add_granted_paths());
    TRY(add_workspace());
    add_code_file();
    add_certificates();
    add_resolver_of_image();
    for (const std::string& path : request_.denied) {
      // It existed a moment ago: if it is gone now, someone is moving it out of the way.
      for (const std::string& inside : inside_paths(request_, facts_, path))
        step({.kind = Step::Kind::mask, .target = inside, .required = true});
    }
    return std::move(plan_);
  }

 private:
  void step(Step step) { plan_.steps.push_back(std::move(step)); }

  // Remembers what was made, since a step for an existing directory would be wasted.
  void directory(const std::string& path, uint32_t mode = 0755) {
    if (made_.insert(path).second)
      step({.kind = Step::Kind::directory, .target = path, .mode = mode});
  }
  void parents_of(const std::string& path) {
    for (size_t slash = path.find('/', 1); slash != std::string::npos;
         slash = path.find('/', slash + 1))
      directory(path.substr(0, slash));
  }
  void file(const std::string& path, std::string content, uint32_t mode = 0644) {
    files_.insert(path);
    step({.kind = Step::Kind::file, .target = path, .text = std::move(content), .mode = mode});
  }
  void symlink(const std::string& path, const std::string& target) {
    links_.insert(path);
    step({.kind = Step::Kind::symlink, .target = path, .text = target});
  }

  // One entry at the top of the system or image. Links stay links, so that /bin may lead to
  // /usr/bin.
  void add_entry(const std::string& source_folder, const RootEntry& entry, bool by_keeper) {
    std::string target = "/" + entry.name;
    if (entry.is_link) return symlink(target, entry.link);
    if (!entry.is_directory) return;  // a stray file at the top of an image
    directory(target);
    step({.kind = Step::Kind::bind,
          .target = target,
          .text = source_folder + target,
          .attributes = kReadOnly,
          .by_keeper = by_keeper});
  }

  // Only the parts of the host's system that programs need, and all of them read-only.
  void add_host_system() {
    for (const RootEntry& entry : facts_.root) add_entry("", entry, false);
    for (const RootEntry& entry : facts_.etc) {
      std::string path = "/etc/" + entry.name;
      parents_of(path);
      if (entry.is_link) {  // into /usr, as a rule; elsewhere it dangles, as it should
        symlink(path, entry.link);
        continue;
      }
      if (entry.is_directory)
        directory(path);
      else
        file(path, "");
      step({.kind = Step::Kind::bind, .target = path, .text = path, .attributes = kReadOnly});
    }
  }

  // Uses another root: its top-level directories, read-only, without those that are always ours.
  void add_image() {
    for (const RootEntry& entry : request_.root_entries)
      if (!kOwnNames.count(entry.name)) add_entry(request_.root, entry, privileged_);
  }

  // The host's users and resolver are not shown; the sandbox has its own.
  void add_own_etc() {
    if (!request_.root.empty()) return;
    file("/etc/passwd",
         cat("root:x:0:0:root:/root:/usr/sbin/nologin\n", kInsideUser, ":x:", kInsideId, ":",
             kInsideId, "::", kHome,
             ":/bin/bash\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"));
    file("/etc/group", cat("root:x:0:\n", kInsideUser, ":x:", kInsideId, ":\nnogroup:x:65534:\n"));
    file("/etc/hosts", "127.0.0.1 localhost paddock\n::1 localhost ip6-localhost\n");
    file("/etc/hostname", "paddock\n");
    file("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n");
    file("/etc/resolv.conf", resolver());
  }

  void add_proc() {
    step(
        {.kind = Step::Kind::proc, .target = "/proc", .attributes = kReadOnly | MOUNT_ATTR_NOEXEC});
    for (const std::string& path : facts_.proc_masks)
      step({.kind = Step::Kind::mask, .target = path});
    // The host's boot id would tell sandboxes that they are neighbours, and services outside that
    // they are one machine.
    std::string own = "/.boot_id";
    file(own, boot_id_for(request_.id) + "\n", 0444);
    step({.kind = Step::Kind::inner_bind,
          .target = "/proc/sys/kernel/random/boot_id",
          .text = own,
          .attributes = kReadOnly | MOUNT_ATTR_NOEXEC});
  }

  // Six devices that are harmless, bound from the host because a user namespace cannot make any.
  void add_devices() {
    for (const char* name : kDevices) {
      std::string path = cat("/dev/", name);
      file(path, "");
      step({.kind = Step::Kind::bind,
            .target = path,
            .text = path,
            .attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC});
      plan_.writable.push_back({path});
    }
    directory("/dev/pts");
    step({.kind = Step::Kind::devpts,
          .target = "/dev/pts",
          .attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC});
    plan_.writable.push_back({"/dev/pts"});
    // mq_open() needs no mount, but Landlock gives rights only to what has a place.
    directory("/dev/mqueue");
    step({.kind = Step::Kind::mqueue, .target = "/dev/mqueue", .attributes = kData});
    plan_.writable.push_back({"/dev/mqueue"});
    directory("/dev/shm");
    symlink("/dev/ptmx", "pts/ptmx");
    symlink("/dev/fd", "/proc/self/fd");
    symlink("/dev/stdin", "/proc/self/fd/0");
    symlink("/dev/stdout", "/proc/self/fd/1");
    symlink("/dev/stderr", "/proc/self/fd/2");
  }

  // One filesystem with one cap is mounted at several places: /tmp, /var/tmp, /dev/shm and the home
  // share it.
  void add_scratch() {
    static const struct {
      const char *name, *place;
      bool always_executable;
    } kPlaces[] = {{"tmp", "/tmp", false},
                   {"var-tmp", "/var/tmp", false},
                   {"shm", "/dev/shm", false},
                   {"home", kHome, true}};
    directory("/.scratch");
    if (limits_.scratch_on_disk)
      step({.kind = Step::Kind::bind,
            .target = "/.scratch",
            .text = request_.space,
            .attributes = kWritable,
            .by_keeper = privileged_});
    else
      step({.kind = Step::Kind::tmpfs,
            .target = "/.scratch",
            .size = limits_.disk,
            .inodes = limits_.inodes + 5,
            .attributes = kWritable});
    for (const auto& place : kPlaces) {
      bool executable = place.always_executable || request_.policy.files.tmp_exec.value_or(false);
      std::string source = cat("/.scratch/", place.name);
      if (!limits_.scratch_on_disk)
        step({.kind = Step::Kind::directory,
              .target = source,
              .mode = place.always_executable ? 0755U : 01777U});
      step({.kind = Step::Kind::inner_bind,
            .target = place.place,
            .text = source,
            .attributes = executable ? kWritable : kData});
      plan_.writable.push_back({place.place, executable});
    }
    // Covered instead of unmounted, since an unmount would wait for an RCU grace period.
    step({.kind = Step::Kind::mask, .target = "/.scratch"});
  }

  // Shallow paths come first, so that a deeper one is mounted inside.
  Result<void> add_granted_paths() {
    std::vector<std::pair<const HostPath*, bool>> granted;
    for (const HostPath& path : request_.read) granted.emplace_back(&path, false);
    for (const HostPath& path : request_.write) granted.emplace_back(&path, true);
    std::stable_sort(granted.begin(), granted.end(),
                     [](const auto& a, const auto& b) { return a.first->path < b.first->path; });
    for (auto [path, writable] : granted) add_granted(*path, writable);
    return {};
  }

  // Whether the host's system, as it is shown inside, contains the path.
  bool in_system(const std::string& path) const {
    if (!request_.root.empty()) return false;
    return std::any_of(facts_.root.begin(), facts_.root.end(), [&](const RootEntry& entry) {
      return policy::contains_path("/" + entry.name, path);
    });
  }

  // A read-only grant of something that is visible already needs no mount.
  void add_granted(const HostPath& path, bool writable) {
    bool inside_other = in_system(path.path) ||
                        std::any_of(places_.begin(), places_.end(), [&](const std::string& place) {
                          return policy::contains_path(place, path.path);
                        });
    bool is_of_host = in_system(path.path) || (request_.root.empty() && is_visible(path.path));
    if (!writable && is_of_host) return;  // visible, read-only, already
    // A file of ours, which the granted one covers.
    bool is_there = files_.count(path.path) || is_of_host;
    if (!inside_other && !is_there) {
      parents_of(path.path);
      if (path.is_directory)
        directory(path.path);
      else
        step({.kind = Step::Kind::file,
              .target = path.path,
              .mode = 0644,
              .replace = links_.count(path.path) > 0});
    }
    if (shows_through_overlay(path, writable))
      show_read_only(path, path.path, false);
    else
      bind(path, path.path, writable, writable);
  }

  // In a bind mount the host's sockets and FIFOs are the real ones, and a read-only mount does not
  // keep anyone from connecting to them or reading from them. An overlay has inodes of its own,
  // which nobody listens on; so they are dead, also those that are made later. It shows nothing of
  // filesystems mounted beneath, which is why those stay bind mounts.
  static bool shows_through_overlay(const HostPath& path, bool writable) {
    return !writable && path.is_directory && !path.has_mounts;
  }

  // Uses an overlay without an upper layer, which needs two lower ones.
  void show_read_only(const HostPath& source, const std::string& target, bool as_owner) {
    directory("/.lower");
    directory("/.nothing");
    bind(source, "/.lower", false, as_owner);
    places_.back() = target;
    step({.kind = Step::Kind::overlay,
          .target = target,
          .text = "userxattr\nlowerdir=/.lower:/.nothing",
          .attributes = kReadOnly});
    step({.kind = Step::Kind::unmount, .target = "/.lower"});
  }

  // `as_owner`: files appear to belong to the sandbox's user, which takes the keeper's rights.
  void bind(const HostPath& source, const std::string& target, bool writable, bool as_owner) {
    Step bind{.kind = Step::Kind::bind,
              .target = target,
              .text = source.path,
              .attributes = writable ? kWritable : kReadOnly,
              .identity = source.identity,
              .by_keeper = privileged_};
    if (privileged_ && as_owner) {
      bind.shift_owner = true;
      bind.owner = {source.uid, request_.sandbox_uid, source.gid, request_.sandbox_gid};
    }
    step(std::move(bind));
    places_.push_back(target);
    if (writable) plan_.writable.push_back({target, true});
  }

  Result<void> add_workspace() {
    if (!request_.workspace) return {};
    directory(kWorkspace);
    WorkspaceMode mode = request_.policy.files.workspace->mode;
    if (mode == WorkspaceMode::read_only && shows_through_overlay(*request_.workspace, false)) {
      show_read_only(*request_.workspace, kWorkspace, true);
      return {};
    }
    if (mode != WorkspaceMode::copy) {
      bind(*request_.workspace, kWorkspace, mode == WorkspaceMode::read_write, true);
      return {};
    }
    // An overlay: the real directory below, the change set above. Its helper mounts go away again;
    // the overlay keeps its own hold on them.
    directory("/.lower");
    directory("/.change-set");
    bind(*request_.workspace, "/.lower", false, true);
    const std::string& upper = request_.change_set->upper;
    step({.kind = Step::Kind::bind,
          .target = "/.change-set",
          .text = upper.substr(0, upper.rfind('/')),
          .attributes = kWritable,
          .by_keeper = privileged_});
    step({.kind = Step::Kind::overlay,
          .target = kWorkspace,
          .text =
              "userxattr\nlowerdir=/.lower\nupperdir=/.change-set/upper\nworkdir=/.change-set/work",
          .attributes = kWritable});
    step({.kind = Step::Kind::unmount, .target = "/.lower"});
    step({.kind = Step::Kind::unmount, .target = "/.change-set"});
    plan_.writable.push_back({kWorkspace, true});
    return {};
  }

  // The text of --code and --file, as a read-only file.
  void add_code_file() {
    if (request_.command.file_name.empty()) return;
    directory(kOwnFiles);
    file(cat(kOwnFiles, "/", request_.command.file_name), request_.command.file_content, 0444);
  }

  std::string resolver() const {
    return has_network(request_)
               ? cat("nameserver ", net::to_string(net::ipv4(net::kSyntheticGateway)),
                     "\noptions timeout:10\n")
               : "";
  }

  // Whether a file of the host's system, or of the image, is there inside.
  bool is_visible(const std::string& path) const {
    auto holds = [&](const char* folder, const RootEntry& entry) {
      return !entry.is_link && policy::contains_path(folder + entry.name, path);
    };
    if (request_.root.empty())
      return in_system(path) ||
             std::any_of(facts_.etc.begin(), facts_.etc.end(),
                         [&](const RootEntry& entry) { return holds("/etc/", entry); });
    return std::any_of(
        request_.root_entries.begin(), request_.root_entries.end(), [&](const RootEntry& entry) {
          return entry.is_directory && !kOwnNames.count(entry.name) && holds("/", entry);
        });
  }

  // Puts a file of ours over one that is there.
  void cover(const std::string& path, const std::string& own) {
    if (is_visible(path))
      step({.kind = Step::Kind::inner_bind,
            .target = path,
            .text = own,
            .attributes = kReadOnly | MOUNT_ATTR_NOEXEC});
  }

  void add_certificates() {
    if (request_.ca_bundle.empty()) return;
    directory(kOwnFiles);
    file(kCaCertificate, request_.ca_certificate, 0444);
    file(kCaBundle, request_.ca_bundle, 0444);
    for (const std::string& path : facts_.network.ca_bundles) cover(path, kCaBundle);
    if (request_.java_trust_store.empty() || facts_.network.java_trust_store.empty()) return;
    std::string store = cat(kOwnFiles, "/cacerts");
    file(store, request_.java_trust_store, 0444);
    cover(facts_.network.java_trust_store, store);
  }

  // An image without the file needs none: its programs then ask 127.0.0.1, and that leads to egress
  // as well.
  void add_resolver_of_image() {
    if (request_.root.empty() || !has_network(request_) || facts_.network.resolv_conf.empty())
      return;
    std::string own = cat(kOwnFiles, "/resolv.conf");
    directory(kOwnFiles);
    file(own, resolver(), 0444);
    cover(facts_.network.resolv_conf, own);
  }

  const Request& request_;
  const HostFacts& facts_;
  const LimitPlan& limits_;
  bool privileged_;
  RootPlan plan_;
  std::set<std::string> made_;
  std::set<std::string> files_, links_;  // those that were made
  std::vector<std::string> places_;      // where something of the host is already mounted
};

}  // namespace

Result<RootPlan> plan_root(const Request& request, const HostFacts& facts,
                           const LimitPlan& limits) {
  return Builder(request, facts, limits).build();
}

std::vector<std::string> inside_paths(const Request& request, const HostFacts& facts,
                                      const std::string& host_path) {
  std::vector<std::string> paths;
  if (request.workspace && policy::contains_path(request.workspace->path, host_path))
    paths.push_back(kWorkspace + host_path.substr(request.workspace->path.size()));
  auto covers = [&](const HostPath& place) { return policy::contains_path(place.path, host_path); };
  auto holds = [&](const std::string& folder, const RootEntry& entry) {
    return policy::contains_path(folder + entry.name, host_path);
  };
  bool granted = std::any_of(request.read.begin(), request.read.end(), covers) ||
                 std::any_of(request.write.begin(), request.write.end(), covers);
  bool system = request.root.empty() &&
                (std::any_of(facts.root.begin(), facts.root.end(),
                             [&](const RootEntry& entry) { return holds("/", entry); }) ||
                 std::any_of(facts.etc.begin(), facts.etc.end(),
                             [&](const RootEntry& entry) { return holds("/etc/", entry); }));
  if (granted || system) paths.push_back(host_path);
  return paths;
}

}  // namespace paddock::wall
