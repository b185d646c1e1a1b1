#include "egress/settings.h"

#include "base/record.h"

namespace paddock::egress {

namespace {

constexpr auto kInjectFields =
    std::make_tuple(field("host", &Inject::host), field("header", &Inject::header),
                    field("value", &Inject::value), field("secret", &Inject::secret));

constexpr auto kSettingsFields = std::make_tuple(
    field("sandbox", &Settings::sandbox), field("allow", &Settings::allow),
    field("deny", &Settings::deny), field("granted", &Settings::granted, Presence::optional),
    field("strict", &Settings::strict), field("resolvers", &Settings::resolvers),
    field("inject", &Settings::inject), field("connections", &Settings::connections),
    field("up_rate", &Settings::up_rate), field("down_rate", &Settings::down_rate),
    field("total", &Settings::total), field("live_ms", &Settings::live_ms),
    field("uid", &Settings::uid));

}  // namespace

// Found by the tables above for the elements of `inject`.
static Value to_field(const Inject& inject) { return write_record(kInjectFields, inject); }
static bool from_field(const Value& value, Inject& into) {
  return static_cast<bool>(read_record(kInjectFields, value, into, "a header to inject"));
}

Value to_value(const Settings& settings) { return write_record(kSettingsFields, settings); }

Result<Settings> settings_from_value(const Value& value) {
  Settings settings;
  TRY(read_record(kSettingsFields, value, settings, "the settings of egress"));
  return settings;
}

}  // namespace paddock::egress
