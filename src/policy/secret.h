// Where the secret of a [[network.inject]] comes from.
#pragma once

#include <string>
#include <string_view>

#include "paddock/error.h"
#include "policy/path.h"

namespace paddock::policy {

// What stands for a literal secret wherever a policy is shown. Refused as a secret, so that what
// was shown and then used as a policy does not send this text out.
inline constexpr const char* kHiddenSecret = "(a literal value, not shown)";

// env:NAME stays, a bare NAME becomes env:NAME, file:PATH gets an absolute path, and everything
// else is the secret itself, with `literal:` in front where it could be taken for one of the
// others. Errors never quote the text.
Result<std::string> canonical_secret(std::string_view text, const PathContext& paths);

// The canonical form of a value that is the secret itself whatever it looks like: what a request
// says never names a place on this machine to read.
Result<std::string> literal_secret(std::string_view value);

// The value of a canonical secret for which is_literal_secret() holds.
std::string literal_value(std::string_view canonical);

// Whether a value can stand in a header and be told from ordinary output: printable ASCII, 8 or
// more characters.
bool is_usable_secret(std::string_view value);

bool is_literal_secret(std::string_view canonical);
std::string shown_secret(const std::string& canonical);  // kHiddenSecret in place of a literal one

}  // namespace paddock::policy
