#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "schema/number.h"
#include "schema/program.h"
#include "schema/words.h"

namespace paddock::schema {

namespace {

// The steps of one check; each takes well below a microsecond, except for patterns.
constexpr int64_t kMostSteps = 1'000'000;
// Further steps, for finding out which of several forms was nearly met.
constexpr int64_t kStepsToExplain = 50'000;

// Of nodes and references within each other; bounds the recursion.
constexpr int kDeepest = 512;
constexpr int kDeepestExplanation = 3;

// Which members or items of one value were looked at by some rule, for unevaluatedProperties and
// unevaluatedItems.
struct Evaluated {
  bool all = false;
  std::vector<bool> marks;

  void mark(size_t i) {
    if (marks.size() <= i) marks.resize(i + 1);
    marks[i] = true;
  }
  bool has(size_t i) const { return all || (i < marks.size() && marks[i]); }
  void add(const Evaluated& other) {
    all = all || other.all;
    for (size_t i = 0; i < other.marks.size(); ++i)
      if (other.marks[i]) mark(i);
  }
};

// Members by name. For many look-ups in a large object they are sorted first.
class Members {
 public:
  // Sorting only pays off for many look-ups in a large object.
  Members(const Value::Object& object, size_t lookups) : object_(object), lookups_(lookups) {
    if (!sorts()) return;
    for (const Value::Member& member : object) sorted_.push_back(&member);
    std::sort(sorted_.begin(), sorted_.end(), [](auto* a, auto* b) { return a->first < b->first; });
  }

  size_t cost() const {
    return sorts() ? object_.size() * 4 + lookups_ : object_.size() * lookups_ / 16;
  }

  bool has(const std::string& name) const {
    if (!sorts())
      return std::any_of(object_.begin(), object_.end(),
                         [&](auto& member) { return member.first == name; });
    auto found = std::lower_bound(sorted_.begin(), sorted_.end(), name,
                                  [](auto* member, auto& text) { return member->first < text; });
    return found != sorted_.end() && (*found)->first == name;
  }

 private:
  bool sorts() const { return lookups_ > 32 && object_.size() > 32; }

  const Value::Object& object_;
  size_t lookups_;
  std::vector<const Value::Member*> sorted_;
};

// JSON Schema counts characters, not bytes.
size_t code_points(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

std::string counted(size_t count, std::string_view one, std::string_view many) {
  return cat(count, " ", count == 1 ? one : many);
}

// Runs down the rules of the nodes. Work is counted in steps, so that no pair of schema and value
// can take long.
class Evaluator {
 public:
  Evaluator(const Program& program, size_t most, std::vector<Violation>& out)
      : program_(program), out_(&out), most_(most) {}

  // If the steps are used up, the value does not fit: what cannot be judged must not pass.
  void run(const Value& value) {
    Place root;
    (void)fits(0, value, &root, nullptr);
    if (!exhausted_) return;
    out_->clear();  // a part of the reasons would look like all of them
    out_->push_back({"", "", "",
                     too_deep_
                         ? "cannot be judged: it leads too deep into the schema"
                         : "cannot be judged within the steps that one check may take; send less"});
  }

 private:
  // What a rule is given: the value, where it is, and where to note what was looked at (null if
  // nobody asks).
  struct Subject {
    const Node& node;
    const Rule& rule;
    const Value& value;
    const Place* place;
    Evaluated* evaluated;
  };

  // Returns false once the steps are used up; callers give up then.
  bool spend(size_t steps) {
    steps_ -= static_cast<int64_t>(std::min<size_t>(steps, kMostSteps + 1));
    if (steps_ < 0) exhausted_ = true;
    return !exhausted_;
  }

  // Memory is fast, but not free.
  bool spend_on(const std::string& compared) {
    return compared.size() < 256 || spend(compared.size() / 256);
  }

  // Nothing more to say: the first reason decides.
  bool is_full() const { return exhausted_ || !out_ || out_->size() >= most_; }

  bool fail(const Subject& subject, const Place* place, std::string why) {
    if (out_ && out_->size() < most_)
      out_->push_back({where(place), pointer(place),
                       cat(shown_text(subject.node.pointer, 300),
                           subject.rule.keyword.empty() ? "" : "/", subject.rule.keyword),
                       std::move(why)});
    return false;
  }

  // The words are only put together if they will be heard.
  template <class Words>
  bool fail(const Subject& subject, Words words) {
    return out_ ? fail(subject, subject.place, words()) : false;
  }

  // Counts depth, follows scopes for dynamic references, and keeps track of what was looked at
  // where some rule needs it.
  bool fits(NodeId id, const Value& value, const Place* place, Evaluated* evaluated) {
    const Node& node = program_.nodes[id];
    if (!spend(1)) return false;
    if (depth_ == kDeepest) {
      exhausted_ = too_deep_ = true;
      return false;
    }
    ++depth_;
    bool scoped =
        !program_.dynamic_anchors.empty() && (scope_.empty() || scope_.back() != node.resource);
    if (scoped) scope_.push_back(node.resource);
    bool good = true;
    if (node.tracks) {
      Evaluated own;
      good = hold(node, value, place, &own);
      if (good && evaluated && spend(own.marks.size() / 16)) evaluated->add(own);
    } else {
      good = hold(node, value, place, evaluated);
    }
    if (scoped) scope_.pop_back();
    --depth_;
    return good && !exhausted_;
  }

  // Goes through all rules unless enough reasons were found.
  bool hold(const Node& node, const Value& value, const Place* place, Evaluated* evaluated) {
    bool good = true;
    for (const Rule& rule : node.rules) {
      Subject subject{node, rule, value, place, evaluated};
      // What failed before may have kept a rule from looking at something, so there is nothing to
      // say about what is left over.
      bool late = std::holds_alternative<UnevaluatedItemsRule>(rule.rule) ||
                  std::holds_alternative<UnevaluatedPropertiesRule>(rule.rule);
      if (!good && late) break;
      if (std::visit([&](const auto& kind) { return holds(kind, subject); }, rule.rule)) continue;
      good = false;
      if (is_full()) break;
    }
    return good;
  }

  // Without collecting reasons, which is faster.
  bool fits_quietly(NodeId id, const Value& value, const Place* place, Evaluated* evaluated) {
    std::vector<Violation>* out = std::exchange(out_, nullptr);
    bool good = fits(id, value, place, evaluated);
    out_ = out;
    return good;
  }

  bool holds(const NeverRule&, const Subject& subject) {
    return fail(subject, [] { return std::string("is not allowed here"); });
  }

  // For messages, where an integer is called a number.
  static uint8_t said_of(uint8_t type) { return type == kInteger ? uint8_t{kNumber} : type; }

  bool holds(const TypeRule& rule, const Subject& subject) {
    uint8_t type = type_of(subject.value);
    if (rule.types & type) return true;
    return fail(subject, [&] {
      bool fraction = type == kNumber && (rule.types & kInteger);
      return cat("must be ", name_of(rule.types), ", not ",
                 fraction ? "a number with a fraction" : name_of(said_of(type)));
    });
  }

  bool holds(const EnumRule& rule, const Subject& subject) {
    if (is_listed(rule, subject.value)) return true;
    return fail(subject,
                [&] { return cat(rule.constant ? "must be " : "must be one of ", rule.shown); });
  }

  // Strings are compared as they are, everything else in canonical form. Lists of one kind are
  // skipped at once for values of another.
  bool is_listed(const EnumRule& rule, const Value& value) {
    if (const std::string* text = value.as_string())
      return spend_on(*text) && std::binary_search(rule.texts.begin(), rule.texts.end(), *text);
    if (rule.others.empty()) return false;
    std::string canonical;
    if (value.as_array() || value.as_object()) {
      std::string bracket = value.as_array() ? "[" : "{";
      auto first = std::lower_bound(rule.others.begin(), rule.others.end(), bracket);
      if (first == rule.others.end() || !starts_with(*first, bracket)) return false;
    }
    append_canonical(value, canonical);
    return spend(canonical.size() / 16) &&
           std::binary_search(rule.others.begin(), rule.others.end(), canonical);
  }

  bool holds(const BoundRule& rule, const Subject& subject) {
    if (!is_number(subject.value)) return true;
    bool finite = subject.value.as_int() || std::isfinite(*subject.value.as_double());
    auto order = finite ? compare_numbers(subject.value, rule.bound) : std::strong_ordering::equal;
    bool good = finite && (order == 0 ? !rule.exclusive : (order < 0) == rule.upper);
    if (good) return true;
    return fail(subject, [&] {
      const char* relation = rule.upper ? (rule.exclusive ? "below " : "at most ")
                                        : (rule.exclusive ? "above " : "at least ");
      return cat("must be ", relation, to_json(rule.bound));
    });
  }

  bool holds(const MultipleRule& rule, const Subject& subject) {
    if (!is_number(subject.value) || is_multiple(subject.value, rule.divisor)) return true;
    return fail(subject, [&] { return cat("must be a multiple of ", to_json(rule.divisor)); });
  }

  bool holds(const LengthRule& rule, const Subject& subject) {
    const std::string* text = subject.value.as_string();
    // Without counting.
    if (!text || (rule.upper ? text->size() <= rule.count : text->size() / 4 >= rule.count))
      return true;
    if (!spend(text->size() / 64)) return false;
    size_t length = code_points(*text);
    if (rule.upper ? length <= rule.count : length >= rule.count) return true;
    return fail(subject, [&] {
      return cat("must have at ", rule.upper ? "most " : "least ",
                 counted(rule.count, "character", "characters"), ", not ", length);
    });
  }

  bool holds(const CountRule& rule, const Subject& subject) {
    const Value::Array* array = rule.of_object ? nullptr : subject.value.as_array();
    const Value::Object* object = rule.of_object ? subject.value.as_object() : nullptr;
    if (!array && !object) return true;
    size_t count = array ? array->size() : object->size();
    if (rule.upper ? count <= rule.count : count >= rule.count) return true;
    return fail(subject, [&] {
      return cat("must have at ", rule.upper ? "most " : "least ",
                 array ? counted(rule.count, "item", "items")
                       : counted(rule.count, "property", "properties"),
                 ", not ", count);
    });
  }

  bool holds(const PatternRule& rule, const Subject& subject) {
    const std::string* text = subject.value.as_string();
    if (!text) return true;
    if (!spend(rule.pattern.cost(*text))) return false;
    if (rule.pattern.matches(*text)) return true;
    return fail(subject,
                [&] { return cat("must match the pattern ", shown_text(rule.text, 200)); });
  }

  bool holds(const FormatRule& rule, const Subject& subject) {
    const std::string* text = subject.value.as_string();
    if (!text) return true;
    if (!spend(text->size() / 4)) return false;
    if (rule.format->holds(*text)) return true;
    return fail(subject, [&] {
      return cat("must have the format ", rule.format->name, ", such as ", rule.format->example);
    });
  }

  bool holds(const UniqueRule&, const Subject& subject) {
    const Value::Array* array = subject.value.as_array();
    if (!array || array->size() < 2) return true;
    std::vector<std::pair<std::string, size_t>> items(array->size());
    for (size_t i = 0; i < items.size(); ++i) {
      append_canonical((*array)[i], items[i].first);
      items[i].second = i;
      if (!spend(1 + items[i].first.size() / 16)) return false;
    }
    std::sort(items.begin(), items.end());
    auto twin = std::adjacent_find(items.begin(), items.end(),
                                   [](auto& a, auto& b) { return a.first == b.first; });
    if (twin == items.end()) return true;
    return fail(subject, [&] {
      return cat("must not have the same item twice, as [", twin->second, "] and [", twin[1].second,
                 "] are");
    });
  }

  bool holds(const ItemsRule& rule, const Subject& subject) {
    const Value::Array* array = subject.value.as_array();
    if (!array) return true;
    size_t count =
        rule.rest == kNoNode ? std::min(array->size(), rule.prefix.size()) : array->size();
    bool good = true;
    for (size_t i = 0; i < count; ++i) {
      NodeId node = i < rule.prefix.size() ? rule.prefix[i] : rule.rest;
      Place place{subject.place, nullptr, i};
      bool surplus = i >= rule.prefix.size() && program_.nodes[node].never;
      bool fit = surplus ? out_ && fail(subject, &place,
                                        cat("is one too many: the list ends after ",
                                            counted(rule.prefix.size(), "item", "items")))
                         : fits(node, (*array)[i], &place, nullptr);
      if (!fit && is_full()) return false;
      good = good && fit;
      if (subject.evaluated) subject.evaluated->mark(i);
    }
    return good;
  }

  bool holds(const ContainsRule& rule, const Subject& subject) {
    const Value::Array* array = subject.value.as_array();
    if (!array) return true;
    size_t count = 0;
    for (size_t i = 0; i < array->size() && !exhausted_; ++i) {
      Place place{subject.place, nullptr, i};
      if (!fits_quietly(rule.node, (*array)[i], &place, nullptr)) continue;
      ++count;
      if (subject.evaluated) subject.evaluated->mark(i);
    }
    if (count >= rule.least && count <= rule.most) return true;
    return fail(subject, [&] {
      bool few = count < rule.least;
      return cat("must have at ", few ? "least " : "most ",
                 counted(few ? rule.least : rule.most, "item", "items"),
                 " of the kind that 'contains' describes, not ", count);
    });
  }

  bool holds(const RequiredRule& rule, const Subject& subject) {
    const Value::Object* object = subject.value.as_object();
    if (!object) return true;
    Members members(*object, rule.names.size());
    return spend(members.cost()) && has_all(rule.names, members, "is missing: required", subject);
  }

  // Each missing name is a violation of its own, at the place where it should be.
  bool has_all(const std::vector<std::string>& names, const Members& members, std::string_view why,
               const Subject& subject) {
    bool good = true;
    for (const std::string& name : names) {
      if (!spend_on(name)) return false;
      if (members.has(name)) continue;
      Place place{subject.place, &name, 0};
      good = out_ ? fail(subject, &place, std::string(why)) : false;
      if (is_full()) return false;
    }
    return good;
  }

  bool holds(const PropertiesRule& rule, const Subject& subject) {
    const Value::Object* object = subject.value.as_object();
    if (!object) return true;
    if (!spend(object->size() / 4)) return false;
    bool good = true;
    for (size_t i = 0; i < object->size(); ++i) {
      const auto& [name, value] = (*object)[i];
      if (!spend_on(name)) return false;
      Place place{subject.place, &name, 0};
      bool known = false;
      bool fit = true;
      auto named = std::lower_bound(rule.named.begin(), rule.named.end(), name,
                                    [](auto& entry, auto& text) { return entry.name < text; });
      if (named != rule.named.end() && named->name == name) {
        known = true;
        fit = fits(named->node, value, &place, nullptr);
      }
      for (const PropertiesRule::Matching& matching : rule.matching) {
        if ((!fit && is_full()) || !spend(matching.pattern.cost(name))) return false;
        if (!matching.pattern.matches(name)) continue;
        known = true;
        fit = fits(matching.node, value, &place, nullptr) && fit;
      }
      if (!known && rule.additional != kNoNode) {
        known = true;
        bool never = program_.nodes[rule.additional].never;
        fit = never ? (spend(1) && out_ && fail(subject, &place, unknown_property(name, rule)))
                    : fits(rule.additional, value, &place, nullptr);
      }
      if (!fit && is_full()) return false;
      good = good && fit;
      if (known && subject.evaluated) subject.evaluated->mark(i);
    }
    return good;
  }

  bool holds(const PropertyNamesRule& rule, const Subject& subject) {
    const Value::Object* object = subject.value.as_object();
    if (!object) return true;
    bool good = true;
    for (const Value::Member& member : *object) {
      Place place{subject.place, &member.first, 0};
      if (!spend_on(member.first)) return false;
      Value name(member.first);
      if (fits_quietly(rule.node, name, &place, nullptr)) continue;
      if (is_full()) return false;
      std::optional<Violation> reason = reason_of(rule.node, name, &place);
      good = fail(subject, &place,
                  cat("is not a name that may stand here", reason ? ": it " : "",
                      reason ? reason->why : ""));
      if (is_full()) return false;
    }
    return good;
  }

  bool holds(const DependentRule& rule, const Subject& subject) {
    const Value::Object* object = subject.value.as_object();
    if (!object) return true;
    size_t lookups = rule.entries.size();
    for (const DependentRule::Entry& entry : rule.entries) lookups += entry.required.size();
    Members members(*object, lookups);
    if (!spend(members.cost())) return false;
    bool good = true;
    for (const DependentRule::Entry& entry : rule.entries) {
      if (!spend_on(entry.name)) return false;
      if (!members.has(entry.name)) continue;
      bool fit = entry.node == kNoNode
                     ? has_all(entry.required, members,
                               cat("is missing: required beside ", shown_text(entry.name)), subject)
                     : fits(entry.node, subject.value, subject.place, subject.evaluated);
      good = good && fit;
      if (!fit && is_full()) return false;
    }
    return good;
  }

  // A dynamic reference goes to the outermost schema of its name that is in scope.
  bool holds(const ReferenceRule& rule, const Subject& subject) {
    NodeId target = rule.node;
    if (!rule.dynamic_anchor.empty()) {
      for (uint32_t resource : scope_) {  // the outermost first
        const auto& anchors = program_.dynamic_anchors[resource];
        auto found = anchors.find(rule.dynamic_anchor);
        if (found == anchors.end()) continue;
        target = found->second;
        break;
      }
    }
    return fits(target, subject.value, subject.place, subject.evaluated);
  }

  bool holds(const AllOfRule& rule, const Subject& subject) {
    bool good = true;
    for (NodeId node : rule.nodes) {
      bool fit = fits(node, subject.value, subject.place, subject.evaluated);
      good = good && fit;
      if (!fit && is_full()) return false;
    }
    return good;
  }

  // What a form that was not met looked at counts for nothing.
  bool fits_apart(NodeId node, const Subject& subject) {
    if (!subject.evaluated) return fits_quietly(node, subject.value, subject.place, nullptr);
    Evaluated own;
    if (!fits_quietly(node, subject.value, subject.place, &own) || !spend(own.marks.size() / 16))
      return false;
    subject.evaluated->add(own);
    return true;
  }

  bool holds(const AnyOfRule& rule, const Subject& subject) {
    bool good = false;
    for (NodeId node : rule.nodes) {
      good = fits_apart(node, subject) || good;
      if (exhausted_ || (good && !subject.evaluated)) break;
    }
    return good || fails_all(rule.nodes, subject);
  }

  bool holds(const OneOfRule& rule, const Subject& subject) {
    constexpr size_t kNone = SIZE_MAX;
    size_t first = kNone;
    for (size_t i = 0; i < rule.nodes.size() && !exhausted_; ++i) {
      if (!fits_apart(rule.nodes[i], subject)) continue;
      if (first != kNone)
        return fail(subject, [&] {
          return cat("fits more than one of the allowed forms (", first, " and ", i,
                     "): exactly one must fit");
        });
      first = i;
    }
    return first != kNone || fails_all(rule.nodes, subject);
  }

  bool holds(const NotRule& rule, const Subject& subject) {
    if (!fits_quietly(rule.node, subject.value, subject.place, nullptr)) return true;
    return fail(subject, [&] { return words_for_not(program_.nodes[rule.node]); });
  }

  // A `not` around one simple rule can be said in plain words.
  static std::string words_for_not(const Node& node) {
    if (node.rules.size() == 1) {
      const auto& rule = node.rules[0].rule;
      if (auto* type = std::get_if<TypeRule>(&rule))
        return cat("must not be ", name_of(type->types));
      if (auto* listed = std::get_if<EnumRule>(&rule))
        return cat("must not be ", listed->constant ? "" : "one of ", listed->shown);
      if (auto* pattern = std::get_if<PatternRule>(&rule))
        return cat("must not match the pattern ", shown_text(pattern->text, 200));
      if (auto* required = std::get_if<RequiredRule>(&rule);
          required && required->names.size() == 1)
        return cat("must not have ", shown_text(required->names[0]));
    }
    return "must not be what 'not' describes";
  }

  // What the condition looked at counts as evaluated only if it holds.
  bool holds(const IfRule& rule, const Subject& subject) {
    bool condition = fits_apart(rule.condition, subject);
    NodeId next = condition ? rule.then : rule.otherwise;
    return next == kNoNode || fits(next, subject.value, subject.place, subject.evaluated);
  }

  bool holds(const UnevaluatedItemsRule& rule, const Subject& subject) {
    const Value::Array* array = subject.value.as_array();
    if (!array) return true;
    if (!spend(array->size() / 16)) return false;
    bool good = true;
    for (size_t i = 0; i < array->size(); ++i) {
      if (subject.evaluated->has(i)) continue;
      Place place{subject.place, nullptr, i};
      bool never = program_.nodes[rule.node].never;
      bool fit = never ? fail(subject, &place, "is one too many: nothing describes it")
                       : fits(rule.node, (*array)[i], &place, nullptr);
      good = good && fit;
      if (!fit && is_full()) return false;
    }
    subject.evaluated->all = true;
    return good;
  }

  bool holds(const UnevaluatedPropertiesRule& rule, const Subject& subject) {
    const Value::Object* object = subject.value.as_object();
    if (!object) return true;
    if (!spend(object->size() / 16)) return false;
    bool good = true;
    for (size_t i = 0; i < object->size(); ++i) {
      if (subject.evaluated->has(i)) continue;
      Place place{subject.place, &(*object)[i].first, 0};
      bool never = program_.nodes[rule.node].never;
      bool fit = never ? fail(subject, &place, "is not allowed here: nothing describes it")
                       : fits(rule.node, (*object)[i].second, &place, nullptr);
      good = good && fit;
      if (!fit && is_full()) return false;
    }
    subject.evaluated->all = true;
    return good;
  }

  // Below: what to say when none of several forms was met.

  // Why a value does not fit a node, found out from the steps set aside for that.
  std::optional<Violation> reason_of(NodeId node, const Value& value, const Place* place) {
    if (explaining_ == kDeepestExplanation) return std::nullopt;
    std::vector<Violation> found;
    std::vector<Violation>* out = std::exchange(out_, &found);
    size_t most = std::exchange(most_, 1);
    int64_t steps = 0;
    if (explaining_++ == 0) steps = std::exchange(steps_, steps_to_explain_);
    (void)fits(node, value, place, nullptr);
    if (--explaining_ == 0) {
      steps_to_explain_ = std::max<int64_t>(steps_, 0);
      steps_ = steps;
      if (exhausted_) found.clear();
      exhausted_ = too_deep_ = false;
    }
    most_ = most;
    out_ = out;
    if (found.empty()) return std::nullopt;
    return std::move(found.front());
  }

  // The types that a node takes, as far as it says so itself or by a reference.
  uint8_t types_of(NodeId id) const {
    for (int hop = 0; hop < 8; ++hop) {
      const Node& node = program_.nodes[id];
      const ReferenceRule* reference = nullptr;
      for (const Rule& rule : node.rules) {
        if (auto* type = std::get_if<TypeRule>(&rule.rule)) return type->types;
        if (auto* found = std::get_if<ReferenceRule>(&rule.rule)) reference = found;
      }
      if (!reference) break;
      id = reference->node;
    }
    return 0xff;
  }

  // Forms for another type were not meant, and neither were those whose constants say so. If one is
  // left, what is wrong with that is what to say.
  bool fails_all(const std::vector<NodeId>& nodes, const Subject& subject) {
    if (!out_ || exhausted_) return false;
    constexpr size_t kMostForms = 64;
    uint8_t all_types = 0;
    std::vector<Violation> reasons, by_content;
    for (size_t i = 0, tried = 0; i < nodes.size(); ++i) {
      uint8_t types = types_of(nodes[i]);
      all_types |= types;
      if (!(types & type_of(subject.value)) || ++tried > kMostForms) continue;
      std::optional<Violation> reason = reason_of(nodes[i], subject.value, subject.place);
      if (!reason) continue;
      if (!ends_with(reason->keyword, "/const") && !ends_with(reason->keyword, "/enum"))
        by_content.push_back(*reason);
      reasons.push_back(std::move(*reason));
    }
    if (!(all_types & type_of(subject.value)))
      return fail(subject, [&] {
        return cat("must be ", name_of(all_types), ", not ",
                   name_of(said_of(type_of(subject.value))));
      });
    if (by_content.size() == 1) reasons = std::move(by_content);
    if (reasons.size() == 1) {
      out_->push_back(std::move(reasons.front()));
      return false;
    }
    std::vector<std::string> words;
    std::string here = where(subject.place);
    for (const Violation& reason : reasons) {
      std::string text = cat(reason.where == here ? "it" : reason.where, " ", reason.why);
      if (words.size() < 3 && std::find(words.begin(), words.end(), text) == words.end())
        words.push_back(std::move(text));
    }
    return fail(subject, [&] {
      return cat("fits none of the ", nodes.size(), " allowed forms", words.empty() ? "" : ": ",
                 join(words, "; or "));
    });
  }

  const Program& program_;
  // Null if nobody listens.
  std::vector<Violation>* out_;
  size_t most_;
  int64_t steps_ = kMostSteps;
  int64_t steps_to_explain_ = kStepsToExplain;
  int explaining_ = 0;
  int depth_ = 0;
  bool exhausted_ = false;
  bool too_deep_ = false;
  // The resources that were entered, for dynamic references.
  std::vector<uint32_t> scope_;
};

}  // namespace

std::vector<Violation> evaluate(const Program& program, const Value& value, size_t most) {
  std::vector<Violation> out;
  Evaluator(program, most, out).run(value);
  return out;
}

}  // namespace paddock::schema
