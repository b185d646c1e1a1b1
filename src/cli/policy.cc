// paddock policy check|show|explain|schema: what is wrong with a policy, what it comes to, what
// that means, and what may stand in one.
#include <algorithm>

#include "base/fd.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "policy/decode.h"
#include "policy/explain.h"
#include "policy/json_schema.h"
#include "policy/load.h"
#include "policy/presets.h"
#include "run/prepare.h"
#include "run/secrets.h"
#include "store/load_context.h"

namespace paddock::cli {

namespace {

// The same members as in every other error of the command line.
Value error_value(const Error& error) {
  Value value;
  value.set("code", to_string(error.code));
  value.set("message", error.message);
  value.set("hint", error.hint);
  return value;
}

// The result for one file.
struct Checked {
  std::vector<Error> errors;
  std::vector<std::string> notes;
};

// Presets are always correct, but may ask for what this machine cannot do.
bool is_preset(const std::string& name) {
  std::vector<std::string> names = policy::preset_names();
  return std::find(names.begin(), names.end(), name) != names.end();
}

// A problem that shows on this machine, with the place in the file that it is about.
Error placed(const runs::Problem& problem, const std::string& file, const std::string& text) {
  policy::PathContext paths = store::load_context().paths;
  Result<std::string> directory =
      policy::absolute_path(starts_with(file, "/") ? file : "./" + file, paths);
  if (directory)
    paths.base_directory = directory.value().substr(0, directory.value().rfind('/') + 1);
  auto is_entry = [&](const std::string& written) {
    if (written == problem.entry || "**/" + written == problem.entry) return true;
    Result<std::string> path = policy::absolute_path(written, paths);
    return path && path.value() == problem.entry;
  };
  policy::Written at = problem.key.empty()
                           ? policy::Written{}
                           : policy::find_written(text, file, problem.key, is_entry);
  std::string place = cat(printable(file), at.line > 0 ? cat(":", at.line) : "", ": ",
                          at.path.empty() ? "" : cat(at.path, ": "));
  return Error{problem.error.code, place + problem.error.message, problem.error.hint};
}

// First what is wrong with the text, all of it; then what `paddock run` would refuse here.
Checked check_one(const std::string& file) {
  Checked checked;
  policy::LoadContext context = store::load_context();
  std::string text;
  if (!is_preset(file)) {
    Result<std::string> read = context.read(file);
    if (read) {
      text = std::move(read).value();
      policy::DecodeContext decode{context.paths};
      checked.errors = policy::decode_errors(text, file, decode);
      if (!checked.errors.empty()) return checked;
    }
  }
  Result<policy::Combined> combined = policy::load({file}, {}, context);
  if (!combined) return checked.errors.push_back(combined.error()), checked;
  checked.notes = combined.value().notes;
  const Policy& policy = combined.value().policy;
  Result<redact::Options> redaction = runs::redact_options(policy, {});
  if (!redaction)
    checked.errors.push_back({redaction.error().code,
                              cat(printable(file), ": ", redaction.error().message),
                              redaction.error().hint});
  for (const runs::Problem& problem : runs::find_problems(policy))
    checked.errors.push_back(placed(problem, file, text));
  for (const MonitorRule& rule : policy.monitor.rules)
    if (rule.action == MonitorAction::pause)
      checked.notes.push_back(
          cat(rule.name,
              ": for living sandboxes; `paddock run` refuses it, since nobody could resume a run"));
  return checked;
}

// `error` is the first of `errors`, for programs that show only one.
int check(const std::vector<std::string>& files, bool json) {
  bool all_ok = true;
  Value::Array results;
  std::string text;
  for (const std::string& file : files) {
    Checked checked = check_one(file);
    bool ok = checked.errors.empty();
    all_ok = all_ok && ok;
    Value result;
    result.set("file", file);
    result.set("ok", ok);
    result.set("notes", text_list(checked.notes));
    if (ok) text += cat(printable(file), ": ok\n");
    for (const std::string& note : checked.notes) text += cat("  note: ", note, "\n");
    Value::Array errors;
    for (const Error& error : checked.errors) {
      errors.push_back(error_value(error));
      text += cat(error.message, "\n", error.hint.empty() ? "" : cat("  hint: ", error.hint, "\n"));
    }
    if (!ok) result.set("error", errors.front());
    result.set("errors", Value(std::move(errors)));
    results.push_back(std::move(result));
  }
  Value report;
  report.set("ok", all_ok);
  report.set("files", Value(std::move(results)));
  print(json ? to_json(report) + "\n" : text);
  return all_ok ? 0 : 1;
}

// On stderr, so that stdout stays what was asked for.
void print_notes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) print_error(cat("note: ", note, "\n"));
}

// With --json as without, what stands on stdout is a policy file again.
int show_policy(const std::vector<std::string>& names, bool json) {
  Result<policy::Combined> loaded = policy::load(names, {}, store::load_context());
  if (!loaded) return report(loaded.error(), json);
  const Policy& effective = loaded.value().policy;
  print(json ? to_json(policy::to_value(effective), true) + "\n" : policy::to_toml(effective));
  print_notes(loaded.value().notes);
  return 0;
}

// Both forms have the same content; JSON adds the policy itself.
int explain(const std::vector<std::string>& names, bool json) {
  Result<policy::Combined> loaded = policy::load(names, {}, store::load_context());
  if (!loaded) return report(loaded.error(), json);
  const Policy& effective = loaded.value().policy;
  if (!json) {
    print(policy::explain(effective));
    print_notes(loaded.value().notes);
    return 0;
  }
  Value value;
  value.set("policy", policy::to_value(effective));
  value.set("text", policy::explain(effective));
  value.set("notes", text_list(loaded.value().notes));
  print(to_json(value) + "\n");
  return 0;
}

using Act = int (*)(const std::vector<std::string>& names, bool json);

// All verbs whose operands are policies.
int run_on_names(const char* verb, const char* operands, const char* what, Act act, int argc,
                 char** argv) {
  std::vector<std::string> names;
  Options options(cat("policy ", verb), what);
  options.positional(operands, &names, "policy files or presets", true);
  return options.run(argc, argv, [&](bool json) -> Result<int> { return act(names, json); });
}

int check_main(int argc, char** argv) {
  return run_on_names("check", "FILE",
                      "Reads policy files and says all that is wrong with them, and what `paddock "
                      "run` would refuse here. Exits with 1 if anything is.",
                      check, argc, argv);
}
int show_main(int argc, char** argv) {
  return run_on_names("show", "FILE|PRESET",
                      "Prints the policy that these come to together, as a policy file.",
                      show_policy, argc, argv);
}
int explain_main(int argc, char** argv) {
  return run_on_names("explain", "FILE|PRESET",
                      "Says in plain English what these policies allow together.", explain, argc,
                      argv);
}
int schema_main(int argc, char** argv) {
  Options options("policy schema", "Prints the JSON Schema of a policy file, for editors.");
  return options.run(
      argc, argv,
      [](bool) -> Result<int> {
        print(to_json(policy::json_schema(), true) + "\n");
        return 0;
      },
      "changes nothing: a schema is JSON");
}

constexpr Verb kPolicyVerbs[] = {
    {"check", check_main, "all that is wrong with policy files, and what would be refused here"},
    {"show", show_main, "the policy that these come to together, as a policy file"},
    {"explain", explain_main, "in plain English what these policies allow together"},
    {"schema", schema_main, "the JSON Schema of a policy file, for editors"},
};

}  // namespace

int policy_main(int argc, char** argv) { return run_verb("policy", kPolicyVerbs, argc, argv); }

}  // namespace paddock::cli
