// paddock-sandboxed: a program in a sandbox of its own as the tools have it, led by lines of JSON.
//
//   {"argv":["cat"],"policies":["default"],"env":{},"secrets":{},"input":"hello"}       with
//   "once": run_sandboxed()
//
// What is said: {"started":true}, {"output":"…"}, {"line":"…"}, {"end":{"outcome","why"}}; or
// {"error":"…"}. Further lines on stdin: "stop", "close" (its stdin), "drop" (the object).
#include <fcntl.h>
#include <unistd.h>

#include <iostream>

#include "base/text.h"
#include "io/pipe.h"
#include "policy/load.h"
#include "tools/sandboxed.h"

namespace {

using namespace paddock;

io::Loop* loop = nullptr;
std::unique_ptr<tools::Sandboxed> sandboxed;
std::unique_ptr<io::PipeEnd> input;
std::function<void()> cancel;

void say(const char* name, Value value) {
  Value line;
  line.set(name, std::move(value));
  std::cout << to_json(line) << std::endl;
}

std::string text(const Value& value, const char* name) {
  const Value* found = value.find(name);
  return found && found->as_string() ? *found->as_string() : "";
}

std::vector<std::string> texts(const Value& value, const char* name) {
  std::vector<std::string> list;
  const Value* found = value.find(name);
  if (found && found->as_array())
    for (const Value& item : *found->as_array())
      list.push_back(item.as_string() ? *item.as_string() : "");
  return list;
}

std::map<std::string, std::string> variables(const Value& value, const char* name) {
  std::map<std::string, std::string> all;
  const Value* found = value.find(name);
  if (found && found->as_object())
    for (const auto& [key, each] : *found->as_object())
      all[key] = each.as_string() ? *each.as_string() : "";
  return all;
}

void finish(const Error& error) {
  say("error", error.message);
  loop->stop();
}

io::Task<void> run_once(tools::CommandInput command) {
  std::function<void(std::function<void()>)> on_cancel = [](std::function<void()> given) {
    cancel = std::move(given);
  };
  Result<Value> result = co_await tools::run_sandboxed(*loop, std::move(command), on_cancel);
  if (result)
    say("result", std::move(result.value()));
  else
    say("error", result.error().message);
  loop->stop();
}

io::Task<void> read_output(Fd fd) {
  io::PipeEnd output(*loop, std::move(fd));
  while (true) {
    io::Stream::More more = co_await output.read();
    if (more != io::Stream::More::yes) co_return;
    say("output", std::exchange(output.ahead, ""));
  }
}

io::Task<void> write_input(std::string bytes) { (void)co_await input->write(bytes); }

io::Task<void> order(Value job) {
  policy::LoadContext context{.paths = {"/", "/"},
                              .read = [](const std::string& file) { return read_file(file); }};
  Result<policy::Combined> combined = policy::load(texts(job, "policies"), {}, context);
  if (!combined) co_return finish(combined.error());
  tools::SandboxedOptions options{.argv = texts(job, "argv"),
                                  .policy = std::move(combined.value().policy),
                                  .env = variables(job, "env"),
                                  .secrets = variables(job, "secrets"),
                                  .agent = text(job, "agent")};
  if (job.find("once")) {
    io::spawn(run_once({std::move(options), text(job, "input")}));
    co_return;
  }
  Result<std::unique_ptr<tools::Sandboxed>> started =
      tools::Sandboxed::start(*loop, std::move(options));
  if (!started) co_return finish(started.error());
  sandboxed = std::move(started).value();
  sandboxed->on_line = [](const std::string& line) { say("line", line); };
  sandboxed->on_end = [](const tools::Sandboxed::End& end) {
    Value value;
    value.set("outcome", end.outcome);
    value.set("why", end.why);
    say("end", std::move(value));
    loop->stop();
  };
  input = std::make_unique<io::PipeEnd>(*loop, std::move(sandboxed->input));
  io::spawn(read_output(std::move(sandboxed->output)));
  io::spawn(write_input(text(job, "input")));
  say("started", true);
}

io::Task<void> take_orders() {
  io::PipeEnd orders(*loop, Fd(STDIN_FILENO));
  while (true) {
    size_t end = orders.ahead.find('\n');
    if (end == std::string::npos) {
      io::Stream::More more = co_await orders.read();
      if (more != io::Stream::More::yes) co_return;
      continue;
    }
    std::string line = orders.ahead.substr(0, end);
    orders.ahead.erase(0, end + 1);
    if (line == "stop" && cancel)
      cancel();
    else if (line == "stop")
      sandboxed->stop();
    else if (line == "close")
      input->close();
    else if (line == "drop")
      sandboxed.reset();
    else {
      Result<Value> job = parse_json(line, "order");
      if (!job) co_return finish(job.error());
      co_await order(job.value());
    }
  }
}

}  // namespace

int main() {
  Result<io::Loop*> made = io::Loop::create();
  if (!made) return 1;
  loop = made.value();
  io::spawn(take_orders());
  loop->run();
}
