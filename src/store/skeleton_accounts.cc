#include "store/skeleton_accounts.h"

#include "base/text.h"

namespace paddock::store {

namespace {

constexpr char kNoLogin[] = "/usr/sbin/nologin";

// The fields of passwd(5), without the password.
struct Account {
  const char* name;
  int uid, gid;
  const char* full_name;
  const char* home;
  const char* shell;
};
constexpr Account kAccounts[] = {
    {"root", 0, 0, "root", "/root", "/bin/bash"},
    {"daemon", 1, 1, "daemon", "/usr/sbin", kNoLogin},
    {"bin", 2, 2, "bin", "/bin", kNoLogin},
    {"sys", 3, 3, "sys", "/dev", kNoLogin},
    {"sync", 4, 65534, "sync", "/bin", "/bin/sync"},
    {"games", 5, 60, "games", "/usr/games", kNoLogin},
    {"man", 6, 12, "man", "/var/cache/man", kNoLogin},
    {"lp", 7, 7, "lp", "/var/spool/lpd", kNoLogin},
    {"mail", 8, 8, "mail", "/var/mail", kNoLogin},
    {"news", 9, 9, "news", "/var/spool/news", kNoLogin},
    {"uucp", 10, 10, "uucp", "/var/spool/uucp", kNoLogin},
    {"proxy", 13, 13, "proxy", "/bin", kNoLogin},
    {"www-data", 33, 33, "www-data", "/var/www", kNoLogin},
    {"backup", 34, 34, "backup", "/var/backups", kNoLogin},
    {"list", 38, 38, "Mailing List Manager", "/var/list", kNoLogin},
    {"irc", 39, 39, "ircd", "/run/ircd", kNoLogin},
    {"_apt", 42, 65534, "", "/nonexistent", kNoLogin},
    {"nobody", 65534, 65534, "nobody", "/nonexistent", kNoLogin},
    {"user", 1000, 1000, "", "/home/user", "/bin/bash"},
};

struct Group {
  const char* name;
  int gid;
};
constexpr Group kGroups[] = {
    {"root", 0},      {"daemon", 1},  {"bin", 2},         {"sys", 3},       {"adm", 4},
    {"tty", 5},       {"disk", 6},    {"lp", 7},          {"mail", 8},      {"news", 9},
    {"uucp", 10},     {"man", 12},    {"proxy", 13},      {"kmem", 15},     {"dialout", 20},
    {"fax", 21},      {"voice", 22},  {"cdrom", 24},      {"floppy", 25},   {"tape", 26},
    {"sudo", 27},     {"audio", 29},  {"dip", 30},        {"www-data", 33}, {"backup", 34},
    {"operator", 37}, {"list", 38},   {"irc", 39},        {"src", 40},      {"shadow", 42},
    {"utmp", 43},     {"video", 44},  {"sasl", 45},       {"plugdev", 46},  {"staff", 50},
    {"games", 60},    {"users", 100}, {"nogroup", 65534}, {"user", 1000},
};

}  // namespace

// No account has a password; `user` may use sudo.
Accounts standard_accounts() {
  Accounts accounts;
  for (const Account& account : kAccounts) {
    accounts.passwd += cat(account.name, ":x:", account.uid, ":", account.gid, ":",
                           account.full_name, ":", account.home, ":", account.shell, "\n");
    accounts.shadow += cat(account.name, ":*:19700:0:99999:7:::\n");
  }
  for (const Group& group : kGroups) {
    const char* members = std::string_view(group.name) == "sudo" ? "user" : "";
    accounts.group += cat(group.name, ":x:", group.gid, ":", members, "\n");
    accounts.gshadow += cat(group.name, ":*::", members, "\n");
  }
  return accounts;
}

// The name is compared with its colon, so that `user` is not found in `user2`.
std::string with_account(std::string text, const std::string& line) {
  std::string name = line.substr(0, line.find(':') + 1);
  for (const std::string& have : split(text, '\n'))
    if (starts_with(have, name)) return text;
  if (!text.empty() && text.back() != '\n') text += '\n';
  return text + line + "\n";
}

}  // namespace paddock::store
