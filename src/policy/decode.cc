#include "policy/decode.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/units.h"
#include "policy/cursor.h"
#include "policy/decode_network.h"
#include "policy/decode_watching.h"
#include "policy/glob.h"
#include "policy/identifier.h"
#include "policy/names.h"
#include "policy/presets.h"
#include "policy/tools/decode.h"

namespace paddock::policy {

namespace {

constexpr uint64_t kLeastMemory = 1 << 20;
constexpr uint64_t kMostMillicores = 1'000'000'000;

Error invalid(std::string_view text, std::string_view why, std::string hint = "") {
  return Error{Code::invalid, cat("'", printable(text), "' ", why), std::move(hint)};
}

// ---- limits ---

// A plain number is bytes, a count or cores; a duration needs its unit.
Result<uint64_t> decode_number(const Cursor& cursor, Unit unit) {
  const Value& value = cursor.value();
  if (unit == Unit::milliseconds)
    return cursor.wrong("a duration needs its unit", "write it like \"30s\" or \"500ms\"");
  if (unit == Unit::millicores) {
    double cores = value.as_int() ? static_cast<double>(*value.as_int()) : *value.as_double();
    if (!(cores >= 0.001)) return cursor.wrong("must be above zero");
    if (cores * 1000 > static_cast<double>(kMostMillicores))
      return cursor.wrong("more CPUs than any machine has");
    return static_cast<uint64_t>(std::llround(cores * 1000));
  }
  if (!value.as_int())
    return cursor.wrong("must be a whole number",
                        unit == Unit::count ? "" : "or write it like \"1.5G\"");
  if (*value.as_int() <= 0) return cursor.wrong("must be above zero");
  return static_cast<uint64_t>(*value.as_int());
}

Result<uint64_t> decode_limit(const Cursor& cursor, const LimitInfo& limit) {
  const Value& value = cursor.value();
  if (value.as_int() || value.as_double()) return decode_number(cursor, limit.unit);
  if (!value.as_string())
    return cursor.wrong(cat("must be a string or a number, not ", value.type_name()));
  Result<uint64_t> parsed = parse_limit(limit, TRY(cursor.text()));
  if (!parsed) return cursor.wrong(parsed.error());
  if (limit.unit == Unit::millicores && parsed.value() > kMostMillicores)
    return cursor.wrong("more CPUs than any machine has");
  return parsed;
}

Result<void> decode_limits(const Cursor& limits, Policy& policy) {
  std::vector<std::string> keys = {"require"};
  for (const LimitInfo& limit : kLimits) keys.push_back(limit.name);
  TRY(limits.is_table_of(keys));
  for (const LimitInfo& limit : kLimits) {
    std::optional<Cursor> value = limits.find(limit.name);
    if (value) policy.limits[limit.kind] = TRY(decode_limit(*value, limit));
  }
  const std::optional<uint64_t>& memory = policy.limits[LimitKind::memory];
  if (memory && *memory < kLeastMemory)
    return limits.find("memory")->wrong(cat(*memory, " bytes: nothing could run"),
                                        cat("did you mean \"", *memory, "M\"?"));
  if (std::optional<Cursor> require = limits.find("require")) {
    TRY(require->word_of({"kernel"}));
    policy.limits.require_kernel = true;
  }
  return {};
}

// ---- files ---

Result<std::string> decode_grant(const std::string& text, const PathContext& context) {
  if (text.find_first_of("*?") != std::string::npos)
    return invalid(text, "is a pattern; only 'deny' takes patterns", "name the directory");
  return absolute_path(text, context);
}

Result<std::string> decode_deny_glob(const std::string& text, const PathContext& context) {
  for (const std::string& label : split(text, '/'))
    if (label == "..") return invalid(text, "has '..' in a pattern");
  bool anywhere = starts_with(text, "**/") || text == "**";
  if (!anywhere && text.find('/') == std::string::npos) return "**/" + text;  // as in .gitignore
  // A made-up root lets absolute_path tidy what it could not anchor.
  if (anywhere) return TRY(absolute_path("/" + text, context)).substr(1);
  if (text[0] != '/' && text[0] != '~')
    return invalid(text, "could start anywhere",
                   cat("write '**/", printable(text), "', or an absolute pattern"));
  if (text[0] == '~' && is_glob(context.home))
    return invalid(text, "cannot be used: the home directory's name is a pattern");
  return absolute_path(text, context);
}

Result<std::string> decode_deny(const std::string& text, const PathContext& context) {
  if (is_glob(text)) return decode_deny_glob(text, context);
  if (!text.empty() && text[0] != '~' && text.find('/') == std::string::npos)
    return invalid(text, "could mean the one here or every one",
                   cat("write '**/", printable(text), "' for every one, './", printable(text),
                       "' for the one here"));
  return absolute_path(text, context);
}

Result<Workspace> decode_workspace(const Cursor& cursor, const PathContext& context) {
  TRY(cursor.is_table_of({"path", "mode"}));
  std::optional<Cursor> path = cursor.find("path");
  if (!path) return cursor.wrong("'path' is missing");
  Workspace workspace;
  Result<std::string> absolute = decode_grant(TRY(path->text()), context);
  if (!absolute) return path->wrong(absolute.error());
  workspace.path = absolute.value();
  if (std::optional<Cursor> mode = cursor.find("mode"))
    workspace.mode = *workspace_mode_from_string(TRY(mode->word_of(words(kWorkspaceModeNames))));
  return workspace;
}

// A path when it looks like one (/…, ~…, ./…, ../…), else an image's name.
Result<std::string> decode_root(const std::string& text, const PathContext& context) {
  if (text == "." || text == ".." || starts_with(text, "/") || starts_with(text, "~") ||
      starts_with(text, "./") || starts_with(text, "../"))
    return decode_grant(text, context);
  bool plain =
      !text.empty() && text[0] != '.' && text[0] != '-' && text.find("..") == std::string::npos;
  for (char c : text)
    plain = plain &&
            (is_word_character(c) || std::string_view(".-:/@").find(c) != std::string_view::npos);
  if (!plain) return invalid(text, "is neither a path nor an image's name");
  return text;
}

Result<void> decode_files(const Cursor& files, Policy& policy, const PathContext& context) {
  TRY(files.is_table_of({"read", "write", "deny", "workspace", "root", "tmp_exec", "scratch"}));
  auto grant = [&](const std::string& text) { return decode_grant(text, context); };
  auto deny = [&](const std::string& text) { return decode_deny(text, context); };
  if (auto list = files.find("read")) policy.files.read = TRY(list->texts(grant));
  if (auto list = files.find("write")) policy.files.write = TRY(list->texts(grant));
  if (auto list = files.find("deny")) policy.files.deny = TRY(list->texts(deny));
  if (auto workspace = files.find("workspace"))
    policy.files.workspace = TRY(decode_workspace(*workspace, context));
  if (auto root = files.find("root")) {
    Result<std::string> decoded = decode_root(TRY(root->text()), context);
    if (!decoded) return root->wrong(decoded.error());
    policy.files.root = decoded.value();
  }
  if (auto tmp_exec = files.find("tmp_exec")) policy.files.tmp_exec = TRY(tmp_exec->boolean());
  if (auto scratch = files.find("scratch"))
    policy.files.scratch = scratch_from_string(TRY(scratch->word_of(words(kScratchNames))));
  return {};
}

// ---- the other tables ---

Result<std::string> command_name(const std::string& text) {
  if (text.empty()) return Error{Code::invalid, "an empty name", ""};
  return text;
}

Result<void> decode_commands(const Cursor& commands, Policy& policy) {
  TRY(commands.is_table_of({"allow"}));
  if (auto list = commands.find("allow")) policy.commands = TRY(list->texts(command_name));
  return {};
}

Result<std::string> variable_name(const std::string& text) {
  if (!is_identifier(text))
    return invalid(text, "is not a variable's name",
                   "letters, digits and _, not starting with a digit");
  return text;
}

Result<void> decode_env(const Cursor& env, Policy& policy) {
  TRY(env.is_table_of({"set", "pass"}));
  if (auto set = env.find("set"))
    for (const Cursor& member : TRY(set->members())) {
      Result<std::string> name = variable_name(member.key());
      if (!name) return member.wrong(name.error());
      policy.env.set[name.value()] = TRY(member.text());
    }
  if (auto list = env.find("pass")) policy.env.pass = TRY(list->texts(variable_name));
  return {};
}

Result<std::string> module_name(const std::string& text) {
  for (const std::string& part : split(text, '.'))
    if (!is_identifier(part))
      return invalid(text, "is not a module's name", "write it like os.path");
  return text;
}

Result<void> decode_code(const Cursor& code, Policy& policy) {
  TRY(code.is_table_of({"python"}));
  std::optional<Cursor> python = code.find("python");
  if (!python) return {};
  TRY(python->is_table_of({"imports"}));
  if (auto list = python->find("imports")) policy.python_imports = TRY(list->texts(module_name));
  return {};
}

Result<void> decode_danger(const Cursor& danger, Policy& policy) {
  TRY(danger.is_table_of({"allow"}));
  std::vector<std::string> known;
  for (const DangerInfo& info : kDangers) known.push_back(info.name);
  if (auto list = danger.find("allow"))
    for (const Cursor& item : TRY(list->items())) policy.danger.insert(TRY(item.word_of(known)));
  return {};
}

Result<void> decode_version(const Cursor& version) {
  const int64_t* number = version.value().as_int();
  if (!number || *number != 1)
    return version.wrong("this Paddock reads version 1", "write: version = 1");
  return {};
}

// All tables that a whole policy and the sandbox of a tool have in common.
Result<Policy> decode_tables(const Cursor& root, const DecodeContext& context) {
  Policy policy;
  if (auto version = root.find("version")) TRY(decode_version(*version));
  if (auto extends = root.find("extends")) policy.extends = TRY(extends->word_of(preset_names()));
  if (auto isolation = root.find("isolation")) {
    TRY(isolation->is_table_of({"wall"}));
    if (auto wall = isolation->find("wall"))
      policy.wall = wall_from_string(TRY(wall->word_of(words(kWallNames))));
  }
  if (auto limits = root.find("limits")) TRY(decode_limits(*limits, policy));
  if (auto files = root.find("files")) TRY(decode_files(*files, policy, context));
  if (auto danger = root.find("danger")) TRY(decode_danger(*danger, policy));
  if (auto network = root.find("network")) {  // behind [danger], which may accept network.wide
    bool refuse_wide = context.refuse_wide_network && !policy.danger.contains("network.wide");
    policy.network = TRY(decode_network(*network, {.refuse_wide = refuse_wide, .paths = context}));
  }
  if (auto commands = root.find("commands")) TRY(decode_commands(*commands, policy));
  if (auto env = root.find("env")) TRY(decode_env(*env, policy));
  if (auto code = root.find("code")) TRY(decode_code(*code, policy));
  if (auto monitor = root.find("monitor")) policy.monitor = TRY(decode_monitor(*monitor));
  if (auto redact = root.find("redact")) {
    bool may_skip = !context.refuse_wide_network || policy.danger.contains("redact.less");
    policy.redact = TRY(decode_redact(*redact, {.may_skip = may_skip}));
  }
  return policy;
}

}  // namespace

Result<Policy> decode(const Value& value, const std::string& name, const DecodeContext& context) {
  Cursor root(value, name, context.complained);
  TRY(root.is_table_of({"version", "extends", "isolation", "limits", "files", "network", "commands",
                        "env", "code", "tools", "calls", "mcp", "audit", "monitor", "redact",
                        "telemetry", "danger"}));
  Policy policy = TRY(decode_tables(root, context));
  policy.name = name;
  if (auto tools = root.find("tools")) policy.tools = TRY(decode_tools(*tools, context));
  if (auto calls = root.find("calls")) policy.calls = TRY(decode_calls(*calls));
  if (auto mcp = root.find("mcp")) {
    policy.mcp_servers = TRY(decode_servers(*mcp, context));
    if (Result<void> names = check_names(policy); !names) return mcp->wrong(names.error());
  }
  if (auto audit = root.find("audit")) policy.audit = TRY(decode_audit(*audit, context));
  if (auto telemetry = root.find("telemetry"))
    policy.telemetry = TRY(decode_telemetry(*telemetry, context));
  return policy;
}

Result<Policy> decode_sandbox(const Cursor& table, const DecodeContext& context) {
  for (const char* key : {"tools", "calls", "mcp", "audit", "telemetry"})
    if (auto cursor = table.find(key))
      return cursor->wrong("has no meaning in the sandbox of a tool",
                           "it belongs to the policy itself");
  TRY(table.is_table_of({"version", "extends", "isolation", "limits", "files", "network",
                         "commands", "env", "code", "monitor", "redact", "danger"}));
  return decode_tables(table, context);
}

namespace {

Result<Value> parse(std::string_view text, const std::string& name) {
  size_t first = text.find_first_not_of(" \t\r\n");
  bool json = ends_with(name, ".json") || (first != std::string_view::npos && text[first] == '{');
  std::string shown = printable(name);
  return json ? parse_json(text, shown) : parse_toml(text, shown);
}

// Leaves out what stands at `path`, written as Cursor::path() has it. Entries of lists keep their
// numbers.
bool leave_out(Value& value, const std::string& prefix, const std::string& path) {
  if (Value::Object* object = value.as_object()) {
    for (size_t i = 0; i < object->size(); ++i) {
      std::string here = cat(prefix, prefix.empty() ? "" : ".", printable((*object)[i].first));
      if (here == path) return object->erase(object->begin() + static_cast<ptrdiff_t>(i)), true;
      if (starts_with(path, here) && leave_out((*object)[i].second, here, path)) return true;
    }
  }
  if (Value::Array* array = value.as_array()) {
    for (size_t i = 0; i < array->size(); ++i) {
      std::string here = cat(prefix, "[", i, "]");
      if (here == path) return (*array)[i].line = kLeftOut, true;
      if (starts_with(path, here) && leave_out((*array)[i], here, path)) return true;
    }
  }
  return false;
}

}  // namespace

std::vector<Error> decode_errors(std::string_view text, const std::string& name,
                                 const DecodeContext& context) {
  constexpr size_t kMostErrors = 100;
  std::vector<Error> errors;
  Result<Value> value = parse(text, name);
  if (!value) return {value.error()};
  std::vector<std::string> removed;
  DecodeContext told = context;
  std::string path;
  told.complained = &path;
  while (errors.size() < kMostErrors) {
    path.clear();
    Result<Policy> policy = decode(value.value(), name, told);
    if (policy) break;
    // What fails only because a part was left out is not reported as another mistake.
    bool follows = std::any_of(removed.begin(), removed.end(), [&](const std::string& earlier) {
      return starts_with(earlier, path + ".");
    });
    if (!follows) errors.push_back(policy.error());
    if (path.empty() || !leave_out(value.value(), "", path)) break;
    removed.push_back(path);
  }
  return errors;
}

Written find_written(std::string_view text, const std::string& name, const std::string& key,
                     const std::function<bool(const std::string&)>& is_entry) {
  Result<Value> value = parse(text, name);
  if (!value) return {};
  std::optional<Cursor> cursor = Cursor(value.value(), name);
  for (const std::string& part : split(key, '.')) {
    std::optional<Cursor> inner = cursor->find(part);
    if (!inner) return {};
    cursor = inner;
  }
  Result<std::vector<Cursor>> items = cursor->items();
  if (items && is_entry)
    for (const Cursor& item : items.value())
      if (item.value().as_string() && is_entry(*item.value().as_string()))
        return {item.line(), item.path()};
  return {cursor->line(), cursor->path()};
}

Result<Policy> decode_text(std::string_view text, const std::string& name,
                           const DecodeContext& context) {
  return decode(TRY(parse(text, name)), name, context);
}

}  // namespace paddock::policy
