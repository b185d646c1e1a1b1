#include "api/native/create_request.h"

#include "base/fields.h"
#include "base/text.h"
#include "base/value_count.h"
#include "policy/decode.h"
#include "policy/intersect.h"
#include "policy/presets.h"

namespace paddock::api {

namespace {

// All that a call may list (manager/policies.cc) fits into so many values; decoding more would only
// make the others wait.
constexpr size_t kMostPolicyValues = 6'000, kMostLayers = 8;

// What a call says about its policy. Presets, named or extended, only narrow; what the objects say
// is asked for.
struct CallPolicy {
  std::vector<Policy> presets, objects;
};

// Adds one layer: a preset's name or an object.
Result<void> add(const Value& value, CallPolicy& call) {
  if (value.as_string()) {
    call.presets.push_back(TRY(policy::preset(*value.as_string())));
    return {};
  }
  Policy decoded = TRY(decode_call(value, "policy", false));
  if (!decoded.extends.empty()) call.presets.push_back(TRY(policy::preset(decoded.extends)));
  decoded.extends.clear();
  call.objects.push_back(std::move(decoded));
  return {};
}

// `limits` and `allow_net` are short for an object with these keys.
Result<CallPolicy> read_all(const Value* policy, const Value* limits, const Value* allow_net) {
  CallPolicy call;
  if (policy && policy->as_array()) {
    if (policy->as_array()->size() > kMostLayers)
      return Error{Code::invalid, cat("policy: more than ", kMostLayers, " of them"), ""};
    for (const Value& item : *policy->as_array()) TRY(add(item, call));
  } else if (policy) {
    TRY(add(*policy, call));
  }
  if (!limits && !allow_net) return call;
  Value shortcut;
  shortcut.set("version", 1);
  if (limits) shortcut.set("limits", *limits);
  Value network;
  if (allow_net) network.set("allow", *allow_net);
  if (allow_net) shortcut.set("network", std::move(network));
  TRY(add(shortcut, call));
  return call;
}

// Where the objects say nothing about the network, the first preset that names hosts does.
void take_hosts(const std::vector<Policy>& presets, Policy& asked) {
  for (const Policy& preset : presets)
    if (!asked.network.allow && preset.network.allow) asked.network.allow = preset.network.allow;
}

// The last one cannot ask for more than those before it allow: it is the flags of `paddock create`,
// or the call's `limits`.
Result<Policy> combine_objects(std::vector<Policy> objects) {
  if (objects.empty()) return Policy{};
  Policy last = std::move(objects.back());
  objects.pop_back();
  if (objects.empty()) return last;
  std::vector<policy::Layer> layers;
  for (Policy& object : objects) layers.push_back({.policy = std::move(object)});
  policy::Combined combined = TRY(policy::combine(layers, last, Policy{}));
  TRY(policy::refused(combined.refusals, "ask for less, or change the policy that the call names"));
  return std::move(combined.policy);
}

// [{"name","path","read_only"}]
Result<std::vector<manager::VolumeMount>> read_volumes(const Value* value) {
  std::vector<manager::VolumeMount> volumes;
  if (!value) return volumes;
  if (!value->as_array()) return Error{Code::invalid, "volumes must be a list", ""};
  for (const Value& item : *value->as_array()) {
    Fields fields(item, "volumes");
    manager::VolumeMount mount{fields.text("name").value_or(""), fields.text("path").value_or(""),
                               fields.flag("read_only").value_or(false)};
    TRY(fields.done());
    if (mount.name.empty() || !starts_with(mount.path, "/"))
      return Error{Code::invalid, "volumes: each needs a name and an absolute path", ""};
    volumes.push_back(std::move(mount));
  }
  return volumes;
}

}  // namespace

Result<Policy> decode_call(const Value& policy, const char* name, bool refuse_wide) {
  if (has_more_values(policy, kMostPolicyValues))
    return Error{Code::invalid, cat(name, ": more than ", kMostPolicyValues, " values"),
                 "give it fewer entries"};
  policy::DecodeContext context;
  context.base_directory = "/";
  context.home = "/";
  context.refuse_wide_network = refuse_wide;
  return policy::decode(policy, name, context);
}

Result<Policy> read_policy(const Value* policy, const Value* limits, const Value* allow_net) {
  CallPolicy call = TRY(read_all(policy, limits, allow_net));
  Policy asked = TRY(combine_objects(std::move(call.objects)));
  if (call.presets.empty()) return asked;
  std::vector<policy::Layer> layers;
  for (Policy& preset : call.presets) layers.push_back({.policy = std::move(preset)});
  policy::Combined combined = TRY(policy::combine(layers, asked, Policy{}));
  TRY(policy::refused(combined.refusals, "ask for less, or name another preset"));
  return std::move(combined.policy);
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
  if (on_timeout != "kill" && on_timeout != "pause")
    fields.wrong("on_timeout", "must be \"kill\" or \"pause\"");
  options.lifecycle.pause_on_timeout = on_timeout == "pause";
  options.lifecycle.pause_keeps_memory = fields.flag("pause_keeps_memory").value_or(true);
  options.lifecycle.auto_resume = fields.flag("auto_resume").value_or(false);
  options.public_traffic = fields.flag("public_traffic").value_or(true);
  options.mask_request_host = fields.text("mask_request_host").value_or("");
  const Value *policy = fields.any("policy"), *limits = fields.any("limits"),
              *allow_net = fields.any("allow_net"), *volumes = fields.any("volumes");
  TRY(fields.done());
  CallPolicy call = TRY(read_all(policy, limits, allow_net));
  options.policy = TRY(combine_objects(std::move(call.objects)));
  take_hosts(call.presets, options.policy);
  options.presets = std::move(call.presets);
  options.volumes = TRY(read_volumes(volumes));
  return options;
}

}  // namespace paddock::api
