#include "api/envd_filesystem.h"

#include "api/data_events.h"
#include "api/envd_watch.h"
#include "base/text.h"

namespace paddock::api {
namespace {

using Kind = guest::Channel::Item::Kind;

// Methods that ask for one thing and get its entry.
struct Simple {
  const char *method, *operation;
  const char* writes = nullptr;  // which act it is, where it changes something
};
constexpr Simple kSimple[] = {{"Stat", "stat"},
                              {"MakeDir", "make_directory", "mkdir"},
                              {"Move", "move", "move"},
                              {"Remove", "remove", "remove"}};

io::Task<void> serve_simple(Envd& envd, const Simple& simple) {
  std::optional<Value> message = co_await read_message(envd, false);
  if (!message) co_return;
  Value request = guest_request(envd, simple.operation);
  if (std::string_view(simple.operation) == "move") {
    request.set("source", text_field(*message, "source"));
    request.set("destination", text_field(*message, "destination"));
  } else {
    request.set("path", text_field(*message, "path"));
  }
  if (simple.writes) {
    Value fields = file_fields(request);
    Result<void> recorded =
        co_await record_write(envd.call, envd.sandbox, simple.writes, std::move(fields));
    if (!recorded) {
      Error error = unrecorded_rpc(recorded.error());
      co_await answer_rpc_error(envd, error);
      co_return;
    }
  }
  Result<Value> answer = co_await ask_guest(envd, request);
  if (!answer) {
    co_await answer_rpc_error(envd, answer.error());
    co_return;
  }
  Value body = Value::Object{};
  if (const Value* entry = answer.value().find("entry"))
    body.set("entry", shown_names(envd.call, *envd.sandbox, entry_info(*entry)));
  co_await answer_rpc(envd, body);
}

std::string entries_json(const Envd& envd, const Value& message, bool& first) {
  std::string json;
  const Value* entries = message.find("entries");
  if (!entries || !entries->as_array()) return json;
  for (const Value& entry : *entries->as_array()) {
    if (!first) json += ',';
    first = false;
    json += to_json(shown_names(envd.call, *envd.sandbox, entry_info(entry)));
  }
  return json;
}

// The whole list may be long: it goes out as it comes in, once its beginning shows that there is
// one.
io::Task<void> list_directory(Envd& envd) {
  std::optional<Value> message = co_await read_message(envd, false);
  if (!message) co_return;
  Value request = guest_request(envd, "list");
  request.set("path", text_field(*message, "path"));
  request.set("depth", number_field(*message, "depth").value_or(1));
  std::shared_ptr<guest::Channel> channel = envd.guest->open(request);
  Tie tie(envd, channel);
  bool first = true;
  while (true) {
    guest::Channel::Item item = co_await channel->next();
    if (item.kind == Kind::failed) {
      Error error = guest_error(envd, tie, item);
      if (envd.exchange.answered())
        envd.exchange.cut();
      else
        co_await answer_rpc_error(envd, error);
      co_return;
    }
    if (!envd.exchange.answered()) {
      Headers headers = {{"Content-Type", "application/json"}};
      bool begun = co_await envd.exchange.begin(200, headers);
      if (!begun) co_return;
      bool opened = co_await envd.exchange.write("{\"entries\":[");
      if (!opened) co_return;
    }
    if (item.kind == Kind::end) {
      bool closed = co_await envd.exchange.write("]}");
      if (closed) (void)co_await envd.exchange.finish();
      co_return;
    }
    std::string piece = entries_json(envd, item.value, first);
    if (piece.empty()) continue;
    bool sent = co_await envd.exchange.write(piece);
    if (!sent) co_return;
  }
}

}  // namespace

io::Task<void> serve_filesystem(Envd& envd, std::string method) {
  for (const Simple& simple : kSimple) {
    if (method != simple.method) continue;
    co_await serve_simple(envd, simple);
    co_return;
  }
  if (method == "ListDir") {
    co_await list_directory(envd);
  } else if (method == "WatchDir") {
    co_await watch_directory(envd);
  } else if (method == "CreateWatcher") {
    co_await create_watcher(envd);
  } else if (method == "GetWatcherEvents") {
    co_await watcher_events(envd);
  } else if (method == "RemoveWatcher") {
    co_await remove_watcher(envd);
  } else {
    Error error{Code::unsupported,
                cat("filesystem.Filesystem/", printable(method), " is not implemented"),
                "unimplemented"};
    co_await answer_rpc_error(envd, error);
  }
}

}  // namespace paddock::api
