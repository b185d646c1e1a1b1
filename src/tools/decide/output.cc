#include "tools/decide/output.h"

#include <algorithm>
#include <optional>

#include "base/base64.h"
#include "base/text.h"
#include "base/value_edit.h"
#include "tools/provider.h"

namespace paddock::tools {

namespace {

// In bytes: room for the note on what was cut.
constexpr uint64_t kForMarks = 512;

// Returns the member to change it in place, or null.
Value* member(Value& value, std::string_view key) {
  if (Value::Object* members = value.as_object())
    for (auto& [name, each] : *members)
      if (name == key) return &each;
  return nullptr;
}

// Texts in a member that should hold base64 are redacted like any text.
bool is_base64(const std::string& text) {
  return text.find_first_not_of(
             "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=") ==
         std::string::npos;
}

// ---- redaction ---

// A text that stands there as base64.
std::string redact_blob(const std::string& blob, const RuleList& rules, redact::Counts* counts) {
  Result<std::string> plain = from_base64(blob);
  if (!plain) return blob;
  std::string shown = plain.value();
  for (const auto& each : rules) shown = redact::redacted(*each, std::string_view(shown), counts);
  return shown == plain.value() ? blob : base64(shown);
}

// All members but the one that holds base64, which is put back where it was.
Value redact_but(const Value& item, const char* binary, bool is_text, const RuleList& rules,
                 redact::Counts* counts) {
  std::string data = text_in(item, binary);
  if (data.empty() || !is_base64(data)) return redact_all(item, rules, counts);
  Value rest = item;
  *member(rest, binary) = Value("");
  rest = redact_all(rest, rules, counts);
  if (Value* place = member(rest, binary))
    *place = Value(is_text ? redact_blob(data, rules, counts) : std::move(data));
  return rest;
}

// Types whose base64 is decoded and looked into.
bool is_text_type(const std::string& type) {
  return starts_with(type, "text/") || starts_with(type, "application/json") ||
         ends_with(type, "+json") || ends_with(type, "xml");
}

// Images and sound stay as they are; text in a blob is looked into.
Value redact_content(const Value& item, const RuleList& rules, redact::Counts* counts) {
  std::string type = text_in(item, "type");
  if (type == "image" || type == "audio") return redact_but(item, "data", false, rules, counts);
  const Value* resource = type == "resource" ? item.find("resource") : nullptr;
  if (!resource || !resource->as_object()) return redact_all(item, rules, counts);
  Value inner =
      redact_but(*resource, "blob", is_text_type(text_in(*resource, "mimeType")), rules, counts);
  Value rest = item;
  *member(rest, "resource") = Value(Value::Object{});
  rest = redact_all(rest, rules, counts);
  if (Value* place = member(rest, "resource")) *place = std::move(inner);
  return rest;
}

// Content items are redacted by their kind, the rest of the result as plain values.
Value redact_result(const Value& result, const RuleList& rules, redact::Counts* counts) {
  const Value* content = result.find("content");
  if (!content || !content->as_array()) return redact_all(result, rules, counts);
  Value::Array items;
  for (const Value& item : *content->as_array())
    items.push_back(redact_content(item, rules, counts));
  Value rest = result;
  *member(rest, "content") = Value(Value::Array{});
  rest = redact_all(rest, rules, counts);
  if (Value* place = member(rest, "content")) *place = Value(std::move(items));
  return rest;
}

}  // namespace

// Each list may replace what the ones before it left; marks of earlier ones are not secrets.
Value redact_all(const Value& value, const RuleList& rules, redact::Counts* counts) {
  if (rules.empty()) return value;
  Value shown = redact::redacted_value(*rules.front(), value, counts);
  for (size_t i = 1; i < rules.size(); ++i)
    shown = redact::redacted_value(*rules[i], shown, counts);
  return shown;
}

// The answer is a problem, a question, or a result; all of them may carry secrets.
void redact_answer(mcp::Answer& answer, const RuleList& rules, redact::Counts* counts) {
  if (answer.problem) {
    for (const auto& each : rules)
      answer.problem->message =
          redact::redacted(*each, std::string_view(answer.problem->message), counts);
    answer.problem->data = redact_all(answer.problem->data, rules, counts);
  } else if (answer.input) {
    // The state is the tool's own, and comes back to it.
    answer.input->requests = redact_all(answer.input->requests, rules, counts);
  } else {
    answer.result = redact_result(answer.result, rules, counts);
  }
}

// ---- limits ---

namespace {

// The limit counts bytes of JSON, since those are what a client gets.
size_t json_size(const Value& value) { return to_json(value).size(); }

// How many bytes of `text` (UTF-8) take no more than `room` as a JSON string; never half a
// character.
size_t fitting(std::string_view text, size_t room) {
  size_t used = 2, at = 0, whole = 0;
  while (at < text.size()) {
    unsigned char byte = static_cast<unsigned char>(text[at]);
    bool begins = (byte & 0xC0) != 0x80;
    if (begins) whole = at;
    used += byte == '"' || byte == '\\' || byte == '\n' || byte == '\r' || byte == '\t' ? 2
            : byte < 0x20 || byte == 0x7f                                               ? 6
                                                                                        : 1;
    if (used > room) return whole;
    ++at;
  }
  return text.size();
}

// Ends with a mark that says how much is missing.
std::string cut_text(const std::string& text, size_t room, uint64_t& cut) {
  std::string clean = to_utf8(text);
  size_t kept = fitting(clean, room);
  // Escaped characters.
  while (kept > 0 && json_size(Value(clean.substr(0, kept))) > room)
    kept = fitting(std::string_view(clean).substr(0, kept), kept / 2);
  if (kept == clean.size()) return clean;
  cut += clean.size() - kept;
  return cat(clean.substr(0, kept), "\n[paddock: cut here: ", clean.size() - kept, " of ",
             clean.size(), " bytes are left out by the limit of the output]");
}

// In brackets and with our name, so that nobody takes it for the tool's words.
Value note(const std::string& text) {
  return Value::Object{{"type", "text"}, {"text", cat("[paddock: ", text, "]")}};
}

// `item` in `room` bytes of JSON: cut where that can be done, or none.
std::optional<Value> cut_item(const Value& item, size_t room, uint64_t& cut) {
  Value kept = item;
  std::string type = text_in(item, "type");
  Value* holder = type == "resource" ? member(kept, "resource") : &kept;
  Value* text =
      holder && (type == "text" || type == "resource") ? member(*holder, "text") : nullptr;
  if (!text || !text->as_string()) return std::nullopt;
  std::string all = *text->as_string();
  *text = Value("");
  size_t frame = json_size(kept);
  if (frame + 2 > room) return std::nullopt;
  *text = Value(cut_text(all, room - frame + 2, cut));
  return kept;
}

// "image image/png", for the note about what was left out.
std::string what_it_is(const Value& item) {
  std::string type = text_in(item, "type");
  const Value* resource = item.find("resource");
  std::string mime = text_in(resource && resource->as_object() ? *resource : item, "mimeType");
  return printable(
      cat(type.empty() ? "content" : type, mime.empty() ? "" : " ", mime).substr(0, 100));
}

// What is said about what is missing: a few of them, and how many more.
class LeftOut {
 public:
  void add(const std::string& what, size_t bytes) {
    if (++count_ <= kNamed) named_.push_back(cat(what, " (", bytes, " bytes)"));
  }
  bool empty() const { return count_ == 0; }
  std::string text() const {
    return count_ > kNamed ? cat(join(named_, ", "), ", ", count_ - kNamed, " more")
                           : join(named_, ", ");
  }

 private:
  static constexpr size_t kNamed = 4;
  std::vector<std::string> named_;
  size_t count_ = 0;
};

// Puts together a result that fits: members, then content, then structuredContent, as long as there
// is room for them.
class BoundedResult {
 public:
  explicit BoundedResult(uint64_t most)
      : most_(most), room_(most > 4 * kForMarks ? most - kForMarks : most / 2) {}

  // Content comes before structuredContent: a model reads the text.
  void add(Value::Object& members) {
    Value::Array content;
    std::optional<Value> structure;
    for (auto& [name, value] : members) {
      if (name == "structuredContent")
        structure = std::move(value);
      else if (name == "content" && value.as_array())
        content = std::move(*value.as_array());
      else
        add_member(name, value);
    }
    for (Value& item : content) add_item(item);
    if (structure) add_structure(*structure);
  }

  // Adds the note on what is missing. Call it once, at the end.
  Value take() && {
    if (!left_out_.empty())
      kept_.push_back(note(
          cat("left out by the limit of the output, ", human_size(most_), ": ", left_out_.text())));
    bounded_.set("content", std::move(kept_));
    return std::move(bounded_);
  }
  Cut cut;

 private:
  // Takes the room if the value fits. Two bytes are for separators.
  bool fits(const Value& value, size_t besides = 0) {
    size_t size = json_size(value) + besides + 2;
    if (size > room_) return false;
    room_ -= size;
    return true;
  }

  // A single member other than the content may take a quarter of the room at most, so that a server
  // cannot push the content out.
  void add_member(const std::string& name, Value& value) {
    size_t of_name = name.size() <= most_ ? json_size(Value(name)) : name.size(),
           of_value = json_size(value);
    if (name != "content" && of_name + of_value <= room_ / 4 && fits(value, of_name)) {
      bounded_.set(name, std::move(value));
      return;
    }
    left_out_.add(printable(name.substr(0, 60)), of_value);
    cut.bytes += of_name + of_value;
  }

  // After the first item that does not fit at all, the later ones are left out too, so that what
  // remains is a beginning without gaps.
  void add_item(Value& item) {
    if (!is_full_ && fits(item)) {
      kept_.push_back(std::move(item));
      return;
    }
    std::optional<Value> part =
        !is_full_ && room_ > 64 ? cut_item(item, room_ - 64, cut.bytes) : std::nullopt;
    if (part) {
      kept_.push_back(std::move(*part));
      room_ = 0;
      return;
    }
    is_full_ = true;
    leave_out(what_it_is(item), item);
  }

  void add_structure(Value& structure) {
    constexpr std::string_view kName = "structuredContent";
    if (fits(structure, kName.size())) {
      bounded_.set(std::string(kName), std::move(structure));
      return;
    }
    cut.lost_structure = true;
    leave_out(std::string(kName), structure);
  }

  void leave_out(const std::string& what, const Value& value) {
    size_t size = json_size(value);
    cut.bytes += size;
    left_out_.add(what, size);
  }

  uint64_t most_;
  size_t room_;
  bool is_full_ = false;
  Value bounded_{Value::Object{}};
  Value::Array kept_;
  LeftOut left_out_;
};

}  // namespace

// What is no object is replaced by an error, because clients expect a result.
Cut bound_result(Value& result, uint64_t most) {
  size_t whole = json_size(result);
  if (!result.as_object()) {
    result = error_result(cat("[paddock: the tool answered with ", result.type_name(),
                              " and not with a result: it is left out]"));
    return {whole, true};
  }
  if (whole <= most) return {};
  BoundedResult bounded(most);
  bounded.add(*result.as_object());
  Cut cut = bounded.cut;
  result = std::move(bounded).take();
  if (json_size(result) <= most) return cut;
  // The limit has room for a few words only.
  result = error_result(cat("[paddock: left out by the limit of the output, ", human_size(most),
                            ": ", whole, " bytes]"));
  return {whole, true};
}

}  // namespace paddock::tools
