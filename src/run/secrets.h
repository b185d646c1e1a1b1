// The secrets that a policy names, and what is taken out of everything that a run prints, reports
// and records.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "paddock/policy.h"
#include "paddock/sandbox.h"
#include "redact/redact.h"

namespace paddock::runs {

using Secrets = std::map<std::string, std::string>;  // name → value

// The value behind env:NAME or file:/PATH, or a literal one (policy/secret.h). `what` begins the
// error messages, which never quote a value.
Result<std::string> read_secret(const std::string& source, const std::string& what);

// The built-in kinds without those that the policy skips, the policy's own patterns, and these
// values. Errors name the policy's key.
Result<redact::Options> redact_options(const Policy& policy, const Secrets& secrets);

class RunRedaction {
 public:
  // Compiles the rules, unless they are only the built-in ones: those are compiled when there is
  // something to look at.
  static Result<RunRedaction> create(const Policy& policy, const Secrets& secrets);

  // Compiles the common rules at the first call.
  const std::shared_ptr<const redact::Rules>& rules();

  std::string clean(std::string_view text);
  Value clean_value(const Value& value);
  std::string clean_json(const std::string& text);  // every text in it, not its form
  Error clean(const Error& error);
  // Redacts what accompanies the output: notes, denials, the network's log.
  void clean(RunResult& result);

 private:
  std::shared_ptr<const redact::Rules> rules_;
};

}  // namespace paddock::runs
