#include "run/secrets.h"

#include <cstdlib>

#include "base/fd.h"
#include "base/text.h"
#include "policy/secret.h"

namespace paddock::runs {

namespace {

// A misspelt kind would leave a secret visible that the policy's author believes to be handled.
Result<void> check_kind(const std::string& kind) {
  std::vector<std::string> names;
  for (const redact::KindInfo& known : redact::kinds()) {
    if (known.name == kind) return {};
    names.push_back(known.name);
  }
  std::string meant = nearest(kind, names);
  return Error{Code::invalid, cat("redact.skip: there is no kind '", printable(kind), "'"),
               meant.empty() ? "docs/redaction.md lists them" : cat("did you mean ", meant, "?")};
}

}  // namespace

Result<std::string> read_secret(const std::string& source, const std::string& what) {
  std::string value = source;
  if (starts_with(source, "env:")) {
    std::string name = source.substr(4);
    const char* found = std::getenv(name.c_str());
    if (!found || !*found)
      return Error{Code::invalid, cat(what, ": the variable ", name, " is not set"),
                   cat("set it: ", name, "=… paddock …")};
    value = found;
  } else if (starts_with(source, "file:")) {
    // Files written by editors end in a line break, which is not part of the secret.
    value = TRY(read_file(source.substr(5), 64 << 10));
    while (!value.empty() && (value.back() == '\n' || value.back() == '\r')) value.pop_back();
  } else {
    value = policy::literal_value(source);
  }
  if (!policy::is_usable_secret(value))
    return Error{Code::invalid,
                 cat(what, ": the secret from ", source.substr(0, 4),
                     "… is shorter than 8 characters or not printable ASCII"),
                 ""};
  return value;
}

Result<redact::Options> redact_options(const Policy& policy, const Secrets& secrets) {
  redact::Options options;
  for (const std::string& kind : policy.redact.skip) TRY(check_kind(kind));
  options.skip = policy.redact.skip;
  for (const RedactPattern& custom : policy.redact.custom) {
    Result<void> usable = redact::check_pattern(custom.pattern);
    if (!usable)
      return Error{usable.error().code,
                   cat("redact.custom.", printable(custom.name), ": ", usable.error().message),
                   usable.error().hint};
    options.custom.push_back({custom.name, custom.pattern});
  }
  for (const auto& [name, value] : secrets) options.secrets.push_back({name, value});
  return options;
}

Result<RunRedaction> RunRedaction::create(const Policy& policy, const Secrets& secrets) {
  RunRedaction redaction;
  if (secrets.empty() && policy.redact.skip.empty() && policy.redact.custom.empty())
    return redaction;
  redaction.rules_ = TRY(redact::Rules::compile(TRY(redact_options(policy, secrets))));
  return redaction;
}

const std::shared_ptr<const redact::Rules>& RunRedaction::rules() {
  if (!rules_) rules_ = redact::Rules::common();
  return rules_;
}

std::string RunRedaction::clean(std::string_view text) { return redact::redacted(*rules(), text); }
Value RunRedaction::clean_value(const Value& value) { return redact::redacted(*rules(), value); }
std::string RunRedaction::clean_json(const std::string& text) {
  Result<Value> value = parse_json(text, "json");
  return value ? to_json(clean_value(value.value())) : to_json(Value(clean(text)));
}

Error RunRedaction::clean(const Error& error) {
  return {error.code, clean(error.message), clean(error.hint), error.kind};
}

void RunRedaction::clean(RunResult& result) {
  for (std::string& note : result.notes) note = clean(note);
  for (Denial& denial : result.denials)
    denial = {denial.layer, clean(denial.action), denial.rule, clean(denial.why)};
  if (!result.network.empty()) result.network = clean_json(result.network);
}

}  // namespace paddock::runs
