// A template's record as text, and the names that people give them.
#include <algorithm>

#include "base/digest.h"
#include "base/record.h"
#include "base/text.h"
#include "store/template.h"

namespace paddock::store {

namespace {

constexpr const char* kKinds[] = {"made", "snapshot", "step"};
constexpr auto kIdentity = std::make_tuple(
    field("id", &Template::id), field("family", &Template::family),
    field("tenant", &Template::tenant, Presence::optional), field("kind", &Template::kind),
    field("name", &Template::name, Presence::optional), field("tags", &Template::tags),
    field("created", &Template::created, Presence::optional));
constexpr auto kHostUsr = std::make_tuple(field("host_usr", &Rootfs::host_usr));
constexpr auto kContents = std::make_tuple(
    field("layers", &Template::layers), field("bytes", &Template::bytes, Presence::optional),
    field("user", &Template::user, Presence::optional),
    field("cwd", &Template::cwd, Presence::optional), field("env", &Template::env),
    field("start_command", &Template::start_command, Presence::optional),
    field("ready_command", &Template::ready_command, Presence::optional),
    field("cpu_millicores", &Template::cpu_millicores, Presence::optional),
    field("memory_bytes", &Template::memory_bytes, Presence::optional),
    field("parent", &Template::parent, Presence::optional),
    field("sandbox", &Template::sandbox, Presence::optional),
    field("cache_key", &Template::cache_key, Presence::optional));
constexpr char kWhat[] = "a template's record";

Error malformed(const char* key) {
  return Error{Code::invalid, cat("read ", kWhat, ": '", key, "' is malformed"), ""};
}

bool is_id(const std::string& text) {
  return !text.empty() && text.size() <= 64 &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789") == std::string::npos;
}

// A leading punctuation mark is refused, so that a name cannot look like a hidden file or an
// option.
bool is_word(const std::string& text, const char* letters) {
  if (text.empty() || text.size() > 128 || text[0] == '.' || text[0] == '-' || text[0] == '_')
    return false;
  return text.find_first_not_of(letters) == std::string::npos;
}

constexpr char kNameLetters[] = "abcdefghijklmnopqrstuvwxyz0123456789._-";
constexpr char kTagLetters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

}  // namespace

static auto& names_of(TemplateKind) { return kKinds; }

Value to_value(const Template& record) {
  Value value = Value::Object{{"version", 1}};
  write_fields(kIdentity, record, value);
  write_fields(kHostUsr, record.root, value);
  write_fields(kContents, record, value);
  return value;
}

// Ids become parts of paths, so each of them is checked, although the file is our own.
Result<Template> template_from(const Value& value) {
  if (number_in(value, "version") != 1)
    return Error{Code::invalid, "read a template's record: made by another version", ""};
  Template record;
  TRY(read_record(kIdentity, value, record, kWhat));
  TRY(read_record(kHostUsr, value, record.root, kWhat));
  TRY(read_record(kContents, value, record, kWhat));
  if (!is_id(record.id)) return malformed("id");
  if (!is_id(record.family)) return malformed("family");
  if (record.layers.empty() || !std::all_of(record.layers.begin(), record.layers.end(), is_id))
    return malformed("layers");
  return record;
}

// The length of the tenant keeps two different pairs from giving the same text.
std::string template_family(const std::string& tenant, const std::string& name) {
  return to_hex(sha256_bytes(cat(tenant.size(), ":", tenant, "/", name))).substr(0, 20);
}

bool is_template_tag(const std::string& text) { return is_word(text, kTagLetters); }

// Another tenant's name is answered as if it did not exist.
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
