// paddock template: build, ls, rm.
#include <fcntl.h>
#include <fnmatch.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/dockerfile.h"
#include "cli/living.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "store/pack.h"

namespace paddock::cli {

namespace {

struct BuildFlags {
  std::string name, file, directory = ".", ready;
  std::vector<std::string> allow_net;
  bool no_cache = false;
};

// The files of one COPY step.
struct Context {
  Fd directory;
  std::vector<std::string> ignored;
  // An ignored directory may hold files that are not ignored.
  bool takes_back = false;
};

// Whether `path` is the source, lies in it, or is on the way to it.
bool belongs_to(const std::string& source, const std::string& path, bool is_directory) {
  if (source == "." || path == source || starts_with(path, source + "/")) return true;
  if (is_directory && starts_with(source, path + "/")) return true;
  std::vector<std::string> pattern = split(source, '/'), parts = split(path, '/');
  size_t common = std::min(pattern.size(), parts.size());
  for (size_t i = 0; i < common; ++i)
    if (::fnmatch(pattern[i].c_str(), parts[i].c_str(), 0) != 0) return false;
  return parts.size() >= pattern.size() || is_directory;
}

// The packed files of one source, and the hash that the server knows them by.
struct Packed {
  Fd file;
  std::string hash;
  uint64_t bytes = 0;
};

// The tar of one source of a COPY step, without what .dockerignore names.
Result<Packed> pack_source(const Context& context, const std::string& source) {
  Packed packed;
  packed.file = Fd(::open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!packed.file) packed.file = Fd(::memfd_create("context", MFD_CLOEXEC));
  if (!packed.file) return errno_error(errno, "pack files");
  bool found = false;
  auto sink = [&](std::string_view bytes) -> Result<void> {
    packed.bytes += bytes.size();
    return write_all(packed.file.get(), bytes);
  };
  auto keep = [&](const std::string& path, bool is_directory) {
    if (!belongs_to(source, path, is_directory)) return false;
    bool whole =
        source == "." || path == source || starts_with(path, source + "/") || !is_directory;
    if (is_ignored(context.ignored, path) && !(is_directory && context.takes_back)) return false;
    found = found || whole;
    return true;
  };
  TRY(store::pack_directory(context.directory.get(), sink, keep));
  bool pattern = source.find_first_of("*?[") != std::string::npos;
  if (!found && !pattern)
    return Error{Code::not_found, cat("COPY ", printable(source), ": there is no such file"),
                 "sources are named from the directory that is built from"};
  packed.hash = TRY(sha256_of(packed.file.get()));
  return packed;
}

// What the server has already is not sent again.
Result<void> upload(const Client& client, Packed packed, const std::string& source,
                    bool shows_progress) {
  std::string path = cat("/v1/templates/files/", packed.hash);
  Value there = TRY(client.ask("GET", path));
  if (flag_in(there, "present")) return {};
  if (::lseek(packed.file.get(), 0, SEEK_SET) != 0) return errno_error(errno, "send files");
  Progress progress(source, packed.bytes, shows_progress);
  client::Upload upload;
  upload.size = packed.bytes;
  upload.next = [&]() -> Result<std::string> {
    std::string piece(256 << 10, '\0');
    ssize_t count = ::read(packed.file.get(), piece.data(), piece.size());
    if (count < 0) return errno_error(errno, "read files");
    piece.resize(static_cast<size_t>(count));
    progress.add(piece.size());
    return piece;
  };
  (void)TRY(client.send("PUT", path, upload));
  return {};
}

// Files are packed for each COPY step by itself, so that a change in one does not invalidate the
// others.
Result<Value> steps_of(const Client& client, const Dockerfile& file, const std::string& directory,
                       bool shows_progress) {
  Context context;
  context.directory = TRY(open_file(directory, O_RDONLY | O_DIRECTORY));
  if (Result<std::string> text = read_file(directory + "/.dockerignore", 1 << 20))
    context.ignored = parse_dockerignore(text.value());
  for (const std::string& pattern : context.ignored)
    context.takes_back = context.takes_back || starts_with(pattern, "!");
  Value::Array steps;
  for (const DockerStep& step : file.steps) {
    Value value;
    value.set("type", step.type);
    value.set("args", text_list(step.args));
    if (step.type == "COPY") {
      Packed packed = TRY(pack_source(context, step.args[0]));
      value.set("files", packed.hash);
      TRY(upload(client, std::move(packed), step.args[0], shows_progress));
    }
    steps.push_back(std::move(value));
  }
  return Value(std::move(steps));
}

// Titles of steps stand out, and what they print is indented.
void print_log(const Value& entry, const Colours& colour) {
  std::string message = text_in(entry, "message"), level = text_in(entry, "level");
  bool title = starts_with(message, "[") || starts_with(message, "CACHED");
  const char* paint = title ? colour.bold : level == "error" ? colour.red : colour.dim;
  print(cat(paint, title ? "" : "  ", printable(message), colour.off, "\n"));
}

// A failed step without a network is often one that needs it, so that the hint says how to open it.
Error build_error(const Value& entry, bool has_network) {
  const Value* error = entry.find("error");
  Value told = error ? *error : Value();
  std::string hint = text_in(told, "hint");
  if (hint.empty() && !has_network)
    hint = "the steps had no network; if this one needs it, open it with --allow-net HOST";
  return {Code::invalid, cat("build a template: ", text_in(told, "message")), hint};
}

// Reads the lines of the build until its end.
Result<Value> follow_build(Response response, bool json, bool has_network) {
  Colours colour = colours();
  std::optional<Value> made;
  TRY(for_each_line(response, [&](const std::string& line) -> Result<void> {
    Value entry = TRY(parse_json(line, "the server's answer"));
    std::string type = text_in(entry, "type");
    if (type == "log" && !json) print_log(entry, colour);
    if (type == "error") return build_error(entry, has_network);
    if (type != "end") return {};
    const Value* result = entry.find("template");
    made = result ? *result : Value();
    return {};
  }));
  if (!made) return Error{Code::io, "build a template: the server went away", ""};
  return std::move(*made);
}

// Uploads what the steps copy, and has the server build the template.
Result<Value> build(const BuildFlags& flags, bool json) {
  std::string path = flags.file.empty() ? flags.directory + "/Dockerfile" : flags.file;
  Result<std::string> text = read_file(path, 1 << 20);
  if (!text) return Error{Code::not_found, text.error().message, "say which with -f FILE"};
  Dockerfile file = TRY(parse_dockerfile(text.value(), path));
  Client client = TRY(Client::find());
  Value body;
  body.set("name", flags.name);
  body.set("from_image", file.from);
  bool shows_progress = !json && ::isatty(STDERR_FILENO);
  body.set("steps", TRY(steps_of(client, file, flags.directory, shows_progress)));
  if (!file.start_command.empty()) body.set("start_command", file.start_command);
  if (!flags.ready.empty()) body.set("ready_command", flags.ready);
  if (flags.no_cache) body.set("force", true);
  if (!flags.allow_net.empty()) body.set("allow_net", text_list(flags.allow_net));
  return follow_build(TRY(client.open("POST", "/v1/templates/build", body)), json,
                      !flags.allow_net.empty());
}

int build_template(int argc, char** argv) {
  BuildFlags flags;
  Options options("template build",
                  "Makes a template from a Dockerfile (FROM, RUN, COPY, WORKDIR, USER, ENV, CMD). "
                  "Each step runs in a sandbox.");
  options.text("-t, --tag", "NAME[:TAG]", &flags.name, "what to call it");
  options.text("-f, --file", "FILE", &flags.file, "the Dockerfile (default: DIR/Dockerfile)");
  options.list("--allow-net", "HOST", &flags.allow_net,
               "what the steps may reach; '*' for everything that the operator lets them");
  options.text("--ready", "COMMAND", &flags.ready,
               "succeeds once the start command (CMD) is ready");
  options.flag("--no-cache", &flags.no_cache, "run every step again");
  options.positional("DIR", &flags.directory, "what COPY copies from (default: here)", false);
  return options.run(argc, argv, [&](bool json) -> Result<int> {
    if (flags.name.empty())
      return Error{Code::invalid, "template build: a name is missing", "give it with: -t NAME"};
    Value made = TRY(build(flags, json));
    return show(
        json, made,
        cat("built ", printable(text_in(made, "name")), " (", printable(text_in(made, "id")),
            ")\ntry it: paddock create --template ", printable(flags.name), "\n"));
  });
}

int list_templates(int argc, char** argv) {
  Options options("template ls", "Lists templates and snapshots.");
  return options.run(argc, argv, [](bool json) -> Result<int> {
    Client client = TRY(Client::find());
    Value answer = TRY(client.ask("GET", "/v1/templates"));
    if (json) return show(json, answer, "");
    std::vector<std::vector<Cell>> rows;
    for (const Value& item : items_in(answer, "templates")) {
      std::string name = printable(text_in(item, "name"));
      rows.push_back({{name.empty() ? "-" : name},
                      {printable(join(texts_in(item, "tags"), ","))},
                      {printable(text_in(item, "id"))},
                      {printable(text_in(item, "kind"))},
                      {short_duration(now_ms() - number_in(item, "created_ms"))}});
    }
    print_table({{.heading = "NAME", .least = 8},
                 {.heading = "TAGS", .least = 7},
                 {.heading = "ID"},
                 {.heading = "KIND", .optional = true},
                 {.heading = "AGE", .right = true, .optional = true}},
                rows, "no templates\n");
    return 0;
  });
}

// Goes on after a failure, and exits with the last one.
int remove_templates(int argc, char** argv) {
  std::vector<std::string> names;
  Options options("template rm", "Removes templates or snapshots. Sandboxes made from them go on.");
  options.positional("NAME", &names, "an id, a name, or name:tag", true);
  if (std::optional<int> status = options.parse(argc, argv)) return *status;
  Result<Client> client = Client::find();
  if (!client) return report(client.error(), false);
  int status = 0;
  for (const std::string& name : names) {
    Result<Value> removed =
        client.value().ask("DELETE", cat("/v1/templates/", percent_encode(name)));
    if (!removed) status = report(removed.error(), false);
  }
  return status;
}

constexpr Verb kTemplateVerbs[] = {
    {"build", build_template, "make a template from a Dockerfile"},
    {"ls", list_templates, "list templates and snapshots"},
    {"rm", remove_templates, "remove templates or snapshots"},
};

}  // namespace

int template_main(int argc, char** argv) {
  return run_verb("template", kTemplateVerbs, argc, argv);
}

}  // namespace paddock::cli
