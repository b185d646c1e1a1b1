// paddock policy check|show|explain: what is wrong with a policy, what it comes to, and what that means.
#include "base/fd.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/context.h"
#include "cli/options.h"
#include "manager/run_redaction.h"
#include "policy/explain.h"
#include "policy/load.h"

namespace paddock::cli {

namespace {

Value error_value(const Error& error) {
  Value value;
  value.set("code", to_string(error.code));
  value.set("message", error.message);
  value.set("hint", error.hint);
  return value;
}

// What only those know who carry it out: which kinds of secrets there are, and which patterns can be looked for.
Result<policy::Combined> load_checked(const std::string& file) {
  policy::Combined combined = TRY(policy::load({file}, {}, load_context()));
  Result<redact::Options> redaction = manager::redact_options(combined.policy, {});
  if (!redaction) return Error{redaction.error().code, cat(printable(file), ": ", redaction.error().message), redaction.error().hint};
  return combined;
}

int check(const std::vector<std::string>& files, bool json) {
  bool all_ok = true;
  Value::Array results;
  std::string text;
  for (const std::string& file : files) {
    Result<policy::Combined> loaded = load_checked(file);
    all_ok = all_ok && loaded;
    Value result;
    result.set("file", file);
    result.set("ok", static_cast<bool>(loaded));
    if (loaded) {
      result.set("notes", text_list(loaded.value().notes));
      text += cat(printable(file), ": ok\n");
      for (const std::string& note : loaded.value().notes) text += cat("  note: ", note, "\n");
    } else {
      const Error& error = loaded.error();
      result.set("error", error_value(error));
      text += cat(error.message, "\n", error.hint.empty() ? "" : cat("  hint: ", error.hint, "\n"));
    }
    results.push_back(std::move(result));
  }
  Value report;
  report.set("ok", all_ok);
  report.set("files", Value(std::move(results)));
  print(json ? to_json(report) + "\n" : text);
  return all_ok ? 0 : 1;
}

void print_notes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) print_error(cat("note: ", note, "\n"));
}

// With --json as without, what stands on stdout is a policy file again.
int show(const std::vector<std::string>& names, bool json) {
  Result<policy::Combined> loaded = policy::load(names, {}, load_context());
  if (!loaded) return report(loaded.error(), json);
  const Policy& effective = loaded.value().policy;
  print(json ? to_json(policy::to_value(effective), true) + "\n" : policy::to_toml(effective));
  print_notes(loaded.value().notes);
  return 0;
}

int explain(const std::vector<std::string>& names, bool json) {
  Result<policy::Combined> loaded = policy::load(names, {}, load_context());
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

struct Verb {
  const char* name;
  const char* operands;
  const char* what;
  int (*run)(const std::vector<std::string>& names, bool json);
};
constexpr Verb kVerbs[] = {
    {"check", "FILE", "Reads policy files and says what is wrong with them. Exits with 1 if anything is.", check},
    {"show", "FILE|PRESET", "Prints the policy that these come to together, as a policy file.", show},
    {"explain", "FILE|PRESET", "Says in plain English what these policies allow together.", explain},
};

std::string usage() {
  std::string text = "paddock policy VERB [--json] FILE…\n\n";
  for (const Verb& verb : kVerbs) {
    std::string name = verb.name;
    name.resize(9, ' ');
    text += cat("  ", name, verb.what, "\n");
  }
  return text;
}

}  // namespace

int policy_main(int argc, char** argv) {
  std::string word = argc > 1 ? argv[1] : "";
  if (word == "--help" || word == "-h") {
    print(usage());
    return 0;
  }
  std::vector<std::string> known;
  for (const Verb& verb : kVerbs) {
    known.push_back(verb.name);
    if (word != verb.name) continue;
    bool json = false;
    std::vector<std::string> names;
    Options options(cat("policy ", verb.name), verb.what);
    options.flag("--json", &json, "print one JSON object");
    options.positional(verb.operands, &names, "policy files or presets", true);
    if (std::optional<int> status = options.parse(argc - 1, argv + 1)) return *status;
    return verb.run(names, json);
  }
  std::string meant = nearest(word, known);
  std::string hint = meant.empty() || word.empty() ? cat("one of: ", join(known, ", ")) : cat("did you mean '", meant, "'?");
  std::string message = word.empty() ? "a verb is missing" : cat("there is no '", printable(word), "'");
  return report({Code::invalid, cat("paddock policy: ", message), hint}, false);
}

}  // namespace paddock::cli
