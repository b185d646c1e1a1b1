// paddock-living: one living sandbox without a server. Each line on stdin is an order in JSON, each
// line on stdout an answer with the same "id", or an event. Its end lets go of the sandbox, which
// lives on.
//
//   {"id":1,"do":"start","spec":{"id","directory","layers":[…],"usr_layers":[…],"host_usr":bool,"policy":"text
//   of one",…}}
//   {"id":2,"do":"exec","argv":["id"],"user":"root","stdin":"text"}
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>

#include "base/text.h"
#include "base/units.h"
#include "living/instance.h"
#include "policy/decode.h"
#include "policy/intersect.h"
#include "policy/load.h"

namespace {

using namespace paddock;

io::Loop* loop = nullptr;
std::unique_ptr<living::Instance> instance;

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

bool flag(const Value& value, const char* name) {
  const Value* found = value.find(name);
  return found && found->as_bool() && *found->as_bool();
}

void say(const Value& value) { std::cout << to_json(value) << std::endl; }

void answer(const Value& order, Value value) {
  if (const Value* id = order.find("id")) value.set("id", *id);
  say(value);
}

void refuse(const Value& order, const Error& error) {
  Value value;
  value.set("error", error.message);
  value.set("code", to_string(error.code));
  answer(order, std::move(value));
}

// A policy file's text over the default preset.
Result<Policy> read_policy(const std::string& text) {
  policy::LoadContext context{
      .paths = {}, .read = [&](const std::string&) { return Result<std::string>(text); }};
  return TRY(policy::load({"/policy.toml"}, {}, context)).policy;
}

Result<living::InstanceSpec> read_spec(const Value& order) {
  const Value* given = order.find("spec");
  if (!given) return Error{Code::invalid, "no spec", ""};
  living::InstanceSpec spec;
  spec.id = text(*given, "id");
  spec.directory = text(*given, "directory");
  spec.policy = TRY(read_policy(text(*given, "policy")));
  spec.root = {flag(*given, "host_usr"), texts(*given, "layers"), texts(*given, "usr_layers")};
  spec.hostname = text(*given, "hostname");
  spec.boot_id = text(*given, "boot_id");
  if (const Value* volumes = given->find("volumes"); volumes && volumes->as_array())
    for (const Value& volume : *volumes->as_array())
      spec.volumes.push_back(
          {text(volume, "source"), text(volume, "target"), flag(volume, "read_only")});
  if (const Value* files = given->find("files"); files && files->as_object())
    for (const auto& [name, content] : *files->as_object())
      spec.files[name] = content.as_string() ? *content.as_string() : "";
  return spec;
}

void watch() {
  instance->on_end = [](living::InstanceEnd end) {
    Value event;
    event.set("event", "end");
    event.set("why", end.why);
    if (end.limit) event.set("limit", info(end.limit->limit).name);
    say(event);
  };
  instance->on_network = [](const std::string& line) {
    Value event;
    event.set("event", "network");
    event.set("line", line);
    say(event);
  };
}

void tell_instance(const Value& order) {
  Value value;
  value.set("enforced", instance->enforced());
  value.set("notes", text_list(instance->notes()));
  value.set("freezes_by", instance->freezes_by());
  value.set("network", instance->has_network());
  answer(order, std::move(value));
}

io::Task<void> start(Value order) {
  Result<living::InstanceSpec> spec = read_spec(order);
  if (!spec) {
    refuse(order, spec.error());
    co_return;
  }
  living::InstanceSpec wanted = spec.value();
  Result<std::unique_ptr<living::Instance>> started =
      co_await living::Instance::start(*loop, wanted);
  if (!started) {
    refuse(order, started.error());
    co_return;
  }
  instance = std::move(started.value());
  watch();
  tell_instance(order);
}

io::Task<void> reattach(Value order) {
  std::string id = text(order, "sandbox"), directory = text(order, "directory");
  Result<std::unique_ptr<living::Instance>> found =
      co_await living::Instance::reattach(*loop, id, directory);
  if (!found) {
    refuse(order, found.error());
    co_return;
  }
  instance = std::move(found.value());
  watch();
  tell_instance(order);
}

io::Task<void> exec(Value order) {
  Value request, value;
  request.set("op", "start");
  for (const char* name : {"argv", "env", "cwd", "user"})
    if (const Value* given = order.find(name)) request.set(name, *given);
  request.set("stdin", order.find("stdin") != nullptr);
  std::shared_ptr<guest::Channel> channel = instance->guest()->open(request);
  if (order.find("stdin")) {
    std::string input = text(order, "stdin");
    (void)co_await channel->send(input);
    channel->end_input();
  }
  std::string out, err;
  while (true) {
    guest::Channel::Item item = co_await channel->next();
    if (item.kind == guest::Channel::Item::Kind::data)
      (item.stream == guest::kErrors ? err : out) += item.bytes;
    if (item.kind == guest::Channel::Item::Kind::failed) {
      refuse(order, item.error);
      co_return;
    }
    if (item.kind != guest::Channel::Item::Kind::end) continue;
    value.set("result", item.value);
    break;
  }
  value.set("out", to_utf8(out));
  value.set("err", to_utf8(err));
  answer(order, std::move(value));
}

io::Task<void> ask(Value order) {
  const Value* request = order.find("request");
  Value question = request ? *request : Value();
  io::Milliseconds deadline = loop->now() + 10'000;
  Result<Value> found = co_await instance->guest()->ask(question, deadline);
  if (!found)
    refuse(order, found.error());
  else
    answer(order, found.value());
}

io::Task<void> freeze(Value order, bool frozen) {
  io::Task<Result<void>> task = frozen ? instance->freeze() : instance->thaw();
  Result<void> done = co_await task;
  if (!done)
    refuse(order, done.error());
  else
    answer(order, Value(Value::Object{}));
}

io::Task<void> usage(Value order) {
  Result<launch::LivingUsage> used = co_await instance->usage();
  if (!used) {
    refuse(order, used.error());
    co_return;
  }
  const launch::LivingUsage& found = used.value();
  Value value;
  value.set("cpu_us", found.cpu_us);
  value.set("memory", found.memory);
  value.set("memory_cache", found.memory_cache);
  value.set("memory_peak", found.memory_peak);
  value.set("pids", found.pids);
  value.set("disk", found.disk);
  value.set("oom_kills", found.oom_kills);
  value.set("frozen", found.frozen);
  answer(order, std::move(value));
}

io::Task<void> kill(Value order) {
  co_await instance->kill();
  instance.reset();
  answer(order, Value(Value::Object{}));
}

void set_network(const Value& order) {
  Result<Policy> policy = read_policy(text(order, "policy"));
  Result<void> taken =
      policy ? instance->set_network(policy.value()) : Result<void>(policy.error());
  if (!taken)
    refuse(order, taken.error());
  else
    answer(order, Value(Value::Object{}));
}

void obey(const std::string& line) {
  Result<Value> order = parse_json(line, "order");
  if (!order) {
    say(Value(order.error().message));
    return;
  }
  std::string what = text(order.value(), "do");
  if (what == "start") return (void)io::spawn(start(order.value()));
  if (what == "reattach") return (void)io::spawn(reattach(order.value()));
  if (!instance) return refuse(order.value(), Error{Code::not_found, "there is no sandbox", ""});
  if (what == "exec")
    io::spawn(exec(order.value()));
  else if (what == "ask")
    io::spawn(ask(order.value()));
  else if (what == "freeze")
    io::spawn(freeze(order.value(), true));
  else if (what == "thaw")
    io::spawn(freeze(order.value(), false));
  else if (what == "usage")
    io::spawn(usage(order.value()));
  else if (what == "kill")
    io::spawn(kill(order.value()));
  else if (what == "network")
    set_network(order.value());
  else
    refuse(order.value(), Error{Code::invalid, "no such order", ""});
}

io::Task<void> read_orders() {
  io::Socket input(*loop, Fd(::fcntl(0, F_DUPFD_CLOEXEC, 3)));
  (void)::fcntl(input.get(), F_SETFL, O_NONBLOCK);
  std::string lines;
  char buffer[65536];
  while (true) {
    ssize_t count = ::read(input.get(), buffer, sizeof buffer);
    if (count < 0 && errno == EAGAIN) {
      input.not_readable();
      (void)co_await input.readable();
      continue;
    }
    if (count <= 0) break;
    lines.append(buffer, static_cast<size_t>(count));
    for (size_t end = lines.find('\n'); end != std::string::npos; end = lines.find('\n')) {
      std::string line = lines.substr(0, end);
      lines.erase(0, end + 1);
      obey(line);
    }
  }
  instance.reset();
  loop->stop();
}

}  // namespace

int main() {
  (void)::signal(SIGPIPE, SIG_IGN);
  Result<io::Loop*> made = io::Loop::create();
  if (!made) return 1;
  loop = made.value();
  io::spawn(read_orders());
  loop->run();
  std::_Exit(0);
}
