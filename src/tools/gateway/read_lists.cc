// The lists of a server, page by page. A server that is never done is stopped by a bound, and then
// its list is not taken at all.
#include <set>

#include "base/text.h"
#include "tools/gateway/catalogue.h"
#include "tools/visible_text.h"

namespace paddock::tools {

namespace {

constexpr int kMostPages = 100;
constexpr size_t kMostItems = 2000;

// In bytes of each list; what is pinned has to fit into its file.
constexpr size_t kMostBytes = 1 << 20;
constexpr io::Milliseconds kPatience = 30'000;

// How one kind of list is asked for.
struct Pages {
  std::string method, member, capability;
};

// A list that is too long, or never ends, is an error: half a list is not offered.
io::Task<Result<std::vector<Value>>> read_pages(std::shared_ptr<mcp::ServerLink> link,
                                                Pages pages) {
  std::vector<Value> items;
  if (!link->offer.capabilities.as_object() || !link->offer.capabilities.find(pages.capability))
    co_return items;
  std::set<std::string> cursors;
  size_t bytes = 0;
  Value params = Value::Object{};
  for (int page = 0; page < kMostPages; ++page) {
    auto nobody = std::make_shared<mcp::DirectContext>(pages.method, params, nullptr);
    mcp::Answer answer = co_await link->call(pages.method, params, nobody, kPatience);
    if (answer.problem && answer.problem->code == mcp::kMethodNotFound && page == 0)
      co_return items;
    if (answer.problem)
      co_return Error{Code::io,
                      cat(pages.method, ": ", cut_to(visible(answer.problem->message), 500)), ""};
    const Value* listed = answer.result.find(pages.member);
    if (answer.input || !listed || !listed->as_array())
      co_return Error{Code::invalid,
                      cat(pages.method, ": no list of ", pages.member, " in the answer"), ""};
    for (const Value& item : *listed->as_array()) {
      bytes += to_json(item).size();
      if (items.size() >= kMostItems)
        co_return Error{Code::exhausted, cat("it lists more than ", kMostItems), ""};
      if (bytes > kMostBytes)
        co_return Error{Code::exhausted, cat("its list is larger than ", human_size(kMostBytes)),
                        ""};
      items.push_back(item);
    }
    const Value* next = answer.result.find("nextCursor");
    if (!next || !next->as_string()) co_return items;
    if (!cursors.insert(*next->as_string()).second)
      co_return Error{Code::invalid, cat(pages.method, ": the same page again and again"), ""};
    params = Value::Object{{"cursor", *next}};
  }
  co_return Error{Code::exhausted, cat("its list has more than ", kMostPages, " pages"), ""};
}

}  // namespace

// A list that could not be read is emptied and has its reason in `problems`, so that nothing stale
// is offered.
io::Task<void> read_lists(std::shared_ptr<mcp::ServerLink> link, policy::McpServer server,
                          unsigned kinds, std::shared_ptr<Listing> into) {
  struct Wanted {
    unsigned kind;
    bool allowed;
    Pages pages;
    std::vector<Value>* list;
  };
  // Tools are read also where the policy lists none of them, so that `paddock mcp servers` can say
  // what there is to list.
  const Wanted all[] = {
      {kTools, true, {"tools/list", "tools", "tools"}, &into->tools},
      {kPrompts, server.prompts, {"prompts/list", "prompts", "prompts"}, &into->prompts},
      {kResources,
       server.resources,
       {"resources/list", "resources", "resources"},
       &into->resources},
      {kResources,
       server.resources,
       {"resources/templates/list", "resourceTemplates", "resources"},
       &into->templates},
  };
  for (const Wanted& wanted : all) {
    if (!(kinds & wanted.kind) || !wanted.allowed) continue;
    Pages pages = wanted.pages;
    Result<std::vector<Value>> items = co_await read_pages(link, pages);
    into->problems.erase(pages.member);
    if (!items) into->problems[pages.member] = items.error().message;
    if (items)
      *wanted.list = std::move(items.value());
    else
      wanted.list->clear();
  }
}

}  // namespace paddock::tools
