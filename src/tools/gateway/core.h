// What the gateway holds, shared with all that is under way in it.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tools/gateway/catalogue.h"
#include "tools/gateway/forward.h"
#include "tools/gateway/gateway.h"
#include "tools/gateway/pins.h"
#include "tools/gateway/supervise.h"

namespace paddock::tools {

// One server and what is known of it.
struct Entry {
  policy::McpServer server;
  std::shared_ptr<Supervised> process;
  std::shared_ptr<const ForwardRules> rules;
  std::shared_ptr<Listing> listing;  // null: it was never up
  mcp::Offer offer;
  mcp::Era era = mcp::Era::legacy;
  std::string version;
  std::optional<Verdict> verdict;  // none: nothing is pinned
  std::string stamp;               // of the pins, when the verdict was made
  std::set<std::string> told;      // changes that were told of
  unsigned stale = 0;              // lists that it says have changed
  bool refreshing = false, listening = false, listen_again = false;
  io::Milliseconds refreshed_at = 0;
  unsigned in_a_row = 0;  // lists read anew, one soon after the other
  std::vector<std::shared_ptr<mcp::Context>> under_way;

  bool offers(const char* capability) const {
    return offer.capabilities.as_object() && offer.capabilities.find(capability);
  }
};

class Core : public std::enable_shared_from_this<Core> {
 public:
  Core(io::Loop& loop, GatewayOptions options);
  void open();  // makes the entries

  io::Loop& loop;
  GatewayOptions options;
  std::vector<std::shared_ptr<Entry>> entries;  // by the order of the policy
  Catalogue catalogue;
  std::set<std::string> watched;
  bool stopped = false;
  std::function<void()> tools_changed;
  std::function<void(const mcp::Change&)> changed;

  std::shared_ptr<Entry> find(std::string_view server) const;
  std::shared_ptr<Entry> owner_of(const std::string& uri) const;  // null: nobody's

  // One request of a client's, to the server that has what it wants.
  struct Forward {
    std::shared_ptr<Entry> entry;
    std::string method;
    Value params;
    std::function<Result<void>()> allowed;
  };
  io::Task<mcp::Answer> forward(Forward request, std::shared_ptr<mcp::Context> context);

  // The catalogue, from what is known; tells of changes, and of lists that a server said have
  // changed.
  void rebuild(unsigned said = 0);
  void judge(Entry& entry);  // what of it the pins hold back
  void relisten(std::shared_ptr<Entry> entry);
  void line(const std::string& server, const std::string& text) const;

 private:
  io::Task<Result<void>> ready(std::shared_ptr<Entry> entry, std::shared_ptr<mcp::ServerLink> link);
  io::Task<mcp::Answer> asked(std::shared_ptr<Entry> entry, std::string method, Value params,
                              std::shared_ptr<mcp::Context> during);
  void told(std::shared_ptr<Entry> entry, const std::string& method, const Value& params);
  io::Task<void> refresh(std::shared_ptr<Entry> entry);
  io::Task<bool> fresh(std::shared_ptr<Entry> entry);
  io::Task<void> listen(std::shared_ptr<Entry> entry);
  io::Task<void> watch_pins();
  void keep_secrets(Entry& entry, std::vector<redact::Secret> secrets);
  bool withholds() const;
  std::vector<std::string> watched_of(const Entry& entry) const;

  std::optional<Pins> pins_;
  std::string pins_problem_;
  bool watching_pins_ = false;
};

// The context that a server's words belong to when it did not say: the last call, if all that are
// under way are of one client.
std::shared_ptr<mcp::Context> likely_context(const Entry& entry);

Value describe(const Core& core);
Value capabilities_of(const Core& core);
std::string instructions_of(const Core& core);
io::Task<mcp::Answer> serve(std::shared_ptr<Core> core, std::shared_ptr<mcp::Context> context);

}  // namespace paddock::tools
