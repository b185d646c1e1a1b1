// Text that a server wrote, for people and models to read: what would not be seen is made visible.
#pragma once

#include <string>
#include <string_view>

namespace paddock::tools {

// Control characters, bidirectional overrides, zero-width and other invisible characters, tags,
// variation selectors, private use. Line breaks, tabs, and what emoji are put together with are
// none. The text is valid UTF-8.
bool has_hidden(std::string_view text);

std::string visible(std::string_view text);  // each of them as \u{202e}; "\r\n" becomes "\n"

// Cut at a character's end, and said so.
std::string cut_to(std::string_view text, size_t most);

}  // namespace paddock::tools
