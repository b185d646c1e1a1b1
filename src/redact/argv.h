// Command lines. A word of them can be a secret merely by where it stands: after --password, in an
// Authorization header, in PASSWORD=…. Such a value becomes [redacted:argument]; the rest of each
// word is redacted like any text.
//
//   --password X   --api-key=X   DB_PASSWORD=X   -H 'Authorization: Bearer X'   curl -u name:X   sh
//   -c "… any of these …"
//
// A value that a program would look up itself ($NAME, <placeholder>) and one that is a flag again
// stay.
#pragma once

#include "redact/redact.h"

namespace paddock::redact {

std::vector<std::string> redacted_argv(const Rules& rules, const std::vector<std::string>& argv,
                                       Counts* counts = nullptr);
// A list of texts; anything else: as redacted().
Value redacted_argv(const Rules& rules, const Value& argv, Counts* counts = nullptr);
// For a shell.
std::string redacted_script(const Rules& rules, std::string_view script, Counts* counts = nullptr);

}  // namespace paddock::redact
