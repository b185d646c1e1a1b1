#include "policy/keys.h"

#include <functional>

#include "policy/files.h"
#include "policy/isolation.h"
#include "policy/network/keys.h"
#include "policy/presets.h"
#include "policy/tools/decode.h"
#include "policy/watching.h"

namespace paddock::policy {

namespace {

// The version is not stored in a policy: there is only one, and it is written on encoding.
class VersionKey final : public Key {
 public:
  VersionKey() : Key("version", {.meaning = "the format of the file"}) {}
  Result<void> decode(const Cursor& value, const DecodeContext&, Policy&) const override {
    const int64_t* number = value.value().as_int();
    if (!number || *number != 1)
      return value.wrong("this Paddock reads version 1", "write: version = 1");
    return {};
  }
  Value encode(const Policy&, Secrets) const override { return Value(1); }
  Value schema() const override { return object_of({{"const", 1}}); }
  std::string takes() const override { return "`1`"; }
  std::string narrowed() const override { return ""; }
};

// Collects the rows. It exists so that key() can deduce the types of a row.
class Table {
 public:
  template <class Slot, class Rule>
  void key(const char* path, Accessor<Slot> accessor, Type<ContentOf<Slot>> type, Rule rule,
           Words words) {
    add(std::make_unique<TypedKey<Slot, Rule>>(path, std::move(accessor), std::move(type),
                                               std::move(rule), std::move(words)));
  }
  void add(std::unique_ptr<const Key> key) { rows.push_back(std::move(key)); }

  std::vector<std::unique_ptr<const Key>> rows;
};

// A choice that has only one word.
Type<bool> kernel_required() {
  Type<bool> type = boolean();
  type.takes = "`\"kernel\"`";
  type.read = [](const Cursor& cursor, const DecodeContext&) -> Result<bool> {
    TRY(cursor.word_of({"kernel"}));
    return true;
  };
  type.schema = [] { return words_schema({"kernel"}); };
  type.write = [](const bool& required, Secrets) { return required ? Value("kernel") : Value(); };
  return type;
}

// A file can only extend presets, so that reading one file never leads to another.
Type<std::string> preset_name() {
  return {.takes = "a preset",
          .read = [](const Cursor& cursor,
                     const DecodeContext&) { return cursor.word_of(preset_names()); },
          .schema = [] { return words_schema(preset_names()); },
          .write = [](const std::string& name, Secrets) { return Value(name); }};
}

// A command is compared with the name that a program is started by, so nearly every text is valid.
Result<std::string> command_name(const std::string& text) {
  if (text.empty()) return Error{Code::invalid, "an empty name", ""};
  return text;
}

// Accepts dotted names of modules, such as os.path.
Result<std::string> module_name(const std::string& text) {
  for (const std::string& part : split(text, '.'))
    if (!variable_name(part))
      return refused_text(text, "is not a module's name", "write it like os.path");
  return text;
}

// Only known weakenings may be accepted: a misspelled one would otherwise have no effect.
Type<std::set<std::string>> dangers() {
  using Names = std::set<std::string>;
  std::vector<std::string> known;
  for (const DangerInfo& danger : kDangers) known.push_back(danger.name);
  return {.takes = "list of names",
          .read = [known](const Cursor& cursor, const DecodeContext&) -> Result<Names> {
            Names names;
            for (const Cursor& item : TRY(cursor.items())) names.insert(TRY(item.word_of(known)));
            return names;
          },
          .schema = [known] { return list_schema(words_schema(known)); },
          .write =
              [](const Names& names, Secrets) {
                return text_list({names.begin(), names.end()});
              }};
}

std::vector<std::string> explain_dangers(const Policy& policy) {
  std::vector<std::string> lines;
  for (const DangerInfo& danger : kDangers)
    if (policy.danger.contains(danger.name))
      lines.push_back(cat(danger.name, " is accepted: ", danger.what));
  return lines.empty() ? std::vector<std::string>{"no weakening is accepted"} : lines;
}

// Explains a list that guides an agent without being enforced by the kernel.
std::function<std::vector<std::string>(const Policy&)> guide(List Policy::*names) {
  return [names](const Policy& policy) -> std::vector<std::string> {
    const List& list = policy.*names;
    if (!list) return {"any"};
    return {cat("only ", list->empty() ? "none" : listed(*list),
                " (a guide to the agent, not a wall)")};
  };
}

// The limits come from one table, shared with the launcher and the reports.
void add_isolation_and_limits(Table& table) {
  table.add(std::make_unique<VersionKey>());
  table.key("extends", at(&Policy::extends), preset_name(), NotCombined("a layer of its own"),
            {.meaning = "that preset narrows this file"});
  table.key("isolation.wall", at(&Policy::wall), word(kWallNames), AgreedWall(),
            {.meaning = "what holds the program; `auto`: see [Walls](#walls)",
             .unset = "not set: container",
             .flag = {"--wall", "WALL",
                      "process, container, runc, crun, gvisor or auto (default: container)"}});
  table.key("isolation.walls", at(&Policy::walls), wall_list(), Covered(),
            {.meaning = "walls that may be chosen besides `container`: see [Walls](#walls)",
             .unset = "not set: any wall of this host; on a server, container alone"});
  table.key("isolation.at_least", at(&Policy::at_least), one_wall(), Strongest(),
            {.meaning = "a floor: weaker walls are refused",
             .unset = "not set: any wall will do",
             .set = "weaker walls are refused",
             .flag = {"--at-least", "WALL", "refuse a weaker wall; chooses one if none is named"}});
  for (const LimitInfo& info : kLimits) {
    static constexpr const char* kPlaceholders[] = {"SIZE", "DURATION", "N", "CORES", "SIZE"};
    Accessor<std::optional<uint64_t>> place = [kind = info.kind](Policy& policy) -> auto& {
      return policy.limits[kind];
    };
    table.key(cat("limits.", info.name).c_str(), place, limit(info), Smallest(),
              {.meaning = info.what,
               .unset = cat("not set: ", info.unset),
               .set = info.what,
               .flag = {cat("--", info.flag), kPlaceholders[static_cast<size_t>(info.unit)],
                        cat("limit: ", info.what)}});
  }
  table.key("limits.require", at(&Policy::limits, &Limits::require_kernel), kernel_required(),
            Dominant(true),
            {.meaning = "refuse a limit that could only be sampled",
             .yes = "kernel: a limit that could only be sampled is refused",
             .no = "not set: a limit may be held by sampling where the kernel cannot"});
}

void add_files(Table& table) {
  table.key("files.read", at(&Policy::files, &FilesPolicy::read), granted_paths(),
            Covered(readable_paths),
            {.meaning = "host paths, visible at the same place inside; no patterns",
             .unset = "nothing more of the host",
             .flag = {"--read", "PATH", "show a file or directory, read-only, at the same place"}});
  table.key("files.write", at(&Policy::files, &FilesPolicy::write), granted_paths(),
            Covered(writable_paths),
            {.meaning = "the same, writable",
             .unset = "nothing of the host",
             .flag = {"--write", "PATH", "the same, writable"}});
  table.key("files.deny", at(&Policy::files, &FilesPolicy::deny), denied_paths(),
            AllOfThem(std::identity()),
            {.meaning = "hidden even where a grant covers them",
             .unset = "nothing more",
             .flag = {"--deny", "PATH|GLOB", "hide what would be visible otherwise"}});
  table.key("files.workspace", at(&Policy::files, &FilesPolicy::workspace), workspace(),
            NarrowestWorkspace(),
            {.meaning = "visible as `/workspace`; mode `ro` (default), `rw` or `copy`",
             .flag = {"--workspace", "DIR[:ro|rw|copy]",
                      "show a directory as /workspace and start there (default: copy)"},
             .explain = [](const Policy& policy) -> std::vector<std::string> {
               return {explain_workspace(policy.files.workspace)};
             }});
  table.key("files.root", at(&Policy::files, &FilesPolicy::root), root_filesystem(), Agreed(),
            {.meaning = "instead of the host's `/usr`. A directory is written `/…`, `~/…` or `./…`",
             .unset = "the host's programs and libraries, read-only",
             .flag = {"--root", "DIR|IMAGE", "another root filesystem than the host's /usr"}});
  table.key("files.tmp_exec", at(&Policy::files, &FilesPolicy::tmp_exec), boolean(),
            Dominant(false, "true only if no layer says false"),
            {.meaning = "may programs be run from `/tmp`",
             .yes = "programs in /tmp may be run",
             .no = "programs in /tmp cannot be run"});
  table.key("files.scratch", at(&Policy::files, &FilesPolicy::scratch), word(kScratchNames),
            AgreedUnlessAutomatic(),
            {.meaning = "where `/tmp` and the home directory live",
             .unset = "private, in memory or on disk as fits; gone at the end",
             .set = "private; gone at the end"});
}

// Without `allow` the network is off, and the other keys mean nothing.
void add_network(Table& table) {
  table.key("network.allow", at(&Policy::network, &NetworkPolicy::allow), allowed_hosts(),
            Covered(allowed_by, is_wide_entry),
            {.meaning = "see [Network](#network); without it the network is off",
             .flag = {"--allow-net", "HOST[:PORT]", "let the program reach a host"}});
  table.key("network.deny", at(&Policy::network, &NetworkPolicy::deny), denied_hosts(),
            AllOfThem(std::identity()),
            {.meaning = "hosts that are refused even where `allow` has them", .unset = "nothing"});
  table.key(
      "network.strict", at(&Policy::network, &NetworkPolicy::strict), boolean(), Dominant(true),
      {.meaning = "refuse what hides which host it is for",
       .yes = "TLS must show the name it is for, and ports 80 and 443 carry HTTP and TLS only",
       .no = "not set: to an allowed host, TLS may hide its name and any protocol may be "
             "spoken"});
  table.key("network.resolvers", at(&Policy::network, &NetworkPolicy::resolvers),
            resolver_addresses(), Agreed(),
            {.meaning = "who is asked for names; unset: the host's own resolvers",
             .unset = "the host's own"});
  table.key("network.inject", at(&Policy::network, &NetworkPolicy::inject), injected_headers(),
            AllInjects(),
            {.meaning = "headers, with secrets, that are put in outside the sandbox",
             .explain = explain_injects});
}

void add_programs(Table& table) {
  table.key(
      "commands.allow", at(&Policy::commands), texts("list of names", plain(command_name)),
      Covered(),
      {.meaning = "other commands are refused before start. Guides an agent; it is not a wall",
       .explain = guide(&Policy::commands)});
  table.key("env.set", at(&Policy::env, &EnvPolicy::set),
            by_name("table of strings", plain(variable_name), any_text()), LaterLayerWins(),
            {.meaning = "variables the program gets", .unset = "nothing"});
  table.key("env.pass", at(&Policy::env, &EnvPolicy::pass),
            texts("list of names", plain(variable_name)), Covered(),
            {.meaning = "variables taken over from the caller",
             .unset = "nothing of the caller's",
             .flag = {"--pass-env", "NAME", "take a variable over from here"}});
  table.key("code.python.imports", at(&Policy::python_imports),
            texts("list of modules", plain(module_name)), Covered(),
            {.meaning = "checked on the program's text. A hint to the agent, not a wall",
             .explain = guide(&Policy::python_imports)});
}

// Tools are combined by combine_tools(), which sees the entries of all layers at once.
void add_tools(Table& table) {
  static constexpr char kSameEntries[] =
      "what every layer that sets them has, with the same entry; different entries for one name: "
      "nothing runs";
  table.key("tools", at(&Policy::tools), tool_entries(), CombinedElsewhere(kSameEntries),
            {.meaning = "which tools may be called, and how: see [Tools](#tools)"});
  table.key("calls", at(&Policy::calls), call_bounds(),
            CombinedElsewhere("all rates; the smallest `at_once`, `output` and `timeout`, also for "
                              "tools of other layers; `dry_run` if any layer says so"),
            {.meaning = "what holds for all tools together: see [Tools](#tools)"});
  table.key("mcp.servers", at(&Policy::mcp_servers), server_entries(),
            CombinedElsewhere(kSameEntries),
            {.meaning = "MCP servers behind this policy: see [MCP servers](#mcp-servers)"});
}

// The three actions of the monitor share one list in the policy, so their keys are of a class of
// their own.
void add_monitor_and_redact(Table& table) {
  table.key("monitor.every", at(&Policy::monitor, &MonitorPolicy::every_ms), sampling_period(),
            Shortest(),
            {.meaning = "time between two looks at what is used; `100ms` to `1m`",
             .unset = "not set: 1s"});
  auto rules = [&](MonitorAction action, Words words) {
    table.add(std::make_unique<MonitorRulesKey>(action, std::move(words)));
  };
  rules(MonitorAction::warn,
        {.meaning = "when to record a warning: see [Watching](#watching)",
         .unset = "never",
         .flag = {"--warn-if", "METRIC=RULE",
                  "say so when it uses too much: 'cpu=>80% for 10s', 'memory=>90%', 'net=>5M/s'"}});
  rules(MonitorAction::pause,
        {.meaning = "when to pause a living sandbox",
         .unset = "never",
         .flag = {"--pause-if", "METRIC=RULE", "pause it then (paddock create only)"}});
  rules(MonitorAction::kill, {.meaning = "when to end the sandbox",
                              .unset = "never: use is measured, and only limits act",
                              .flag = {"--kill-if", "METRIC=RULE", "end it then"}});
  table.key("redact.skip", at(&Policy::redact, &RedactPolicy::skip), skipped_kinds(), CommonSkips(),
            {.meaning = "what is *not* taken out; needs the danger `redact.less`",
             .unset = "nothing: every kind of secret that is known is taken out of what programs "
                      "print"});
  table.key(
      "redact.custom", at(&Policy::redact, &RedactPolicy::custom), custom_patterns(),
      AllOfThem([](const RedactPattern& custom) { return std::pair(custom.name, custom.pattern); }),
      {.meaning = "more that is taken out of what programs print",
       .flag = {"--redact", "NAME=PATTERN", "also take what matches out of all it prints"},
       .explain = explain_patterns});
  table.key("redact.files", at(&Policy::redact, &RedactPolicy::files), boolean(),
            Dominant(true, "if any layer says so", false),
            {.meaning = "also out of files that are read over the API",
             .yes = "what is read over the API, too",
             .no = "what is read over the API stays as it is"});
}

// These keys are about the record that the operator keeps. A first layer decides where it goes, so
// that a later one cannot move it away.
void add_audit_and_telemetry(Table& table) {
  table.key("audit.path", at(&Policy::audit, &AuditPolicy::path), audit_directory(),
            FirstLayer(true),
            {.meaning = "where the audit log is",
             .unset = "the usual place",
             .flag = {"--audit", "DIR", "keep the record of this run here"}});
  table.key("audit.durable", at(&Policy::audit, &AuditPolicy::durable), boolean(), Dominant(true),
            {.meaning = "whether a run or a tool call waits until its records are on disk",
             .yes = "every record is synced to disk",
             .no = "a run's records are appended without sync; a server always syncs"});
  table.key(
      "audit.on_full", at(&Policy::audit, &AuditPolicy::on_full), word(kAuditFullNames),
      Dominant(AuditFull::refuse, "`refuse` if any layer says so"),
      {.meaning = "no room for a record: nothing new runs (default), or it runs and the gap is "
                  "recorded",
       .explain = [](const Policy& policy) -> std::vector<std::string> {
         bool gap = policy.audit.on_full == AuditFull::gap;
         return {gap ? "without room for a record it goes on, and the gap is recorded"
                     : "without room for a record nothing new runs"};
       }});
  table.key("audit.rotate", at(&Policy::audit, &AuditPolicy::rotate_bytes),
            size(kSmallestSegment, "is smaller than 16K: more seals than records"), FirstLayer(),
            {.meaning = "the size at which a segment is sealed (default `\"64M\"`)",
             .unset = "not set: a segment is sealed at 64M",
             .set = "a segment is sealed at this size"});
  table.key("audit.keep", at(&Policy::audit, &AuditPolicy::keep_ms), age(), FirstLayer(),
            {.meaning = "how long sealed segments stay; `ms s m h d`",
             .unset = "not set: for ever",
             .set = "what is older goes"});
  table.key("audit.max_size", at(&Policy::audit, &AuditPolicy::most_bytes),
            size(kSmallestSegment, "is smaller than one segment (audit.rotate)"), FirstLayer(),
            {.meaning = "the size of all segments (default `\"4G\"`); the oldest go first",
             .unset = "not set: the oldest segments go when all are larger than 4G",
             .set = "the oldest segments go when all are larger"});
  table.key("telemetry.endpoint", at(&Policy::telemetry, &TelemetryPolicy::endpoint),
            telemetry_endpoint(), AgreedEndpoint(),
            {.meaning = "where traces go",
             .unset = "not set: what OTEL_EXPORTER_OTLP_ENDPOINT says, else nothing is sent"});
  table.key("telemetry.headers", at(&Policy::telemetry, &TelemetryPolicy::headers),
            headers_by_name(plain(header_name)), AgreedHeaders(),
            {.meaning = "what is sent along, as for authentication", .unset = "nothing"});
}

// The order is that of the manual and of written files. [danger] is last to read, but decoded
// first.
std::vector<std::unique_ptr<const Key>> make_keys() {
  Table table;
  add_isolation_and_limits(table);
  add_files(table);
  add_network(table);
  add_programs(table);
  add_tools(table);
  add_monitor_and_redact(table);
  add_audit_and_telemetry(table);
  table.key("danger.allow", at(&Policy::danger), dangers(),
            NotCombined("what every policy named with `--policy` accepts; flags and extended "
                        "presets have no say"),
            {.meaning = "see [Danger](#danger)", .explain = explain_dangers});
  return std::move(table.rows);
}

}  // namespace

const std::vector<std::unique_ptr<const Key>>& keys() {
  static const std::vector<std::unique_ptr<const Key>> all = make_keys();
  return all;
}

const Key* find_key(std::string_view path) {
  auto found = std::find_if(keys().begin(), keys().end(),
                            [&](const auto& key) { return key->path == path; });
  return found == keys().end() ? nullptr : found->get();
}

// Relies on the rows of one table standing together in keys().
std::vector<std::string> names_in(std::string_view table) {
  std::string prefix = table.empty() ? "" : cat(table, ".");
  std::vector<std::string> names;
  for (const auto& key : keys()) {
    if (!starts_with(key->path, prefix)) continue;
    std::string rest = key->path.substr(prefix.size()), name = rest.substr(0, rest.find('.'));
    if (names.empty() || names.back() != name) names.push_back(name);
  }
  return names;
}

// The result is compared with docs/policy.md by a test.
std::string manual_table() {
  std::string text = "| key | value | meaning | several layers |\n|---|---|---|---|\n";
  for (const auto& key : keys())
    text += cat("| `", key->path, "` | ", key->takes(), " | ", key->words.meaning, " | ",
                key->narrowed(), " |\n");
  return text;
}

}  // namespace paddock::policy
