#include "schema/uri.h"

#include "base/text.h"

namespace paddock::schema {

namespace {

bool is_scheme(std::string_view text) {
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (text.empty() || !letter(text[0])) return false;
  for (char c : text)
    if (!letter(c) && !(c >= '0' && c <= '9') && c != '+' && c != '-' && c != '.') return false;
  return true;
}

std::string without_dots(std::string_view path) {
  bool rooted = !path.empty() && path[0] == '/';
  std::vector<std::string> kept;
  std::vector<std::string> parts = split(path.substr(rooted ? 1 : 0), '/');
  for (size_t i = 0; i < parts.size(); ++i) {
    bool last = i + 1 == parts.size();
    bool up = parts[i] == "..";
    if (up && !kept.empty()) kept.pop_back();
    if (!up && parts[i] != ".")
      kept.push_back(parts[i]);
    else if (last)
      kept.emplace_back();  // a path that ends in a dot ends in a slash
  }
  return (rooted ? "/" : "") + join(kept, "/");
}

std::string merged(const Uri& base, const std::string& path) {
  if (base.authority && base.path.empty()) return "/" + path;
  size_t slash = base.path.rfind('/');
  return slash == std::string::npos ? path : base.path.substr(0, slash + 1) + path;
}

}  // namespace

Uri Uri::parse(std::string_view text) {
  Uri uri;
  if (size_t hash = text.find('#'); hash != std::string_view::npos) {
    uri.fragment = text.substr(hash + 1);
    text = text.substr(0, hash);
  }
  if (size_t mark = text.find('?'); mark != std::string_view::npos) {
    uri.query = text.substr(mark + 1);
    text = text.substr(0, mark);
  }
  size_t colon = text.find(':');
  if (colon != std::string_view::npos && is_scheme(text.substr(0, colon))) {
    uri.scheme = text.substr(0, colon);
    text = text.substr(colon + 1);
  }
  if (starts_with(text, "//")) {
    size_t end = std::min(text.find('/', 2), text.size());
    uri.authority = text.substr(2, end - 2);
    text = text.substr(end);
  }
  uri.path = text;
  return uri;
}

std::string Uri::text() const {
  std::string out;
  if (!scheme.empty()) out += scheme + ":";
  if (authority) out += "//" + *authority;
  out += path;
  if (query) out += "?" + *query;
  if (fragment) out += "#" + *fragment;
  return out;
}

Uri resolve(const Uri& base, const Uri& reference) {
  Uri out = reference;
  if (!reference.scheme.empty()) {
    if (reference.authority || starts_with(reference.path, "/"))
      out.path = without_dots(reference.path);
    return out;
  }
  out.scheme = base.scheme;
  if (reference.authority) return out;
  out.authority = base.authority;
  if (reference.path.empty()) {
    out.path = base.path;
    if (!reference.query) out.query = base.query;
    return out;
  }
  out.path = without_dots(starts_with(reference.path, "/") ? reference.path
                                                           : merged(base, reference.path));
  return out;
}

}  // namespace paddock::schema
