// What callers may send as names, texts and paths; and the ids and tokens that we make.
#pragma once

#include <map>
#include <string>

#include "manager/sandbox.h"
#include "paddock/error.h"

namespace paddock::manager {

// ^[a-z0-9]{1,40}$. To be called before an id becomes part of a path.
bool is_id(const std::string& text);
bool is_name(const std::string& text);  // [A-Za-z0-9][A-Za-z0-9._-]*, at most 64

// Ten years: far from where sums overflow.
constexpr int64_t kLongestTimeout = int64_t{10} * 365 * 24 * 3600 * 1000;

Result<std::string> make_id();     // "i" and 20 random characters
Result<std::string> make_token();  // 43 URL-safe characters
Result<std::string> make_boot_id();

Result<void> check_options(const CreateOptions& options);
Result<std::string> check_mount_path(const std::string& path);  // normalised

}  // namespace paddock::manager
