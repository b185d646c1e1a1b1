// What the servers behind the gateway offer, put together. Each thing is checked, gets the name it
// has here, and belongs to one server; what is refused is told with the reason. By the order of the
// servers in the policy the first to have a name keeps it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/value.h"
#include "mcp/client.h"
#include "policy/tools/tool.h"
#include "tools/gateway/names.h"
#include "tools/gateway/pins.h"
#include "tools/provider.h"

namespace paddock::tools {

// What one server lists, as it came.
struct Listing {
  std::vector<Value> tools, prompts, resources, templates;
  // For example "tools", with the reason why that list was not taken.
  std::map<std::string, std::string> problems;
};
enum ListKind : unsigned { kTools = 1, kPrompts = 2, kResources = 4, kAllLists = 7 };
// Reads the lists of these kinds again, page by page, within bounds. Prompts and resources that the
// policy does not let in are not asked for.
io::Task<void> read_lists(std::shared_ptr<mcp::ServerLink> link, policy::McpServer server,
                          unsigned kinds, std::shared_ptr<Listing> into);

// What is pinned of a server. Only what could be offered: names that cannot be used have no pin.
Snapshot snapshot_of(const policy::McpServer& server, const mcp::Offer& offer,
                     const Listing& listing);

struct Refused {
  // The name is printable.
  std::string server, kind, name, why;
};

struct OfferedPrompt {
  std::string server, name, bare_name;
  // As prompts/list has it.
  Value value;
};
struct OfferedResource {
  std::string server, uri;
  Value value;
};
struct OfferedTemplate {
  std::string server, text;
  UriTemplate matcher;
  Value value;
};

struct Catalogue {
  // With the hashes of their definitions.
  std::vector<ToolInfo> tools;
  std::vector<OfferedPrompt> prompts;
  std::vector<OfferedResource> resources;
  std::vector<OfferedTemplate> templates;
  std::vector<Refused> refused;
  // By the name here.
  std::map<std::string, Withheld> withheld_tools, withheld_prompts;

  const ToolInfo* find_tool(std::string_view name) const;
  const OfferedPrompt* find_prompt(std::string_view name) const;
  // Whose a resource is: who listed it, else whose template it fits; null: nobody's.
  const std::string* owner_of(std::string_view uri) const;
};

// One server's part in it.
struct ServerPart {
  const policy::McpServer* server = nullptr;
  const Listing* listing = nullptr;
  // Null if nothing is pinned.
  const Verdict* verdict = nullptr;
};

// `reserved` are names of our own tools, which no server may take.
Catalogue merge(const std::vector<ServerPart>& parts, const std::vector<std::string>& reserved);

// One tool of a server, as it may be offered; the error says why not.
Result<ToolInfo> check_tool(const Value& definition, const policy::McpServer& server);
Result<OfferedPrompt> check_prompt(const Value& definition, const policy::McpServer& server);

}  // namespace paddock::tools
