// paddock key: create, ls, revoke. With or without a running server: it notices.
#include "manager/keys.h"

#include <time.h>

#include "base/text.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/flags.h"
#include "cli/options.h"
#include "cli/table.h"
#include "store/state.h"

namespace paddock::cli {

namespace {

// The time at which a key made now expires; 0: never. "30d" as well as "12h".
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

// The file is shared with a server, under a lock.
Result<manager::Keys> open_keys() { return manager::Keys::open(TRY(store::state_directory())); }

std::string expires(const manager::KeyInfo& key) {
  if (key.expires == 0) return "never";
  return local_time(key.expires, Precision::minutes);
}

// The key is on stdout by itself, so that a script can capture it; the remark goes to stderr.
int create_key(int argc, char** argv) {
  std::string ends, tenant;
  std::vector<std::string> scopes;
  manager::KeyInfo wanted;
  Options options("key create", "Makes an API key. It is shown this once; only its hash is kept.");
  options.text("--tenant", "NAME", &tenant,
               "whose sandboxes it is for (default: local, as the command line's)");
  options.list("--scope", "SCOPE", &scopes,
               "read, sandboxes, templates, metrics or admin (default: the first three)");
  options.text("--name", "TEXT", &wanted.name, "what it is for");
  options.text("--expires", "DURATION", &ends,
               "how long it is good, as 30d (default: until it is revoked)");
  return options.run(argc, argv, [&](bool json) -> Result<int> {
    wanted.tenant = tenant.empty() ? "local" : tenant;
    if (scopes.empty()) scopes = {"read", "sandboxes", "templates"};
    for (const std::string& list : scopes)
      for (const std::string& scope : split(list, ',')) wanted.scopes.insert(scope);
    wanted.expires = TRY(expiry(ends));
    manager::Keys keys = TRY(open_keys());
    manager::NewKey made = TRY(keys.create(wanted));
    Value value = to_value(made.info);
    value.set("key", made.key);
    (void)show(json, value, made.key + "\n");
    if (!json)
      print_error(
          cat("key ", made.info.id, " for tenant ", made.info.tenant, "; it is not shown again\n"));
    return 0;
  });
}

int list_keys(int argc, char** argv) {
  Options options("key ls", "Lists the API keys.");
  return options.run(argc, argv, [](bool json) -> Result<int> {
    manager::Keys keys = TRY(open_keys());
    Value::Array items;
    std::vector<std::vector<Cell>> rows;
    for (const manager::KeyInfo& key : TRY(keys.list())) {
      items.push_back(to_value(key));
      std::vector<std::string> scopes(key.scopes.begin(), key.scopes.end());
      rows.push_back({{key.id},
                      {cat("…", key.last_four)},
                      {key.tenant},
                      {expires(key)},
                      {join(scopes, ",")},
                      {printable(key.name)}});
    }
    if (json) return show(json, Value::Object{{"keys", std::move(items)}}, "");
    print_table({{.heading = "ID"},
                 {.heading = "KEY"},
                 {.heading = "TENANT"},
                 {.heading = "EXPIRES"},
                 {.heading = "SCOPES"},
                 {.heading = "NAME", .least = 8}},
                rows, "no keys; make one with: paddock key create\n");
    return 0;
  });
}

// Takes effect without a restart: a running server reads the file again.
int revoke_key(int argc, char** argv) {
  std::string id;
  Options options("key revoke", "Makes a key good for nothing, at once.");
  options.positional("ID", &id, "as `paddock key ls` shows it");
  return options.run(argc, argv, [&](bool json) -> Result<int> {
    manager::Keys keys = TRY(open_keys());
    TRY(keys.revoke(id));
    return show(json, Value::Object{{"revoked", id}}, cat("revoked ", id, "\n"));
  });
}

constexpr Verb kKeyVerbs[] = {
    {"create", create_key, "make an API key"},
    {"ls", list_keys, "list the API keys"},
    {"revoke", revoke_key, "make a key good for nothing"},
};

}  // namespace

int key_main(int argc, char** argv) { return run_verb("key", kKeyVerbs, argc, argv); }

}  // namespace paddock::cli
