#include "redact/trie.h"

#include <algorithm>
#include <tuple>

namespace paddock::redact {

Trie::Trie() : nodes_(1) {}

// In order, so that each form leaves the one before it at one node, where a branch begins.
Trie::Trie(std::vector<Form> forms) : nodes_(1) {
  std::stable_sort(forms.begin(), forms.end(),
                   [](const Form& a, const Form& b) { return a.text < b.text; });
  std::vector<Node> path{kRoot};  // the nodes of the form before, by depth
  std::string_view before;
  for (const Form& form : forms) {
    size_t same = static_cast<size_t>(
        std::mismatch(before.begin(), before.end(), form.text.begin(), form.text.end()).first -
        before.begin());
    // The same again: what is a beginning of another stands in front of it.
    if (same == form.text.size()) continue;
    path.resize(same + 1);
    for (size_t depth = same; depth < form.text.size(); ++depth) {
      Node parent = path.back(), made = static_cast<Node>(nodes_.size());
      uint8_t byte = static_cast<uint8_t>(form.text[depth]);
      if (parent + 1 == made) {
        nodes_[parent].has_next = 1;
        nodes_[parent].next = byte;
      } else {
        nodes_[parent].has_branches = 1;
        branches_.push_back({parent, made, byte});
      }
      nodes_.emplace_back();
      nodes_.back().depth = static_cast<uint32_t>(depth + 1) & 0xffffff;
      path.push_back(made);
    }
    nodes_.back().has_match = 1;
    matches_.push_back({path.back(), static_cast<uint32_t>(form.text.size()), form.label});
    before = form.text;
  }
  std::sort(branches_.begin(), branches_.end(), [](const Branch& a, const Branch& b) {
    return std::tie(a.node, a.byte) < std::tie(b.node, b.byte);
  });
  link();
  nodes_.shrink_to_fit();
  branches_.shrink_to_fit();
}

// By depth, so that what a node falls back to is known before the node.
void Trie::link() {
  std::vector<Node> row{kRoot}, below;
  std::vector<uint32_t> match_at(nodes_.size(), 0);  // of each node that has one, in matches_
  for (size_t i = 0; i < matches_.size(); ++i)
    match_at[matches_[i].node] = static_cast<uint32_t>(i);
  uint64_t work = 0;
  while (!row.empty()) {
    below.clear();
    for (Node node : row) {
      auto descend = [&](uint8_t byte, Node next) {
        Node fail = node == kRoot ? kRoot : step(nodes_[node].fail, byte, work);
        nodes_[next].fail = fail & 0x1fffffff;
        below.push_back(next);
        if (nodes_[next].has_match || !nodes_[fail].has_match) return;
        Match match = matches_[match_at[fail]];
        match.node = next;
        nodes_[next].has_match = 1;
        match_at[next] = static_cast<uint32_t>(matches_.size());
        matches_.push_back(match);
      };
      if (nodes_[node].has_next) descend(static_cast<uint8_t>(nodes_[node].next), node + 1);
      if (!nodes_[node].has_branches) continue;
      auto branch = std::lower_bound(branches_.begin(), branches_.end(), node,
                                     [](const Branch& a, Node wanted) { return a.node < wanted; });
      for (; branch != branches_.end() && branch->node == node; ++branch)
        descend(branch->byte, branch->child);
    }
    std::swap(row, below);
  }
  std::sort(matches_.begin(), matches_.end(),
            [](const Match& a, const Match& b) { return a.node < b.node; });
  matches_.shrink_to_fit();
}

// The first child stands right after its node; others are found by a search. 0 stands for none,
// since no node has the root as its child.
Trie::Node Trie::child(Node node, uint8_t byte) const {
  const State& state = nodes_[node];
  if (state.has_next && state.next == byte) return node + 1;
  if (!state.has_branches) return 0;
  auto found =
      std::lower_bound(branches_.begin(), branches_.end(), std::make_pair(node, byte),
                       [](const Branch& a, const std::pair<Node, uint8_t>& wanted) {
                         return std::tie(a.node, a.byte) < std::tie(wanted.first, wanted.second);
                       });
  return found != branches_.end() && found->node == node && found->byte == byte ? found->child : 0;
}

// Only for nodes that have a match.
Trie::Match Trie::match_of(Node node) const {
  return *std::lower_bound(matches_.begin(), matches_.end(), node,
                           [](const Match& a, Node wanted) { return a.node < wanted; });
}

// A leaf can only go on as what it falls back to.
uint32_t Trie::open(Node node) const {
  while (node != kRoot && !nodes_[node].has_next && !nodes_[node].has_branches)
    node = nodes_[node].fail;
  return nodes_[node].depth;
}

// Falls back until a child fits, as Aho and Corasick describe it.
Trie::Node Trie::step(Node node, uint8_t byte, uint64_t& work) const {
  for (;;) {
    ++work;
    if (Node next = child(node, byte)) return next;
    if (node == kRoot) return kRoot;
    node = nodes_[node].fail;
  }
}

}  // namespace paddock::redact
