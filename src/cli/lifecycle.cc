// paddock pause, resume, snapshot, fork, kill: what happens to a sandbox as a whole.
#include "base/text.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/living.h"
#include "cli/options.h"

namespace paddock::cli {

namespace {

// A null value is sent as an empty object.
Result<Value> post(const Client& client, const std::string& id, const char* what, Value body) {
  if (body.is_null()) body = Value(Value::Object{});
  return client.ask("POST", sandbox_path(id, what), body);
}

Result<Value> snapshot(const std::string& id, const std::string& name) {
  Client client = TRY(Client::find());
  Value body;
  if (!name.empty()) body.set("name", name);
  return post(client, id, "/snapshots", std::move(body));
}

struct ForkFlags {
  std::string id, count = "1", timeout;
};

Result<Value> fork(const ForkFlags& flags) {
  Client client = TRY(Client::find());
  Result<uint64_t> count = parse_count(flags.count);
  if (!count || count.value() == 0)
    return Error{Code::invalid,
                 cat("-n takes how many there shall be, not '", printable(flags.count), "'"), ""};
  Value body;
  body.set("count", count.value());
  if (!flags.timeout.empty())
    body.set("timeout_ms", TRY(duration_flag("--timeout", flags.timeout)));
  return post(client, flags.id, "/fork", std::move(body));
}

// Prints the new ids; says which failed.
int print_forks(const Value& answer) {
  const Value* forks = answer.find("sandboxes");
  int status = 0;
  for (const Value& entry : forks && forks->as_array() ? *forks->as_array() : Value::Array()) {
    if (const Value* sandbox = entry.find("sandbox")) {
      print(printable(text_in(*sandbox, "id")) + "\n");
    } else {
      const Value* error = entry.find("error");
      status =
          report({Code::internal,
                  cat("fork: ", error ? printable(text_in(*error, "message")) : "no sandbox"), ""},
                 false);
    }
  }
  return status;
}

}  // namespace

int pause_main(int argc, char** argv) {
  bool json = false, files_only = false;
  std::vector<std::string> ids;
  Options options("pause",
                  "Stops every process of a sandbox where it is. `paddock resume` lets it go on.");
  options.flag("--files-only", &files_only,
               "end the processes and keep the files alone; resuming starts anew from them");
  options.flag("--json", &json, "print one JSON object");
  options.positional("ID", &ids, "sandboxes, by id or name", true);
  if (std::optional<int> status = options.parse(argc, argv)) return *status;
  return for_each_sandbox(ids, json, [&](const Client& client, const std::string& id) {
    Value body;
    body.set("memory", !files_only);
    return post(client, id, "/pause", std::move(body));
  });
}

int resume_main(int argc, char** argv) {
  bool json = false;
  std::string timeout;
  std::vector<std::string> ids;
  Options options("resume", "Lets a paused sandbox go on.");
  options.text("--timeout", "DURATION", &timeout, "how long it lives from now on");
  options.flag("--json", &json, "print one JSON object");
  options.positional("ID", &ids, "sandboxes, by id or name", true);
  if (std::optional<int> status = options.parse(argc, argv)) return *status;
  return for_each_sandbox(ids, json,
                          [&](const Client& client, const std::string& id) -> Result<Value> {
                            Value body;
                            if (!timeout.empty())
                              body.set("timeout_ms", TRY(duration_flag("--timeout", timeout)));
                            return post(client, id, "/resume", std::move(body));
                          });
}

int kill_main(int argc, char** argv) {
  bool json = false;
  std::vector<std::string> ids;
  Options options("kill", "Ends sandboxes, running or paused, with everything in them.");
  options.flag("--json", &json, "print one JSON object");
  options.positional("ID", &ids, "sandboxes, by id or name", true);
  if (std::optional<int> status = options.parse(argc, argv)) return *status;
  return for_each_sandbox(ids, json, [](const Client& client, const std::string& id) {
    return client.ask("DELETE", sandbox_path(id));
  });
}

int snapshot_main(int argc, char** argv) {
  bool json = false;
  std::string id, name;
  Options options("snapshot",
                  "Keeps the files of a sandbox as a template that others can be made from. Prints "
                  "the snapshot's id.");
  options.flag("--json", &json, "print one JSON object");
  options.positional("ID", &id, "the sandbox, by id or name");
  options.positional("NAME", &name, "a name for it, with a tag if you like (name:tag)", false);
  if (std::optional<int> status = options.parse(argc, argv)) return *status;
  Result<Value> made = snapshot(id, name);
  if (!made) return report(made.error(), json);
  print((json ? to_json(made.value()) : printable(text_in(made.value(), "id"))) + "\n");
  return 0;
}

int fork_main(int argc, char** argv) {
  bool json = false;
  ForkFlags flags;
  Options options("fork",
                  "Makes new sandboxes that begin with the files of another as they are now. "
                  "Prints their ids.");
  options.text("-n, --count", "N", &flags.count, "how many (default 1)");
  options.text("--timeout", "DURATION", &flags.timeout, "how long they live");
  options.flag("--json", &json, "print one JSON object");
  options.positional("ID", &flags.id, "the sandbox, by id or name");
  if (std::optional<int> status = options.parse(argc, argv)) return *status;
  Result<Value> made = fork(flags);
  if (!made) return report(made.error(), json);
  if (!json) return print_forks(made.value());
  print(to_json(made.value()) + "\n");
  return 0;
}

}  // namespace paddock::cli
