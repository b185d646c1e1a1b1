// The answer to a request, as a value that a handler returns.
//
//   co_return Reply::json(201, describe(*sandbox));
//
// A handler that streams writes to its exchange itself and returns Reply::sent().
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/value.h"
#include "net/http.h"

namespace paddock::api {

using Headers = std::vector<net::Header>;

// A whole answer, or a mark that the handler has sent one.
struct Reply {
  int status = 0;  // 0: the handler has answered already
  Headers headers;
  std::string body;

  static Reply json(int status, const Value& value) {
    return {status, {{"Content-Type", "application/json"}}, to_json(value)};
  }
  static Reply text(int status, std::string type, std::string body) {
    return {status, {{"Content-Type", std::move(type)}}, std::move(body)};
  }
  static Reply empty(int status) { return {status, {}, ""}; }
  static Reply sent() { return {}; }

  Reply with(std::string name, std::string value) && {
    headers.push_back({std::move(name), std::move(value)});
    return std::move(*this);
  }
};

// {"code":404,"message":"…"}, as most errors are told.
Reply refusal(int status, std::string_view message);

}  // namespace paddock::api
