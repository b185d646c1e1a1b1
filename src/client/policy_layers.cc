#include "client/policy_layers.h"

#include "base/text.h"
#include "policy/decode.h"
#include "policy/explain.h"
#include "policy/presets.h"
#include "store/load_context.h"

namespace paddock::client {

namespace {

// One layer by the name that the caller gave.
Result<Value> layer_of(const std::string& name) {
  if (policy::preset(name)) return Value(name);
  policy::LoadContext context = store::load_context();
  Result<std::string> text = context.read(name);
  if (!text)
    return Error{Code::not_found, cat("--policy: ", text.error().message),
                 "a file, or one of: " + join(policy::preset_names(), ", ")};
  policy::DecodeContext decode;
  static_cast<policy::PathContext&>(decode) = context.paths;
  return policy::to_value(TRY(policy::decode_text(text.value(), name, decode)),
                          policy::Secrets::kept);
}

}  // namespace

// The call is the last layer. Secrets are kept, since the server needs their values.
Result<Value> policy_layers(const std::vector<std::string>& names, const Policy& call) {
  Value::Array layers;
  for (const std::string& name : names) layers.push_back(TRY(layer_of(name)));
  layers.push_back(policy::to_value(call, policy::Secrets::kept));
  return Value(std::move(layers));
}

}  // namespace paddock::client
