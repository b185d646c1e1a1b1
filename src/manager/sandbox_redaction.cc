// What is taken out of everything that comes back of a living sandbox.
#include "base/text.h"
#include "manager/sandbox.h"
#include "run/egress.h"
#include "run/redaction.h"

namespace paddock::manager {

namespace {

constexpr char kAccessToken[] = "sandbox-access-token", kTrafficToken[] = "sandbox-traffic-token",
               kInject[] = "network.inject.";

// By the names that stand in their places: [redacted:NAME].
runs::Secrets known_values(const SandboxInfo& info) {
  runs::Secrets known = info.secrets;
  known.emplace(kAccessToken, info.access_token);
  known.emplace(kTrafficToken, info.traffic_token);
  // A program sees these only when a host sends them back. Each by itself: one that cannot be read
  // any more leaves the others.
  size_t number = 0;
  for (const InjectPolicy& inject : info.policy.network.inject) {
    Policy alone;
    alone.env = info.policy.env;
    alone.network.inject = {inject};
    Result<egress::Settings> settings = runs::egress_settings(alone, info.id);
    if (settings) known.emplace(cat(kInject, ++number), settings.value().inject.front().secret);
  }
  std::erase_if(known, [](const auto& entry) { return entry.second.empty(); });
  return known;
}

}  // namespace

bool is_own_secret_name(std::string_view name) {
  return name == kAccessToken || name == kTrafficToken || starts_with(name, kInject);
}

Result<redact::Options> redaction_of(const SandboxInfo& info) {
  return runs::redact_options(info.policy, known_values(info));
}

std::shared_ptr<const redact::Rules> Sandbox::redaction() const {
  if (redaction_) return redaction_;
  withheld_.reset();
  Result<redact::Options> options = redaction_of(info_);
  Result<std::shared_ptr<const redact::Rules>> rules =
      options ? redact::Rules::compile(options.value())
              : Result<std::shared_ptr<const redact::Rules>>(options.error());
  if (!rules) {
    withheld_ =
        Error{Code::conflict,
              cat("what comes from the sandbox ", info_.id,
                  " is withheld: its redaction rules cannot be made: ", rules.error().message),
              "make it again with fewer or smaller secrets and patterns"};
    redact::Options plain;
    for (const auto& [name, value] : known_values(info_)) plain.secrets.push_back({name, value});
    rules = redact::Rules::compile(plain);
  }
  redaction_ = rules ? rules.value() : redact::Rules::common();
  return redaction_;
}

const Error* Sandbox::why_withheld() const {
  (void)redaction();
  return withheld_ ? &*withheld_ : nullptr;
}

}  // namespace paddock::manager
