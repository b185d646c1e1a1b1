// A schema as it is held for checking: a list of nodes, one for each schema in the document, each a
// list of rules. Keywords were looked up once, by compile.cc; evaluate.cc only runs down the lists.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "base/value.h"
#include "schema/ecma.h"
#include "schema/format.h"
#include "schema/schema.h"

namespace paddock::schema {

using NodeId = uint32_t;
inline constexpr NodeId kNoNode = UINT32_MAX;

// The types of JSON, as bits. A whole number is an integer and a number.
enum : uint8_t {
  kNull = 1,
  kBoolean = 2,
  kInteger = 4,
  kNumber = 8,
  kString = 16,
  kArray = 32,
  kObject = 64
};

// The schema `false`.
struct NeverRule {};
struct TypeRule {
  uint8_t types = 0;
};

// enum; const is one of a single value.
struct EnumRule {
  // The strings, sorted.
  std::vector<std::string> texts;
  // The rest in canonical form, sorted.
  std::vector<std::string> others;
  // For messages.
  std::string shown;
  bool constant = false;
};

// minimum, maximum, and their exclusive forms.
struct BoundRule {
  Value bound;
  bool upper = false;
  bool exclusive = false;
};
struct MultipleRule {
  Value divisor;
};

// minLength and maxLength, in characters.
struct LengthRule {
  size_t count = 0;
  bool upper = false;
};  // of strings, in code points
// Items or properties.
struct CountRule {
  size_t count = 0;
  bool upper = false;
  bool of_object = false;
};
struct PatternRule {
  EcmaPattern pattern;
  std::string text;
};
struct FormatRule {
  const Format* format = nullptr;
};
struct UniqueRule {};

// prefixItems and items; in draft-07 items and additionalItems.
struct ItemsRule {
  std::vector<NodeId> prefix;
  NodeId rest = kNoNode;
};
struct ContainsRule {
  NodeId node = kNoNode;
  size_t least = 1;
  size_t most = SIZE_MAX;
};
struct RequiredRule {
  std::vector<std::string> names;
};

// properties, patternProperties and additionalProperties, in one pass.
struct PropertiesRule {
  struct Named {
    std::string name;
    NodeId node;
  };
  struct Matching {
    EcmaPattern pattern;
    NodeId node;
  };
  // Sorted.
  std::vector<Named> named;
  std::vector<Matching> matching;
  NodeId additional = kNoNode;
};
struct PropertyNamesRule {
  NodeId node = kNoNode;
};

// dependentRequired, dependentSchemas; in draft-07 dependencies.
struct DependentRule {
  struct Entry {
    std::string name;
    std::vector<std::string> required;
    NodeId node;
  };
  std::vector<Entry> entries;
};
// With an anchor: the outermost of that name in scope.
struct ReferenceRule {
  NodeId node = kNoNode;
  std::string dynamic_anchor;
};
struct AllOfRule {
  std::vector<NodeId> nodes;
};
struct AnyOfRule {
  std::vector<NodeId> nodes;
};
struct OneOfRule {
  std::vector<NodeId> nodes;
};
struct NotRule {
  NodeId node = kNoNode;
};

// kNoNode where there is no `then` or no `else`.
struct IfRule {
  NodeId condition = kNoNode;
  NodeId then = kNoNode;
  NodeId otherwise = kNoNode;
};
struct UnevaluatedItemsRule {
  NodeId node = kNoNode;
};
struct UnevaluatedPropertiesRule {
  NodeId node = kNoNode;
};

struct Rule {
  std::variant<NeverRule, TypeRule, EnumRule, BoundRule, MultipleRule, LengthRule, CountRule,
               PatternRule, FormatRule, UniqueRule, ItemsRule, ContainsRule, RequiredRule,
               PropertiesRule, PropertyNamesRule, DependentRule, ReferenceRule, AllOfRule,
               AnyOfRule, OneOfRule, NotRule, IfRule, UnevaluatedItemsRule,
               UnevaluatedPropertiesRule>
      rule;
  // As it stood in the schema. A literal.
  std::string_view keyword;
};

struct Node {
  std::vector<Rule> rules;
  // Where it stands in the document.
  std::string pointer;
  // The part with an $id of its own that it belongs to.
  uint32_t resource = 0;
  // It is `false`.
  bool never = false;
  // It has unevaluatedItems or unevaluatedProperties: what its rules touched must be known.
  bool tracks = false;
};

struct Program {
  // The first is the whole.
  std::vector<Node> nodes;
  // Of each resource; empty if nothing depends on them.
  std::vector<std::map<std::string, NodeId>> dynamic_anchors;
};

// From a document to a program: every keyword looked up, every reference resolved, every bound
// checked, once.
Result<Program> compile_program(const Value& document);

// Refuses a program in which a node leads back to itself without a step into the value: {"$ref":
// "#"}.
Result<void> check_loops(const Program& program);

// Whether a value fits a program: up to `most` reasons why not; none if it fits. One run over both,
// bounded in steps and depth; what cannot be judged within them does not fit.
std::vector<Violation> evaluate(const Program& program, const Value& value, size_t most);

}  // namespace paddock::schema
