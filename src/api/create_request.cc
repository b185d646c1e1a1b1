#include "api/create_request.h"

#include "api/fields.h"
#include "base/text.h"
#include "base/value_count.h"
#include "policy/decode.h"
#include "policy/intersect.h"
#include "policy/presets.h"

namespace paddock::api {

namespace {

// All that a call may list (manager/policies.cc) fits into so many values; decoding more would only make the others wait.
constexpr size_t kMostPolicyValues = 6'000, kMostLayers = 8;

Result<void> add_layers(const Value& value, bool refuse_wide, std::vector<policy::Layer>& layers) {
  if (value.as_string()) {
    layers.push_back({TRY(policy::preset(*value.as_string())), true});
    return {};
  }
  Policy decoded = TRY(decode_call(value, "policy", refuse_wide));
  if (!decoded.extends.empty()) layers.push_back({TRY(policy::preset(decoded.extends)), false});
  layers.push_back({std::move(decoded), true});
  return {};
}

Result<std::vector<manager::VolumeMount>> read_volumes(const Value* value) {
  std::vector<manager::VolumeMount> volumes;
  if (!value) return volumes;
  if (!value->as_array()) return Error{Code::invalid, "volumes must be a list", ""};
  for (const Value& item : *value->as_array()) {
    Fields fields(item, "volumes");
    manager::VolumeMount mount{fields.text("name").value_or(""), fields.text("path").value_or(""), fields.flag("read_only").value_or(false)};
    TRY(fields.done());
    if (mount.name.empty() || !starts_with(mount.path, "/")) return Error{Code::invalid, "volumes: each needs a name and an absolute path", ""};
    volumes.push_back(std::move(mount));
  }
  return volumes;
}

}  // namespace

Result<Policy> decode_call(const Value& policy, const char* name, bool refuse_wide) {
  if (has_more_values(policy, kMostPolicyValues))
    return Error{Code::invalid, cat(name, ": more than ", kMostPolicyValues, " values"), "give it fewer entries"};
  policy::DecodeContext context;
  context.base_directory = "/";
  context.home = "/";
  context.refuse_wide_network = refuse_wide;
  return policy::decode(policy, name, context);
}

Result<Policy> read_policy(const Value* policy, const Value* limits, const Value* allow_net) {
  std::vector<policy::Layer> layers;
  if (policy && policy->as_array()) {
    if (policy->as_array()->size() > kMostLayers) return Error{Code::invalid, cat("policy: more than ", kMostLayers, " of them"), ""};
    for (const Value& item : *policy->as_array()) TRY(add_layers(item, false, layers));
  } else if (policy) {
    TRY(add_layers(*policy, false, layers));
  }
  if (limits || allow_net) {
    Value shortcut;
    shortcut.set("version", 1);
    if (limits) shortcut.set("limits", *limits);
    Value network;
    if (allow_net) network.set("allow", *allow_net);
    if (allow_net) shortcut.set("network", std::move(network));
    TRY(add_layers(shortcut, false, layers));
  }
  if (layers.empty()) return Policy{};
  if (layers.size() == 1) return std::move(layers.front().policy);
  return TRY(policy::combine(layers, Policy{}, Policy{})).policy;
}

Result<manager::CreateOptions> read_create(const Value& body) {
  manager::CreateOptions options;
  Fields fields(body);
  options.template_name = fields.text("template").value_or("base");
  options.name = fields.text("name").value_or("");
  options.env = fields.texts_by_name("env");
  options.secrets = fields.texts_by_name("secrets");
  options.metadata = fields.texts_by_name("metadata");
  options.timeout_ms = fields.number("timeout_ms", 0).value_or(options.timeout_ms);
  options.idle_timeout_ms = fields.number("idle_timeout_ms", 0).value_or(0);
  std::string on_timeout = fields.text("on_timeout").value_or("kill");
  if (on_timeout != "kill" && on_timeout != "pause") fields.wrong("on_timeout", "must be \"kill\" or \"pause\"");
  options.lifecycle.pause_on_timeout = on_timeout == "pause";
  options.lifecycle.pause_keeps_memory = fields.flag("pause_keeps_memory").value_or(true);
  options.lifecycle.auto_resume = fields.flag("auto_resume").value_or(false);
  options.public_traffic = fields.flag("public_traffic").value_or(true);
  options.mask_request_host = fields.text("mask_request_host").value_or("");
  const Value *policy = fields.any("policy"), *limits = fields.any("limits"), *allow_net = fields.any("allow_net"), *volumes = fields.any("volumes");
  TRY(fields.done());
  options.policy = TRY(read_policy(policy, limits, allow_net));
  options.volumes = TRY(read_volumes(volumes));
  return options;
}

}  // namespace paddock::api
