#include "code/interpreter.h"

#include <algorithm>

#include "base/digest.h"
#include "base/text.h"
#include "code/languages.h"
#include "guest/protocol.h"

namespace paddock::code {

namespace {

using io::Task;

constexpr char kPart[] = "code";
constexpr io::Milliseconds kAskPatience = 10'000;

// 8-4-4-4-12 hexadecimal digits, as clients know ids of contexts.
std::string dashed(const std::string& hex) {
  return cat(hex.substr(0, 8), "-", hex.substr(8, 4), "-", hex.substr(12, 4), "-",
             hex.substr(16, 4), "-", hex.substr(20, 12));
}

// The words are those of E2B's server, since its clients show them.
Error no_context(const std::string& id) {
  return Error{Code::not_found, cat("Context ", printable(id.substr(0, 128)), " not found"), ""};
}

}  // namespace

Interpreter::Interpreter(std::shared_ptr<manager::Sandbox> sandbox, io::Loop& loop)
    : loop_(loop),
      sandbox_(sandbox),
      sandbox_id_(sandbox->info().id),
      recovering_(loop),
      next_cell_(static_cast<uint64_t>(manager::wall_time_now())) {}

// The programs live on: a later server attaches to them again.
Interpreter::~Interpreter() {
  for (const std::shared_ptr<Kernel>& kernel : kernels_) kernel->let_go();
}

// Kept with the sandbox, so that all requests share the same contexts. The first one looks for
// contexts of an earlier server.
Task<Result<std::shared_ptr<Interpreter>>> Interpreter::of(
    std::shared_ptr<manager::Sandbox> sandbox, io::Loop& loop) {
  if (!sandbox->is_reachable())
    co_return Error{Code::conflict, "run code: the sandbox is not running", "resume it first"};
  std::shared_ptr<void>& part = sandbox->parts[kPart];
  if (!part) part = std::shared_ptr<Interpreter>(new Interpreter(sandbox, loop));
  std::shared_ptr<Interpreter> interpreter = std::static_pointer_cast<Interpreter>(part);
  if (!interpreter->recovered_) {
    io::Mutex::Lock lock = co_await interpreter->recovering_.lock();
    if (!interpreter->recovered_) {
      CO_TRY_VOID(co_await interpreter->recover());
    }
  }
  co_return interpreter;
}

// Looks for contexts that an earlier server made.
Task<Result<void>> Interpreter::recover() {
  std::shared_ptr<manager::Sandbox> sandbox = sandbox_.lock();
  std::shared_ptr<guest::Client> guest = sandbox ? sandbox->guest() : nullptr;
  if (!guest) co_return Error{Code::conflict, "run code: the sandbox is not running", ""};
  Value about_user = guest::to_value(guest::UserRequest{});
  Value about_processes = guest::to_value(guest::ProcessesRequest{});
  CO_TRY(Value user, co_await guest->ask(about_user, loop_.now() + kAskPatience));
  Result<Value> processes = co_await guest->ask(about_processes, loop_.now() + kAskPatience);
  if (!processes) co_return processes.error();
  const Value* home = user.find("home");
  if (home && home->as_string() && !home->as_string()->empty()) home_ = *home->as_string();
  if (!sandbox->info().workspace.empty()) home_ = wall::kWorkspace;
  kernels_.clear();
  for (const char* language : {"python", "javascript"}) (void)default_of(language);
  const Value* list = processes.value().find("processes");
  const Value::Array none;
  for (const Value& process : list && list->as_array() ? *list->as_array() : none) {
    const Value* tag = process.find("tag");
    const Value* cwd = process.find("cwd");
    const Value* pid = process.find("pid");
    ContextInfo info;
    if (!tag || !tag->as_string() || !pid || !pid->as_int() ||
        !Kernel::parse_tag(*tag->as_string(), info))
      continue;
    info.cwd = cwd && cwd->as_string() ? *cwd->as_string() : home_;
    std::shared_ptr<Kernel> kernel = info.is_default ? default_of(info.language) : find(info.id);
    if (!kernel && kernels_.size() >= kMostContexts) continue;
    if (!kernel) kernel = add(info);
    kernel->lives_as = *pid->as_int();
  }
  recovered_ = true;
  co_return Result<void>();
}

// The kernel is not started yet.
std::shared_ptr<Kernel> Interpreter::add(ContextInfo info) {
  kernels_.push_back(std::make_shared<Kernel>(loop_, sandbox_, std::move(info), budget_));
  return kernels_.back();
}

std::shared_ptr<Kernel> Interpreter::find(const std::string& id) const {
  for (const std::shared_ptr<Kernel>& kernel : kernels_)
    if (kernel->info.id == id) return kernel;
  return nullptr;
}

// Found by its id after a restart, too, since it is computed.
std::shared_ptr<Kernel> Interpreter::default_of(const std::string& language) {
  for (const std::shared_ptr<Kernel>& kernel : kernels_)
    if (kernel->info.is_default && kernel->info.language == language) return kernel;
  // The same id for the sandbox's whole life, also where it is shown before there is a process.
  std::string id = dashed(to_hex(sha256_bytes(cat("context ", sandbox_id_, " ", language))));
  return add(ContextInfo{id, language, home_, true});
}

// The default contexts of python and javascript are always listed; others once they were used.
std::vector<ContextInfo> Interpreter::contexts() const {
  std::vector<ContextInfo> infos;
  for (const std::shared_ptr<Kernel>& kernel : kernels_) infos.push_back(kernel->info);
  return infos;
}

// A context that cannot be started is not kept.
Task<Result<ContextInfo>> Interpreter::create(std::string language, std::string cwd) {
  CO_TRY(std::string name, language_of(language.empty() ? "python" : language));
  if (kernels_.size() >= kMostContexts)
    co_return Error{Code::exhausted,
                    cat("make a context: this sandbox has ", kMostContexts, " already"),
                    "remove some"};
  CO_TRY(std::string random, random_bytes(16));
  if (cwd.empty()) cwd = home_;
  std::shared_ptr<Kernel> kernel = add(ContextInfo{dashed(to_hex(random)), name, cwd, false});
  Result<void> started = co_await Kernel::start(kernel);
  if (started) co_return kernel->info;
  std::erase(kernels_, kernel);
  co_return started.error();
}

// Out of the list first, so that no new cell reaches it.
Task<Result<void>> Interpreter::remove(std::string id) {
  std::shared_ptr<Kernel> kernel = find(id);
  if (!kernel) co_return no_context(id);
  std::erase(kernels_, kernel);
  co_await Kernel::end(kernel, "The context was removed");
  co_return Result<void>();
}

// The id stays, and the variables are gone.
Task<Result<void>> Interpreter::restart(std::string id) {
  std::shared_ptr<Kernel> kernel = find(id);
  if (!kernel) co_return no_context(id);
  co_await Kernel::end(kernel, "Context was restarted");
  Result<void> started = co_await Kernel::start(kernel);
  co_return started;
}

Result<std::shared_ptr<Kernel>> Interpreter::choose(const Where& where) {
  if (!where.context.empty() && where.context != "default") {
    std::shared_ptr<Kernel> kernel = find(where.context);
    if (!kernel) return no_context(where.context);
    return kernel;
  }
  std::string language = TRY(language_of(where.language.empty() ? "python" : where.language));
  return default_of(language);
}

// Cells get numbers that never repeat, also over restarts of the server, because the kernel answers
// by number.
Task<Result<std::shared_ptr<Cell>>> Interpreter::run(Where where, CellRequest request) {
  CO_TRY(std::shared_ptr<Kernel> chosen, choose(where));
  std::shared_ptr<manager::Sandbox> sandbox = sandbox_.lock();
  std::shared_ptr<const redact::Rules> rules =
      sandbox ? sandbox->redaction() : redact::Rules::common();
  std::shared_ptr<Cell> cell = std::make_shared<Cell>(loop_, std::move(request), std::move(rules));
  cell->number = next_cell_++;
  // The first time, so that a language that is missing is an answer of its own.
  CO_TRY_VOID(co_await Kernel::start(chosen));
  io::spawn(Kernel::run(chosen, cell));
  co_return cell;
}

}  // namespace paddock::code
