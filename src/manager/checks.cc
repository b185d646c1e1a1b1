#include "manager/checks.h"

#include <sys/random.h>

#include <set>

#include "base/text.h"
#include "manager/sandbox.h"
#include "policy/path.h"
#include "store/state.h"

namespace paddock::manager {

namespace {

// All sizes are in bytes. They bound what a client can make the server keep for a sandbox.
constexpr size_t kMostEntries = 256, kLongestKey = 256, kLongestText = 64 << 10,
                 kMostText = 256 << 10;
constexpr size_t kMostSecrets = 64, kShortestSecret = 4, kLongestSecret = 4 << 10,
                 kMostSecretText = 32 << 10;
constexpr size_t kMostVolumes = 16;
constexpr size_t kMostExtra = 256 << 10;

// Mounting there would hide what the sandbox itself stands on.
constexpr const char* kNoMountPoints[] = {"/",    "/proc", "/sys",  "/dev", "/run",   "/etc",
                                          "/usr", "/bin",  "/sbin", "/lib", "/lib64", "/boot"};

// No control characters, and valid UTF-8: such texts are shown to people and written to logs.
bool is_plain(const std::string& text) {
  for (unsigned char c : text)
    if (c < 0x20 || c == 0x7f) return false;
  bool changed = false;
  (void)to_utf8(text, &changed);
  return !changed;
}

Error invalid(std::string message) { return Error{Code::invalid, std::move(message), ""}; }

// The sum is bounded too, because all of it becomes the environment of every process.
Result<void> check_texts(const std::map<std::string, std::string>& texts, const char* what,
                         bool are_variables) {
  if (texts.size() > kMostEntries)
    return invalid(cat(what, ": more than ", kMostEntries, " entries"));
  size_t sum = 0;
  for (const auto& [key, value] : texts) {
    sum += key.size() + value.size();
    if (key.empty() || key.size() > kLongestKey || !is_plain(key))
      return invalid(cat(what, ": '", printable(key.substr(0, 64)), "' is not a key"));
    if (value.size() > kLongestText || value.find('\0') != std::string::npos)
      return invalid(cat(what, ": the value of '", printable(key), "' is too long or holds a NUL"));
    bool changed = false;
    (void)to_utf8(value, &changed);
    if (changed) return invalid(cat(what, ": the value of '", printable(key), "' is not UTF-8"));
    if (are_variables && key.find('=') != std::string::npos)
      return invalid(cat(what, ": '", printable(key), "' is not a variable's name"));
  }
  if (sum > kMostText) return invalid(cat(what, ": more than ", human_size(kMostText), " in all"));
  return {};
}

// Each costs memory several times its size, in all the forms in which it is looked for.
Result<void> check_secrets(const CreateOptions& options) {
  if (options.secrets.size() > kMostSecrets)
    return invalid(cat("secrets: more than ", kMostSecrets));
  TRY(check_texts(options.secrets, "secrets", true));
  size_t sum = 0;
  for (const auto& [name, value] : options.secrets) {
    std::string shown = printable(name.substr(0, 64));
    sum += value.size();
    if (value.size() < kShortestSecret)
      return invalid(cat("secrets: '", shown, "' is shorter than ", kShortestSecret,
                         " bytes, and would be taken out of ordinary text"));
    if (value.size() > kLongestSecret)
      return invalid(cat("secrets: '", shown, "' is longer than ", human_size(kLongestSecret)));
    if (is_own_secret_name(name))
      return invalid(cat("secrets: '", shown, "' is the name of a secret of Paddock's own"));
    if (options.env.count(name))
      return invalid(cat("secrets: '", shown, "' stands in env as well"));
  }
  if (sum > kMostSecretText)
    return invalid(cat("secrets: more than ", human_size(kMostSecretText), " in all"));
  return {};
}

// Accepts non-empty texts of these letters up to a length.
bool consists_of(const std::string& text, const char* letters, size_t longest) {
  return !text.empty() && text.size() <= longest &&
         text.find_first_not_of(letters) == std::string::npos;
}

// An id is part of host names, so it has lower-case letters only.
constexpr char kIdLetters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
constexpr char kNameLetters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
constexpr char kTokenLetters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";

// Random characters out of 64 or 32 letters, so that each is equally likely.
Result<std::string> random_letters(const char* letters, size_t count, size_t length) {
  std::string text(length, '\0');
  if (::getrandom(text.data(), length, 0) != static_cast<ssize_t>(length))
    return errno_error(errno, "read random bytes");
  for (char& c : text) c = letters[static_cast<unsigned char>(c) % count];
  return text;
}

}  // namespace

bool is_id(const std::string& text) { return consists_of(text, kIdLetters, 40); }

// A leading punctuation mark is refused, since a name may be used as a file name or an argument.
bool is_name(const std::string& text) {
  return consists_of(text, kNameLetters, 64) && text[0] != '.' && text[0] != '-' && text[0] != '_';
}

// The letter in front tells ids of sandboxes from those of volumes, which begin with a "v".
Result<std::string> make_id() { return "i" + TRY(store::random_name(20)); }

// 43 characters of 64 letters have 258 bits.
Result<std::string> make_token() { return random_letters(kTokenLetters, 64, 43); }

Result<std::string> make_boot_id() {
  std::string hex = TRY(random_letters("0123456789abcdef", 16, 32));
  hex[12] = '4';  // a random UUID, as the kernel's
  hex[16] = 'a';
  return cat(hex.substr(0, 8), "-", hex.substr(8, 4), "-", hex.substr(12, 4), "-",
             hex.substr(16, 4), "-", hex.substr(20));
}

// Returns the path tidied. Places that the sandbox itself depends on are refused.
Result<std::string> check_mount_path(const std::string& path) {
  if (path.empty() || path[0] != '/' || path.size() > 1024 || !is_plain(path))
    return invalid(cat("volume: '", printable(path.substr(0, 128)), "' is not an absolute path"));
  std::string clean = TRY(policy::absolute_path(path, {.base_directory = "/", .home = ""}));
  for (const char* place : kNoMountPoints)
    if (clean == place) return invalid(cat("volume: cannot be mounted on ", clean));
  for (const char* tree : {"/proc", "/sys", "/dev", "/run/paddock"})
    if (policy::contains_path(tree, clean))
      return invalid(cat("volume: cannot be mounted beneath ", tree));
  return clean;
}

// Everything that can be checked without knowing the tenant or the policy.
Result<void> check_options(const CreateOptions& options) {
  if (!options.name.empty() && !is_name(options.name))
    return Error{Code::invalid,
                 cat("name '", printable(options.name.substr(0, 64)), "': not a name"),
                 "letters, digits, '.', '_' and '-', at most 64"};
  TRY(check_texts(options.env, "env", true));
  TRY(check_secrets(options));
  TRY(check_texts(options.metadata, "metadata", false));
  if (options.timeout_ms < 0 || options.idle_timeout_ms < 0) return invalid("timeout: negative");
  if (options.timeout_ms > kLongestTimeout || options.idle_timeout_ms > kLongestTimeout)
    return invalid("timeout: more than ten years");
  if (options.template_name.size() > 300 || !is_plain(options.template_name))
    return invalid("template: not a name");
  if (options.mask_request_host.size() > 255 || !is_plain(options.mask_request_host))
    return invalid("the host for previews: not a name");
  if (options.lifecycle.auto_resume && options.lifecycle.pause_on_timeout &&
      !options.lifecycle.pause_keeps_memory)
    return invalid("auto-resume needs a pause that keeps the memory");
  if (to_json(options.extra).size() > kMostExtra) return invalid("extra: too long");
  if (options.volumes.size() > kMostVolumes)
    return invalid(cat("volumes: more than ", kMostVolumes));
  std::set<std::string> paths;
  for (const VolumeMount& mount : options.volumes) {
    if (!is_name(mount.name))
      return invalid(cat("volume '", printable(mount.name.substr(0, 64)), "': not a name"));
    std::string path = TRY(check_mount_path(mount.path));
    if (!paths.insert(path).second) return invalid(cat("volumes: two on ", path));
  }
  return {};
}

}  // namespace paddock::manager
