// Native API: what was recorded, and whether it is still what was recorded. A tenant sees its own
// records; administrators of the server see all.
#include "api/http/all_routes.h"
#include "api/http/server.h"
#include "api/native/audit_worker.h"
#include "audit/index.h"
#include "audit/seal.h"
#include "audit/verify.h"
#include "base/instant.h"
#include "base/percent.h"
#include "base/text.h"
#include "base/units.h"
#include "record/events.h"

namespace paddock::api {

namespace {

using io::Task;

constexpr size_t kMostRecords = 1000;
constexpr uint64_t kMostBytes = 8 << 20, kMostSearched = 256 << 20;

// What is asked for, and in which form: one object, or lines of JSON.
struct Question {
  audit::Query query;
  bool lines = false;
};

// One parameter of the query.
Result<void> read_parameter(const std::string& name, const std::string& value, Question& question) {
  audit::Query& query = question.query;
  const std::map<std::string_view, std::string*> texts = {
      {"sandbox", &query.sandbox}, {"tenant", &query.tenant},   {"agent", &query.agent},
      {"trace", &query.trace},     {"verdict", &query.verdict}, {"text", &query.text}};
  if (auto text = texts.find(name); text != texts.end())
    *text->second = value;
  else if (name == "kind")
    for (const std::string& kind : split(value, ',')) query.kinds.push_back(kind);
  else if (name == "since")
    query.since_us = TRY(parse_instant(value, wall_clock_us()));
  else if (name == "until")
    query.until_us = TRY(parse_instant(value, wall_clock_us()));
  else if (name == "after")
    query.after = TRY(parse_count(value));
  else if (name == "before")
    query.before = TRY(parse_count(value));
  else if (name == "limit")
    query.limit = TRY(parse_count(value));
  else if (name == "order" && (value == "asc" || value == "desc"))
    query.newest_first = value == "desc";
  else if (name == "format" && (value == "json" || value == "ndjson"))
    question.lines = value == "ndjson";
  else
    return Error{Code::invalid, "unknown parameter or value",
                 "sandbox, tenant, agent, trace, verdict, kind, text, since, until, after, before, "
                 "limit, order=asc|desc, format=json|ndjson"};
  return {};
}

// The whole query, within what the caller may see.
Result<Question> read_question(const Call& call) {
  Question question;
  audit::Query& query = question.query;
  // Pages are read forward.
  query.newest_first = !call.exchange.query("after");
  for (const auto& [name, value] : parse_query(call.exchange.query_string())) {
    Result<void> read = read_parameter(name, value, question);
    if (!read)
      return Error{read.error().code,
                   cat(printable(name), "=", printable(value), ": ", read.error().message),
                   read.error().hint};
  }
  if (query.kinds.size() > 20) return Error{Code::invalid, "kind: at most 20 of them"};
  if (query.limit < 1 || query.limit > kMostRecords)
    return Error{Code::invalid, cat("limit: from 1 to ", kMostRecords),
                 "the next page: after=NUMBER"};
  if (!call.caller.may("admin")) {
    if (!query.tenant.empty() && query.tenant != call.caller.tenant)
      return Error{Code::denied, "tenant: records of other tenants need the scope 'admin'"};
    query.tenant = call.caller.tenant;
    query.unreadable = false;  // they may be somebody else's
  }
  query.most_bytes = kMostBytes;
  query.most_searched = kMostSearched;
  return question;
}

// Runs on the audit desk's thread.
Result<std::vector<audit::Found>> find(const std::string& directory, const audit::Query& query) {
  audit::Index index = TRY(audit::Index::open(directory));
  TRY(index.update());
  return index.find(query);
}

// Records are put into the answer as they stand in the log, so that clients can check their
// hashes.
std::string body_of(const std::vector<audit::Found>& records, const Question& question) {
  std::string body = question.lines ? "" : "{\"records\":[";
  uint64_t bytes = 0;
  for (const audit::Found& found : records) {
    bytes += found.line.size();
    if (!question.lines && &found != &records.front()) body += ',';
    body += audit::as_json(found);
    if (question.lines) body += '\n';
  }
  if (question.lines) return body;
  bool more = !records.empty() && (records.size() >= question.query.limit || bytes >= kMostBytes);
  return cat(body, "],\"next\":", more ? std::to_string(records.back().seq) : "null", "}");
}

Task<Result<Reply>> show(Call& call) {
  CO_TRY(Question question, read_question(call));
  Result<std::vector<audit::Found>> searched = Error{};
  std::string directory = call.manager.events().directory();
  std::function<void()> work = [&] { searched = find(directory, question.query); };
  CO_TRY_VOID(co_await call.server.audit_worker().run(call.caller.tenant, work));
  CO_TRY(std::vector<audit::Found> found, std::move(searched));
  co_return Reply::text(200, question.lines ? "application/x-ndjson" : "application/json",
                        body_of(found, question));
}

// Reads the whole log, which may take long: on the worker, too.
Task<Result<Reply>> verify(Call& call) {
  audit::VerifyOptions options{.directory = call.manager.events().directory(),
                               .expect = call.query("expect")};
  Result<audit::Verified> verified = Error{};
  std::function<void()> work = [&] { verified = audit::verify(options); };
  CO_TRY_VOID(co_await call.server.audit_worker().run(call.caller.tenant, work));
  CO_TRY(audit::Verified result, std::move(verified));
  co_return Reply::json(200, audit::to_value(result));
}

Task<Result<Reply>> key(Call& call) {
  CO_TRY(std::string pem, audit::public_key(call.manager.events().directory()));
  co_return Reply::json(200, Value::Object{{"public_key", pem}});
}

}  // namespace

std::vector<Route> audit_routes() {
  return {
      {"GET", "/v1/audit", "read", show, "what was recorded, by what is asked of it",
       "sandbox,tenant,agent,trace,verdict,kind,text,since,until,after,before,limit,order,format",
       "", "Records"},
      {"GET", "/v1/audit/verify", "admin", verify, "whether the record is what was written",
       "expect", "", "Verified"},
      {"GET", "/v1/audit/key", "read", key, "the public key that its seals are checked with", "",
       "", "PublicKey"},
  };
}

}  // namespace paddock::api
