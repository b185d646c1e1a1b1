// paddock volume: directories that outlive sandboxes and can be shared between them.
#include "base/text.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/living.h"
#include "cli/options.h"
#include "cli/table.h"

namespace paddock::cli {

namespace {

Result<Value> create(const std::string& name, const std::string& quota) {
  Value body;
  body.set("name", name);
  if (!quota.empty()) {
    Result<uint64_t> bytes = parse_size(quota);
    if (!bytes)
      return Error{Code::invalid, cat("--quota: ", bytes.error().message), bytes.error().hint};
    body.set("quota_bytes", bytes.value());
  }
  Client client = TRY(Client::find());
  return client.ask("POST", "/v1/volumes", body);
}

int create_volume(int argc, char** argv) {
  bool json = false;
  std::string name, quota;
  Options options("volume create",
                  "Makes a volume. Show it in a sandbox with: paddock create --volume NAME:/PATH");
  options.text("--quota", "SIZE", &quota, "how much it may hold");
  options.flag("--json", &json, "print one JSON object");
  options.positional("NAME", &name, "what to call it");
  if (std::optional<int> status = options.parse(argc, argv)) return *status;
  Result<Value> made = create(name, quota);
  if (!made) return report(made.error(), json);
  print((json ? to_json(made.value()) : printable(text_in(made.value(), "name"))) + "\n");
  return 0;
}

Result<void> list(bool json) {
  Client client = TRY(Client::find());
  Value answer = TRY(client.ask("GET", "/v1/volumes"));
  if (json) {
    print(to_json(answer) + "\n");
    return {};
  }
  const Value* volumes = answer.find("volumes");
  std::vector<std::vector<Cell>> rows;
  for (const Value& volume :
       volumes && volumes->as_array() ? *volumes->as_array() : Value::Array()) {
    int64_t quota = number_in(volume, "quota_bytes");
    rows.push_back({{printable(text_in(volume, "name"))},
                    {human_size(static_cast<uint64_t>(number_in(volume, "used_bytes")))},
                    {quota ? human_size(static_cast<uint64_t>(quota)) : "-"},
                    {short_duration(now_ms() - number_in(volume, "created_ms"))}});
  }
  Colours colour = colours();
  if (rows.empty())
    print_error("no volumes; make one with: paddock volume create NAME\n");
  else
    print(render_table({{.heading = "NAME", .least = 8},
                        {.heading = "USED", .right = true},
                        {.heading = "QUOTA", .right = true},
                        {.heading = "AGE", .right = true}},
                       rows, terminal_width(), colour.bold, colour.off));
  return {};
}

int list_volumes(int argc, char** argv) {
  bool json = false;
  Options options("volume ls", "Lists the volumes.");
  options.flag("--json", &json, "print one JSON object");
  if (std::optional<int> status = options.parse(argc, argv)) return *status;
  Result<void> listed = list(json);
  return listed ? 0 : report(listed.error(), json);
}

Result<void> remove(const std::string& name) {
  Client client = TRY(Client::find());
  TRY(client.ask("DELETE", cat("/v1/volumes/", percent_encode(name))));
  return {};
}

int remove_volume(int argc, char** argv) {
  bool json = false;
  std::string name;
  Options options("volume rm", "Removes a volume and what is in it. Not while a sandbox has it.");
  options.flag("--json", &json, "print one JSON object");
  options.positional("NAME", &name, "the volume");
  if (std::optional<int> status = options.parse(argc, argv)) return *status;
  Result<void> removed = remove(name);
  if (!removed) return report(removed.error(), json);
  Value value;
  value.set("removed", name);
  print(json ? to_json(value) + "\n" : cat("removed ", printable(name), "\n"));
  return 0;
}

}  // namespace

int volume_main(int argc, char** argv) {
  std::string word = argc > 1 ? argv[1] : "";
  if (word == "create") return create_volume(argc - 1, argv + 1);
  if (word == "ls") return list_volumes(argc - 1, argv + 1);
  if (word == "rm") return remove_volume(argc - 1, argv + 1);
  bool asked = word == "--help" || word == "-h";
  std::string usage =
      "usage: paddock volume create NAME [--quota SIZE]\n       paddock volume ls\n       paddock "
      "volume rm NAME\n";
  if (asked)
    print(usage);
  else
    print_error(usage);
  return asked ? 0 : kFailed;
}

}  // namespace paddock::cli
