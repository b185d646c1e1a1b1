// The settings of an egress process. It has three sockets. On `control` it answers each line of
// JSON with one:
//
//   {"settings": {…}}   the first: {"ready": {"certificate", "bundle", "java"}}
//                       later ones: {"taken": true}, or {"refused": "why"} and all stays as it was
//   {"finish": true}    {"summary": {…}}, and it ends
//
// On `events` it reports what happens (log.h), and on `sandbox` it gets the sockets that live in
// the sandbox's namespace. When `control` closes it ends.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/value.h"
#include "paddock/error.h"

namespace paddock::egress {

struct Inject {
  std::string host;    // a rule's text without a port: api.example.com, *.example.com
  std::string header;  // a header's name
  std::string value;   // the whole value, with the secret in it
  std::string secret;  // the part of it that must never be seen inside
  bool operator==(const Inject&) const = default;
};

struct Settings {
  std::string sandbox;  // its id, for the log
  std::vector<std::string> allow, deny;
  std::optional<std::vector<std::string>> granted;  // NetworkPolicy::granted
  // No TLS without a name, no ECH, on 80 and 443 only HTTP and TLS.
  bool strict = false;
  // ADDRESS or ADDRESS:PORT; empty: what /etc/resolv.conf says.
  std::vector<std::string> resolvers;
  std::vector<Inject> inject;                                       // cannot be changed by a reload
  uint64_t connections = 0, up_rate = 0, down_rate = 0, total = 0;  // 0: no limit
  // How often sums are sent while they change (log.h); 0: not at all.
  uint64_t live_ms = 0;
  uint32_t uid = 0;  // the host uid to run as; 0: stay who we are
};

// The descriptors that paddock-egress is started with.
inline constexpr int kControl = 3, kEvents = 4, kSandbox = 5;

// Written by whoever starts egress, and read by egress itself. Both use the same table of fields.
Value to_value(const Settings& settings);
Result<Settings> settings_from_value(const Value& value);

}  // namespace paddock::egress
