// The ways in which programs print a value that they were given.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace paddock::redact {

constexpr size_t kShortestValue = 4;  // shorter ones would hit ordinary text
// Longer values are taken in pieces; a multiple of three, as base64 goes.
constexpr size_t kPiece = 16383;

// Without repetitions, at least four bytes each.
std::vector<std::string> forms_of(std::string_view value);

}  // namespace paddock::redact
