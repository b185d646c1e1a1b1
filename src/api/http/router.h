// Finds the route of a request among all of them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/http/call.h"

namespace paddock::api {

class Router {
 public:
  void add(const std::vector<Route>& routes);
  const std::vector<Route>& routes() const { return routes_; }

  struct Match {
    const Route* route = nullptr;
    std::map<std::string, std::string> parts;
    std::string allowed;     // no route, but the path is known with these methods: "GET, PUT"
    bool malformed = false;  // a piece of the path cannot be what it stands for
  };
  // `path` as it came, percent-encoded. HEAD finds GET's routes. A literal piece wins over a
  // {named} one.
  Match find(std::string_view method, std::string_view path) const;

 private:
  std::vector<Route> routes_;
  std::vector<std::vector<std::string>> pieces_;  // of each route's path
};

// Whether it may be the id or the name of a sandbox, snapshot, …: letters, digits, '.', '_', '-',
// at most 128.
bool is_plain_id(std::string_view text);

}  // namespace paddock::api
