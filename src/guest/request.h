// Reads the members of a request with their types checked, and says how a request is refused.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/value.h"
#include "paddock/error.h"

namespace paddock::guest {

// An error for the requester. Its message is shown to people, and must not hold secrets.
Error refuse(Code code, std::string message);
Error refuse(Kind kind, std::string message);
// "what: why" with the code that fits the errno. Also lower-cases the kernel's first letter.
Error refuse_errno(int number, std::string_view what);

// An error's name in the protocol, and back. A name that guests must not use becomes Kind::unknown.
const char* wire_code(const Error& error);
Error from_wire(std::string_view code, std::string message);

// Members of the request's object. An absent one (or null) is its default; one of another type is
// an error.
Result<std::string> text_of(const Value& request, std::string_view key, std::string otherwise = "");
Result<bool> flag_of(const Value& request, std::string_view key, bool otherwise = false);
Result<std::optional<int64_t>> number_of(const Value& request, std::string_view key, int64_t least,
                                         int64_t most);
Result<std::vector<std::string>> texts_of(const Value& request, std::string_view key);
Result<std::map<std::string, std::string>> pairs_of(const Value& request, std::string_view key);

// As text_of, for what goes to the kernel as a C string: no NUL in it.
Result<std::string> path_of(const Value& request, std::string_view key);

}  // namespace paddock::guest
