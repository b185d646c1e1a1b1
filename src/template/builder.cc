#include "template/builder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/random_name.h"
#include "base/record.h"
#include "base/text.h"
#include "linux/tree.h"
#include "manager/base_template.h"
#include "manager/sandbox_events.h"
#include "record/events.h"
#include "redact/argv.h"
#include "store/image.h"
#include "store/skeleton.h"
#include "store/state.h"
#include "template/steps.h"

namespace paddock::templates {

namespace {

constexpr size_t kMostLogs = 10'000, kMostLogBytes = 1 << 20, kLongestLog = 4096;

// Builds of one tenant that may wait for their turn.
constexpr size_t kMostWaiting = 16;

// Builds of one tenant that clients can still ask for.
constexpr size_t kMostRemembered = 50;

// Builds of all tenants that run at the same time.
constexpr size_t kAtOnce = 8;

// Builds of one tenant that run at the same time.
constexpr size_t kAtOnceOfOne = 3;

// In bytes, of names and values of a template.
constexpr size_t kMostEnv = 256 << 10;

// What is noted of a build under way.
constexpr auto kNoteFields =
    std::make_tuple(field("id", &Build::id), field("family", &Build::family),
                    field("tenant", &Build::tenant), field("name", &Build::name));

bool is_over(const Build& build) {
  return build.state == BuildState::ready || build.state == BuildState::error;
}

// ENV name value …: all values as they were before the step.
Result<void> set_variables(const BuildStep& step, std::map<std::string, std::string>& env) {
  Error too_much{Code::exhausted,
                 cat("set variables: together they are longer than ", human_size(kMostEnv)), ""};
  std::map<std::string, std::string> known = env;
  known.emplace("PATH",
                "/run/paddock/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
  size_t made = 0, all = 0;
  for (size_t i = 0; i + 1 < step.args.size(); i += 2) {
    std::string value = TRY(expand_variables(step.args[i + 1], known));
    made += value.size();
    if (made > kMostEnv) return too_much;
    env[step.args[i]] = std::move(value);
  }
  for (const auto& [name, value] : env) all += name.size() + value.size();
  if (all > kMostEnv) return too_much;
  return {};
}

// The template that a build promised, out of its last step.
store::Template finished(const Build& build, const Recipe& recipe, store::Template made) {
  made.kind = store::TemplateKind::made;
  made.tenant = build.tenant;
  made.name = build.name;
  made.tags = build.tags;
  made.cache_key.clear();
  made.sandbox.clear();
  made.start_command = recipe.start_command;
  made.ready_command = recipe.ready_command;
  if (build.request.cpu_millicores) made.cpu_millicores = build.request.cpu_millicores;
  if (build.request.memory_bytes) made.memory_bytes = build.request.memory_bytes;
  return made;
}

// For ending the sandboxes of builds, which no request asks for.
manager::Caller as_tenant(const std::string& tenant) {
  return manager::Caller{tenant, {"read", "sandboxes", "templates"}};
}

}  // namespace

const char* to_string(BuildState state) {
  switch (state) {
    case BuildState::waiting: return "waiting";
    case BuildState::building: return "building";
    case BuildState::ready: return "ready";
    case BuildState::error: return "error";
  }
  return "";
}

// After the limit only errors are kept, and one line says that something is missing.
void Build::log(const std::string& level, const std::string& step, const std::string& message) {
  bool full = logs.size() >= kMostLogs || log_bytes >= kMostLogBytes;
  if (full && level != "error") {
    if (log_bytes != SIZE_MAX)
      logs.push_back({manager::wall_time_now(), "warn", "more was printed, and is not kept", step});
    log_bytes = SIZE_MAX;
    return;
  }
  if (!full) log_bytes += message.size();
  logs.push_back({manager::wall_time_now(), level,
                  to_utf8(redact::redacted(*redaction, message).substr(0, kLongestLog)), step});
}

// Called once at the start. What an earlier server was building is reported as failed, and its
// sandboxes are killed.
Result<void> Builder::open() {
  directory_ = cat(manager_.directory(), "/builds");
  if (::mkdir(directory_.c_str(), 0700) != 0 && errno != EEXIST)
    return errno_error(errno, cat("make '", printable(directory_), "'"));
  files_ = TRY(BuildFiles::open(cat(manager_.directory(), "/files")));
  read_interrupted();
  io::spawn(kill_left_over());
  return {};
}

// Builds that were under way when the server went: their clients may still ask.
void Builder::read_interrupted() {
  Result<Fd> folder = open_file(directory_, O_RDONLY | O_DIRECTORY);
  if (!folder) return;
  Result<std::vector<std::string>> names = kernel::list_directory(folder.value().get());
  if (!names) return;
  for (const std::string& name : names.value()) {
    bool noted = ends_with(name, ".json") && is_random_name(name.substr(0, name.size() - 5), 20);
    if (!noted && !is_unfinished(name)) continue;
    Result<std::string> text = read_file(cat(directory_, "/", name), 1 << 16);
    (void)::unlinkat(folder.value().get(), name.c_str(), 0);
    if (!text) continue;
    Result<Value> note = parse_json(text.value(), name);
    if (!note) continue;
    auto build = std::make_shared<Build>();
    if (!read_record(kNoteFields, note.value(), *build, name)) continue;
    build->begun = true;
    build->state = BuildState::error;
    build->reason = Error{Code::conflict, "the server was restarted", "build it again"};
    builds_[build->id] = build;
    order_.push_back(build->id);
  }
}

// The note only serves to tell clients after a restart, so errors are ignored.
void Builder::note_on_disk(const Build& build, bool under_way) {
  std::string name = cat(build.id, ".json");
  Result<Fd> folder = open_file(directory_, O_RDONLY | O_DIRECTORY);
  if (!folder) return;
  if (!under_way) {
    (void)::unlinkat(folder.value().get(), name.c_str(), 0);
    return;
  }
  Value note = write_record(kNoteFields, build);
  (void)store::write_file(folder.value().get(), name, to_json(note) + "\n");
}

// Sandboxes of builds are recognised by their metadata and by being hidden.
io::Task<void> Builder::kill_left_over() {
  std::vector<std::shared_ptr<manager::Sandbox>> all = manager_.all();
  for (const std::shared_ptr<manager::Sandbox>& sandbox : all) {
    if (!sandbox->info().metadata.count("paddock.build") || !sandbox->info().hidden) continue;
    manager::Caller caller = as_tenant(sandbox->info().tenant);
    std::string id = sandbox->info().id;
    Result<void> killed = co_await manager_.kill(caller, id);
    (void)killed;
  }
}

// The last builds of each tenant are remembered.
void Builder::forget_old(const std::string& tenant) {
  auto is_theirs = [&](const std::string& id) {
    return builds_.count(id) && builds_[id]->tenant == tenant;
  };
  size_t theirs = static_cast<size_t>(std::count_if(order_.begin(), order_.end(), is_theirs));
  for (auto it = order_.begin(); theirs > kMostRemembered && it != order_.end();) {
    std::shared_ptr<Build> build = builds_[*it];
    bool old = build->tenant == tenant && (is_over(*build) || !build->begun);
    if (!old) {
      ++it;
      continue;
    }
    builds_.erase(*it);
    it = order_.erase(it);
    --theirs;
  }
}

// Everything that can be refused is refused before the client uploads anything.
Result<std::shared_ptr<Build>> Builder::request(const manager::Caller& caller,
                                                BuildRequest request) {
  store::TemplateName name = TRY(store::parse_template_name(caller.tenant, request.name));
  TRY(manager_.check_template_size(caller.tenant, request.cpu_millicores, request.memory_bytes));
  auto build = std::make_shared<Build>();
  for (const std::string& tag : request.tags) {
    if (!store::is_template_tag(tag))
      return Error{Code::invalid,
                   cat("build template '", name.name, "': '", printable(tag), "' is not a tag"),
                   ""};
    build->tags[tag] = 0;
  }
  if (!name.tag.empty()) build->tags[name.tag] = 0;
  build->id = TRY(store::random_name(20));
  build->tenant = caller.tenant;
  build->name = name.name;
  build->family = store::template_family(caller.tenant, name.name);
  build->created = manager::wall_time_now();
  build->request = std::move(request);
  builds_[build->id] = build;
  order_.push_back(build->id);
  forget_old(caller.tenant);
  return build;
}

// Builds of other tenants do not exist.
Result<std::shared_ptr<Build>> Builder::find(const manager::Caller& caller,
                                             const std::string& id) const {
  auto found = builds_.find(id);
  if (found == builds_.end() || found->second->tenant != caller.tenant)
    return Error{Code::not_found, cat("find build '", printable(id), "': there is none"), ""};
  return found->second;
}

// The recipe comes with this second call, after the files were uploaded.
Result<void> Builder::begin(const manager::Caller& caller, const std::string& id, Recipe recipe) {
  std::shared_ptr<Build> build = TRY(find(caller, id));
  if (build->begun)
    return Error{Code::conflict, cat("begin build '", id, "': it was begun already"), ""};
  size_t waiting =
      static_cast<size_t>(std::count_if(queue_.begin(), queue_.end(), [&](const auto& other) {
        return other->tenant == caller.tenant;
      }));
  if (waiting >= kMostWaiting)
    return Error{Code::exhausted, cat("begin build '", id, "': ", waiting, " builds are waiting"),
                 "try again when some are done"};
  build->recipe = std::move(recipe);
  build->caller = caller;
  build->begun = true;
  note_on_disk(*build, true);
  queue_.push_back(build);
  start_next();
  return {};
}

// A build that waits ends when its turn comes; one that runs ends with its sandbox.
void Builder::cancel(const std::shared_ptr<Build>& build) {
  build->cancelled = true;
  std::string sandbox = build->sandbox;
  if (sandbox.empty()) return;
  auto end = [](manager::Manager& manager, manager::Caller caller,
                std::string id) -> io::Task<void> {
    Result<void> killed = co_await manager.kill(caller, id);
    (void)killed;  // gone already
  };
  io::spawn(end(manager_, as_tenant(build->tenant), sandbox));
}

// Takes from the queue in order, but passes over builds that must wait for others of their tenant
// or name.
void Builder::start_next() {
  for (auto it = queue_.begin(); it != queue_.end() && under_way_ < kAtOnce;) {
    std::shared_ptr<Build> build = *it;
    std::set<std::string>& families = busy_[build->tenant];
    // Those of one name one after the other: the tag is the last one's.
    if (families.size() >= kAtOnceOfOne || families.count(build->family)) {
      ++it;
      continue;
    }
    queue_.erase(it);
    families.insert(build->family);
    ++under_way_;
    build->state = BuildState::building;
    io::spawn(run(build));
    it = queue_.begin();
  }
}

namespace {

// What is going to be run, for the record.
Event act_of_build(const Build& build) {
  auto clean = [](const std::string& script) {
    return redact::redacted_script(*redact::Rules::common(), script);
  };
  Value::Array steps;
  for (const BuildStep& step : build.recipe.steps)
    steps.push_back(clean(describe(step, Values::hidden)));
  Value data;
  data.set("build", build.id);
  data.set("name", build.name);
  data.set("from",
           build.recipe.from_image.empty() ? build.recipe.from_template : build.recipe.from_image);
  data.set("steps", std::move(steps));
  data.set("start_command", clean(build.recipe.start_command));
  data.set("ready_command", clean(build.recipe.ready_command));
  return manager::admin_event(build.caller, "template.build", std::move(data));
}

// The same span as the beginning, so that the two belong together.
Event end_of_build(const Build& build, const Event& begin) {
  Event end = begin;
  end.time_us = wall_clock_us();
  end.duration_us = end.time_us - begin.time_us;
  end.data = Value::Object{{"act", "template.built"},
                           {"key", build.caller.key},
                           {"build", build.id},
                           {"name", build.name}};
  if (build.state == BuildState::error) end.data.set("error", build.reason.message);
  return end;
}

}  // namespace

// Recorded before anything runs. Whatever happens, the slot is given back at the end and the next
// build starts.
io::Task<void> Builder::run(std::shared_ptr<Build> build) {
  Event begin = act_of_build(*build);
  begin.span = build->caller.cause.child().span;
  build->caller.cause.span = begin.span;
  Result<void> done = co_await manager_.events().record(begin);
  if (done) done = co_await run_recipe(build);
  if (done) {
    build->log("info", "finalize", cat("Build finished: ", build->name));
    build->state = BuildState::ready;
  } else {
    build->reason =
        build->cancelled ? Error{Code::conflict, "the build was cancelled", ""} : done.error();
    build->reason.message = redact::redacted_script(*build->redaction, build->reason.message);
    build->log("error", build->failed_step, cat("Build failed: ", build->reason.message));
    build->state = BuildState::error;
  }
  manager_.events().note(end_of_build(*build, begin));
  build->recipe = {};  // remembered for its logs alone
  build->request = {};
  note_on_disk(*build, false);
  manager_.templates_changed();
  busy_[build->tenant].erase(build->family);
  if (busy_[build->tenant].empty()) busy_.erase(build->tenant);
  --under_way_;
  start_next();
}

// From the base, step by step, to a template under the name that was asked for.
io::Task<Result<void>> Builder::run_recipe(std::shared_ptr<Build> build) {
  build->failed_step = "base";
  CO_TRY(store::Template base, co_await base_of(build));
  Recipe recipe = build->recipe;
  if (recipe.start_command.empty() && recipe.ready_command.empty()) {
    recipe.start_command = base.start_command;
    recipe.ready_command = base.ready_command;
  }
  manager::Caller caller = as_tenant(build->tenant);
  caller.agent = build->caller.agent;
  caller.key = build->caller.key;
  caller.cause = build->caller.cause;
  StepContext context{manager_, build, *files_, caller};
  store::Template last = base;
  // A template that starts something when a sandbox is made: not while it is built upon.
  if (!last.start_command.empty()) {
    last.kind = store::TemplateKind::step;
    last.tenant = build->tenant;
    last.start_command.clear();
    last.ready_command.clear();
    CO_TRY(last, manager_.templates().add(last, std::nullopt));
  }
  CO_TRY(last, co_await run_steps(context, last, recipe));
  build->failed_step = "finalize";
  if (!recipe.start_command.empty() || !recipe.ready_command.empty()) {
    build->log("info", "finalize", "[finalize] Waiting until the start command is ready");
    CO_TRY(last, co_await run_start_command(context, last, recipe));
  }
  store::Template made = finished(*build, recipe, last);
  made.parent = base.id;
  CO_TRY(made, manager_.templates().add(made, std::nullopt, build->id));
  co_return Result<void>();
}

// All steps, one upon the other. A step that was done before on the same layers is not done again.
io::Task<Result<store::Template>> Builder::run_steps(StepContext context, store::Template last,
                                                     Recipe recipe) {
  std::shared_ptr<Build> build = context.build;
  bool force = recipe.force;
  for (size_t i = 0; i < recipe.steps.size(); ++i) {
    const BuildStep& step = recipe.steps[i];
    std::string number = std::to_string(i + 1);
    build->failed_step = number;
    if (build->cancelled) co_return Error{Code::conflict, "the build was cancelled", ""};
    std::string title = cat("[builder ", number, "/", recipe.steps.size(), "] ",
                            redact::redacted_script(*build->redaction, describe(step)));
    if (step.kind == StepKind::env) {
      build->log("info", number, title);
      CO_TRY_VOID(set_variables(step, last.env));
      continue;
    }
    force = force || step.force;
    std::string key = step_key(last, step);
    const store::Template* cached =
        force ? nullptr : manager_.templates().find_cached(build->tenant, key);
    build->log("info", number, cached ? cat("CACHED ", title) : title);
    if (cached) {
      last = *cached;
      continue;
    }
    CO_TRY(last, co_await run_step(context, last, step, number, key));
  }
  co_return last;
}

// An image by its name, or a template of the same name. Nothing is ever fetched from a registry.
io::Task<Result<store::Template>> Builder::base_of(std::shared_ptr<Build> build) {
  const Recipe& recipe = build->recipe;
  std::string what =
      recipe.from_image.empty()
          ? cat("FROM template ", recipe.from_template.empty() ? "base" : recipe.from_template)
          : cat("FROM ", recipe.from_image);
  build->log("info", "base", cat("[base] ", what));
  CO_TRY_VOID(co_await manager_.base_ready());
  if (recipe.from_image.empty()) {
    std::string name = recipe.from_template.empty() ? "base" : recipe.from_template;
    Result<store::Template> found = manager_.templates().find(build->tenant, name);
    bool for_code =
        found && found.value().tenant.empty() && found.value().name == manager::kCodeTemplate;
    if (std::string missing = for_code ? manager::missing_for_code() : ""; !missing.empty())
      build->log("warn", "base", missing);
    co_return found;
  }
  std::string name = image_name_for(recipe.from_image);
  if (store::is_image_name(name) && store::find_image(name)) {
    Result<store::Template> made = co_await from_image(name);
    co_return made;
  }
  for (const std::string& other : {recipe.from_image, name}) {
    Result<store::Template> same_name = manager_.templates().find(build->tenant, other);
    if (same_name) co_return same_name;
  }
  if (is_e2b_base(recipe.from_image)) {
    Result<store::Template> base = manager_.templates().find(build->tenant, "base");
    co_return base;
  }
  co_return Error{Code::not_found,
                  cat("build from image '", printable(recipe.from_image),
                      "': it was not imported, and no registry is asked"),
                  cat("import it with: paddock image import ", printable(name),
                      " FILE; or make a template of that name")};
}

// The image's files with owners as inside, once for all who build from it.
io::Task<Result<store::Template>> Builder::from_image(std::string image) {
  CO_TRY(store::Image found, store::find_image(image));
  std::string key = cat("image ", image, " ", found.imported_seconds, " ", found.bytes);
  if (const store::Template* cached = manager_.templates().find_cached("", key)) co_return *cached;
  CO_TRY(store::Staged staged, manager_.templates().stage());
  std::string from = found.root, root = staged.root();
  Result<void> copied;
  std::function<void()> copy = [&] { copied = store::copy_image_root(from, root); };
  co_await manager_.copier().run(copy);
  if (!copied) co_return copied.error();
  store::Template asked;
  asked.kind = store::TemplateKind::step;
  asked.cache_key = key;
  std::optional<store::Staged> layer(std::move(staged));
  co_return manager_.templates().add(std::move(asked), std::move(layer));
}

}  // namespace paddock::templates
