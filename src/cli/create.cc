// paddock create: a sandbox that lives on. Prints its id.
#include <cstdlib>

#include "base/text.h"
#include "base/units.h"
#include "base/value_edit.h"
#include "cli/cli.h"
#include "cli/flags.h"
#include "cli/living.h"
#include "cli/policy_flags.h"
#include "client/policy_layers.h"
#include "linux/scope.h"

namespace paddock::cli {

namespace {

// A person comes back to it after lunch; programs say what they want.
constexpr int64_t kDefaultTimeout = 3600'000, kServerTimeout = 300'000;

struct Flags : PolicyFlags {
  std::string template_name, name, timeout, idle_timeout, on_timeout;
  std::vector<std::string> volumes, metadata, secrets;
  bool auto_resume = false;
};

// Variables that are passed on are sent as values: the server has another environment.
Result<Value> policies_of(const PolicyFlags& flags) {
  PolicyFlags call = flags;
  call.given.erase("env.pass");  // their values go as env
  return client::policy_layers(flags.policies, TRY(call_policy(call)));
}

// NAME:PATH[:ro]
Result<Value> volume_of(const std::string& text) {
  std::vector<std::string> parts = split(text, ':');
  bool valid =
      (parts.size() == 2 || (parts.size() == 3 && (parts[2] == "ro" || parts[2] == "rw"))) &&
      !parts[0].empty() && starts_with(parts[1], "/");
  if (!valid)
    return Error{Code::invalid, cat("--volume takes NAME:/PATH[:ro], not '", printable(text), "'"),
                 "make one with: paddock volume create NAME"};
  return Value(Value::Object{{"name", parts[0]},
                             {"path", parts[1]},
                             {"read_only", parts.size() == 3 && parts[2] == "ro"}});
}

// --env and --pass-env together; --env wins.
Result<Value> environment_of(const PolicyFlags& flags) {
  std::map<std::string, std::string> env;
  for (const std::string& name : flags.given.at("env.pass").list)
    if (const char* value = std::getenv(name.c_str())) env[name] = value;
  for (const std::string& text : flags.env) {
    auto [name, value] = TRY(assignment("--env", text));
    env[name] = value;
  }
  return text_table(env);
}

// Twice the same name would leave open which one counts.
Result<Value> secrets_of(const Flags& flags) {
  Value object(Value::Object{});
  for (const std::string& text : flags.secrets) {
    auto [name, value] = TRY(secret_of(text));
    if (object.find(name))
      return Error{Code::invalid, cat("--secret: ", name, " is given twice"), ""};
    object.set(name, value);
  }
  return object;
}

// --metadata KEY=VALUE
Result<Value> metadata_of(const Flags& flags) {
  std::map<std::string, std::string> metadata;
  for (const std::string& text : flags.metadata) {
    size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos)
      return Error{Code::invalid, cat("--metadata takes KEY=VALUE, not '", printable(text), "'"),
                   ""};
    metadata[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return text_table(metadata);
}

// The body of POST /v1/sandboxes.
Result<Value> request_of(const Flags& flags) {
  Value body(Value::Object{});
  if (!flags.template_name.empty()) body.set("template", flags.template_name);
  if (!flags.name.empty()) body.set("name", flags.name);
  body.set("policy", TRY(policies_of(flags)));
  body.set("env", TRY(environment_of(flags)));
  body.set("secrets", TRY(secrets_of(flags)));
  body.set("metadata", TRY(metadata_of(flags)));
  Value::Array volumes;
  for (const std::string& text : flags.volumes) volumes.push_back(TRY(volume_of(text)));
  body.set("volumes", std::move(volumes));
  body.set("timeout_ms", flags.timeout.empty() ? kDefaultTimeout
                                               : TRY(duration_flag("--timeout", flags.timeout)));
  if (!flags.idle_timeout.empty())
    body.set("idle_timeout_ms", TRY(duration_flag("--idle-timeout", flags.idle_timeout)));
  if (!flags.on_timeout.empty() && flags.on_timeout != "kill" && flags.on_timeout != "pause")
    return Error{Code::invalid,
                 cat("--on-timeout: '", printable(flags.on_timeout), "' is not known"),
                 "kill or pause"};
  if (!flags.on_timeout.empty()) body.set("on_timeout", flags.on_timeout);
  if (flags.auto_resume) body.set("auto_resume", true);
  return body;
}

// If our default is longer than the tenant may have, the server's own is asked for instead. A time
// that the user gave is never changed.
Result<Value> create(const Flags& flags) {
  Value body = TRY(request_of(flags));
  Client client = TRY(Client::find());
  client.act_for(flags.agent);
  Result<Value> made = client.ask("POST", "/v1/sandboxes", body);
  // A tenant may allow less than our default; then the server's counts. The note after it says how
  // long that is.
  bool too_long = !made && flags.timeout.empty() && made.error().code == Code::invalid &&
                  starts_with(made.error().message, "timeout: at most");
  if (!too_long) return made;
  set_member(body, "timeout_ms", kServerTimeout);
  return client.ask("POST", "/v1/sandboxes", body);
}

// A sandbox lives in a scope of the user's service manager, which may end with the session.
void say_what_a_logout_does() {
  std::optional<kernel::ServiceManager> manager = kernel::find_service_manager();
  if (manager && kernel::ends_at_logout(*manager))
    print_error(
        "paddock: it ends at your last logout; to keep it beyond that: loginctl enable-linger\n");
}

// Its files go with it, which people should know beforehand.
void tell_end(const Value& sandbox) {
  int64_t timeout_ms = number_in(sandbox, "timeout_ms"),
          idle_ms = number_in(sandbox, "idle_timeout_ms");
  bool pauses = text_in(sandbox, "on_timeout") == "pause";
  auto say = [&](const char* when, int64_t ms) {
    print_error(cat("paddock: it ", pauses ? "pauses" : "ends, with its files,", " ", when, " ",
                    format_duration(static_cast<uint64_t>(ms)), "; ",
                    pauses ? "" : "--on-timeout pause keeps them, ", "--timeout changes that\n"));
  };
  if (timeout_ms > 0) say("in", timeout_ms);
  if (idle_ms > 0) say("after being idle for", idle_ms);
}

}  // namespace

int create_main(int argc, char** argv) {
  Flags flags;
  flags.lives_on = true;
  Options options(
      "create",
      "Makes a sandbox that lives on, and prints its id. Use it with: paddock exec ID -- COMMAND");
  options.text("--template", "NAME", &flags.template_name,
               "what it begins with: a template or a snapshot (default: base)");
  options.text("--name", "NAME", &flags.name, "a name of your own for it");
  options.text("--timeout", "DURATION", &flags.timeout, "how long it lives (default: 1h)");
  options.text("--idle-timeout", "DURATION", &flags.idle_timeout,
               "how long it lives without anybody using it");
  options.text("--on-timeout", "kill|pause", &flags.on_timeout,
               "what happens then (default: kill)");
  options.flag("--auto-resume", &flags.auto_resume, "a request for a paused one wakes it");
  options.list("--volume", "NAME:PATH[:ro]", &flags.volumes, "show a volume inside");
  options.list("--metadata", "KEY=VALUE", &flags.metadata, "kept with it, to be found by");
  declare_policy(options, flags, {"isolation", "limits", "network", "env", "monitor", "redact"},
                 {"limits.wall_time", "limits.idle_time"});
  options.list("--secret", "NAME[=VALUE]", &flags.secrets,
               "set a variable inside, never show it, and remove its value from all that comes "
               "back; without VALUE: taken over from here");
  return options.run(argc, argv, [&](bool json) -> Result<int> {
    hide_secrets(argc, argv);
    Value made = TRY(create(flags));
    if (!json)
      for (const std::string& note : texts_in(made, "notes"))
        print_error(cat("paddock: ", printable(note), "\n"));
    (void)show(json, made, printable(text_in(made, "id")) + "\n");
    if (!json) say_what_a_logout_does();
    if (!json) tell_end(made);
    return 0;
  });
}

}  // namespace paddock::cli
