// The template `base`: a root that looks like the host's system, with accounts and settings of its
// own. Nothing that is personal or secret on the host may end up in it.
#include "store/skeleton.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/digest.h"
#include "base/text.h"
#include "linux/tree.h"
#include "store/skeleton_accounts.h"
#include "store/skeleton_tree.h"

namespace paddock::store {

namespace {

// The version of what is made below. A change makes the template again.
constexpr int kVersion = 6;

// On a system with a merged /usr these are links into it.
constexpr const char* kIntoUsr[] = {"bin", "sbin", "lib", "lib32", "lib64", "libx32"};

// What programs read in /etc that is neither personal nor secret; users, names and paths are made
// fresh.
constexpr const char* kEtc[] = {"X11",
                                "adduser.conf",
                                "alternatives",
                                "apt",
                                "bash.bashrc",
                                "bash_completion.d",
                                "bindresvport.blacklist",
                                "ca-certificates",
                                "ca-certificates.conf",
                                "cron.daily",
                                "dconf",
                                "debconf.conf",
                                "debian_version",
                                "default/locale",
                                "default/useradd",
                                "deluser.conf",
                                "dpkg",
                                "fonts",
                                "fpc.cfg",
                                "gai.conf",
                                "gdb",
                                "glvnd",
                                "gnucobol",
                                "groff",
                                "gtk-2.0",
                                "gtk-3.0",
                                "host.conf",
                                "init.d",
                                "inputrc",
                                "iproute2",
                                "issue",
                                "issue.net",
                                "ld-musl-x86_64.path",
                                "ld.so.cache",
                                "ld.so.conf",
                                "ld.so.conf.d",
                                "libaudit.conf",
                                "locale.alias",
                                "locale.conf",
                                "locale.gen",
                                "localtime",
                                "login.defs",
                                "logrotate.d",
                                "lsb-release",
                                "magic",
                                "magic.mime",
                                "mailcap",
                                "mailcap.order",
                                "manpath.config",
                                "matplotlibrc",
                                "maven",
                                "mime.types",
                                "mke2fs.conf",
                                "netconfig",
                                "networks",
                                "npmrc",
                                "os-release",
                                "pam.conf",
                                "pam.d",
                                "papersize",
                                "perl",
                                "pip.conf",
                                "pki/ca-trust",
                                "pki/tls",
                                "protocols",
                                "rpc",
                                "security",
                                "selinux",
                                "services",
                                "sgml",
                                "shells",
                                "skel",
                                "ssl/certs",
                                "ssl/openssl.cnf",
                                "ssl/cert.pem",
                                "ssl/ca-bundle.pem",
                                "terminfo",
                                "texmf",
                                "timezone",
                                "ucf.conf",
                                "vim",
                                "wgetrc",
                                "xattr.conf",
                                "xdg",
                                "xml"};

// Directories in /etc whose names carry a version.
constexpr const char* kEtcPrefixes[] = {"java-", "python", "ImageMagick-", "php",    "ruby",   "R",
                                        "lua",   "ghc",    "OpenCL",       "vulkan", "openmpi"};

// The records of packages, so that apt-get and the like go on from what is installed.
constexpr const char* kVar[] = {"/var/lib/dpkg",
                                "/var/lib/apt/extended_states",
                                "/var/lib/ucf",
                                "/var/lib/pam",
                                "/var/lib/python",
                                "/var/lib/xml-core",
                                "/var/lib/sgml-base",
                                "/var/lib/vim",
                                "/var/lib/shells.state",
                                "/var/lib/ca-certificates-java",
                                "/var/cache/debconf/config.dat",
                                "/var/cache/debconf/templates.dat"};

constexpr char kPath[] =
    "/run/paddock/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

constexpr char kProfile[] =
    R"(# /etc/profile: for login shells. A PATH that was set is kept; Paddock's part comes first.
case ":$PATH:" in
  *:/run/paddock/bin:*) ;;
  *) PATH="${PATH:-/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin}"
     PATH="/run/paddock/bin:$PATH" ;;
esac
export PATH
if [ "${PS1-}" ] && [ "${BASH-}" ] && [ "$BASH" != "/bin/sh" ] && [ -f /etc/bash.bashrc ]; then
  . /etc/bash.bashrc
fi
for i in /etc/profile.d/*.sh; do
  if [ -r "$i" ]; then . "$i"; fi
done
unset i
)";

constexpr char kNsswitch[] =
    "passwd: files\ngroup: files\nshadow: files\ngshadow: files\nhosts: files dns\nnetworks: "
    "files\nprotocols: files\nservices: files\nethers: files\nrpc: files\n";
constexpr char kHosts[] = "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n";

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

std::string lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

// "https://name:secret@host" and the settings in which programs keep secrets.
bool tells_secrets(const std::string& head) {
  std::string text = lower(head);
  for (const char* word : {"password", "passwd=", "_auth", "token", "secret", "apikey", "api_key"})
    if (contains(text, word)) return true;
  for (size_t at = text.find("://"); at != std::string::npos; at = text.find("://", at + 3)) {
    size_t end = text.find_first_of("/ \t\r\n\"'>", at + 3);
    size_t sign = text.find('@', at + 3);
    if (sign != std::string::npos && sign < end) return true;
  }
  return false;
}

// Settings that people put credentials into, some of them world-readable.
bool may_be_copied(const std::string& path, const std::string& head) {
  if (starts_with(path, "/etc/apt/auth.conf") || ends_with(path, "/opasswd")) return false;
  bool looked_at = starts_with(path, "/etc/apt/sources.list") ||
                   starts_with(path, "/etc/apt/apt.conf") || starts_with(path, "/etc/maven") ||
                   path == "/etc/pip.conf" || path == "/etc/npmrc" || path == "/etc/wgetrc";
  return !looked_at || !tells_secrets(head);
}

// Without what only makes packages or checks their files: that is half of thousands.
bool is_package_record(const std::string& path, const std::string&) {
  for (const char* ending : {"-old", "/lock", "/lock-frontend", "/Lock", "/statoverride",
                             ".md5sums", ".symbols", ".shlibs"})
    if (ends_with(path, ending)) return false;
  return !starts_with(path, "/var/lib/dpkg/updates/") &&
         !starts_with(path, "/var/lib/dpkg/tmp.ci/");
}

// Entries that are missing on this host are left out by the copy.
std::vector<std::string> etc_entries() {
  std::vector<std::string> entries(std::begin(kEtc), std::end(kEtc));
  Fd etc(::open("/etc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!etc) return entries;
  Result<std::vector<std::string>> names = kernel::list_directory(etc.get());
  if (!names) return entries;
  for (const std::string& name : names.value())
    for (const char* prefix : kEtcPrefixes)
      if (starts_with(name, prefix)) entries.push_back(name);
  return entries;
}

// Fails on a system whose /usr is not merged, because its /bin would be missing inside.
Result<void> link_into_usr(SkeletonTree& tree) {
  TRY(check_skeleton());
  for (const char* name : kIntoUsr) {
    struct stat info;
    if (::lstat(cat("/", name).c_str(), &info) == 0)
      TRY(tree.link(cat("/", name), cat("usr/", name)));
  }
  return {};
}

// Fresh accounts: the host's names and passwords are nobody's business inside.
Result<void> make_accounts(SkeletonTree& tree) {
  Accounts accounts = standard_accounts();
  TRY(tree.file("/etc/passwd", accounts.passwd));
  TRY(tree.file("/etc/group", accounts.group));
  TRY(tree.file("/etc/shadow", accounts.shadow, 0640, {0, kShadowGroup}));
  return tree.file("/etc/gshadow", accounts.gshadow, 0640, {0, kShadowGroup});
}

// A session may not set limits of its own here, and needs none: su and runuser go on without.
Result<void> make_sessions(SkeletonTree& tree) {
  Fd folder(::open("/etc/pam.d", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return {};
  for (const std::string& name : TRY(kernel::list_directory(folder.get()))) {
    Result<std::string> text = read_file(cat("/etc/pam.d/", name), 1 << 20);
    if (!text || !contains(text.value(), "pam_limits.so")) continue;
    std::string changed;
    for (std::string line : split(text.value(), '\n')) {
      size_t word = contains(line, "pam_limits.so") ? line.find("required") : std::string::npos;
      if (word != std::string::npos) line.replace(word, 8, "optional");
      changed += line + "\n";
    }
    TRY(tree.file(cat("/etc/pam.d/", name), changed));
  }
  return {};
}

// What is written here comes before what is copied, so that the host's files cannot replace it.
Result<void> make_etc(SkeletonTree& tree) {
  TRY(tree.directory("/etc"));
  TRY(make_accounts(tree));
  TRY(make_sessions(tree));
  TRY(tree.file("/etc/hosts", kHosts));
  TRY(tree.file("/etc/hostname", "sandbox\n"));
  TRY(tree.file("/etc/resolv.conf", ""));
  TRY(tree.file("/etc/machine-id", ""));
  TRY(tree.file("/etc/fstab", ""));
  TRY(tree.file("/etc/nsswitch.conf", kNsswitch));
  TRY(tree.file("/etc/profile", kProfile));
  TRY(tree.directory("/etc/profile.d"));
  TRY(tree.file("/etc/environment", cat("PATH=", kPath, "\n")));
  TRY(tree.file("/etc/apt/apt.conf.d/99paddock",
                "// The network's rules are around the sandbox; another user for downloads adds "
                "nothing.\nAPT::Sandbox::User \"root\";\n"));
  TRY(tree.link("/etc/mtab", "../proc/self/mounts"));
  for (const std::string& name : etc_entries()) TRY(tree.copy(cat("/etc/", name), may_be_copied));
  return {};
}

// Empty directories that programs expect, and the records of installed packages.
Result<void> make_var(SkeletonTree& tree) {
  for (const char* path :
       {"/var/backups", "/var/cache/apt/archives/partial", "/var/cache/ldconfig",
        "/var/lib/apt/lists/partial", "/var/lib/apt/mirrors/partial", "/var/lib/dpkg/updates",
        "/var/lib/dpkg/parts", "/var/lib/misc", "/var/lib/systemd", "/var/log/apt", "/var/opt",
        "/var/spool/cron", "/var/www"})
    TRY(tree.directory(path));
  TRY(tree.directory("/var/mail", 02775, {0, kMailGroup}));
  TRY(tree.directory("/var/local", 02775, {0, 50}));
  TRY(tree.directory("/var/tmp", 01777));
  TRY(tree.link("/var/run", "/run"));
  TRY(tree.link("/var/lock", "/run/lock"));
  TRY(tree.file("/var/lib/dpkg/statoverride", ""));  // the host's names groups that are not here
  for (const char* path : kVar) TRY(tree.copy(path, is_package_record));
  return {};
}

// `user` owns its home and the workspace, where the host allows several ids.
Result<void> make_homes(SkeletonTree& tree) {
  Owner user{kUserId, kUserId};
  TRY(tree.directory("/root", 0700));
  TRY(tree.directory("/home"));
  TRY(tree.directory("/home/user", 0755, user));
  for (const char* name : {".bashrc", ".profile", ".bash_logout"}) {
    TRY(tree.copy_to(cat("/etc/skel/", name), cat("/home/user/", name), nullptr, user));
    TRY(tree.copy_to(cat("/etc/skel/", name), cat("/root/", name), nullptr, {}));
  }
  return tree.directory("/workspace", 0755, user);
}

bool on_host(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

// What not everybody may read below the host's /usr, as paths in it. Root of a sandbox is no more
// than everybody here, but the host's files are its own inside, so that their modes would not stop
// it. As an ordinary user they do.
void add_closed(int parent, const std::string& path, dev_t device,
                std::vector<std::string>& closed) {
  Result<Fd> folder = kernel::open_beneath_one_mount(parent, kernel::split_path(path).name,
                                                     O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (!folder) return;
  std::vector<std::string> inner;
  std::string buffer(32768, '\0');
  Result<bool> more = true;
  while (more && more.value())
    more =
        kernel::read_names(folder.value().get(), buffer, [&](const char* name, unsigned char type) {
          struct stat info;
          if (type == DT_LNK ||
              ::fstatat(folder.value().get(), name, &info, AT_SYMLINK_NOFOLLOW) != 0 ||
              S_ISLNK(info.st_mode) || info.st_dev != device)
            return true;
          unsigned needed = S_ISDIR(info.st_mode) ? S_IROTH | S_IXOTH : S_IROTH;
          if ((info.st_mode & needed) != needed)
            closed.push_back(cat(path, "/", name));
          else if (S_ISDIR(info.st_mode))
            inner.push_back(name);
          return true;
        });
  buffer = {};
  for (const std::string& name : inner)
    add_closed(folder.value().get(), cat(path, "/", name), device, closed);
}

// The layer above the host's /usr: hides what is closed, and adjusts a few programs.
Result<void> make_usr(SkeletonTree& tree, const std::vector<std::string>& closed) {
  for (const std::string& path : closed)
    if (path != "/bin/sudo") TRY(tree.whiteout(path));
  TRY(tree.link("/bin/sudo", "/run/paddock/bin/sudo"));
  if (!on_host("/usr/bin/python") && on_host("/usr/bin/python3"))
    TRY(tree.link("/bin/python", "python3"));
  // Services do not start by themselves when a package is installed.
  if (!on_host("/usr/sbin/policy-rc.d"))
    TRY(tree.file("/sbin/policy-rc.d", "#!/bin/sh\nexit 101\n", 0755));
  // The whole system is the sandbox's own: pip may install into it. (PEP 668)
  Fd lib(::open("/usr/lib", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!lib) return {};
  for (const std::string& name : TRY(kernel::list_directory(lib.get()))) {
    std::string mark = cat("/lib/", name, "/EXTERNALLY-MANAGED");
    if (starts_with(name, "python3") && on_host("/usr" + mark)) TRY(tree.whiteout(mark));
  }
  return {};
}

// Where nothing can be laid over the host's /usr, what make_usr() does is done around it.
Result<void> make_for_closed_usr(SkeletonTree& tree) {
  if (!on_host("/usr/bin/python") && on_host("/usr/bin/python3")) {
    Owner user{kUserId, kUserId};
    TRY(tree.directory("/home/user/.local", 0755, user));
    TRY(tree.directory("/home/user/.local/bin", 0755, user));
    TRY(tree.link("/home/user/.local/bin/python", "/usr/bin/python3"));
  }
  Result<std::string> host = read_file("/etc/pip.conf", 1 << 16);
  std::string text = host && may_be_copied("/etc/pip.conf", host.value()) ? host.value() : "";
  std::string setting = "[global]\nbreak-system-packages = true\n";
  size_t section = text.find("[global]\n");
  if (section == std::string::npos)
    text += setting;
  else
    text.replace(section, 9, setting);
  return tree.file("/etc/pip.conf", text);
}

// Everything that a change of the tree shows in.
void describe(const std::string& path, std::string& text, int depth) {
  struct stat info;
  if (::lstat(path.c_str(), &info) != 0) return;
  text += cat(path, " ", static_cast<uint64_t>(info.st_mode), " ",
              static_cast<int64_t>(info.st_size), " ", static_cast<int64_t>(info.st_mtim.tv_sec),
              ".", static_cast<int64_t>(info.st_mtim.tv_nsec), "\n");
  if (!S_ISDIR(info.st_mode) || depth == 0) return;
  Fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!folder) return;
  Result<std::vector<std::string>> names = kernel::list_directory(folder.get());
  if (!names) return;
  for (const std::string& name : names.value()) describe(cat(path, "/", name), text, depth - 1);
}

}  // namespace

// Only a merged /usr can be shown as a whole.
Result<void> check_skeleton() {
  for (const char* name : kIntoUsr) {
    std::string path = cat("/", name);
    struct stat info;
    if (::lstat(path.c_str(), &info) != 0) continue;
    char target[256];
    ssize_t size = S_ISLNK(info.st_mode) ? ::readlink(path.c_str(), target, sizeof target) : -1;
    std::string to(target, size > 0 ? static_cast<size_t>(size) : 0);
    if (to != cat("usr/", name) && to != cat("/usr/", name))
      return Error{
          Code::unsupported,
          cat("make the template 'base' from this system: ", path, " is not a link into /usr"),
          "merge /usr (Debian: install usrmerge), or import an image: paddock image import NAME "
          "FILE"};
  }
  return {};
}

// Walks all of /usr, so it takes long and belongs on a worker.
std::vector<std::string> closed_in_usr() {
  std::vector<std::string> closed;
  struct stat info;
  Fd usr(::open("/usr", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!has_disk_ids() || !usr || ::fstat(usr.get(), &info) != 0) return closed;
  add_closed(usr.get(), "", info.st_dev, closed);
  std::sort(closed.begin(), closed.end());
  return closed;
}

std::string closed_fingerprint(const std::vector<std::string>& closed) {
  return to_hex(sha256_bytes(join(closed, "\n")));
}

// Fast, unlike closed_in_usr(): it looks at what changes with packages and settings.
Result<std::string> skeleton_fingerprint() {
  std::string text = cat(kVersion, " ", PADDOCK_VERSION, has_disk_ids() ? " ids\n" : " one id\n");
  for (const char* name : kIntoUsr) describe(cat("/", name), text, 0);
  for (const std::string& name : etc_entries()) describe(cat("/etc/", name), text, 8);
  for (const char* path : {"/var/lib/dpkg/status", "/var/lib/dpkg/info", "/usr/bin/python",
                           "/usr/bin/python3", "/usr/sbin/policy-rc.d"})
    describe(path, text, 0);
  return to_hex(sha256_bytes(text));
}

// The order matters where a later step finds directories that an earlier one has made.
Result<void> make_skeleton(const std::string& root) {
  SkeletonTree tree = TRY(SkeletonTree::create(root));
  TRY(link_into_usr(tree));
  for (const char* path :
       {"/dev", "/proc", "/sys", "/run", "/usr", "/mnt", "/media", "/srv", "/opt", "/boot"})
    TRY(tree.directory(path));
  TRY(tree.directory("/tmp", 01777));
  TRY(make_etc(tree));
  TRY(make_var(tree));
  TRY(make_homes(tree));
  if (!has_disk_ids()) TRY(make_for_closed_usr(tree));
  return {};
}

Result<void> make_skeleton_usr(const std::string& usr, const std::vector<std::string>& closed) {
  SkeletonTree over = TRY(SkeletonTree::create(usr));
  return make_usr(over, closed);
}

}  // namespace paddock::store
