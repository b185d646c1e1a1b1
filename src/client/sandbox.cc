// paddock::Sandbox: the public API of living sandboxes, as calls to a server.
#include <cstdio>
#include <utility>

#include "base/base64.h"
#include "base/percent.h"
#include "base/text.h"
#include "client/client.h"
#include "client/policy_layers.h"
#include "paddock/living.h"

namespace paddock {

namespace {

using client::Client;
using client::sandbox_path;

// In bytes, of a file that is read into memory.
constexpr size_t kLargestFile = 1 << 30;

std::string at_path(const char* what, const std::string& path) {
  return cat(what, "?path=", percent_encode(path));
}

// The body of POST /v1/sandboxes.
Result<Value> creation_of(const SandboxOptions& options) {
  Value body(Value::Object{});
  if (!options.template_name.empty()) body.set("template", options.template_name);
  if (!options.name.empty()) body.set("name", options.name);
  Policy call = options.policy;
  if (call.name.empty()) call.name = "the call";
  body.set("policy", TRY(client::policy_layers(options.policies, call)));
  body.set("env", text_table(options.env));
  body.set("metadata", text_table(options.metadata));
  body.set("secrets", text_table(options.secrets));
  body.set("timeout_ms", options.timeout_ms);
  return body;
}

// The body of POST …/exec. What cannot be given to a living sandbox is refused, not dropped.
Result<Value> request_of(const Command& command, const ExecOptions& options) {
  if (command.argv.empty()) return Error{Code::invalid, "exec: there is nothing to run", ""};
  if (!command.secrets.empty())
    return Error{Code::unsupported, "exec: secrets belong to the whole sandbox",
                 "give them to Sandbox::create"};
  if (!command.file_name.empty())
    return Error{Code::unsupported, "exec: a program text is for paddock::run",
                 "write it with Sandbox::write_file"};
  Value request;
  request.set("argv", text_list(command.argv));
  request.set("env", text_table(command.env));
  if (!command.cwd.empty()) request.set("cwd", command.cwd);
  if (!options.user.empty()) request.set("user", options.user);
  if (!options.input.empty()) request.set("stdin", options.input);
  if (options.timeout_ms > 0) request.set("timeout_ms", options.timeout_ms);
  return request;
}

// Bytes that are not UTF-8 come as base64 beside the text.
Result<std::string> output_in(const Value& answer, const std::string& name) {
  std::string encoded = text_in(answer, name + "_base64");
  if (encoded.empty()) return text_in(answer, name);
  return from_base64(encoded);
}

}  // namespace

// Every call makes its own connection; only the endpoint and the id are kept.
struct Sandbox::State {
  Client client;
  std::string id;

  Result<Value> ask(const char* method, std::string_view rest, const Value& body = {}) const {
    return client.ask(method, sandbox_path(id, rest), body);
  }
  // For calls whose answer says nothing but that it is done.
  Result<void> tell(const char* method, std::string_view rest, const Value& body = {}) const {
    (void)TRY(ask(method, rest, body));
    return {};
  }
};

Sandbox::Sandbox(std::unique_ptr<State> state) : state_(std::move(state)) {}
Sandbox::Sandbox(Sandbox&&) noexcept = default;
Sandbox& Sandbox::operator=(Sandbox&&) noexcept = default;
Sandbox::~Sandbox() = default;

const std::string& Sandbox::id() const { return state_->id; }

// The layers of the policy are read here, on the caller's machine.
Result<Sandbox> Sandbox::create(const SandboxOptions& options) {
  Value body = TRY(creation_of(options));
  Client client = TRY(Client::find());
  client.act_for(options.agent);
  Value made = TRY(client.ask("POST", "/v1/sandboxes", body));
  return Sandbox(std::make_unique<State>(State{std::move(client), text_in(made, "id")}));
}

// A paused sandbox is resumed, so that what follows can use it.
Result<Sandbox> Sandbox::connect(const std::string& id_or_name) {
  Client client = TRY(Client::find());
  Value found = TRY(client.ask("GET", sandbox_path(id_or_name)));
  Sandbox sandbox(std::make_unique<State>(State{std::move(client), text_in(found, "id")}));
  if (text_in(found, "state") == "paused") TRY(sandbox.resume());
  return sandbox;
}

// Waits for the end of the command. An outcome other than exit 0 is a result, not an error.
Result<ExecResult> Sandbox::exec(const Command& command, const ExecOptions& options) const {
  Value request = TRY(request_of(command, options));
  Value answer = TRY(state_->ask("POST", "/exec?wait=1", request));
  const Value* outcome = answer.find("outcome");
  ExecResult result;
  result.outcome = TRY(client::read_outcome(outcome ? *outcome : Value()));
  result.out = TRY(output_in(answer, "stdout"));
  result.err = TRY(output_in(answer, "stderr"));
  result.out_truncated = flag_in(answer, "stdout_truncated");
  result.err_truncated = flag_in(answer, "stderr_truncated");
  result.redactions = count_in(answer, "redactions");
  return result;
}

Result<std::string> Sandbox::read_file(const std::string& path) const {
  client::Response response =
      TRY(state_->client.open("GET", sandbox_path(state_->id, at_path("/files", path))));
  return response.read_all(kLargestFile);
}

// Without a mode the server decides on one.
Result<void> Sandbox::write_file(const std::string& path, const std::string& content,
                                 uint32_t mode) const {
  char octal[24] = "";
  if (mode) (void)std::snprintf(octal, sizeof octal, "&mode=%o", mode & 07777);
  bool sent = false;
  client::Upload upload{content.size(), [&]() -> Result<std::string> {
                          if (std::exchange(sent, true)) return std::string();
                          return content;
                        }};
  client::Response response = TRY(state_->client.send(
      "PUT", sandbox_path(state_->id, at_path("/files", path) + octal), upload));
  (void)TRY(response.read_all());
  return {};
}

Result<std::vector<FileEntry>> Sandbox::list_files(const std::string& directory) const {
  Value answer = TRY(state_->ask("GET", at_path("/files/list", directory)));
  const Value* entries = answer.find("entries");
  if (!entries || !entries->as_array())
    return Error{Code::internal, "the server's list has no entries in it", ""};
  std::vector<FileEntry> files;
  for (const Value& entry : *entries->as_array())
    files.push_back({.name = text_in(entry, "name"),
                     .path = text_in(entry, "path"),
                     .type = text_in(entry, "type"),
                     .size = count_in(entry, "size"),
                     .mode = static_cast<uint32_t>(count_in(entry, "mode"))});
  return files;
}

Result<void> Sandbox::remove_file(const std::string& path) const {
  return state_->tell("DELETE", at_path("/files", path));
}

Result<void> Sandbox::pause() const {
  return state_->tell("POST", "/pause", Value(Value::Object{}));
}
Result<void> Sandbox::resume() const {
  return state_->tell("POST", "/resume", Value(Value::Object{}));
}
Result<void> Sandbox::kill() const { return state_->tell("DELETE", ""); }

}  // namespace paddock
