#include "egress/settings.h"

#include "base/text.h"

namespace paddock::egress {

namespace {

// Reads members of one object; the first that is missing or of the wrong kind is remembered.
class Reader {
 public:
  explicit Reader(const Value& value) : value_(value) {}

  void read(const char* name, std::string& text) {
    const Value* found = value_.find(name);
    if (found && found->as_string())
      text = *found->as_string();
    else
      wrong(name);
  }
  void read(const char* name, bool& flag) {
    const Value* found = value_.find(name);
    if (found && found->as_bool())
      flag = *found->as_bool();
    else
      wrong(name);
  }
  template <class Number>
  void read_number(const char* name, Number& number) {
    const Value* found = value_.find(name);
    if (found && found->as_int() && *found->as_int() >= 0)
      number = static_cast<Number>(*found->as_int());
    else
      wrong(name);
  }
  void read(const char* name, std::vector<std::string>& texts) {
    const Value* found = value_.find(name);
    if (!found || !found->as_array()) return wrong(name);
    for (const Value& item : *found->as_array()) {
      if (!item.as_string()) return wrong(name);
      texts.push_back(*item.as_string());
    }
  }
  Result<void> done() const {
    if (wrong_.empty()) return {};
    return Error{Code::invalid, cat("the settings of egress lack a valid '", wrong_, "'"), ""};
  }

 private:
  void wrong(const char* name) {
    if (wrong_.empty()) wrong_ = name;
  }
  const Value& value_;
  std::string wrong_;
};

}  // namespace

Value to_value(const Settings& settings) {
  Value value;
  value.set("sandbox", settings.sandbox);
  value.set("allow", text_list(settings.allow));
  value.set("deny", text_list(settings.deny));
  if (settings.granted) value.set("granted", text_list(*settings.granted));
  value.set("strict", settings.strict);
  value.set("resolvers", text_list(settings.resolvers));
  Value::Array inject;
  for (const Inject& entry : settings.inject) {
    Value item;
    item.set("host", entry.host);
    item.set("header", entry.header);
    item.set("value", entry.value);
    item.set("secret", entry.secret);
    inject.push_back(std::move(item));
  }
  value.set("inject", std::move(inject));
  value.set("connections", settings.connections);
  value.set("up_rate", settings.up_rate);
  value.set("down_rate", settings.down_rate);
  value.set("total", settings.total);
  value.set("live_ms", settings.live_ms);
  value.set("uid", static_cast<uint64_t>(settings.uid));
  return value;
}

Result<Settings> settings_from_value(const Value& value) {
  Settings settings;
  Reader reader(value);
  reader.read("sandbox", settings.sandbox);
  reader.read("allow", settings.allow);
  reader.read("deny", settings.deny);
  if (value.find("granted")) reader.read("granted", settings.granted.emplace());
  reader.read("strict", settings.strict);
  reader.read("resolvers", settings.resolvers);
  reader.read_number("connections", settings.connections);
  reader.read_number("up_rate", settings.up_rate);
  reader.read_number("down_rate", settings.down_rate);
  reader.read_number("total", settings.total);
  reader.read_number("live_ms", settings.live_ms);
  reader.read_number("uid", settings.uid);
  TRY(reader.done());
  const Value* inject = value.find("inject");
  if (!inject || !inject->as_array())
    return Error{Code::invalid, "the settings of egress lack a valid 'inject'", ""};
  for (const Value& item : *inject->as_array()) {
    Inject entry;
    Reader members(item);
    members.read("host", entry.host);
    members.read("header", entry.header);
    members.read("value", entry.value);
    members.read("secret", entry.secret);
    TRY(members.done());
    settings.inject.push_back(std::move(entry));
  }
  return settings;
}

}  // namespace paddock::egress
