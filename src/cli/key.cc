// paddock key: create, ls, revoke. With or without a running server: it notices.
#include "manager/keys.h"

#include <time.h>

#include "base/text.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "store/state.h"

namespace paddock::cli {

namespace {

// "30d" as well as "12h".
Result<int64_t> expiry(const std::string& text) {
  if (text.empty()) return 0;
  bool days = text.back() == 'd';
  Result<uint64_t> parsed =
      days ? parse_count(std::string_view(text).substr(0, text.size() - 1)) : parse_duration(text);
  if (!parsed)
    return Error{Code::invalid, cat("--expires: ", parsed.error().message),
                 "for example 30d or 12h"};
  uint64_t most = 100ull * 365 * 24 * 3600 * 1000,
           length = days ? parsed.value() * 24 * 3600 * 1000 : parsed.value();
  if (parsed.value() > most || length > most)
    return Error{Code::invalid, "--expires: that is more than a hundred years", ""};
  return manager::wall_time_now() + static_cast<int64_t>(length);
}

Result<manager::Keys> open_keys() { return manager::Keys::open(TRY(store::state_directory())); }

std::string date_of(int64_t time_ms) {
  if (time_ms == 0) return "never";
  time_t seconds = time_ms / 1000;
  tm parts;
  char text[32];
  ::gmtime_r(&seconds, &parts);
  (void)::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &parts);
  return text;
}

int create_key(int argc, char** argv) {
  bool json = false;
  std::string expires;
  std::vector<std::string> scopes;
  manager::KeyInfo wanted;
  wanted.tenant = "local";
  std::string tenant;
  Options options("key create", "Makes an API key. It is shown this once; only its hash is kept.");
  options.text("--tenant", "NAME", &tenant,
               "whose sandboxes it is for (default: local, as the command line's)");
  options.list("--scope", "SCOPE", &scopes,
               "read, sandboxes, templates, metrics or admin (default: the first three)");
  options.text("--name", "TEXT", &wanted.name, "what it is for");
  options.text("--expires", "DURATION", &expires,
               "how long it is good, as 30d (default: until it is revoked)");
  options.flag("--json", &json, "print one JSON object");
  if (std::optional<int> status = options.parse(argc, argv)) return *status;
  if (!tenant.empty()) wanted.tenant = tenant;
  if (scopes.empty()) scopes = {"read", "sandboxes", "templates"};
  for (const std::string& list : scopes)
    for (const std::string& scope : split(list, ',')) wanted.scopes.insert(scope);
  Result<int64_t> end = expiry(expires);
  if (!end) return report(end.error(), json);
  wanted.expires = end.value();
  Result<manager::Keys> keys = open_keys();
  if (!keys) return report(keys.error(), json);
  Result<manager::NewKey> made = keys.value().create(wanted);
  if (!made) return report(made.error(), json);
  if (json) {
    Value value = to_value(made.value().info);
    value.set("key", made.value().key);
    print(to_json(value) + "\n");
  } else {
    print(made.value().key + "\n");
    print_error(cat("key ", made.value().info.id, " for tenant ", made.value().info.tenant,
                    "; it is not shown again\n"));
  }
  return 0;
}

int list_keys(int argc, char** argv) {
  bool json = false;
  Options options("key ls", "Lists the API keys.");
  options.flag("--json", &json, "print one JSON object");
  if (std::optional<int> status = options.parse(argc, argv)) return *status;
  Result<manager::Keys> keys = open_keys();
  if (!keys) return report(keys.error(), json);
  Result<std::vector<manager::KeyInfo>> all = keys.value().list();
  if (!all) return report(all.error(), json);
  if (json) {
    Value::Array items;
    for (const manager::KeyInfo& key : all.value()) items.push_back(to_value(key));
    Value value;
    value.set("keys", std::move(items));
    print(to_json(value) + "\n");
    return 0;
  }
  if (all.value().empty()) print("no keys; make one with: paddock key create\n");
  for (const manager::KeyInfo& key : all.value()) {
    std::string tenant = key.tenant, ends = date_of(key.expires);
    tenant.resize(std::max<size_t>(tenant.size(), 12), ' ');
    ends.resize(17, ' ');
    std::vector<std::string> scopes(key.scopes.begin(), key.scopes.end());
    print(cat(key.id, "  …", key.last_four, "  ", tenant, "  expires ", ends, "  ",
              join(scopes, ","), key.name.empty() ? "" : "  ", printable(key.name), "\n"));
  }
  return 0;
}

int revoke_key(int argc, char** argv) {
  bool json = false;
  std::string id;
  Options options("key revoke", "Makes a key good for nothing, at once.");
  options.flag("--json", &json, "print one JSON object");
  options.positional("ID", &id, "as `paddock key ls` shows it");
  if (std::optional<int> status = options.parse(argc, argv)) return *status;
  Result<manager::Keys> keys = open_keys();
  if (!keys) return report(keys.error(), json);
  Result<void> revoked = keys.value().revoke(id);
  if (!revoked) return report(revoked.error(), json);
  Value value;
  value.set("revoked", id);
  print(json ? to_json(value) + "\n" : cat("revoked ", id, "\n"));
  return 0;
}

}  // namespace

int key_main(int argc, char** argv) {
  std::string word = argc > 1 ? argv[1] : "";
  if (word == "create") return create_key(argc - 1, argv + 1);
  if (word == "ls") return list_keys(argc - 1, argv + 1);
  if (word == "revoke") return revoke_key(argc - 1, argv + 1);
  bool asked = word == "--help" || word == "-h";
  std::string usage =
      "usage: paddock key create [--tenant T] [--scope S] [--name N] [--expires 30d]\n       "
      "paddock key ls\n       paddock key revoke ID\n";
  if (asked)
    print(usage);
  else
    print_error(usage);
  return asked ? 0 : kFailed;
}

}  // namespace paddock::cli
