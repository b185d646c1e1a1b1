#include "telemetry/spans.h"

#include "base/text.h"

namespace paddock::telemetry {

namespace {

// Bounds on what one trace can cost: spans in memory, events and attributes of a span, bytes of a
// text.
constexpr size_t kMostOpen = 20'000, kMostInstants = 128, kMostAttributes = 64, kLongestText = 4096;
// In the data of an end whose span is not called after its kind.
constexpr char kName[] = "span.name";

// SpanKind of OTLP.
constexpr int kInternal = 1, kServer = 2, kClient = 3;

// Status of OTLP.
constexpr int kOk = 1, kError = 2;

// A value as OTLP writes it. Objects inside of lists become text.
Value any_value(const Value& value) {
  if (const bool* truth = value.as_bool()) return Value::Object{{"boolValue", *truth}};
  // 64 bits are strings in JSON.
  if (const int64_t* number = value.as_int()) return Value::Object{{"intValue", to_text(*number)}};
  if (const double* number = value.as_double()) return Value::Object{{"doubleValue", *number}};
  if (const Value::Array* list = value.as_array()) {
    Value::Array values;
    for (const Value& item : *list) {
      if (values.size() == kMostAttributes) break;
      values.push_back(
          any_value(item.as_object() || item.as_array() ? Value(to_json(item)) : item));
    }
    return Value::Object{{"arrayValue", Value::Object{{"values", std::move(values)}}}};
  }
  std::string text = value.as_string() ? *value.as_string() : to_json(value);
  if (text.size() > kLongestText) text.resize(kLongestText);
  return Value::Object{{"stringValue", to_utf8(text)}};
}

// Attributes by name; the last that is said of a name counts.
class Attributes {
 public:
  // Nested objects become names with dots. Beyond the limit attributes are only counted.
  void add(const std::string& name, const Value& value) {
    if (value.is_null() || (value.as_string() && value.as_string()->empty())) return;
    if (const Value::Object* members = value.as_object()) {
      for (const auto& [key, member] : *members) add(cat(name, ".", key), member);
      return;
    }
    if (all_.size() < kMostAttributes || all_.count(name))
      all_.insert_or_assign(name, any_value(value));
    else
      ++left_out_;
  }
  // Names with a dot are conventions that others share; all else is ours.
  void add_data(const Event& event) {
    const Value::Object* members = event.data.as_object();
    if (members)
      for (const auto& [name, value] : *members)
        if (name != kName)
          add(name.find('.') == std::string::npos ? cat("paddock.", name) : name, value);
  }
  void add_who(const Event& event) {
    add("paddock.sandbox", event.sandbox);
    add("paddock.tenant", event.tenant);
    add("paddock.agent", event.agent);
    add("paddock.verdict", event.verdict);
  }
  Value list() const {
    Value::Array list;
    for (const auto& [name, value] : all_)
      list.push_back(Value::Object{{"key", to_utf8(name)}, {"value", value}});
    return list;
  }
  uint64_t left_out() const { return left_out_; }

 private:
  std::map<std::string, Value> all_;
  uint64_t left_out_ = 0;
};

// OTLP writes 64-bit numbers as texts.
std::string nanoseconds(int64_t time_us) { return to_text(time_us) + "000"; }

// A span is called after what happened, without the word for its beginning or end.
std::string name_of(const Event& event) {
  const Value* own = event.data.find(kName);
  if (own && own->as_string()) return *own->as_string();
  for (std::string_view tail : {".start", ".end", ".create", ".call"})
    if (ends_with(event.kind, tail)) return event.kind.substr(0, event.kind.size() - tail.size());
  return event.kind;
}

int kind_of(const Event& event) {
  if (starts_with(event.kind, "api.")) return kServer;
  return event.kind == "connection" ? kClient : kInternal;
}

// A text, or an object with one.
std::string error_in(const Value& data) {
  const Value* error = data.find("error");
  return error && error->as_object() ? text_in(*error, "message") : text_in(data, "error");
}

struct Status {
  int code = 0;
  std::string message;
};

// An outcome is an error unless the command ended with status 0.
Status status_of_outcome(const Value& outcome) {
  if (const std::string* word = outcome.as_string())
    return *word == "ok" ? Status{kOk, ""} : Status{kError, *word};
  std::string kind = text_in(outcome, "kind");
  if (kind == "limit") return {kError, cat("limit ", text_in(outcome, "limit"))};
  if (kind == "signaled") return {kError, text_in(outcome, "signal")};
  const Value* code = outcome.find("code");
  if (!code || !code->as_int()) return {};
  if (*code->as_int() == 0) return {kOk, ""};
  return {kError, cat("exit status ", *code->as_int())};
}

// The first reason that is found names the failure: a denial, an error, a limit, then the outcome.
Status status_of(const Event& event) {
  if (event.verdict == "deny")
    return {kError, text_in(event.data, "why").empty() ? "denied" : text_in(event.data, "why")};
  if (std::string error = error_in(event.data); !error.empty()) return {kError, error};
  if (std::string limit = text_in(event.data, "limit"); !limit.empty())
    return {kError, cat("limit ", limit)};
  if (const Value* outcome = event.data.find("outcome")) return status_of_outcome(*outcome);
  const Value* status = event.data.find("http.response.status_code");
  if (status && status->as_int() && *status->as_int() >= 500)
    return {kError, cat("status ", *status->as_int())};
  return {};
}

// Something that takes no time is an event of the span around it.
Value instant_json(const Event& event) {
  Attributes attributes;
  attributes.add_data(event);
  attributes.add("paddock.verdict", event.verdict);
  return Value::Object{{"timeUnixNano", nanoseconds(event.time_us)},
                       {"name", event.kind},
                       {"attributes", attributes.list()}};
}

// `end` is the end, or something that was over when it was told.
std::string span_json(const Event& end, const Event* start, const std::vector<Event>& instants,
                      uint64_t left_out) {
  Attributes attributes;
  if (start) attributes.add_who(*start);
  if (start) attributes.add_data(*start);
  attributes.add_who(end);
  attributes.add_data(end);
  int64_t duration = std::max<int64_t>(0, end.duration_us);
  Value span;
  span.set("traceId", end.trace);
  span.set("spanId", end.span.empty() ? Cause::begin().span : end.span);
  const std::string& parent = end.parent.empty() && start ? start->parent : end.parent;
  if (!parent.empty()) span.set("parentSpanId", parent);
  span.set("name", name_of(end));
  span.set("kind", kind_of(end));
  span.set("startTimeUnixNano",
           nanoseconds(start ? std::min(start->time_us, end.time_us) : end.time_us - duration));
  span.set("endTimeUnixNano", nanoseconds(end.time_us));
  span.set("attributes", attributes.list());
  if (attributes.left_out()) span.set("droppedAttributesCount", attributes.left_out());
  Value::Array events;
  for (const Event& instant : instants) events.push_back(instant_json(instant));
  span.set("events", std::move(events));
  if (left_out) span.set("droppedEventsCount", left_out);
  Status status = status_of(end);
  Value told{Value::Object{}};
  if (status.code) told.set("code", status.code);
  if (!status.message.empty()) told.set("message", status.message);
  span.set("status", std::move(told));
  return to_json(span);
}

// What has a span without being a beginning is an instant: its span ties it to what is told when it
// failed.
bool is_beginning(const Event& event) {
  for (std::string_view tail : {".start", ".create", ".call"})
    if (ends_with(event.kind, tail)) return true;
  return event.kind == "admin" && text_in(event.data, "act") == "template.build";
}

}  // namespace

// A beginning opens a span; its end makes it whole; instants are added to the span they belong to.
void Spans::take(const Event& event, std::vector<std::string>& whole) {
  bool is_over = event.duration_us >= 0;
  if (!event.span.empty() && !is_over && is_beginning(event)) {
    if (open_.size() < kMostOpen) open_[event.span].start = event;  // else its end stands alone
    return;
  }
  auto own = event.span.empty() ? open_.end() : open_.find(event.span);
  if (own != open_.end()) {
    whole.push_back(
        span_json(event, &own->second.start, own->second.instants, own->second.left_out));
    open_.erase(own);
    return;
  }
  auto parent = is_over ? open_.end() : open_.find(event.parent);
  if (parent == open_.end()) {
    whole.push_back(span_json(event, nullptr, {}, 0));
  } else if (parent->second.instants.size() < kMostInstants) {
    parent->second.instants.push_back(event);
  } else {
    ++parent->second.left_out;
  }
}

// The spans are JSON already, so the request is put together as text.
std::string make_request(const std::map<std::string, std::string>& resource,
                         const std::vector<std::string>& spans) {
  Value::Array attributes;
  for (const auto& [name, value] : resource)
    attributes.push_back(
        Value::Object{{"key", name}, {"value", Value::Object{{"stringValue", value}}}});
  std::string scope = to_json(Value::Object{{"name", "paddock"}, {"version", PADDOCK_VERSION}});
  return cat("{\"resourceSpans\":[{\"resource\":{\"attributes\":", to_json(attributes),
             "},\"scopeSpans\":[{\"scope\":", scope, ",\"spans\":[", join(spans, ","), "]}]}]}");
}

}  // namespace paddock::telemetry
