// paddock mcp servers, pins, accept, forget: what the servers behind the gateway offer, and what of
// a change is accepted.
#include "cli/mcp_pins.h"

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "io/loop.h"
#include "record/own_log.h"
#include "store/state.h"
#include "tools/gateway/pins.h"
#include "tools/local.h"

namespace paddock::cli {

namespace {

constexpr size_t kShownHash = 12;

Result<tools::Pins> open_pins() { return tools::Pins::open(TRY(store::state_directory())); }

std::string indented(const std::string& text) {
  std::string out;
  for (const std::string& line : split(text, '\n'))
    if (!line.empty()) out += cat("      ", line, "\n");
  return out;
}

std::string shown(const tools::PinChange& change) {
  std::string name = change.name.empty() ? "" : cat(" ", printable(change.name));
  return cat("    ", to_string(change.kind), name, ": ", change.what,
             change.hash.empty() ? "" : cat("  =", change.hash.substr(0, kShownHash)), "\n",
             indented(change.diff()));
}

// What a running server looks like, from Gateway::describe().
std::string text_of(const Value& value, const char* key) {
  const Value* member = value.find(key);
  if (!member) return "";
  if (const std::string* text = member->as_string()) return printable(*text);
  return printable(to_json(*member));
}

size_t count_of(const Value& value, const char* key) {
  const Value* member = value.find(key);
  return member && member->as_array() ? member->as_array()->size() : 0;
}

std::string joined(const Value& list) {
  std::vector<std::string> texts;
  for (const Value& text : *list.as_array()) texts.push_back(printable(*text.as_string()));
  return join(texts, ", ");
}

std::string unknown_tool(const Value& tool) {
  std::string meant = text_of(tool, "hint");
  return cat("the policy lists '", text_of(tool, "name"), "', and the server has no such tool",
             meant.empty() ? "" : cat(" (did you mean '", meant, "'?)"));
}

std::string shown_server(const Value& server) {
  Colours colour = colours();
  std::string state = text_of(server, "state");
  const char* mark = state == "running"              ? colour.green
                     : starts_with(state, "changed") ? colour.yellow
                                                     : colour.red;
  std::string out =
      cat(colour.bold, text_of(server, "name"), colour.off, "  ", mark, state, colour.off, "\n");
  out += cat("  ", server.find("url") ? "url       " : "command   ",
             text_of(server, server.find("url") ? "url" : "command"), "\n");
  if (server.find("protocol"))
    out += cat("  protocol  ", text_of(server, "protocol"), " (", text_of(server, "era"), "), ",
               text_of(server, "server"), "\n");
  out += cat("  offers    ", count_of(server, "tools"), " tools, ", text_of(server, "prompts"),
             " prompts, ", text_of(server, "resources"), " resources\n");
  if (const Value* names = server.find("own_names"))
    for (const auto& [name, own] : *names->as_object())
      out += cat("    ", printable(name), "  (there: ", printable(*own.as_string()), ")\n");
  if (count_of(server, "not_listed"))
    out += cat("  has also  ", joined(*server.find("not_listed")), "  (add to mcp.servers.",
               text_of(server, "name"), ".tools what agents may call)\n");
  if (const Value* unknown = server.find("unknown"))
    for (const Value& tool : *unknown->as_array())
      out += cat("  ", colour.red, "unknown", colour.off, "   ", unknown_tool(tool), "\n");
  if (count_of(server, "withheld")) out += "  withheld, or gone\n";
  if (const Value* withheld = server.find("withheld"))
    for (const Value& change : *withheld->as_array()) {
      const Value* diff = change.find("diff");
      out += cat("    ", text_of(change, "kind"), " ", text_of(change, "name"), ": ",
                 text_of(change, "what"), "\n", diff ? indented(*diff->as_string()) : "");
    }
  if (count_of(server, "refused")) out += "  refused\n";
  if (const Value* refused = server.find("refused"))
    for (const Value& thing : *refused->as_array())
      out += cat("    ", text_of(thing, "kind"), " ", text_of(thing, "name"), ": ",
                 text_of(thing, "why"), "\n");
  return out;
}

// What the servers are, and which [[tools]] of the policy nobody has.
struct Found {
  Value servers = Value::Array{};
  std::vector<std::string> unknown_tools;
};

bool has_failed(const Value& server) { return starts_with(text_of(server, "state"), "failed"); }

// Of a server that did not start it is not known what it has.
std::vector<std::string> tools_of_nobody(const Value& tools, const Value& servers) {
  std::vector<std::string> unknown;
  for (const Value& tool : *tools.as_array()) {
    std::string name = *tool.find("name")->as_string();
    if (*tool.find("provider")->as_string() != "nobody") continue;
    bool may_come = false;
    for (const Value& server : *servers.as_array())
      may_come = may_come ||
                 (has_failed(server) && starts_with(name, *server.find("prefix")->as_string()));
    bool is_withheld = false;
    for (const Value& server : *servers.as_array())
      for (const Value& change : *server.find("withheld")->as_array())
        is_withheld = is_withheld || !change.find("name") ||
                      cat(*server.find("prefix")->as_string(), text_of(change, "name")) == name;
    if (!may_come && !is_withheld) unknown.push_back(name);
  }
  return unknown;
}

io::Task<void> look(io::Loop& loop, tools::LocalTools& local, Found& found) {
  co_await local.toolbox().start();
  found.servers = local.toolbox().gateway().describe();
  found.unknown_tools = tools_of_nobody(local.toolbox().describe_tools(), found.servers);
  co_await local.close();
  loop.stop();
}

int servers_main(int argc, char** argv) {
  bool json = false;
  std::vector<std::string> policies;
  Options options(
      "mcp servers",
      "Starts the MCP servers of a policy, each in its sandbox, says what they offer and what is "
      "refused or withheld, and ends them.\n"
      "Exits with 1 if one does not start, or if the policy lists a tool that nobody has.");
  options.list("--policy", "FILE|PRESET", &policies, "whose [mcp.servers]");
  options.flag("--json", &json, "print one JSON object");
  if (std::optional<int> status = options.parse(argc, argv)) return *status;
  Result<io::Loop*> loop = io::Loop::create();
  if (!loop) return report(loop.error(), json);
  Result<std::unique_ptr<tools::LocalTools>> local =
      tools::LocalTools::open(*loop.value(), {.policies = policies});
  if (!local) return report(local.error(), json);
  Found found;
  io::spawn(look(*loop.value(), *local.value(), found));
  loop.value()->run();
  const Value::Array& servers = *found.servers.as_array();
  bool all_well = found.unknown_tools.empty() &&
                  std::none_of(servers.begin(), servers.end(), [](const Value& server) {
                    return has_failed(server) || count_of(server, "unknown");
                  });
  if (json) {
    print(to_json(Value(Value::Object{{"ok", all_well},
                                      {"servers", found.servers},
                                      {"unknown_tools", text_list(found.unknown_tools)}})) +
          "\n");
    return all_well ? 0 : 1;
  }
  std::string text;
  for (const Value& server : servers) text += shown_server(server);
  print(text.empty() ? "The policy has no [mcp.servers].\n" : text);
  for (const std::string& name : found.unknown_tools)
    print(cat("[[tools]] names '", printable(name), "', and nobody has such a tool\n"));
  return all_well ? 0 : 1;
}

Value pins_as_json(const std::string& server, const std::vector<tools::PinSet>& sets) {
  Value value, listed = Value::Array{};
  for (const tools::PinSet& set : sets) {
    Value one, changes = Value::Array{}, pinned = Value::Array{}, prompts = Value::Array{};
    one.set("identity", set.identity);
    one.set("accepted", set.accepted);
    one.set("since", set.since);
    for (const auto& [name, pin] : set.tools)
      pinned.as_array()->push_back(
          Value::Object{{"name", name}, {"hash", pin.hash}, {"since", pin.since}});
    for (const auto& [name, pin] : set.prompts)
      prompts.as_array()->push_back(
          Value::Object{{"name", name}, {"hash", pin.hash}, {"since", pin.since}});
    for (const tools::PinChange& change : set.changes())
      changes.as_array()->push_back(to_value(change));
    one.set("tools", std::move(pinned));
    one.set("prompts", std::move(prompts));
    one.set("pending", std::move(changes));
    listed.as_array()->push_back(std::move(one));
  }
  value.set("server", server);
  value.set("sets", std::move(listed));
  return value;
}

std::string pins_as_text(const std::string& server, const std::vector<tools::PinSet>& sets,
                         bool all) {
  Colours colour = colours();
  std::string text = cat(colour.bold, server, colour.off, "\n");
  for (const tools::PinSet& set : sets) {
    text += cat("  ", printable(to_json(set.identity)),
                set.accepted ? cat("  since ", set.since)
                             : cat("  ", colour.yellow, "not accepted", colour.off),
                "\n");
    text += cat("    pinned: ", set.tools.size(), " tools, ", set.prompts.size(), " prompts\n");
    if (all)
      for (const auto& [name, pin] : set.tools)
        text += cat("      ", printable(name), "  ", pin.hash.substr(0, kShownHash), "  ",
                    pin.since, "\n");
    std::vector<tools::PinChange> changes = set.changes();
    if (!changes.empty())
      text += cat("  ", colour.yellow, "waiting to be accepted", colour.off,
                  " (paddock mcp accept ", server, " [TOOL[=HASH]…])\n");
    for (const tools::PinChange& change : changes) text += shown(change);
  }
  return text;
}

int pins_main(int argc, char** argv) {
  bool json = false;
  std::string only;
  Options options(
      "mcp pins",
      "What is pinned of each MCP server behind the gateway, and what has changed since.");
  options.positional("NAME", &only, "of this server, with every tool", false);
  options.flag("--json", &json, "print one JSON object");
  if (std::optional<int> status = options.parse(argc, argv)) return *status;
  Result<tools::Pins> pins = open_pins();
  if (!pins) return report(pins.error(), json);
  std::vector<std::string> names = {only};
  if (only.empty()) {
    Result<std::vector<std::string>> all = pins.value().servers();
    if (!all) return report(all.error(), json);
    names = std::move(all.value());
  }
  Value listed = Value::Array{};
  std::string text;
  for (const std::string& name : names) {
    Result<std::vector<tools::PinSet>> sets = pins.value().read(name);
    if (!sets) return report(sets.error(), json);
    if (json)
      listed.as_array()->push_back(pins_as_json(name, sets.value()));
    else
      text += pins_as_text(name, sets.value(), !only.empty());
  }
  if (json)
    print(to_json(Value(Value::Object{{"pins", listed}})) + "\n");
  else
    print(text.empty() ? "Nothing is pinned yet.\n" : text);
  return 0;
}

int accept_main(int argc, char** argv) {
  bool json = false;
  std::string server;
  std::vector<std::string> wanted;
  Options options("mcp accept",
                  "Accepts what a server behind the gateway has changed. A gateway that runs takes "
                  "it over within a second.");
  options.positional("NAME", &server, "the server");
  options.positional("TOOL", &wanted,
                     "these tools and prompts (default: everything that waits); TOOL=HASH: only "
                     "what `paddock mcp pins` showed");
  options.flag("--json", &json, "print one JSON object");
  if (std::optional<int> status = options.parse(argc, argv)) return *status;
  Result<tools::Pins> pins = open_pins();
  if (!pins) return report(pins.error(), json);
  Event act;
  Result<void> recorded = record::record_act(
      "mcp.accept", Value::Object{{"server", server}, {"tools", text_list(wanted)}}, &act);
  if (!recorded) return report(recorded.error(), json);
  Result<std::vector<tools::PinChange>> accepted = pins.value().accept(server, wanted);
  if (!accepted) {
    record::note_failure(act, accepted.error());
    return report(accepted.error(), json);
  }
  Value changes = Value::Array{};
  std::string text;
  for (const tools::PinChange& change : accepted.value()) {
    changes.as_array()->push_back(to_value(change));
    text += shown(change);
  }
  if (json)
    print(to_json(Value(Value::Object{{"server", server}, {"accepted", changes}})) + "\n");
  else
    print(text.empty() ? cat("Nothing of '", server, "' waits to be accepted.\n")
                       : cat("Accepted:\n", text));
  return 0;
}

int forget_main(int argc, char** argv) {
  bool json = false;
  std::string server;
  Options options("mcp forget",
                  "Removes the pins of a server: what it offers when it is started next is taken "
                  "as first sight.");
  options.positional("NAME", &server, "the server");
  options.flag("--json", &json, "print one JSON object");
  if (std::optional<int> status = options.parse(argc, argv)) return *status;
  Result<tools::Pins> pins = open_pins();
  if (!pins) return report(pins.error(), json);
  Event act;
  Result<void> recorded = record::record_act("mcp.forget", Value::Object{{"server", server}}, &act);
  if (!recorded) return report(recorded.error(), json);
  Result<void> forgotten = pins.value().forget(server);
  if (!forgotten) {
    record::note_failure(act, forgotten.error());
    return report(forgotten.error(), json);
  }
  print(json ? to_json(Value(Value::Object{{"forgotten", server}})) + "\n"
             : cat("Forgotten: ", server, "\n"));
  return 0;
}

struct Word {
  const char* name;
  int (*main)(int, char**);
};
constexpr Word kWords[] = {{"servers", servers_main},
                           {"pins", pins_main},
                           {"accept", accept_main},
                           {"forget", forget_main}};

}  // namespace

bool is_mcp_pins_word(const char* word) {
  for (const Word& known : kWords)
    if (std::string_view(word) == known.name) return true;
  return false;
}

int mcp_pins_main(int argc, char** argv) {
  for (const Word& known : kWords)
    if (std::string_view(argv[0]) == known.name) return known.main(argc, argv);
  return report({Code::invalid, "there is no such command", "see: paddock mcp --help"}, false);
}

}  // namespace paddock::cli
