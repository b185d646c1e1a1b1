#include "cli/imports.h"

#include "base/text.h"
#include "base/value.h"
#include "policy/presets.h"
#include "run/run.h"

namespace paddock::cli {

namespace {

// Runs inside: reads the program from a file and prints one JSON list of [line, module].
constexpr char kParser[] = R"(
import ast, json, sys
with open(sys.argv[1], "rb") as file:
    source = file.read()
try:
    tree = ast.parse(source)
except (SyntaxError, ValueError):
    print("[]")  # the program itself will say so
    sys.exit(0)
found = []
for node in ast.walk(tree):
    if isinstance(node, ast.Import):
        found += [[node.lineno, alias.name] for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and node.level == 0:
        found.append([node.lineno, node.module])
    elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        module = node.args[0].value
        if name in ("__import__", "import_module") and isinstance(module, str):
            found.append([node.lineno, module])
print(json.dumps(sorted(found)))
)";

// "os.path" is allowed by "os" and by "os.path".
bool is_allowed(const std::string& module, const std::vector<std::string>& allowed) {
  for (const std::string& name : allowed)
    if (module == name || starts_with(module, name + ".")) return true;
  return false;
}

// The program text of a Python command: after -c, or the file to be placed inside. Empty: there is
// none to check.
std::string python_source(const Command& command) {
  if (command.argv.empty() || split(command.argv[0], '/').back().rfind("python", 0) != 0) return "";
  if (!command.file_name.empty()) return command.file_content;
  for (size_t i = 1; i + 1 < command.argv.size(); ++i)
    if (command.argv[i] == "-c") return command.argv[i + 1];
  return "";
}

}  // namespace

// The program is parsed in a sandbox of its own, under the strict preset: parsing hostile text with
// Python is not safe outside.
Result<void> check_imports(const Command& command, const Policy& policy) {
  std::string source = policy.python_imports ? python_source(command) : "";
  if (source.empty()) return {};
  Command parser{
      .argv = {"python3", "-I", "-c", kParser}, .file_name = "program.py", .file_content = source};
  Policy limits = TRY(policy::preset("strict"));
  limits.wall = policy.wall;
  limits.walls = policy.walls;
  limits.at_least = policy.at_least;
  runs::Prepared prepared = TRY(runs::prepare(parser, limits, {}));
  RunResult result = TRY(runs::run(std::move(prepared), {.capture = true}));
  if (exit_status(result.outcome) != 0)
    return Error{
        Code::internal,
        cat("check the imports: the parser failed: ", printable(result.err.substr(0, 300))),
        "is python3 installed?"};
  Value found = TRY(parse_json(result.out, "imports"));
  std::vector<std::string> offending;
  if (const Value::Array* entries = found.as_array())
    for (const Value& entry : *entries) {
      const Value::Array* pair = entry.as_array();
      if (!pair || pair->size() != 2 || !(*pair)[0].as_int() || !(*pair)[1].as_string()) continue;
      const std::string& module = *(*pair)[1].as_string();
      if (!is_allowed(module, *policy.python_imports))
        offending.push_back(cat("line ", *(*pair)[0].as_int(), ": import ", printable(module)));
    }
  if (offending.empty()) return {};
  return Error{
      Code::denied,
      cat("the program imports what code.python.imports does not list: ", join(offending, "; ")),
      cat("allowed: ", join(*policy.python_imports, ", "))};
}

}  // namespace paddock::cli
