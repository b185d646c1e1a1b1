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
  std::string takes;  // for the manual: "list of paths"
  std::function<Result<T>(const Cursor&, const DecodeContext&)> read;
  std::function<Value()> schema;  // as JSON Schema
  std::function<Value(const T&, Secrets)> write{};
  std::function<std::string(const T&)> show{};  // for people
  // Of a flag on the command line. What it names is checked later, like a file.
  std::function<Result<T>(const std::string&)> parse{};
  std::function<void(T&)> sort{};  // where the order means nothing
};

// Where a value is in a Policy. It is an optional, or a container that is unset while it is empty.
template <class Slot>
using Accessor = std::function<Slot&(Policy&)>;

template <class Slot>
Accessor<Slot> at(Slot Policy::*member) {
  return [member](Policy& policy) -> Slot& { return policy.*member; };
}
template <class Table, class Slot>
Accessor<Slot> at(Table Policy::*table, Slot Table::*member) {
  return [table, member](Policy& policy) -> Slot& { return policy.*table.*member; };
}

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

struct CommandLineFlag {
  std::string name{};  // "--read"; empty: there is none
  std::string placeholder{};
  std::string what{};
};

struct Words {
  std::string meaning;  // for the manual and the schema
  // For `explain`: what it means that nobody sets it, and what is said after a value that is set.
  std::string unset{}, set{};
  std::string yes{}, no{};  // for `explain`, of a boolean
  CommandLineFlag flag{};
  // For `explain`, where the words above are not enough: one line each; none: it is not mentioned.
  std::function<std::vector<std::string>(const Policy&)> explain{};
};

class Key {
 public:
  Key(std::string path, Words words) : path(std::move(path)), words(std::move(words)) {}
  virtual ~Key() = default;

  const std::string path;  // "files.read"
  const Words words;

  // The first part of the path, and the rest: "files" and "read".
  std::string table() const { return path.substr(0, path.find('.')); }
  std::string name() const { return path.substr(path.find('.') + 1); }

  virtual Result<void> decode(const Cursor& value, const DecodeContext& context,
                              Policy& policy) const = 0;
  virtual Value encode(const Policy& policy, Secrets secrets) const = 0;  // null: unset
  virtual Value schema() const = 0;
  virtual std::string takes() const = 0;     // for the manual: what may stand there
  virtual std::string narrowed() const = 0;  // for the manual: what several layers come to

  virtual Result<void> combine(const Layers&, Policy&) const { return {}; }
  // What no layer sets.
  virtual void fall_back(const Policy&, Policy&) const {}
  // What `asker` asks for and `bounds` narrow.
  virtual void refuse(const Policy&, const Layers&, std::vector<Refusal>&) const {}
  virtual std::vector<std::string> explain(const Policy&) const { return {}; }
  virtual void sort(Policy&) const {}  // as canonical() wants it

  virtual bool repeats() const { return false; }  // its flag may be given several times
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
