#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "code/interpreter.h"
#include "code/languages.h"
#include "manager/operation_record.h"
#include "tools/builtin/cell_report.h"
#include "tools/builtin/job.h"
#include "tools/builtin/progress.h"

namespace paddock::tools::builtin {

namespace {

using code::Cell;
using code::Interpreter;
using io::Task;

// Both are used where the call does not say otherwise; the output is in bytes for each stream.
constexpr int64_t kDefaultTimeMs = 120'000;
constexpr int64_t kDefaultOutput = 64 << 10;

// Egress reports a denial a moment after the program sees it.
constexpr io::Milliseconds kSettle = 60;
constexpr size_t kMostNames = 64;

// Names of contexts, as callers chose them, with their ids.
using Names = std::map<std::string, std::string>;

// Kept with the sandbox, so that they end with it.
Names& names_of(manager::Sandbox& sandbox) {
  std::shared_ptr<void>& kept = sandbox.parts["own.contexts"];
  if (!kept) kept = std::make_shared<Names>();
  return *static_cast<Names*>(kept.get());
}

// A context that has this id, or that was made under this name, or a new one. `where` may say
// nothing: the language's default.
Task<Result<std::string>> find_context(const Job& job, std::shared_ptr<manager::Sandbox> sandbox,
                                       std::shared_ptr<Interpreter> interpreter, std::string name,
                                       std::string language) {
  if (name.empty() || name == "default") co_return std::string();
  std::vector<code::ContextInfo> all = interpreter->contexts();
  Names& names = names_of(*sandbox);
  std::string id = names.count(name) ? names[name] : name;
  auto found = std::find_if(all.begin(), all.end(),
                            [&](const code::ContextInfo& info) { return info.id == id; });
  if (found != all.end()) {
    if (!language.empty() && found->language != language)
      co_return Error{
          Code::invalid,
          cat("the context '", printable(name), "' is for ", found->language, ", not ", language),
          "use another context, or leave out `language`"};
    co_return id;
  }
  if (names.size() >= kMostNames) names.clear();
  Value data = Value::Object{
      {"act", "create"}, {"language", language.empty() ? "python" : language}, {"cwd", ""}};
  std::string kind = "code.context";
  CO_TRY(Event recorded,
         co_await manager::record_doing(job.manager(), job.caller, sandbox, kind, std::move(data)));
  std::string cwd;
  Result<code::ContextInfo> made = co_await interpreter->create(language, cwd);
  if (!made) {
    job.manager().note_failure(recorded, made.error());
    co_return made.error();
  }
  names_of(*sandbox)[name] = made.value().id;
  co_return made.value().id;
}

// How a cell ended.
struct Ending {
  // Empty if it ended by itself.
  std::string words;
  Value outcome;
};

// Reads a cell to its end, or to the end of its time.
Task<Ending> follow(const Job& job, std::shared_ptr<Cell> cell, int64_t timeout_ms,
                    CellReport& report) {
  ProgressReporter progress(job.loop(), job.context);
  io::Milliseconds deadline = job.loop().now() + timeout_ms;
  while (true) {
    Cell::News news = co_await cell->next(progress.until(deadline));
    if (news.kind == Cell::News::Kind::lines) report.add(news.lines);
    if (news.kind == Cell::News::Kind::end) break;
    progress.tell(report.lines(), report.bytes());
    if (job.loop().now() < deadline) continue;
    cell->abandon();
    Value outcome = Value::Object{
        {"kind", "limit"}, {"limit", "wall_time"}, {"value", timeout_ms}, {"peak", timeout_ms}};
    std::string words = cat(outcome_words(outcome),
                            ". The cell was interrupted; variables are kept where it reacted to "
                            "that. Give a longer `timeout`, or do less at once");
    co_return Ending{std::move(words), std::move(outcome)};
  }
  if (job.context->is_cancelled())
    co_return Ending{"cancelled: the cell was interrupted", Value::Object{{"kind", "cancelled"}}};
  co_return Ending{};
}

// The process of the context died: perhaps because a limit ended it.
Task<Ending> why_died(const Job& job, manager::RunningSandbox inside) {
  Value killed = Value::Object{{"signal", 9}};
  Value outcome = co_await manager::outcome_of(job.manager(), inside, killed, 0);
  if (!is_limit(outcome))
    outcome = Value::Object{{"kind", "died"}, {"why", "the interpreter's process ended"}};
  std::string words =
      cat(outcome_words(outcome), ". The variables of this context are lost; files are kept");
  co_return Ending{std::move(words), std::move(outcome)};
}

// The sandbox ended during the cell: perhaps because of a limit.
Task<Ending> why_gone(const Job& job, manager::RunningSandbox inside) {
  Error gone{Code::io, "", "", Kind::unavailable};
  std::optional<Value> limit = co_await manager::limit_that_ended(job.manager(), inside, gone);
  Value outcome =
      limit ? *limit
            : Value(Value::Object{{"kind", "unknown"},
                                  {"why", manager::gone_meanwhile(*inside.sandbox).message}});
  co_return Ending{outcome_words(outcome), outcome};
}

}  // namespace

// Finds or makes the context, runs the cell, and reports what came of it.
Task<Result<Value>> run_code(Job job) {
  std::string code = job.text("code"), language = job.text("language"), name = job.text("context");
  if (!language.empty()) {
    CO_TRY(language, code::language_of(language));
  }
  CO_TRY(Chosen chosen, co_await choose(job));
  manager::RunningSandbox inside = chosen.inside;
  const manager::Sandbox& sandbox = *inside.sandbox;
  Result<std::shared_ptr<Interpreter>> interpreter =
      co_await Interpreter::of(inside.sandbox, job.loop());
  if (!interpreter) co_return manager::from_guest(interpreter.error());
  Result<std::string> context =
      co_await find_context(job, inside.sandbox, interpreter.value(), name, language);
  if (!context) co_return manager::without_secrets(sandbox, context.error());

  manager::Recorded recorded(job.manager(), job.caller, inside.sandbox);
  CO_TRY_VOID(co_await recorded.start_code(code, language, context.value()));
  uint64_t mark = network_mark(sandbox);
  io::Milliseconds began = job.loop().now();
  Interpreter::Where where{context.value(), language};
  code::CellRequest request{code, job.pairs("env")};
  Result<std::shared_ptr<Cell>> begun =
      co_await interpreter.value()->run(where, std::move(request));
  if (!begun) {
    recorded.not_started(begun.error());
    co_return manager::without_secrets(sandbox, begun.error());
  }
  std::shared_ptr<Cell> cell = begun.value();
  std::shared_ptr<void> watched = inside.sandbox->watch([cell] { cell->abandon(); });
  OnCancel cancel(job.context, [cell] { cell->abandon(); });
  CellReport report(sandbox.info().id,
                    static_cast<size_t>(job.number("max_output", kDefaultOutput)));
  int64_t timeout_ms = std::max<int64_t>(1, job.seconds("timeout", kDefaultTimeMs));
  Ending ending = co_await follow(job, cell, timeout_ms, report);
  if (cell->error_name() == "KernelDied" || cell->error_name() == "MemoryLimit")
    ending = co_await why_died(job, inside);
  code::end_record(recorded, *cell);
  if (!sandbox.is_reachable() && ending.words.empty()) ending = co_await why_gone(job, inside);
  if (has_network(sandbox)) co_await job.loop().sleep(kSettle);

  ToolReport result{.notes = chosen.notes};
  result.is_error = !ending.words.empty();
  result.data.set("sandbox", sandbox.info().id);
  result.data.set("context", name.empty() ? "default" : name);
  std::string said = report.said();
  Value outcome = ending.outcome.is_null()
                      ? Value(Value::Object{{"kind", report.has_error() ? "error" : "done"}})
                      : std::move(ending.outcome);
  std::move(report).tell(ending.words, result);
  result.data.set("outcome", std::move(outcome));
  result.data.set("duration_ms", job.loop().now() - began);
  tell_network(sandbox, mark, said, result);
  co_return to_result(std::move(result));
}

}  // namespace paddock::tools::builtin
