#include <algorithm>
#include <cmath>
#include <span>
#include <unordered_map>
#include <utility>

#include "base/text.h"
#include "schema/index.h"
#include "schema/number.h"
#include "schema/program.h"
#include "schema/words.h"

namespace paddock::schema {

namespace {

// Different ones; each may take a megabyte while it is matched.
constexpr size_t kMostPatterns = 64;

// Compiles one schema after the other. Schemas that are found on the way are queued, so that depth
// costs no stack.
class Compiler {
 public:
  explicit Compiler(Index index) : index_(std::move(index)) {}

  // Dynamic anchors and loops can only be judged when every node is known.
  Result<Program> run(const Value& document) {
    (void)node(document);
    for (size_t next = 0; next < queue_.size(); ++next)
      TRY(compile(*queue_[next], static_cast<NodeId>(next)));
    TRY(add_dynamic_anchors());
    TRY(check_loops(program_));
    return std::move(program_);
  }

 private:
  using Handler = Result<void> (Compiler::*)(const Value& value);
  struct Keyword {
    std::string_view name;
    Handler handler;
    bool in_draft7;
    bool in_draft2020;
  };
  static std::span<const Keyword> keywords();

  // The node of a schema, which is compiled later.
  NodeId node(const Value& schema) {
    auto [entry, fresh] = ids_.emplace(&schema, static_cast<NodeId>(queue_.size()));
    if (fresh) {
      queue_.push_back(&schema);
      program_.nodes.emplace_back();
      program_.nodes.back().never = schema.as_bool() && !*schema.as_bool();
    }
    return entry->second;
  }

  // Bounds, types and late rules are put in an order that makes evaluation simple and messages
  // clear.
  Result<void> compile(const Value& schema, NodeId id) {
    schema_ = &schema;
    rules_.clear();
    const Spot& spot = index_.spot(&schema);
    pointer_ = spot.pointer;
    uint32_t resource = spot.resource;
    if (schema.as_bool()) {
      keyword_ = "";
      if (!*schema.as_bool()) put(NeverRule{});
    } else {
      TRY(compile_keywords());
    }
    Node& node = program_.nodes[id];
    auto is_type = [](const Rule& rule) { return std::holds_alternative<TypeRule>(rule.rule); };
    auto is_late = [](const Rule& rule) {
      return std::holds_alternative<UnevaluatedItemsRule>(rule.rule) ||
             std::holds_alternative<UnevaluatedPropertiesRule>(rule.rule);
    };
    // A wrong type is the clearest thing to say, so it is said first. What was evaluated is known
    // when all else is done.
    std::stable_partition(rules_.begin(), rules_.end(), is_type);
    std::stable_partition(rules_.begin(), rules_.end(),
                          [&](const Rule& rule) { return !is_late(rule); });
    node.tracks = !rules_.empty() && is_late(rules_.back());
    node.rules = std::move(rules_);
    node.pointer = pointer_;
    node.resource = resource;
    return {};
  }

  // In draft-07 a $ref hides everything beside it. Keywords that are not known say nothing.
  Result<void> compile_keywords() {
    old_ = index_.dialect(schema_) == Dialect::draft7;
    if (const Value* reference = old_ ? schema_->find("$ref") : nullptr) {
      keyword_ = "$ref";
      return compile_reference(*reference);
    }
    grouped_properties_ = grouped_items_ = false;
    for (const Value::Member& member : *schema_->as_object()) {
      for (const Keyword& keyword : keywords()) {
        if (keyword.name != member.first || !(old_ ? keyword.in_draft7 : keyword.in_draft2020))
          continue;
        keyword_ = keyword.name;
        TRY((this->*keyword.handler)(member.second));
        break;
      }
    }
    return {};
  }

  template <class T>
  void put(T rule) {
    rules_.push_back(Rule{std::move(rule), keyword_});
  }

  // Names the place in the schema and the keyword.
  Error wrong(std::string_view why, std::string hint = "") const {
    return schema_error(cat(pointer_, "/", keyword_), why, std::move(hint));
  }

  Result<NodeId> child(const Value& value) {
    if (!value.as_object() && !value.as_bool())
      return wrong(cat("must be a schema, not ", name_of(type_of(value))));
    return node(value);
  }

  // An empty list is an error of the specification.
  Result<std::vector<NodeId>> children(const Value& value) {
    if (!value.as_array() || value.as_array()->empty())
      return wrong("must be a list of schemas, with one at least");
    std::vector<NodeId> nodes;
    for (const Value& item : *value.as_array()) nodes.push_back(TRY(child(item)));
    return nodes;
  }

  // A number such as 5.0 is a whole number in JSON Schema.
  Result<size_t> count(const Value& value) {
    if (!is_number(value) || !is_integer(value) || compare_numbers(value, Value(0)) < 0)
      return wrong("must be a whole number, not below zero");
    if (value.as_int()) return static_cast<size_t>(*value.as_int());
    return *value.as_double() < 9e18 ? static_cast<size_t>(*value.as_double()) : SIZE_MAX;
  }

  Result<std::vector<std::string>> names(const Value& value) {
    if (!value.as_array()) return wrong("must be a list of names");
    std::vector<std::string> list;
    for (const Value& item : *value.as_array()) {
      if (!item.as_string()) return wrong("must be a list of names");
      list.push_back(*item.as_string());
    }
    return list;
  }

  // The same text is compiled once, however often it occurs.
  Result<EcmaPattern> pattern(const std::string& text) {
    auto known = patterns_.find(text);
    if (known != patterns_.end()) return known->second;
    if (patterns_.size() >= kMostPatterns)
      return wrong(cat("more than ", kMostPatterns, " different patterns in one schema"));
    Result<EcmaPattern> compiled = EcmaPattern::compile(text);
    if (!compiled) return wrong(compiled.error().message, compiled.error().hint);
    patterns_.emplace(text, compiled.value());
    return compiled;
  }

  Result<void> compile_reference(const Value& value) {
    if (!value.as_string()) return wrong("must be a string");
    put(ReferenceRule{node(*TRY(index_.resolve(schema_, *value.as_string())).schema), ""});
    return {};
  }

  // Which schema it means is decided while a value is checked.
  Result<void> compile_dynamic_reference(const Value& value) {
    if (!value.as_string()) return wrong("must be a string");
    Index::Target target = TRY(index_.resolve(schema_, *value.as_string()));
    put(ReferenceRule{node(*target.schema), target.dynamic_anchor});
    return {};
  }

  Result<void> compile_type(const Value& value) {
    static constexpr std::pair<std::string_view, uint8_t> kTypes[] = {
        {"null", kNull},       {"boolean", kBoolean},
        {"integer", kInteger}, {"number", kNumber | kInteger},
        {"string", kString},   {"array", kArray},
        {"object", kObject}};
    Value::Array one{value};
    const Value::Array& list = value.as_array() ? *value.as_array() : one;
    TypeRule rule;
    for (const Value& item : list) {
      uint8_t before = rule.types;
      for (const auto& [name, type] : kTypes)
        if (item.as_string() && *item.as_string() == name) rule.types |= type;
      bool known = rule.types != before || (item.as_string() && *item.as_string() == "integer");
      if (!known)
        return wrong("is not a type of JSON",
                     "null, boolean, integer, number, string, array or object, each once");
    }
    if (list.empty()) return wrong("an empty list: nothing could pass");
    put(rule);
    return {};
  }

  // Values are kept sorted in canonical form, so that long lists cost little.
  void put_enum(const Value::Array& values, bool constant) {
    EnumRule rule;
    rule.constant = constant;
    rule.shown = shown_values(values);
    for (const Value& value : values) {
      if (value.as_string())
        rule.texts.push_back(*value.as_string());
      else
        append_canonical(value, rule.others.emplace_back());
    }
    std::sort(rule.texts.begin(), rule.texts.end());
    std::sort(rule.others.begin(), rule.others.end());
    put(std::move(rule));
  }

  Result<void> compile_enum(const Value& value) {
    if (!value.as_array()) return wrong("must be a list");
    put_enum(*value.as_array(), false);
    return {};
  }

  Result<void> compile_const(const Value& value) {
    put_enum({value}, true);
    return {};
  }

  Result<void> compile_bound(const Value& value) {
    bool finite = is_number(value) && (value.as_int() || std::isfinite(*value.as_double()));
    if (!finite) return wrong("must be a number");
    bool upper = keyword_ == "maximum" || keyword_ == "exclusiveMaximum";
    put(BoundRule{value, upper, starts_with(keyword_, "exclusive")});
    return {};
  }

  Result<void> compile_multiple(const Value& value) {
    bool right = is_number(value) && is_positive(value) &&
                 (value.as_int() || std::isfinite(*value.as_double()));
    if (!right) return wrong("must be a number above zero");
    put(MultipleRule{value});
    return {};
  }

  Result<void> compile_length(const Value& value) {
    put(LengthRule{TRY(count(value)), keyword_ == "maxLength"});
    return {};
  }

  Result<void> compile_count(const Value& value) {
    put(CountRule{TRY(count(value)), starts_with(keyword_, "max"),
                  ends_with(keyword_, "Properties")});
    return {};
  }

  Result<void> compile_pattern(const Value& value) {
    if (!value.as_string()) return wrong("must be a string");
    put(PatternRule{TRY(pattern(*value.as_string())), *value.as_string()});
    return {};
  }

  // Formats that are not known say nothing, as the specification wants it.
  Result<void> compile_format(const Value& value) {
    if (!value.as_string()) return wrong("must be a string");
    if (const Format* format = find_format(*value.as_string())) put(FormatRule{format});
    return {};
  }

  Result<void> compile_unique(const Value& value) {
    if (!value.as_bool()) return wrong("must be true or false");
    if (*value.as_bool()) put(UniqueRule{});
    return {};
  }

  // prefixItems and items; in draft-07 items (a schema or a list of them) and additionalItems.
  Result<void> compile_items(const Value&) {
    if (grouped_items_) return {};
    grouped_items_ = true;
    const Value* prefix = schema_->find(old_ ? "items" : "prefixItems");
    const Value* rest = schema_->find(old_ ? "additionalItems" : "items");
    if (!old_ && rest && rest->as_array()) {
      keyword_ = "items";
      return wrong("must be a schema, not a list", "use prefixItems, or name draft-07 in $schema");
    }
    if (old_ && !prefix) return {};  // additionalItems alone says nothing
    if (old_ && !prefix->as_array()) rest = std::exchange(prefix, nullptr);
    ItemsRule rule;
    if (prefix) rule.prefix = TRY(items_of(*prefix));
    if (rest) rule.rest = TRY(child(*rest));
    put(std::move(rule));
    return {};
  }

  Result<std::vector<NodeId>> items_of(const Value& list) {
    if (old_ && list.as_array()->empty()) return std::vector<NodeId>();
    return children(list);
  }

  Result<void> compile_contains(const Value& value) {
    ContainsRule rule{TRY(child(value))};
    const Value* least = old_ ? nullptr : schema_->find("minContains");
    const Value* most = old_ ? nullptr : schema_->find("maxContains");
    if (least) rule.least = TRY(count(*least));
    if (most) rule.most = TRY(count(*most));
    put(rule);
    return {};
  }

  Result<void> compile_required(const Value& value) {
    put(RequiredRule{TRY(names(value))});
    return {};
  }

  // The three keywords about properties depend on each other, so they become one rule.
  Result<void> compile_properties(const Value&) {
    if (grouped_properties_) return {};
    grouped_properties_ = true;
    PropertiesRule rule;
    if (const Value* named = schema_->find("properties")) {
      keyword_ = "properties";
      if (!named->as_object()) return wrong("must be an object with a schema for each property");
      for (const Value::Member& member : *named->as_object())
        rule.named.push_back({member.first, TRY(child(member.second))});
      std::sort(rule.named.begin(), rule.named.end(),
                [](auto& a, auto& b) { return a.name < b.name; });
    }
    if (const Value* matching = schema_->find("patternProperties")) {
      keyword_ = "patternProperties";
      if (!matching->as_object()) return wrong("must be an object with a schema for each pattern");
      for (const Value::Member& member : *matching->as_object())
        rule.matching.push_back({TRY(pattern(member.first)), TRY(child(member.second))});
    }
    if (const Value* additional = schema_->find("additionalProperties")) {
      keyword_ = "additionalProperties";
      rule.additional = TRY(child(*additional));
    }
    put(std::move(rule));
    return {};
  }

  Result<void> compile_property_names(const Value& value) {
    put(PropertyNamesRule{TRY(child(value))});
    return {};
  }

  // dependentRequired, dependentSchemas, and dependencies, which is both.
  Result<void> compile_dependent(const Value& value) {
    if (!value.as_object()) return wrong("must be an object");
    DependentRule rule;
    for (const Value::Member& member : *value.as_object()) {
      bool list = keyword_ == "dependentRequired" ||
                  (keyword_ == "dependencies" && member.second.as_array());
      DependentRule::Entry entry{member.first, {}, kNoNode};
      if (list)
        entry.required = TRY(names(member.second));
      else
        entry.node = TRY(child(member.second));
      rule.entries.push_back(std::move(entry));
    }
    put(std::move(rule));
    return {};
  }

  // The keywords that take a list of schemas, and below those that take one.
  template <class T>
  Result<void> compile_list(const Value& value) {
    put(T{TRY(children(value))});
    return {};
  }

  template <class T>
  Result<void> compile_one(const Value& value) {
    put(T{TRY(child(value))});
    return {};
  }

  // `then` and `else` without `if` say nothing, so they are only read here.
  Result<void> compile_if(const Value& value) {
    IfRule rule{TRY(child(value))};
    if (const Value* then = schema_->find("then")) rule.then = TRY(child(*then));
    if (const Value* otherwise = schema_->find("else")) rule.otherwise = TRY(child(*otherwise));
    put(rule);
    return {};
  }

  // Only where a name stands for several schemas does it matter which is the outermost; elsewhere a
  // dynamic reference is a plain one.
  Result<void> add_dynamic_anchors() {
    std::map<std::string, int> uses;
    for (const Resource& resource : index_.resources())
      for (const auto& [name, schema] : resource.dynamic_anchors) ++uses[name];
    bool needed = false;
    for (Node& node : program_.nodes)
      for (Rule& rule : node.rules)
        if (auto* reference = std::get_if<ReferenceRule>(&rule.rule)) {
          if (uses[reference->dynamic_anchor] < 2) reference->dynamic_anchor.clear();
          needed = needed || !reference->dynamic_anchor.empty();
        }
    if (!needed) return {};
    size_t compiled = queue_.size();
    // By number: compiling may find more.
    for (size_t i = 0; i < index_.resources().size(); ++i) {
      program_.dynamic_anchors.emplace_back();
      std::map<std::string, const Value*> anchors = index_.resources()[i].dynamic_anchors;
      for (const auto& [name, schema] : anchors)
        program_.dynamic_anchors[i].emplace(name, node(*schema));
      for (; compiled < queue_.size(); ++compiled)
        TRY(compile(*queue_[compiled], static_cast<NodeId>(compiled)));
    }
    return {};
  }

  Index index_;
  Program program_;
  std::unordered_map<const Value*, NodeId> ids_;
  // The schema of each node.
  std::vector<const Value*> queue_;
  std::map<std::string, EcmaPattern> patterns_;

  // The state of the schema that is being compiled.
  const Value* schema_ = nullptr;
  std::string pointer_;
  std::string_view keyword_;
  std::vector<Rule> rules_;
  bool old_ = false;
  bool grouped_properties_ = false;
  bool grouped_items_ = false;
};

std::span<const Compiler::Keyword> Compiler::keywords() {
  static constexpr Keyword kKeywords[] = {
      {"$ref", &Compiler::compile_reference, true, true},
      {"$dynamicRef", &Compiler::compile_dynamic_reference, false, true},
      {"type", &Compiler::compile_type, true, true},
      {"enum", &Compiler::compile_enum, true, true},
      {"const", &Compiler::compile_const, true, true},
      {"minimum", &Compiler::compile_bound, true, true},
      {"maximum", &Compiler::compile_bound, true, true},
      {"exclusiveMinimum", &Compiler::compile_bound, true, true},
      {"exclusiveMaximum", &Compiler::compile_bound, true, true},
      {"multipleOf", &Compiler::compile_multiple, true, true},
      {"minLength", &Compiler::compile_length, true, true},
      {"maxLength", &Compiler::compile_length, true, true},
      {"pattern", &Compiler::compile_pattern, true, true},
      {"format", &Compiler::compile_format, true, true},
      {"minItems", &Compiler::compile_count, true, true},
      {"maxItems", &Compiler::compile_count, true, true},
      {"uniqueItems", &Compiler::compile_unique, true, true},
      {"items", &Compiler::compile_items, true, true},
      {"prefixItems", &Compiler::compile_items, false, true},
      {"additionalItems", &Compiler::compile_items, true, false},
      {"contains", &Compiler::compile_contains, true, true},
      {"minProperties", &Compiler::compile_count, true, true},
      {"maxProperties", &Compiler::compile_count, true, true},
      {"required", &Compiler::compile_required, true, true},
      {"properties", &Compiler::compile_properties, true, true},
      {"patternProperties", &Compiler::compile_properties, true, true},
      {"additionalProperties", &Compiler::compile_properties, true, true},
      {"propertyNames", &Compiler::compile_property_names, true, true},
      {"dependentRequired", &Compiler::compile_dependent, false, true},
      {"dependentSchemas", &Compiler::compile_dependent, false, true},
      {"dependencies", &Compiler::compile_dependent, true, true},
      {"allOf", &Compiler::compile_list<AllOfRule>, true, true},
      {"anyOf", &Compiler::compile_list<AnyOfRule>, true, true},
      {"oneOf", &Compiler::compile_list<OneOfRule>, true, true},
      {"not", &Compiler::compile_one<NotRule>, true, true},
      {"if", &Compiler::compile_if, true, true},
      {"unevaluatedItems", &Compiler::compile_one<UnevaluatedItemsRule>, false, true},
      {"unevaluatedProperties", &Compiler::compile_one<UnevaluatedPropertiesRule>, false, true},
  };
  return kKeywords;
}

}  // namespace

Result<Program> compile_program(const Value& document) {
  Index index = TRY(Index::build(document));
  return Compiler(std::move(index)).run(document);
}

}  // namespace paddock::schema
