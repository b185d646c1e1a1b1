#include "api/http/router.h"

#include <algorithm>

#include "base/percent.h"
#include "base/text.h"

namespace paddock::api {

namespace {

// "/a/b" → "a", "b".
std::vector<std::string> pieces_of(std::string_view path) {
  std::vector<std::string> pieces = split(path, '/');
  if (!pieces.empty()) pieces.erase(pieces.begin());  // what stands before the first slash
  return pieces;
}

bool is_named(const std::string& piece) { return starts_with(piece, "{"); }
bool takes_rest(const std::string& piece) { return ends_with(piece, "...}"); }
// "{id}" → "id", "{rest...}" → "rest".
std::string name_of(const std::string& piece) {
  return piece.substr(1, piece.size() - (takes_rest(piece) ? 5 : 2));
}

// Decoded pieces reach logs and file names.
bool has_control_bytes(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

// How well the path fits: 0 not at all, else one more than the number of literal pieces.
size_t fit(const std::vector<std::string>& route, const std::vector<std::string>& path) {
  bool rest = !route.empty() && takes_rest(route.back());
  if (rest ? path.size() < route.size() : path.size() != route.size()) return 0;
  size_t literal = 1;
  for (size_t i = 0; i < route.size(); ++i) {
    if (is_named(route[i])) {
      if (path[i].empty() && !takes_rest(route[i])) return 0;
      continue;
    }
    if (route[i] != path[i]) return 0;
    ++literal;
  }
  return literal;
}

}  // namespace

bool is_plain_id(std::string_view text) {
  constexpr char kLetters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  return !text.empty() && text.size() <= 128 && text != "." && text != ".." &&
         text.find_first_not_of(kLetters) == text.npos;
}

void Router::add(const std::vector<Route>& routes) {
  for (const Route& route : routes) {
    routes_.push_back(route);
    pieces_.push_back(pieces_of(route.path));
  }
}

Router::Match Router::find(std::string_view method, std::string_view path) const {
  Match match;
  std::vector<std::string> pieces = pieces_of(path);
  if (method == "HEAD") method = "GET";
  size_t best = 0, chosen = 0;
  for (size_t i = 0; i < routes_.size(); ++i) {
    size_t fits = fit(pieces_[i], pieces);
    if (fits == 0) continue;
    if (method != routes_[i].method) {
      if (match.allowed.find(routes_[i].method) == std::string::npos)
        match.allowed += cat(match.allowed.empty() ? "" : ", ", routes_[i].method);
    } else if (fits > best) {
      best = fits;
      chosen = i;
    }
  }
  if (best == 0) return match;
  match.allowed.clear();
  match.route = &routes_[chosen];
  const std::vector<std::string>& names = pieces_[chosen];
  for (size_t i = 0; i < names.size(); ++i) {
    if (!is_named(names[i])) continue;
    std::string value = percent_decode(pieces[i]);
    if (takes_rest(names[i]))
      for (size_t next = i + 1; next < pieces.size(); ++next)
        value += cat("/", percent_decode(pieces[next]));
    std::string name = name_of(names[i]);
    if (has_control_bytes(value) || (name == "id" && !is_plain_id(value))) match.malformed = true;
    match.parts.emplace(std::move(name), std::move(value));
  }
  return match;
}

}  // namespace paddock::api
