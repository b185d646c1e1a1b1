#include "tools/gateway/catalogue.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "tools/visible_text.h"

namespace paddock::tools {

namespace {

// Both are in bytes.
constexpr size_t kLongestTold = 200;
constexpr size_t kLongestInstructions = 16 << 10;  // more than is ever passed on

// For messages about a definition that may be broken: the name may be missing or anything.
std::string shown_name(const Value& definition, const char* key) {
  const Value* name = definition.find(key);
  return name && name->as_string() ? cut_to(printable(visible(*name->as_string())), kLongestTold)
                                   : "(without a name)";
}

// Names that are taken, by what they look like: who has them, and how they are written there.
class Names {
 public:
  struct Owner {
    std::string server, name;
  };
  const Owner* taken(const std::string& name) const {
    auto found = owners_.find(look_of(name));
    return found == owners_.end() ? nullptr : &found->second;
  }
  void take(const std::string& name, const std::string& server) {
    owners_.emplace(look_of(name), Owner{server, name});
  }

 private:
  std::map<std::string, Owner> owners_;
};

// Names that merely look alike are refused too, since a model or a person could confuse them.
std::string taken_why(const Names::Owner& owner, const std::string& name,
                      const std::string& server) {
  std::string like =
      owner.name == name ? "the name" : cat("'", owner.name, "' looks the same, and");
  if (owner.server.empty()) return cat(like, " is one of Paddock's own tools");
  if (owner.server == server) return cat(like, " is listed by this server before");
  return cat(like, " belongs to the server '", owner.server, "'");
}

// For the model: why the tool cannot be called, and who can change that.
Withheld withheld_because(const policy::McpServer& server, const std::string& kind,
                          const std::string& bare_name, const std::string& what) {
  return {.rule = cat("mcp.servers.", server.name, ".pin"),
          .why = cat("the ", kind, " '", bare_name, "' of the server '", server.name,
                     "' is withheld: ", what),
          .hint = cat("somebody who may decide has to look at it (paddock mcp pins ", server.name,
                      ") and accept it (paddock mcp accept ", server.name, " ", bare_name, ")")};
}

// What has changed, of the parts that a definition has. The names of others are the server's words,
// as their contents are, and this goes to a model.
std::string known_parts(const std::string& names) {
  static const std::set<std::string> kKnown = {"title",        "description", "inputSchema",
                                               "outputSchema", "annotations", "icons",
                                               "execution",    "_meta",       "arguments"};
  std::set<std::string> parts;
  for (size_t at = 0; at <= names.size();) {
    size_t end = std::min(names.find(", ", at), names.size());
    std::string name = names.substr(at, end - at);
    parts.insert(kKnown.count(name) ? name : "others");
    at = end + 2;
  }
  return join({parts.begin(), parts.end()}, ", ");
}

// Why the pins hold it back; empty: they do not.
std::string pinned_back(const Verdict* verdict,
                        const std::map<std::string, PinChange> Verdict::*changes,
                        const std::string& bare_name) {
  if (!verdict) return "";
  if (!verdict->all.empty()) return verdict->all;
  auto change = (verdict->*changes).find(bare_name);
  if (change == (verdict->*changes).end()) return "";
  return change->second.what == "new" ? "it is new since the server was pinned"
                                      : cat("its definition has changed since it was pinned (",
                                            known_parts(change->second.what.substr(9)), ")");
}

// Puts the catalogue together, one server after the other. The first to have a name keeps it.
class Merger {
 public:
  explicit Merger(const std::vector<std::string>& reserved) {
    for (const std::string& name : reserved) tool_names_.take(name, "");
  }

  // A list that could not be read is reported as one refusal.
  void add(const ServerPart& part) {
    part_ = &part;
    for (const auto& [kind, why] : part.listing->problems) refuse(kind, "(all)", why);
    for (const Value& definition : part.listing->tools) add_tool(definition);
    for (const Value& definition : part.listing->prompts) add_prompt(definition);
    for (const Value& definition : part.listing->resources) add_resource(definition);
    for (const Value& definition : part.listing->templates) add_template(definition);
  }

  Catalogue take() { return std::move(made_); }

 private:
  void refuse(const std::string& kind, std::string name, std::string why) {
    made_.refused.push_back({part_->server->name, kind, std::move(name), std::move(why)});
  }

  // A tool that the policy does not list is passed over silently. One that is withheld keeps its
  // name, so that no other server can step in.
  void add_tool(const Value& definition) {
    const policy::McpServer& server = *part_->server;
    const Value* bare = definition.find("name");
    // Nobody asked for it.
    if (bare && bare->as_string() && !server.lists(*bare->as_string())) return;
    Result<ToolInfo> tool = check_tool(definition, server);
    if (!tool) return refuse("tool", shown_name(definition, "name"), tool.error().message);
    const std::string& name = tool.value().name;
    if (const Names::Owner* owner = tool_names_.taken(name))
      return refuse("tool", tool.value().bare_name, taken_why(*owner, name, server.name));
    tool_names_.take(name, server.name);  // also when it is withheld: nobody else may step in
    if (std::string why = pinned_back(part_->verdict, &Verdict::tools, tool.value().bare_name);
        !why.empty()) {
      made_.withheld_tools[name] = withheld_because(server, "tool", tool.value().bare_name, why);
      return;
    }
    tool.value().definition = definition_hash(definition);
    made_.tools.push_back(std::move(tool).value());
  }

  // Prompts are not listed one by one in the policy: a server may offer prompts, or not.
  void add_prompt(const Value& definition) {
    const policy::McpServer& server = *part_->server;
    Result<OfferedPrompt> prompt = check_prompt(definition, server);
    if (!prompt) return refuse("prompt", shown_name(definition, "name"), prompt.error().message);
    const std::string& name = prompt.value().name;
    if (const Names::Owner* owner = prompt_names_.taken(name))
      return refuse("prompt", prompt.value().bare_name, taken_why(*owner, name, server.name));
    prompt_names_.take(name, server.name);
    if (std::string why = pinned_back(part_->verdict, &Verdict::prompts, prompt.value().bare_name);
        !why.empty()) {
      made_.withheld_prompts[name] =
          withheld_because(server, "prompt", prompt.value().bare_name, why);
      return;
    }
    made_.prompts.push_back(std::move(prompt).value());
  }

  // A resource's or template's words, made visible; empty: what is wrong with it was told.
  std::optional<Value> checked(const Value& definition, const std::string& kind, const char* key) {
    if (part_->verdict && !part_->verdict->all.empty()) return std::nullopt;
    const Value* uri = definition.find(key);
    std::string name = shown_name(definition, key);
    if (!uri || !uri->as_string()) return refuse(kind, name, cat("it has no ", key)), std::nullopt;
    Value clean = Value::Object{};
    for (const auto& [member, value] : *definition.as_object()) {
      const std::string* text = value.as_string();
      bool shown = member == "name" || member == "title" || member == "description";
      if (has_hidden(member) || (text && !shown && has_hidden(*text)))
        return refuse(kind, name, "invisible characters in it"), std::nullopt;
      clean.set(member, text && shown ? Value(visible(*text)) : value);
    }
    return clean;
  }

  // A resource belongs to the first server that lists its URI, because a client reads it by the URI
  // alone.
  void add_resource(const Value& definition) {
    std::optional<Value> clean = checked(definition, "resource", "uri");
    if (!clean) return;
    std::string uri = *clean->find("uri")->as_string(), name = shown_name(definition, "uri");
    if (std::string problem = uri_problem(uri); !problem.empty())
      return refuse("resource", name, problem);
    auto [owner, is_new] = uris_.emplace(uri, part_->server->name);
    if (!is_new && owner->second == part_->server->name)
      return refuse("resource", name, "this server lists it before");
    if (!is_new)
      return refuse("resource", name, cat("the server '", owner->second, "' has it already"));
    made_.resources.push_back({part_->server->name, uri, std::move(*clean)});
  }

  // A template belongs to the first server with the same text.
  void add_template(const Value& definition) {
    std::optional<Value> clean = checked(definition, "resource template", "uriTemplate");
    if (!clean) return;
    std::string text = *clean->find("uriTemplate")->as_string(),
                name = shown_name(definition, "uriTemplate");
    if (std::string problem = uri_problem(text); !problem.empty())
      return refuse("resource template", name, problem);
    Result<UriTemplate> matcher = UriTemplate::parse(text);
    if (!matcher) return refuse("resource template", name, matcher.error().message);
    auto [owner, is_new] = templates_.emplace(text, part_->server->name);
    if (!is_new)
      return refuse("resource template", name,
                    cat("the server '", owner->second, "' has it already"));
    made_.templates.push_back(
        {part_->server->name, text, std::move(matcher).value(), std::move(*clean)});
  }

  const ServerPart* part_ = nullptr;
  Catalogue made_;
  Names tool_names_, prompt_names_;
  std::map<std::string, std::string> uris_, templates_;  // and whose they are
};

}  // namespace

Catalogue merge(const std::vector<ServerPart>& parts, const std::vector<std::string>& reserved) {
  Merger merger(reserved);
  for (const ServerPart& part : parts)
    if (part.listing) merger.add(part);
  return merger.take();
}

// The identity is what the operator wrote and what the server calls itself. Tools that the policy
// does not use are not pinned: a change of them concerns nobody.
Snapshot snapshot_of(const policy::McpServer& server, const mcp::Offer& offer,
                     const Listing& listing) {
  Snapshot snapshot;
  if (server.url.empty())
    snapshot.identity.set("command", text_list(server.command));
  else
    snapshot.identity.set("url", server.url);
  snapshot.identity.set("name", cut_to(offer.name, 256));
  snapshot.instructions = cut_to(offer.instructions, kLongestInstructions);
  bool lists_tools = server.all_tools || !server.tools.empty();
  for (const Value& tool : lists_tools ? listing.tools : std::vector<Value>{})
    if (Result<ToolInfo> checked = check_tool(tool, server))
      snapshot.tools.emplace(checked.value().bare_name, tool);
  for (const Value& prompt : listing.prompts)
    if (Result<OfferedPrompt> checked = check_prompt(prompt, server))
      snapshot.prompts.emplace(checked.value().bare_name, prompt);
  return snapshot;
}

const ToolInfo* Catalogue::find_tool(std::string_view name) const {
  for (const ToolInfo& tool : tools)
    if (tool.name == name) return &tool;
  return nullptr;
}

const OfferedPrompt* Catalogue::find_prompt(std::string_view name) const {
  for (const OfferedPrompt& prompt : prompts)
    if (prompt.name == name) return &prompt;
  return nullptr;
}

// Listed resources come before templates, and templates in the order of the servers.
const std::string* Catalogue::owner_of(std::string_view uri) const {
  for (const OfferedResource& resource : resources)
    if (resource.uri == uri) return &resource.server;
  for (const OfferedTemplate& offered : templates)
    if (offered.text == uri || offered.matcher.matches(uri)) return &offered.server;
  return nullptr;
}

}  // namespace paddock::tools
