// Names as servers give them, and which of them pass for one another.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "paddock/error.h"

namespace paddock::tools {

// Why a tool or prompt cannot be called this; empty: it can. Letters, digits, '_', '-' and '.', at
// most 128.
std::string name_problem(std::string_view name);

// Two names that look alike have the same look: no case, 0 is o, 1 and i are l, '-' and '.' are
// '_'.
std::string look_of(std::string_view name);

// RFC 6570, as far as it is needed to tell whose a URI is: an expression stands for any text ({x}:
// without '/').
class UriTemplate {
 public:
  static Result<UriTemplate> parse(std::string_view text);
  bool matches(std::string_view uri) const;

 private:
  struct Part {
    std::string literal;           // or, when it is empty:
    bool crosses_slashes = false;  // an expression
  };
  std::vector<Part> parts_;
};

std::string uri_problem(std::string_view uri);  // empty: it can be offered

}  // namespace paddock::tools
