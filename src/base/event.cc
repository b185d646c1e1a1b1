#include "base/event.h"

#include <time.h>

#include <cstdio>
#include <cstdlib>

#include "base/digest.h"

namespace paddock {

namespace {

// Ids are random so that traces of several servers can be put together without a collision.
std::string random_hex(size_t bytes) {
  Result<std::string> random = random_bytes(bytes);
  if (!random) std::abort();  // getrandom(2) of so few bytes does not fail
  return to_hex(random.value());
}

bool is_hex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}
// All zeros is not an id (W3C Trace Context).
bool is_id(std::string_view text) {
  return is_hex(text) && text.find_first_not_of('0') != std::string_view::npos;
}

}  // namespace

Cause Cause::begin() { return {random_hex(16), random_hex(8)}; }

Cause Cause::child() const { return {trace, random_hex(8)}; }

// "00-<trace>-<span>-<flags>". Later versions of the format may have more after it.
Cause Cause::from_traceparent(std::string_view header) {
  bool shaped = header.size() >= 55 && header[2] == '-' && header[35] == '-' && header[52] == '-' &&
                (header.size() == 55 || header[55] == '-');
  if (!shaped || !is_hex(header.substr(0, 2)) || header.substr(0, 2) == "ff" ||
      (header.substr(0, 2) == "00" && header.size() != 55))
    return begin();
  std::string_view trace = header.substr(3, 32), span = header.substr(36, 16);
  if (!is_id(trace) || !is_id(span)) return begin();
  return {std::string(trace), std::string(span)};
}

Event Cause::instant(std::string kind) const {
  Event event;
  event.kind = std::move(kind);
  event.trace = trace;
  event.parent = span;
  event.time_us = wall_clock_us();
  return event;
}

int64_t wall_clock_us() {
  timespec time;
  (void)::clock_gettime(CLOCK_REALTIME, &time);
  return static_cast<int64_t>(time.tv_sec) * 1'000'000 + time.tv_nsec / 1000;
}

// By hand: libc would look for the time zone's file. Days since 1970 to a date of the Gregorian
// calendar, counting years from March (civil_from_days).
std::string rfc3339(int64_t time_us, int decimals) {
  int64_t seconds = time_us / 1'000'000, shifted = seconds / 86400 + 719468, era = shifted / 146097,
          day_of_era = shifted % 146097;
  int64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  int64_t month = (5 * day_of_year + 2) / 153, day = day_of_year - (153 * month + 2) / 5 + 1;
  month += month < 10 ? 3 : -9;
  int64_t year = year_of_era + era * 400 + (month <= 2 ? 1 : 0);
  char text[64];
  int64_t fraction = time_us % 1'000'000;
  for (int i = decimals; i < 6; ++i) fraction /= 10;
  int size =
      std::snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d.%0*dZ",
                    static_cast<int>(year), static_cast<int>(month), static_cast<int>(day),
                    static_cast<int>(seconds / 3600 % 24), static_cast<int>(seconds / 60 % 60),
                    static_cast<int>(seconds % 60), decimals, static_cast<int>(fraction));
  return {text, static_cast<size_t>(size)};
}

// Members that are empty are left out.
Value to_value(const Event& event) {
  Value value;
  value.set("time", rfc3339(event.time_us));
  value.set("kind", event.kind);
  value.set("trace", event.trace);
  auto set = [&](const char* name, const std::string& text) {
    if (!text.empty()) value.set(name, text);
  };
  set("span", event.span);
  set("parent", event.parent);
  set("sandbox", event.sandbox);
  set("tenant", event.tenant);
  set("agent", event.agent);
  set("verdict", event.verdict);
  if (event.duration_us >= 0) value.set("duration_us", event.duration_us);
  value.set("data", event.data.as_object() ? event.data : Value(Value::Object{}));
  return value;
}

}  // namespace paddock
