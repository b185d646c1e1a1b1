// A key of a policy file. keys.cc has one row for each key, and everything that is about keys is
// made from those rows: decoding, encoding, combining layers, `policy explain`, the flags of the
// command line, the JSON Schema and the table in docs/policy.md.
//
// A row has a place in a Policy, the type of what may stand there (types.h), the rule by which
// layers narrow each other (narrowing.h), and words:
//
//   key("files.tmp_exec", at(&Policy::files, &FilesPolicy::tmp_exec), boolean(), Dominant{false},
//       {.meaning = "may programs be run from `/tmp`", …});
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "policy/cursor.h"
#include "policy/decode.h"
#include "policy/explain.h"
#include "policy/intersect.h"

namespace paddock::policy {

// In order; what a call asks for is the last.
using Layers = std::vector<const Policy*>;

// What may stand for a key, or for a member of a table in it. Only `read` and `schema` are needed
// by all.
template <class T>
struct Type {
  // For the manual, such as "list of paths".
  std::string takes;
  std::function<Result<T>(const Cursor&, const DecodeContext&)> read;
  std::function<Value()> schema;  // as JSON Schema
  // May be empty for members of a table, which are written by the key around them.
  std::function<Value(const T&, Secrets)> write{};
  // For people, as in `policy explain`.
  std::function<std::string(const T&)> show{};
  // Reads the value of a flag on the command line. What it names is checked later, like a file.
  std::function<Result<T>(const std::string&)> parse{};
  // Empty where the order of entries has a meaning.
  std::function<void(T&)> sort{};
};

// Where a value is in a Policy. It is an optional, or a container that is unset while it is empty.
template <class Slot>
using Accessor = std::function<Slot&(Policy&)>;

// These make the accessor of a member of Policy, or of a table in it.
template <class Slot>
Accessor<Slot> at(Slot Policy::*member) {
  return [member](Policy& policy) -> Slot& { return policy.*member; };
}
template <class Table, class Slot>
Accessor<Slot> at(Table Policy::*table, Slot Table::*member) {
  return [table, member](Policy& policy) -> Slot& { return policy.*table.*member; };
}

// An optional is set when it has a value, a container when it is not empty. The rules of narrowing
// use both through is_set() and content().
template <class Slot>
struct SlotTraits {
  using Content = Slot;
  static bool is_set(const Slot& slot) { return !slot.empty(); }
  static const Content& content(const Slot& slot) { return slot; }
};
template <class T>
struct SlotTraits<std::optional<T>> {
  using Content = T;
  static bool is_set(const std::optional<T>& slot) { return slot.has_value(); }
  static const Content& content(const std::optional<T>& slot) { return *slot; }
};
template <class Slot>
using ContentOf = typename SlotTraits<Slot>::Content;
template <class Slot>
bool is_set(const Slot& slot) {
  return SlotTraits<Slot>::is_set(slot);
}
template <class Slot>
const ContentOf<Slot>& content(const Slot& slot) {
  return SlotTraits<Slot>::content(slot);
}

// The command line takes its flags from here, so that a key and its flag have the same words.
struct CommandLineFlag {
  // For example "--read". Empty if the key has no flag.
  std::string name{};
  std::string placeholder{};
  std::string what{};
};

struct Words {
  // For the manual and the schema.
  std::string meaning;
  // For `explain`: what it means that nobody sets it, and what is said after a value that is set.
  std::string unset{}, set{};
  // For `explain`, if the key is a boolean.
  std::string yes{}, no{};
  CommandLineFlag flag{};
  // For `explain`, where the words above are not enough: one line each; none: it is not mentioned.
  std::function<std::vector<std::string>(const Policy&)> explain{};
};

// This is what callers see of a key whose value may have any type.
class Key {
 public:
  Key(std::string path, Words words) : path(std::move(path)), words(std::move(words)) {}
  virtual ~Key() = default;

  const std::string path;  // "files.read"
  const Words words;

  // The first part of the path, and the rest: "files" and "read".
  std::string table() const { return path.substr(0, path.find('.')); }
  std::string name() const { return path.substr(path.find('.') + 1); }

  // Checks the value and stores it in `policy`. Errors name the file, the line and the key.
  virtual Result<void> decode(const Cursor& value, const DecodeContext& context,
                              Policy& policy) const = 0;
  // Returns null if the policy does not set the key.
  virtual Value encode(const Policy& policy, Secrets secrets) const = 0;
  virtual Value schema() const = 0;
  // For the manual: what may stand there.
  virtual std::string takes() const = 0;
  // For the manual: what several layers come to.
  virtual std::string narrowed() const = 0;

  virtual Result<void> combine(const Layers&, Policy&) const { return {}; }
  // Fills in what no layer sets.
  virtual void fall_back(const Policy&, Policy&) const {}
  // Adds what `asker` asks for and `bounds` narrow.
  virtual void refuse(const Policy&, const Layers&, std::vector<Refusal>&) const {}
  virtual std::vector<std::string> explain(const Policy&) const { return {}; }
  // Brings entries whose order means nothing into the order that canonical() writes.
  virtual void sort(Policy&) const {}

  // Says whether the flag may be given several times; the entries are added up.
  virtual bool repeats() const { return false; }
  // Takes the text of the flag as it was typed. It is checked later, as a file is.
  virtual Result<void> take_flag(const std::string&, Policy&) const { return {}; }
};

// A key with one place of its own. `Rule` is one of narrowing.h.
template <class Slot, class Rule>
class TypedKey final : public Key {
 public:
  using Content = ContentOf<Slot>;

  TypedKey(std::string path, Accessor<Slot> accessor, Type<Content> type, Rule rule, Words words)
      : Key(std::move(path), std::move(words)),
        type(std::move(type)),
        rule_(std::move(rule)),
        accessor_(std::move(accessor)) {}

  const Type<Content> type;

  Slot& in(Policy& policy) const { return accessor_(policy); }
  // The accessor only takes a mutable policy, so that each key needs one; nothing is changed here.
  const Slot& in(const Policy& policy) const { return accessor_(const_cast<Policy&>(policy)); }
  std::string show(const Content& value) const { return type.show ? type.show(value) : ""; }

  Result<void> decode(const Cursor& value, const DecodeContext& context,
                      Policy& policy) const override {
    in(policy) = TRY(type.read(value, context));
    return {};
  }
  Value encode(const Policy& policy, Secrets secrets) const override {
    return is_set(in(policy)) ? type.write(content(in(policy)), secrets) : Value();
  }
  Value schema() const override { return type.schema(); }
  std::string takes() const override { return type.takes; }
  std::string narrowed() const override { return rule_.words(); }

  Result<void> combine(const Layers& layers, Policy& result) const override {
    return rule_.combine(*this, layers, result);
  }
  void fall_back(const Policy& fallback, Policy& result) const override {
    rule_.fall_back(*this, fallback, result);
  }
  void refuse(const Policy& asker, const Layers& bounds,
              std::vector<Refusal>& refusals) const override {
    if (is_set(in(asker))) rule_.refuse(*this, asker, bounds, refusals);
  }

  std::vector<std::string> explain(const Policy& policy) const override {
    if (words.explain) return words.explain(policy);
    const Slot& slot = in(policy);
    if constexpr (std::is_same_v<Content, bool>)
      return {slot.value_or(false) ? words.yes : words.no};
    if (!is_set(slot)) return {words.unset};
    std::string shown = show(content(slot));
    if (shown.empty()) return {words.unset};  // an empty list
    return {words.set.empty() ? shown : cat(shown, ": ", words.set)};
  }
  void sort(Policy& policy) const override {
    if (!type.sort || !is_set(in(policy))) return;
    Content sorted = content(in(policy));
    type.sort(sorted);
    in(policy) = std::move(sorted);
  }

  bool repeats() const override { return kIsList; }
  Result<void> take_flag(const std::string& text, Policy& policy) const override {
    Content parsed = TRY(type.parse(text));
    if constexpr (kIsList) {
      Content all = is_set(in(policy)) ? content(in(policy)) : Content{};
      all.insert(all.end(), parsed.begin(), parsed.end());
      parsed = std::move(all);
    }
    in(policy) = std::move(parsed);
    return {};
  }

 private:
  static constexpr bool kIsList = requires(Content list) { list.push_back(list.front()); } &&
                                  !std::is_same_v<Content, std::string>;

  Rule rule_;
  Accessor<Slot> accessor_;
};

}  // namespace paddock::policy
