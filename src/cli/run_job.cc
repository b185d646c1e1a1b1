#include "cli/run_job.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/cli.h"
#include "policy/decode.h"
#include "policy/intersect.h"
#include "policy/presets.h"
#include "run/secrets.h"

namespace paddock::cli {

namespace {

// In bytes. A job holds a whole policy.
constexpr size_t kLargestJob = 16 << 20;

// Only our own programs send jobs, so that an error is a bug in one of them.
Error broken(const std::string& what) {
  return Error{Code::invalid, cat("--job: ", what), "this flag is for Paddock's own programs"};
}

// Reads one line; the other side stays open after it.
Result<std::string> read_line(int socket) {
  std::string line;
  char buffer[65536];
  while (line.empty() || line.back() != '\n') {
    ssize_t count = ::read(socket, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno_error(errno, "--job: read what is to be run");
    if (count == 0) return broken("whoever gives the job has gone");
    line.append(buffer, static_cast<size_t>(count));
    if (line.size() > kLargestJob) return broken("the job is too large");
  }
  return line;
}

Result<std::string> text_at(const Value& job, const char* name) {
  const Value* value = job.find(name);
  if (!value || !value->as_string()) return broken(cat("'", name, "' is missing"));
  return *value->as_string();
}

Result<std::map<std::string, std::string>> texts_at(const Value& job, const char* name) {
  const Value* value = job.find(name);
  if (!value || !value->as_object()) return broken(cat("'", name, "' is missing"));
  std::map<std::string, std::string> texts;
  for (const auto& [key, text] : *value->as_object()) {
    if (!text.as_string()) return broken(cat("'", name, "' holds no texts"));
    texts.emplace(key, *text.as_string());
  }
  return texts;
}

// Its paths are absolute, its network entries canonical.
Result<Policy> policy_of(const Value& job, const std::string& name) {
  const Value* value = job.find("policy");
  if (!value) return broken("'policy' is missing");
  policy::DecodeContext context;
  context.base_directory = context.home = "/";
  policy::Layer layer{.policy = TRY(policy::decode(*value, name, context))};
  return TRY(policy::combine({layer}, Policy{}, TRY(policy::preset("default")))).policy;
}

}  // namespace

// A number that is not an open descriptor leaves `socket` empty, which read() reports.
Job::Job(const std::string& descriptor) {
  bool is_number = !descriptor.empty() && descriptor.size() < 6 &&
                   descriptor.find_first_not_of("0123456789") == std::string::npos;
  if (is_number) socket = Fd(std::stoi(descriptor));
  // It is not open.
  if (socket && ::fcntl(socket.get(), F_SETFD, FD_CLOEXEC) != 0) (void)socket.release();
}

// Takes the job off the socket: a line of JSON, and a descriptor for each stream.
Result<void> Job::read() {
  if (!socket) return broken("there is no such descriptor");
  Value job = TRY(parse_json(TRY(read_line(socket.get())), "job"));
  const Value* argv = job.find("argv");
  if (!argv || !argv->as_array()) return broken("'argv' is missing");
  for (const Value& word : *argv->as_array()) {
    if (!word.as_string()) return broken("'argv' holds no texts");
    command.argv.push_back(*word.as_string());
  }
  command.env = TRY(texts_at(job, "env"));
  command.secrets = TRY(texts_at(job, "secrets"));
  record = {.agent = TRY(text_at(job, "agent")),
            .traceparent = TRY(text_at(job, "traceparent")),
            .policies = TRY(text_at(job, "name"))};
  const Value* as_it_is = job.find("raw");
  raw = as_it_is && as_it_is->as_bool() && *as_it_is->as_bool();
  policy = TRY(policy_of(job, record.policies.empty() ? "the job's policy" : record.policies));
  return {};
}

// The caller may be gone; then nobody needs the result.
void Job::tell(const Value& result) const { (void)write_all(socket.get(), to_json(result) + "\n"); }

// Tells the caller why there is no result.
int Job::failed(const Error& error) const {
  Result<runs::RunRedaction> redaction = runs::RunRedaction::create({}, command.secrets);
  Error clean = redaction ? redaction.value().clean(error) : redaction.error();
  if (!socket) return report(clean, false);
  Value inner, outer;
  inner.set("code", to_string(clean.code));
  inner.set("message", clean.message);
  inner.set("hint", clean.hint);
  outer.set("error", std::move(inner));
  tell(outer);
  return kFailed;
}

}  // namespace paddock::cli
