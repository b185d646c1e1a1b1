#include "tools/decide/webhook.h"

#include "base/digest.h"
#include "base/event.h"
#include "base/text.h"
#include "net/address.h"
#include "run/secrets.h"
#include "telemetry/post.h"

namespace paddock::tools {

namespace {

using io::Task;

// The answer comes from the network; both bound what is read and kept of it, in bytes.
constexpr size_t kLargestAnswer = 64 << 10, kLongestWhy = 500;
constexpr int kTries = 3;

// The pause before the second try; later ones are longer.
constexpr io::Milliseconds kPause = 1'000;

// Only a loopback address or localhost.
bool is_this_machine(const std::string& host) {
  if (host == "localhost") return true;
  std::optional<net::Address> address = net::parse_address(host);
  const char* kind = address ? net::not_public(*address) : nullptr;
  return kind && std::string_view(kind) == "loopback";
}

Result<net::HttpUrl> url_of(const policy::Ask& ask) {
  Result<net::HttpUrl> url = net::parse_http_url(ask.webhook);
  if (!url) url.error().message = cat("ask.webhook ", url.error().message);
  return url;
}

// What a webhook answers approves calls, so nobody on the way may be able to change it.
Result<telemetry::Endpoint> endpoint_of(const policy::Ask& ask) {
  telemetry::Endpoint endpoint{.url = TRY(url_of(ask))};
  if (!endpoint.url.tls && !is_this_machine(endpoint.url.host))
    return Error{Code::denied,
                 cat("ask.webhook '", printable(ask.webhook.substr(0, 200)),
                     "': http: to another machine, whose answer anybody on the way could give"),
                 "use https:"};
  return endpoint;
}

// The approval as the API shows it, with the end of its time as a date.
std::string body_of(const Approval& approval) {
  Value body = to_value(approval);
  body.set("expires", rfc3339(approval.expires_ms * 1000, 3));
  return to_json(body);
}

// Only a clear yes or no decides.
WebhookDecision decision_of(const telemetry::Poster::Posted& posted) {
  WebhookDecision decision;
  if (posted.status != 200) return decision;
  Result<Value> said = parse_json(posted.answer, "answer");
  if (!said || !said.value().as_object()) return decision;
  const Value* approve = said.value().find("approve");
  if (!approve || !approve->as_bool()) return decision;
  decision.decided = true;
  decision.approve = *approve->as_bool();
  const Value* why = said.value().find("why");
  if (why && why->as_string()) decision.why = printable(why->as_string()->substr(0, kLongestWhy));
  return decision;
}

}  // namespace

// For the start of a process, so that a wrong URL is found before a call needs it.
Result<void> check_webhook(const policy::Ask& ask) {
  if (ask.webhook.empty()) return {};
  (void)TRY(endpoint_of(ask));
  return {};
}

// Tries again after failures of the network and of the server, with growing pauses.
Task<WebhookDecision> tell_webhook(io::Loop& loop, policy::Ask ask, Approval approval,
                                   std::shared_ptr<WebhookStop> stop) {
  Result<telemetry::Endpoint> endpoint = endpoint_of(ask);
  if (!endpoint) co_return WebhookDecision{.failed = endpoint.error().message};
  std::string body = body_of(approval);
  if (!ask.webhook_secret.empty()) {
    Result<std::string> secret = runs::read_secret(ask.webhook_secret, "ask.webhook_secret");
    if (!secret) co_return WebhookDecision{.failed = secret.error().message};
    endpoint.value().headers["X-Paddock-Signature"] =
        cat("sha256=", to_hex(hmac_sha256(secret.value(), body)));
  }
  Result<std::unique_ptr<telemetry::Poster>> poster =
      telemetry::Poster::create(loop, endpoint.value());
  if (!poster) co_return WebhookDecision{.failed = poster.error().message};
  struct Forget {
    WebhookStop& stop;
    ~Forget() { stop.on_stop = {}; }
  } forget{*stop};
  stop->on_stop = [post = poster.value().get()] { post->stop(); };
  io::Milliseconds deadline = loop.now() + ask.timeout_ms;
  WebhookDecision decision;
  for (int tries = 0; tries < kTries && loop.now() < deadline && !stop->is_stopped; ++tries) {
    io::Milliseconds patience = deadline - loop.now();
    telemetry::Poster::Posted posted =
        co_await poster.value()->post(body, patience, kLargestAnswer);
    decision = decision_of(posted);
    if (decision.decided || (posted.status >= 200 && posted.status <= 499)) co_return decision;
    decision.failed = posted.why;
    co_await loop.sleep(kPause << tries);
  }
  co_return decision;
}

}  // namespace paddock::tools
