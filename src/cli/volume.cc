// paddock volume: directories that outlive sandboxes and can be shared between them.
#include "base/text.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/flags.h"
#include "cli/living.h"
#include "cli/options.h"
#include "cli/table.h"

namespace paddock::cli {

namespace {

// A tenant whose disk is limited must give a quota; the server says so.
int create_volume(int argc, char** argv) {
  std::string name, quota;
  Options options("volume create",
                  "Makes a volume. Show it in a sandbox with: paddock create --volume NAME:/PATH");
  options.text("--quota", "SIZE", &quota, "how much it may hold");
  options.positional("NAME", &name, "what to call it");
  return options.run(argc, argv, [&](bool json) -> Result<int> {
    Value body = Value::Object{{"name", name}};
    if (!quota.empty()) body.set("quota_bytes", TRY(of_flag("--quota", parse_size(quota))));
    Client client = TRY(Client::find());
    Value made = TRY(client.ask("POST", "/v1/volumes", body));
    return show(json, made, printable(text_in(made, "name")) + "\n");
  });
}

int list_volumes(int argc, char** argv) {
  Options options("volume ls", "Lists the volumes.");
  return options.run(argc, argv, [](bool json) -> Result<int> {
    Client client = TRY(Client::find());
    Value answer = TRY(client.ask("GET", "/v1/volumes"));
    if (json) return show(json, answer, "");
    std::vector<std::vector<Cell>> rows;
    for (const Value& volume : items_in(answer, "volumes")) {
      uint64_t quota = count_in(volume, "quota_bytes");
      rows.push_back({{printable(text_in(volume, "name"))},
                      {human_size(count_in(volume, "used_bytes"))},
                      {quota ? human_size(quota) : "-"},
                      {short_duration(now_ms() - number_in(volume, "created_ms"))}});
    }
    print_table({{.heading = "NAME", .least = 8},
                 {.heading = "USED", .right = true},
                 {.heading = "QUOTA", .right = true},
                 {.heading = "AGE", .right = true}},
                rows, "no volumes; make one with: paddock volume create NAME\n");
    return 0;
  });
}

// The server refuses while any sandbox has it, paused ones included.
int remove_volume(int argc, char** argv) {
  std::string name;
  Options options("volume rm", "Removes a volume and what is in it. Not while a sandbox has it.");
  options.positional("NAME", &name, "the volume");
  return options.run(argc, argv, [&](bool json) -> Result<int> {
    Client client = TRY(Client::find());
    TRY(client.ask("DELETE", cat("/v1/volumes/", percent_encode(name))));
    return show(json, Value::Object{{"removed", name}}, cat("removed ", printable(name), "\n"));
  });
}

constexpr Verb kVolumeVerbs[] = {
    {"create", create_volume, "make a volume"},
    {"ls", list_volumes, "list the volumes"},
    {"rm", remove_volume, "remove a volume and what is in it"},
};

}  // namespace

int volume_main(int argc, char** argv) { return run_verb("volume", kVolumeVerbs, argc, argv); }

}  // namespace paddock::cli
