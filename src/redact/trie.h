// Aho-Corasick over the forms of all known values: one step per byte finds every one, also where
// they overlap. Eight bytes a node, since every living sandbox has a trie of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace paddock::redact {

class Trie {
 public:
  using Node = uint32_t;
  static constexpr Node kRoot = 0;
  static constexpr size_t kMostNodes = size_t{1} << 29, kDeepest = size_t{1} << 24;

  Trie();
  // Adds all forms, each with its label; of two that are the same the first one counts. At most
  // kMostNodes bytes in all, fewer than kDeepest each.
  struct Form {
    std::string_view text;
    uint32_t label;
  };
  explicit Trie(std::vector<Form> forms);
  bool empty() const { return nodes_.size() == 1; }

  // The longest beginning of a form that the text now ends with. `work` grows with what had to be
  // looked at: amortised, at most two per byte.
  Node step(Node node, uint8_t byte, uint64_t& work) const;
  uint32_t depth(Node node) const { return nodes_[node].depth; }
  // How many of the last bytes could still become part of a form.
  uint32_t open(Node node) const;
  // The longest form that the text now ends with; length 0: none.
  struct Match {
    Node node;
    uint32_t length, label;
  };
  Match found(Node node) const {
    return nodes_[node].has_match ? match_of(node) : Match{node, 0, 0};
  }

 private:
  struct State {
    uint32_t fail : 29 = 0;
    uint32_t has_next : 1 = 0, has_branches : 1 = 0, has_match : 1 = 0;
    uint32_t depth : 24 = 0;
    // Most nodes have one child, which stands right after them.
    uint32_t next : 8 = 0;
  };
  struct Branch {
    Node node, child;
    uint8_t byte;
  };
  Node child(Node node, uint8_t byte) const;
  Match match_of(Node node) const;
  void link();

  std::vector<State> nodes_;
  // The other children, by node and byte.
  std::vector<Branch> branches_;
  // By node.
  std::vector<Match> matches_;
};

}  // namespace paddock::redact
