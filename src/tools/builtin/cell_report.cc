#include "tools/builtin/cell_report.h"

#include <algorithm>

#include "base/text.h"

namespace paddock::tools::builtin {

namespace {

// A cell can show any number of results. These bound what one call returns, in bytes.
constexpr size_t kMostResults = 32, kMostPictureBytes = 3 << 20;
constexpr size_t kLongestResult = 64 << 10, kLongestChart = 64 << 10, kLongestDocument = 256 << 10;

struct Format {
  const char* name;
  const char* mime;
};
constexpr Format kPictures[] = {{"png", "image/png"}, {"jpeg", "image/jpeg"}};
// Shown to people rather than to models, which read the text.
constexpr Format kDocuments[] = {{"html", "text/html"}, {"svg", "image/svg+xml"}};
// What says most to a model, first.
constexpr const char* kTexts[] = {"markdown", "text", "json", "latex", "javascript"};

// A format, which may be JSON itself.
std::string format_in(const Value& value, std::string_view name) {
  const Value* found = value.find(name);
  if (!found || found->is_null()) return "";
  return found->as_string() ? *found->as_string() : to_json(*found);
}

// Cut at a character's end, with a remark that says how much is missing.
std::string shortened(std::string text, size_t most) {
  if (text.size() <= most) return text;
  size_t bytes = text.size();
  text.resize(most);
  return cat(to_utf8(text), "\n[… ", bytes - most, " bytes left out …]");
}

}  // namespace

// A line that is not a JSON object is passed over: it did not come from the interpreter.
void CellReport::add(std::string_view lines) {
  for (size_t at = 0; at < lines.size();) {
    size_t end = std::min(lines.find('\n', at), lines.size());
    Result<Value> event = parse_json(lines.substr(at, end - at), "event");
    at = end + 1;
    if (event && event.value().as_object()) take(std::move(event).value());
  }
}

// Kinds that are not known are ignored, so that an interpreter may send more than this reads.
void CellReport::take(Value event) {
  std::string kind = text_in(event, "type");
  if (kind == "stdout")
    out_.add(text_in(event, "text"));
  else if (kind == "stderr")
    errors_.add(text_in(event, "text"));
  else if (kind == "result")
    take_result(event);
  else if (kind == "error") {
    traceback_ = shortened(without_escapes(text_in(event, "traceback")), kLongestResult);
    error_ = Value::Object{
        {"name", text_in(event, "name")},
        {"value", shortened(without_escapes(text_in(event, "value")), kLongestResult)},
        {"traceback", traceback_}};
  }
}

// A result may have several formats. The model gets the best text and one picture or document.
void CellReport::take_result(const Value& event) {
  if (results_.size() >= kMostResults) {
    ++left_out_;
    return;
  }
  Value result;
  std::string text;
  for (const char* name : kTexts)
    if (text.empty()) text = format_in(event, name);
  text = shortened(std::move(text), kLongestResult);
  const Value* main = event.find("is_main_result");
  result.set("is_main_result", main && main->as_bool() && *main->as_bool());
  result.set("text", text);
  std::vector<std::string> formats;
  for (const auto& [name, value] : *event.as_object())
    if (name != "type" && name != "is_main_result" && !value.is_null()) formats.push_back(name);
  result.set("formats", text_list(formats));
  if (const Value* chart = event.find("chart");
      chart && chart->as_object() && to_json(*chart).size() <= kLongestChart)
    result.set("chart", *chart);
  bool shown = false;
  for (const Format& format : kPictures) {
    std::string data = format_in(event, format.name);
    std::erase(data, '\n');
    if (data.empty() || shown) continue;
    if (picture_bytes_ + data.size() > kMostPictureBytes) {
      ++left_out_;
      continue;
    }
    picture_bytes_ += data.size();
    pictures_.push_back(
        Value::Object{{"type", "image"}, {"data", std::move(data)}, {"mimeType", format.mime}});
    shown = true;
  }
  for (const Format& format : kDocuments) {
    std::string document = format_in(event, format.name);
    if (document.empty() || shown || document.size() > kLongestDocument) continue;
    std::string uri =
        cat("paddock://sandbox/", sandbox_, "/results/", results_.size() + 1, ".", format.name);
    Value resource =
        Value::Object{{"uri", uri}, {"mimeType", format.mime}, {"text", std::move(document)}};
    Value for_people = Value::Object{{"audience", text_list({"user"})}, {"priority", 0.3}};
    pictures_.push_back(Value::Object{{"type", "resource"},
                                      {"resource", std::move(resource)},
                                      {"annotations", std::move(for_people)}});
    shown = true;
  }
  if (!text.empty()) result_text_ += cat(result_text_.empty() ? "" : "\n", text);
  results_.push_back(std::move(result));
}

// The text has the parts in the order in which a terminal would show them.
void CellReport::tell(const std::string& ending, ToolReport& report) && {
  std::string out = out_.text(), errors = errors_.text();
  auto part = [&](const char* title, const std::string& text) {
    if (text.empty()) return;
    report.text +=
        cat(report.text.empty() || ends_with(report.text, "\n") ? "" : "\n", title, text);
  };
  part("", out);
  part("[stderr]\n", errors);
  part("[result]\n", result_text_);
  part("[error]\n", traceback_);
  if (!ending.empty()) part("", cat("[", ending, "]"));
  if (report.text.empty())
    report.text =
        pictures_.empty() ? "(it printed nothing, and has no result)" : "(the result is a picture)";
  if (left_out_ > 0)
    report.notes.push_back(
        cat(left_out_, " results or pictures are left out: too many, or too large"));
  report.is_error = report.is_error || has_error();
  report.data.set("results", std::move(results_));
  out_.put("stdout", report.data);
  errors_.put("stderr", report.data);
  report.data.set("error", std::move(error_));
  report.more = std::move(pictures_);
}

}  // namespace paddock::tools::builtin
