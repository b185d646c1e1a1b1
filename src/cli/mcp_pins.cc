// paddock mcp servers, pins, accept, forget: what the servers behind the gateway offer, and what of
// a change is accepted.
#include "cli/mcp_pins.h"

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/recorded.h"
#include "io/loop.h"
#include "store/state.h"
#include "tools/gateway/pins.h"
#include "tools/local.h"

namespace paddock::cli {

namespace {

// As many digits as people can compare, and as `accept` takes.
constexpr size_t kShownHash = 12;

Result<tools::Pins> open_pins() { return tools::Pins::open(TRY(store::state_directory())); }

// Six blanks put the diff below the line that it belongs to.
std::string indented(const std::string& text) {
  std::string out;
  for (const std::string& line : split(text, '\n'))
    if (!line.empty()) out += cat("      ", line, "\n");
  return out;
}

// The text is the server's own, so it is made printable by diff().
std::string shown(const tools::PinChange& change) {
  std::string name = change.name.empty() ? "" : cat(" ", printable(change.name));
  return cat("    ", to_string(change.kind), name, ": ", change.what,
             change.hash.empty() ? "" : cat("  =", change.hash.substr(0, kShownHash)), "\n",
             indented(change.diff()));
}

// What a running server looks like, from Gateway::describe().
std::string shown_member(const Value& value, const char* key) {
  const Value* member = value.find(key);
  if (!member) return "";
  if (const std::string* text = member->as_string()) return printable(*text);
  return printable(to_json(*member));
}

size_t count_of(const Value& value, const char* key) { return items_in(value, key).size(); }

// A near name helps, because the mistake is mostly in the spelling.
std::string unknown_tool(const Value& tool) {
  std::string meant = shown_member(tool, "hint");
  return cat("the policy lists '", shown_member(tool, "name"), "', and the server has no such tool",
             meant.empty() ? "" : cat(" (did you mean '", meant, "'?)"));
}

// A paragraph about one server: its state, what it offers, and what is withheld or refused.
std::string shown_server(const Value& server) {
  Colours colour = colours();
  std::string state = shown_member(server, "state");
  const char* mark = state == "running"              ? colour.green
                     : starts_with(state, "changed") ? colour.yellow
                                                     : colour.red;
  std::string out = cat(colour.bold, shown_member(server, "name"), colour.off, "  ", mark, state,
                        colour.off, "\n");
  out += cat("  ", server.find("url") ? "url       " : "command   ",
             shown_member(server, server.find("url") ? "url" : "command"), "\n");
  if (server.find("protocol"))
    out += cat("  protocol  ", shown_member(server, "protocol"), " (", shown_member(server, "era"),
               "), ", shown_member(server, "server"), "\n");
  out += cat("  offers    ", count_of(server, "tools"), " tools, ", shown_member(server, "prompts"),
             " prompts, ", shown_member(server, "resources"), " resources\n");
  if (const Value* names = server.find("own_names"))
    for (const auto& [name, own] : *names->as_object())
      out += cat("    ", printable(name), "  (there: ", printable(*own.as_string()), ")\n");
  if (count_of(server, "not_listed"))
    out += cat("  has also  ", printable(join(texts_in(server, "not_listed"), ", ")),
               "  (add to mcp.servers.", shown_member(server, "name"),
               ".tools what agents may call)\n");
  for (const Value& tool : items_in(server, "unknown"))
    out += cat("  ", colour.red, "unknown", colour.off, "   ", unknown_tool(tool), "\n");
  if (count_of(server, "withheld")) out += "  withheld, or gone\n";
  for (const Value& change : items_in(server, "withheld"))
    out += cat("    ", shown_member(change, "kind"), " ", shown_member(change, "name"), ": ",
               shown_member(change, "what"), "\n", indented(text_in(change, "diff")));
  if (count_of(server, "refused")) out += "  refused\n";
  for (const Value& thing : items_in(server, "refused"))
    out += cat("    ", shown_member(thing, "kind"), " ", shown_member(thing, "name"), ": ",
               shown_member(thing, "why"), "\n");
  return out;
}

// What the servers are, and which [[tools]] of the policy nobody has.
struct Found {
  Value servers = Value::Array{};
  std::vector<std::string> unknown_tools;
};

// Relies on the words of Gateway::describe().
bool has_failed(const Value& server) {
  return starts_with(shown_member(server, "state"), "failed");
}

// It is not known what a server has that did not start.
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
        is_withheld =
            is_withheld || !change.find("name") ||
            cat(*server.find("prefix")->as_string(), shown_member(change, "name")) == name;
    if (!may_come && !is_withheld) unknown.push_back(name);
  }
  return unknown;
}

// Ends the servers again: this command only looks.
io::Task<void> look(io::Loop& loop, tools::LocalTools& local, Found& found) {
  co_await local.toolbox().start();
  found.servers = local.toolbox().gateway().describe();
  found.unknown_tools = tools_of_nobody(local.toolbox().describe_tools(), found.servers);
  co_await local.close();
  loop.stop();
}

// Runs a loop of its own until the servers were looked at.
Result<Found> look_at_servers(const std::vector<std::string>& policies) {
  io::Loop& loop = *TRY(io::Loop::create());
  std::unique_ptr<tools::LocalTools> local =
      TRY(tools::LocalTools::open(loop, {.policies = policies}));
  Found found;
  io::spawn(look(loop, *local, found));
  loop.run();
  return found;
}

// Exits with 1 if anything in the policy does not fit what the servers offer, for use in checks.
int servers_main(int argc, char** argv) {
  std::vector<std::string> policies;
  Options options(
      "mcp servers",
      "Starts the MCP servers of a policy, each in its sandbox, says what they offer and what is "
      "refused or withheld, and ends them.\n"
      "Exits with 1 if one does not start, or if the policy lists a tool that nobody has.");
  options.list("--policy", "FILE|PRESET", &policies, "whose [mcp.servers]");
  return options.run(argc, argv, [&](bool json) -> Result<int> {
    Found found = TRY(look_at_servers(policies));
    const Value::Array& servers = *found.servers.as_array();
    bool all_well = found.unknown_tools.empty() &&
                    std::none_of(servers.begin(), servers.end(), [](const Value& server) {
                      return has_failed(server) || count_of(server, "unknown");
                    });
    std::string text = servers.empty() ? "The policy has no [mcp.servers].\n" : "";
    for (const Value& server : servers) text += shown_server(server);
    for (const std::string& name : found.unknown_tools)
      text += cat("[[tools]] names '", printable(name), "', and nobody has such a tool\n");
    (void)show(json,
               Value::Object{{"ok", all_well},
                             {"servers", found.servers},
                             {"unknown_tools", text_list(found.unknown_tools)}},
               text);
    return all_well ? 0 : 1;
  });
}

// Without the definitions, which are long.
Value pinned(const std::map<std::string, tools::Pin>& pins) {
  Value::Array all;
  for (const auto& [name, pin] : pins)
    all.push_back(Value::Object{{"name", name}, {"hash", pin.hash}, {"since", pin.since}});
  return all;
}

Value to_value(const std::vector<tools::PinChange>& changes) {
  Value::Array all;
  for (const tools::PinChange& change : changes) all.push_back(to_value(change));
  return all;
}

// What is pinned of one server, by the command or address that it was started with.
Value pins_as_json(const std::string& server, const std::vector<tools::PinSet>& sets) {
  Value::Array listed;
  for (const tools::PinSet& set : sets)
    listed.push_back(Value::Object{{"identity", set.identity},
                                   {"accepted", set.accepted},
                                   {"since", set.since},
                                   {"tools", pinned(set.tools)},
                                   {"prompts", pinned(set.prompts)},
                                   {"pending", to_value(set.changes())}});
  return Value::Object{{"server", server}, {"sets", std::move(listed)}};
}

// Every tool is listed only if one server was named.
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
  std::string only;
  Options options(
      "mcp pins",
      "What is pinned of each MCP server behind the gateway, and what has changed since.");
  options.positional("NAME", &only, "of this server, with every tool", false);
  return options.run(argc, argv, [&](bool json) -> Result<int> {
    tools::Pins pins = TRY(open_pins());
    std::vector<std::string> names = {only};
    if (only.empty()) names = TRY(pins.servers());
    Value::Array listed;
    std::string text;
    for (const std::string& name : names) {
      std::vector<tools::PinSet> sets = TRY(pins.read(name));
      listed.push_back(pins_as_json(name, sets));
      text += pins_as_text(name, sets, !only.empty());
    }
    return show(json, Value::Object{{"pins", std::move(listed)}},
                text.empty() ? "Nothing is pinned yet.\n" : text);
  });
}

// Recorded, because accepting a change is what the pins exist for.
int accept_main(int argc, char** argv) {
  std::string server;
  std::vector<std::string> wanted;
  Options options("mcp accept",
                  "Accepts what a server behind the gateway has changed. A gateway that runs takes "
                  "it over within a second.");
  options.positional("NAME", &server, "the server");
  options.positional("TOOL", &wanted,
                     "these tools and prompts (default: everything that waits); TOOL=HASH: only "
                     "what `paddock mcp pins` showed");
  return options.run(argc, argv, [&](bool json) -> Result<int> {
    tools::Pins pins = TRY(open_pins());
    Value data = Value::Object{{"server", server}, {"tools", text_list(wanted)}};
    std::vector<tools::PinChange> accepted =
        TRY(recorded("mcp.accept", std::move(data), [&] { return pins.accept(server, wanted); }));
    std::string text;
    for (const tools::PinChange& change : accepted) text += shown(change);
    return show(json, Value::Object{{"server", server}, {"accepted", to_value(accepted)}},
                text.empty() ? cat("Nothing of '", server, "' waits to be accepted.\n")
                             : cat("Accepted:\n", text));
  });
}

// After this, whatever the server offers first is trusted.
int forget_main(int argc, char** argv) {
  std::string server;
  Options options("mcp forget",
                  "Removes the pins of a server: what it offers when it is started next is taken "
                  "as first sight.");
  options.positional("NAME", &server, "the server");
  return options.run(argc, argv, [&](bool json) -> Result<int> {
    tools::Pins pins = TRY(open_pins());
    TRY(recorded("mcp.forget", Value::Object{{"server", server}},
                 [&] { return pins.forget(server); }));
    return show(json, Value::Object{{"forgotten", server}}, cat("Forgotten: ", server, "\n"));
  });
}

constexpr Verb kMcpVerbs[] = {
    {"servers", servers_main, "what the servers of a policy offer"},
    {"pins", pins_main, "what is pinned of each server"},
    {"accept", accept_main, "accept what a server has changed"},
    {"forget", forget_main, "remove the pins of a server"},
};

}  // namespace

std::span<const Verb> mcp_verbs() { return kMcpVerbs; }

}  // namespace paddock::cli
