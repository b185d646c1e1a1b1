// The request for a new sandbox, as E2B's clients write it.
#include <algorithm>
#include <cctype>

#include "api/e2b/control.h"
#include "base/text.h"

namespace paddock::api::e2b {
namespace {

Error refuse(std::string message) { return Error{Code::invalid, std::move(message)}; }

// A member that is true, false, null or missing.
Result<std::optional<bool>> truth(const Value& body, const char* name) {
  const Value* value = body.find(name);
  if (!value || value->is_null()) return std::optional<bool>();
  if (!value->as_bool()) return refuse(cat(name, " must be true or false"));
  return std::optional<bool>(*value->as_bool());
}

// What happens at the end of its time. Some combinations cannot work and are refused.
Result<manager::Lifecycle> parse_lifecycle(const Value& body) {
  manager::Lifecycle life;
  std::optional<bool> pause = TRY(truth(body, "autoPause")),
                      memory = TRY(truth(body, "autoPauseMemory"));
  life.pause_on_timeout = pause.value_or(false);
  life.pause_keeps_memory = memory.value_or(true);
  if (const Value* resume = body.find("autoResume"); resume && resume->as_object()) {
    life.auto_resume = TRY(truth(*resume, "enabled")).value_or(false);
    const Value* policy = resume->find("policy");  // as clients before 2.30 write it
    if (policy && policy->as_string()) life.auto_resume = *policy->as_string() == "any";
  }
  if (!life.pause_keeps_memory && !life.pause_on_timeout)
    return refuse("autoPauseMemory: false is only possible with autoPause: true");
  if (!life.pause_keeps_memory && life.auto_resume)
    return refuse(
        "autoResume is not possible with autoPauseMemory: false: what keeps no memory must be "
        "resumed by connect");
  return life;
}

// [{"name","path"}]: volumes by name, and where the sandbox sees them.
Result<std::vector<manager::VolumeMount>> parse_volumes(const Value& body) {
  std::vector<manager::VolumeMount> mounts;
  const Value* list = body.find("volumeMounts");
  if (!list || list->is_null()) return mounts;
  if (!list->as_array()) return refuse("volumeMounts must be a list");
  for (const Value& entry : *list->as_array()) {
    const Value *name = entry.find("name"), *path = entry.find("path");
    if (!name || !name->as_string() || !path || !path->as_string())
      return refuse("volumeMounts: each needs a name and a path");
    mounts.push_back({.name = *name->as_string(), .path = *path->as_string()});
  }
  return mounts;
}

// E2B has no word for secrets. A variable that is called one or looks like one is taken for one,
// unless its value could be an ordinary word.
void part_secrets(manager::CreateOptions& options) {
  constexpr size_t kShortest = 8, kLongest = 4096, kMost = 32;
  for (auto entry = options.env.begin();
       entry != options.env.end() && options.secrets.size() < kMost;) {
    const auto& [name, value] = *entry;
    bool is_word =
        std::all_of(value.begin(), value.end(), [](unsigned char c) { return std::isalpha(c); });
    bool is_secret = !redact::looks_secret(name, value).empty() && !is_word &&
                     value.size() >= kShortest && value.size() <= kLongest;
    if (is_secret)
      options.secrets.insert(options.env.extract(entry++));
    else
      ++entry;
  }
}

}  // namespace

Result<manager::CreateOptions> parse_create(const Value& body, int64_t default_seconds) {
  manager::CreateOptions options;
  const Value* name = body.find("templateID");
  if (name && !name->as_string()) return refuse("templateID must be a string");
  if (name) options.template_name = *name->as_string();
  options.timeout_ms = TRY(seconds_to_ms(body, "timeout", default_seconds));
  if (options.timeout_ms <= 0) return refuse("timeout must be greater than 0");
  options.metadata = TRY(text_map(body, "metadata"));
  options.env = TRY(text_map(body, "envVars"));
  part_secrets(options);
  options.lifecycle = TRY(parse_lifecycle(body));
  options.volumes = TRY(parse_volumes(body));
  const Value* iam = body.find("iam");
  if (iam && !iam->is_null())
    return refuse("iam is not supported: this server issues no workload tokens");
  static const Value kNone = Value::Object{};
  const Value* network = body.find("network");
  if (!network || network->is_null()) network = &kNone;
  const Value* encrypted = network->find("httpsPorts");
  if (encrypted && encrypted->as_array() && !encrypted->as_array()->empty())
    return refuse(
        "network: httpsPorts is not supported: previews speak plain HTTP with what runs inside");
  E2bNetwork way_out = TRY(parse_e2b_network(*network, body));
  options.policy.network = TRY(to_policy(way_out));
  options.policy.danger.insert("network.wide");
  options.yields = manager::Yields::wide_network;
  options.policy.name = "the request";
  std::optional<bool> public_traffic = TRY(truth(*network, "allowPublicTraffic"));
  options.public_traffic = public_traffic.value_or(true);
  if (const Value* mask = network->find("maskRequestHost"); mask && mask->as_string())
    options.mask_request_host = *mask->as_string();
  if (options.mask_request_host.find_first_of("\r\n \t\"") != std::string::npos)
    return refuse("maskRequestHost is not a host");
  options.extra = extra_of(way_out, public_traffic, options.mask_request_host);
  return options;
}

}  // namespace paddock::api::e2b
