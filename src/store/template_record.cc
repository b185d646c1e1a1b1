// A template's record as text, and the names that people give them.
#include "base/digest.h"
#include "base/text.h"
#include "store/template.h"

namespace paddock::store {

namespace {

constexpr const char* kKinds[] = {"made", "snapshot", "step"};

Error malformed(const char* key) {
  return Error{Code::invalid, cat("read a template's record: '", key, "' is not what it should be"),
               ""};
}

Result<void> take(const Value& value, const char* key, std::string& into) {
  const Value* member = value.find(key);
  if (!member) return {};
  if (!member->as_string()) return malformed(key);
  into = *member->as_string();
  return {};
}

template <class Number>
Result<void> take_number(const Value& value, const char* key, Number& into) {
  const Value* member = value.find(key);
  if (!member) return {};
  if (!member->as_int() || *member->as_int() < 0) return malformed(key);
  into = static_cast<Number>(*member->as_int());
  return {};
}

bool is_id(const std::string& text) {
  return !text.empty() && text.size() <= 64 &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789") == std::string::npos;
}

bool is_word(const std::string& text, const char* letters) {
  if (text.empty() || text.size() > 128 || text[0] == '.' || text[0] == '-' || text[0] == '_')
    return false;
  return text.find_first_not_of(letters) == std::string::npos;
}

constexpr char kNameLetters[] = "abcdefghijklmnopqrstuvwxyz0123456789._-";
constexpr char kTagLetters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

}  // namespace

Value to_value(const Template& record) {
  Value tags{Value::Object{}}, env{Value::Object{}};
  for (const auto& [tag, since] : record.tags) tags.set(tag, since);
  for (const auto& [name, text] : record.env) env.set(name, text);
  Value value;
  value.set("version", 1);
  value.set("id", record.id);
  value.set("family", record.family);
  value.set("tenant", record.tenant);
  value.set("kind", kKinds[static_cast<int>(record.kind)]);
  value.set("name", record.name);
  value.set("tags", std::move(tags));
  value.set("created", record.created);
  value.set("host_usr", record.root.host_usr);
  value.set("layers", text_list(record.layers));
  value.set("bytes", record.bytes);
  value.set("user", record.user);
  value.set("cwd", record.cwd);
  value.set("env", std::move(env));
  value.set("start_command", record.start_command);
  value.set("ready_command", record.ready_command);
  value.set("cpu_millicores", record.cpu_millicores);
  value.set("memory_bytes", record.memory_bytes);
  value.set("parent", record.parent);
  value.set("sandbox", record.sandbox);
  value.set("cache_key", record.cache_key);
  return value;
}

Result<Template> template_from(const Value& value) {
  const Value* version = value.find("version");
  if (!version || !version->as_int() || *version->as_int() != 1)
    return Error{Code::invalid, "read a template's record: made by another version", ""};
  Template record;
  std::string kind;
  for (auto [key, into] : {std::pair{"id", &record.id},
                           {"family", &record.family},
                           {"tenant", &record.tenant},
                           {"name", &record.name},
                           {"kind", &kind},
                           {"user", &record.user},
                           {"cwd", &record.cwd},
                           {"start_command", &record.start_command},
                           {"ready_command", &record.ready_command},
                           {"parent", &record.parent},
                           {"sandbox", &record.sandbox},
                           {"cache_key", &record.cache_key}})
    TRY(take(value, key, *into));
  TRY(take_number(value, "created", record.created));
  TRY(take_number(value, "bytes", record.bytes));
  TRY(take_number(value, "cpu_millicores", record.cpu_millicores));
  TRY(take_number(value, "memory_bytes", record.memory_bytes));
  if (!is_id(record.id)) return malformed("id");
  if (!is_id(record.family)) return malformed("family");

  bool known = false;
  for (int i = 0; i < 3; ++i)
    if (kind == kKinds[i]) record.kind = static_cast<TemplateKind>(i), known = true;
  if (!known) return malformed("kind");
  const Value* host_usr = value.find("host_usr");
  if (!host_usr || !host_usr->as_bool()) return malformed("host_usr");
  record.root.host_usr = *host_usr->as_bool();
  const Value* layers = value.find("layers");
  if (!layers || !layers->as_array() || layers->as_array()->empty()) return malformed("layers");
  for (const Value& layer : *layers->as_array()) {
    if (!layer.as_string() || !is_id(*layer.as_string())) return malformed("layers");
    record.layers.push_back(*layer.as_string());
  }
  const Value* tags = value.find("tags");
  if (!tags || !tags->as_object()) return malformed("tags");
  for (const auto& [tag, since] : *tags->as_object()) {
    if (!since.as_int()) return malformed("tags");
    record.tags[tag] = *since.as_int();
  }
  const Value* env = value.find("env");
  if (!env || !env->as_object()) return malformed("env");
  for (const auto& [name, text] : *env->as_object()) {
    if (!text.as_string()) return malformed("env");
    record.env[name] = *text.as_string();
  }
  return record;
}

std::string template_family(const std::string& tenant, const std::string& name) {
  return to_hex(sha256_bytes(cat(tenant.size(), ":", tenant, "/", name))).substr(0, 20);
}

bool is_template_tag(const std::string& text) { return is_word(text, kTagLetters); }

Result<TemplateName> parse_template_name(const std::string& tenant, const std::string& text) {
  std::string rest = text;
  size_t slash = rest.find('/');
  if (slash != std::string::npos) {
    if (rest.substr(0, slash) != tenant)
      return Error{Code::not_found,
                   cat("find template '", printable(text), "': it is not one of yours"),
                   "leave out what stands before the slash"};
    rest = rest.substr(slash + 1);
  }
  TemplateName name;
  size_t colon = rest.find(':');
  name.name = rest.substr(0, colon);
  for (char& c : name.name)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  if (colon != std::string::npos) name.tag = rest.substr(colon + 1);
  if (!is_word(name.name, kNameLetters))
    return Error{Code::invalid, cat("read the template name '", printable(text), "': not a name"),
                 "a-z, 0-9, '.', '_' and '-', at most 128 characters"};
  if (colon != std::string::npos && !is_template_tag(name.tag))
    return Error{Code::invalid,
                 cat("read the template name '", printable(text), "': '", printable(name.tag),
                     "' is not a tag"),
                 ""};
  return name;
}

}  // namespace paddock::store
