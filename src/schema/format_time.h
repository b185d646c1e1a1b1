// RFC 3339: dates, times and durations.
#pragma once

#include <string_view>

namespace paddock::schema {

bool is_date(std::string_view text);
bool is_time(std::string_view text);
bool is_date_time(std::string_view text);
bool is_duration(std::string_view text);

}  // namespace paddock::schema
