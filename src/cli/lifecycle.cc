// paddock pause, resume, snapshot, fork, kill: what happens to a sandbox as a whole.
#include "base/text.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/flags.h"
#include "cli/living.h"
#include "cli/options.h"

namespace paddock::cli {

namespace {

// A null value is sent as an empty object.
Result<Value> post(const Client& client, const std::string& id, const char* what, Value body) {
  if (body.is_null()) body = Value(Value::Object{});
  return client.ask("POST", sandbox_path(id, what), body);
}

// Prints the new ids; says which failed.
int print_forks(const Value& answer) {
  int status = 0;
  for (const Value& entry : items_in(answer, "sandboxes")) {
    const Value *sandbox = entry.find("sandbox"), *error = entry.find("error");
    if (sandbox)
      print(printable(text_in(*sandbox, "id")) + "\n");
    else
      status =
          report({Code::internal,
                  cat("fork: ", error ? printable(text_in(*error, "message")) : "no sandbox"), ""},
                 false);
  }
  return status;
}

}  // namespace

// With --files-only nothing stays in memory, and resuming starts new processes.
int pause_main(int argc, char** argv) {
  bool files_only = false;
  std::vector<std::string> ids;
  Options options("pause",
                  "Stops every process of a sandbox where it is. `paddock resume` lets it go on.");
  options.flag("--files-only", &files_only,
               "end the processes and keep the files alone; resuming starts from them");
  options.positional("ID", &ids, "sandboxes, by id or name", true);
  return options.run(argc, argv, [&](bool json) {
    return for_each(ids, json, [&](const Client& client, const std::string& id) {
      return post(client, id, "/pause", Value::Object{{"memory", !files_only}});
    });
  });
}

// An empty body keeps the time that the sandbox was made with.
int resume_main(int argc, char** argv) {
  std::string timeout;
  std::vector<std::string> ids;
  Options options("resume", "Lets a paused sandbox go on.");
  options.text("--timeout", "DURATION", &timeout, "how long it lives from now on");
  options.positional("ID", &ids, "sandboxes, by id or name", true);
  return options.run(argc, argv, [&](bool json) -> Result<int> {
    Value body;
    if (!timeout.empty()) body.set("timeout_ms", TRY(duration_flag("--timeout", timeout)));
    return for_each(ids, json, [&](const Client& client, const std::string& id) {
      return post(client, id, "/resume", body);
    });
  });
}

int kill_main(int argc, char** argv) {
  std::vector<std::string> ids;
  Options options("kill", "Ends sandboxes, running or paused, with everything in them.");
  options.positional("ID", &ids, "sandboxes, by id or name", true);
  return options.run(argc, argv, [&](bool json) {
    return for_each(ids, json, [](const Client& client, const std::string& id) {
      return client.ask("DELETE", sandbox_path(id));
    });
  });
}

// Only files are kept; programs start again in sandboxes that are made from it.
int snapshot_main(int argc, char** argv) {
  std::string id, name;
  Options options("snapshot",
                  "Keeps the files of a sandbox as a template that others can be made from. Prints "
                  "the snapshot's id.");
  options.positional("ID", &id, "the sandbox, by id or name");
  options.positional("NAME", &name, "a name for it, with a tag if you like (name:tag)", false);
  return options.run(argc, argv, [&](bool json) -> Result<int> {
    Client client = TRY(Client::find());
    Value body;
    if (!name.empty()) body.set("name", name);
    Value made = TRY(post(client, id, "/snapshots", std::move(body)));
    return show(json, made, printable(text_in(made, "id")) + "\n");
  });
}

// All forks begin with the same copy, however many there are.
int fork_main(int argc, char** argv) {
  std::string id, count = "1", timeout;
  Options options("fork",
                  "Makes new sandboxes that begin with the files of another as they are now. "
                  "Prints their ids.");
  options.text("-n, --count", "N", &count, "how many (default 1)");
  options.text("--timeout", "DURATION", &timeout, "how long they live");
  options.positional("ID", &id, "the sandbox, by id or name");
  return options.run(argc, argv, [&](bool json) -> Result<int> {
    Client client = TRY(Client::find());
    Result<uint64_t> wanted = parse_count(count);
    if (!wanted || wanted.value() == 0)
      return Error{Code::invalid,
                   cat("-n takes how many there are to be, not '", printable(count), "'"), ""};
    Value body = Value::Object{{"count", wanted.value()}};
    if (!timeout.empty()) body.set("timeout_ms", TRY(duration_flag("--timeout", timeout)));
    Value made = TRY(post(client, id, "/fork", std::move(body)));
    return json ? show(json, made, "") : print_forks(made);
  });
}

}  // namespace paddock::cli
