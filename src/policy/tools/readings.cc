#include "policy/tools/readings.h"

#include <algorithm>

#include "base/percent.h"
#include "base/text.h"

namespace paddock::policy {

namespace {

// %252e is ".", encoded twice; what is encoded more often is refused.
constexpr int kDeepestEncoding = 4;
constexpr size_t kMostReadings = 24;
constexpr size_t kLongestText = 64 << 10;

// These are the blanks of C's isspace, which many programs trim.
bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// "file:///etc/x", "file://localhost/etc/x" and "file:/etc/x" → "/etc/x"
std::string without_scheme(std::string_view text) {
  if (!same_ignoring_case(text.substr(0, 5), "file:")) return std::string(text);
  text.remove_prefix(5);
  if (!starts_with(text, "//")) return std::string(text);
  size_t path = text.find('/', 2);
  return path == std::string_view::npos ? "/" : std::string(text.substr(path));
}

// The names between the slashes. `climbs` is set if a ".." has nothing before it to take back.
std::vector<std::string_view> labels_of(std::string_view path, bool& climbs) {
  std::vector<std::string_view> labels;
  for (size_t start = 0; start <= path.size();) {
    size_t end = std::min(path.find('/', start), path.size());
    std::string_view label = path.substr(start, end - start);
    start = end + 1;
    if (label.empty() || label == ".") continue;
    if (label != "..")
      labels.push_back(label);
    else if (labels.empty())
      climbs = true;
    else
      labels.pop_back();
  }
  return labels;
}

}  // namespace

std::string tidied_path(std::string_view text) {
  std::string path;
  bool ignored = false;  // ".." at the root stays there
  for (std::string_view label : labels_of(text, ignored)) path += cat("/", label);
  std::string_view last = text.substr(text.rfind('/') + 1);
  if (path.empty() || last.empty() || last == "." || last == "..") path += "/";
  return path;
}

// A text with a colon is a URL or a Windows path. As a path it would have other readings.
bool is_path_text(std::string_view text) {
  return text.find('/') != std::string_view::npos && text.find(':') == std::string_view::npos;
}

// Lets most paths pass without looking at all their readings.
bool is_plain_path(std::string_view text) {
  if (text.empty() || text[0] != '/' || text.size() > kLongestText || is_blank(text.back()))
    return false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%' || c == '\\' || c == '\0') return false;
    // Also "/.config": decided the long way.
    if (c == '/' && i + 1 < text.size() && (text[i + 1] == '/' || text[i + 1] == '.')) return false;
  }
  return true;
}

// Collects what any program could make of the text, in every order of decoding, trimming and
// replacing. Too many forms mean that somebody is trying, and make it unclear.
Readings readings_of(std::string_view text, std::optional<std::string_view> from) {
  Readings result;
  if (text.size() > kLongestText) {
    result.unclear = "is too long for a path";
    return result;
  }
  std::vector<std::string> forms = {std::string(text)};
  auto add = [&](std::string form) {
    if (std::find(forms.begin(), forms.end(), form) == forms.end())
      forms.push_back(std::move(form));
  };
  // Each form may have more to take off: decoded, trimmed, without a scheme, with slashes for
  // backslashes, in any order.
  for (size_t i = 0, decodings = 0; i < forms.size(); ++i) {
    if (forms.size() > kMostReadings) {
      result.unclear = "is encoded in too many ways";
      return result;
    }
    std::string form = forms[i];
    std::string decoded = percent_decode(form);
    if (decoded != form && ++decodings > kDeepestEncoding * 2) {
      result.unclear = "is percent-encoded too many times";
      return result;
    }
    add(std::move(decoded));
    add(std::string(trimmed(form)));
    add(without_scheme(form));
    std::string slashed = form;
    std::replace(slashed.begin(), slashed.end(), '\\', '/');
    add(std::move(slashed));
  }
  for (const std::string& form : forms) {
    if (form.find('\0') != std::string::npos)
      result.unclear = "contains a NUL byte";
    else if (starts_with(form, "~"))
      result.unclear = "starts with '~', which some read as a home directory";
    bool relative = !starts_with(form, "/"), climbs = false;
    if (relative && !from) (void)labels_of(form, climbs);
    if (climbs) result.unclear = "is relative and climbs with '..'";
    result.relative = result.relative || relative;
    std::string path = tidied_path(relative ? cat(from.value_or(""), "/", form) : form);
    if (std::find(result.paths.begin(), result.paths.end(), path) == result.paths.end())
      result.paths.push_back(std::move(path));
  }
  result.forms = std::move(forms);
  return result;
}

}  // namespace paddock::policy
