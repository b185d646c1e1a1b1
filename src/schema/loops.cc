// Schemas that apply each other to the same value without end.
#include "schema/index.h"
#include "schema/program.h"

namespace paddock::schema {

namespace {

// The nodes that a node applies to the very value it was given.
std::vector<NodeId> in_place(const Node& node) {
  std::vector<NodeId> out;
  auto add = [&](NodeId id) {
    if (id != kNoNode) out.push_back(id);
  };
  auto add_all = [&](const std::vector<NodeId>& ids) {
    out.insert(out.end(), ids.begin(), ids.end());
  };
  for (const Rule& rule : node.rules) {
    if (auto* reference = std::get_if<ReferenceRule>(&rule.rule)) add(reference->node);
    if (auto* all = std::get_if<AllOfRule>(&rule.rule)) add_all(all->nodes);
    if (auto* any = std::get_if<AnyOfRule>(&rule.rule)) add_all(any->nodes);
    if (auto* one = std::get_if<OneOfRule>(&rule.rule)) add_all(one->nodes);
    if (auto* inverse = std::get_if<NotRule>(&rule.rule)) add(inverse->node);
    if (auto* choice = std::get_if<IfRule>(&rule.rule))
      add(choice->condition), add(choice->then), add(choice->otherwise);
    if (auto* dependent = std::get_if<DependentRule>(&rule.rule))
      for (const DependentRule::Entry& entry : dependent->entries) add(entry.node);
  }
  return out;
}

}  // namespace

// Depth first, with a stack of its own: a chain may be as long as the schema. A dynamic reference
// that is turned elsewhere while checking is not seen here; the evaluator's bound on depth holds
// it.
Result<void> check_loops(const Program& program) {
  enum class Seen : uint8_t { no, open, done };
  std::vector<Seen> seen(program.nodes.size(), Seen::no);
  struct Visit {
    NodeId node;
    std::vector<NodeId> next;
  };
  std::vector<Visit> stack;
  auto enter = [&](NodeId id) {
    seen[id] = Seen::open;
    stack.push_back({id, in_place(program.nodes[id])});
  };
  for (NodeId start = 0; start < program.nodes.size(); ++start) {
    if (seen[start] != Seen::no) continue;
    enter(start);
    while (!stack.empty()) {
      Visit& visit = stack.back();
      if (visit.next.empty()) {
        seen[visit.node] = Seen::done;
        stack.pop_back();
        continue;
      }
      NodeId next = visit.next.back();
      visit.next.pop_back();
      if (seen[next] == Seen::open)
        return schema_error(program.nodes[next].pointer, "refers to itself without end");
      if (seen[next] == Seen::no) enter(next);
    }
  }
  return {};
}

}  // namespace paddock::schema
