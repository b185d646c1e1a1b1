#include "telemetry/post.h"

#include <algorithm>

#include "base/fd.h"
#include "base/text.h"

namespace paddock::telemetry {

namespace {

using io::Milliseconds;
using io::Task;

constexpr size_t kLargestCertificates = 4 << 20;
constexpr Milliseconds kLongestRetryAfter = 60'000;

// Only the form in seconds is read; dates are ignored.
Milliseconds retry_after(const net::ResponseHead& head) {
  const net::Header* header = net::find_header(head.headers, "Retry-After");
  if (!header || header->value.empty() || header->value.size() > 6 ||
      header->value.find_first_not_of("0123456789") != std::string::npos)
    return 0;
  return std::min<Milliseconds>(kLongestRetryAfter, std::stoll(header->value) * 1000);
}

// The deadline is for the whole body.
Task<Result<std::string>> read_body(io::HttpExchange& exchange, size_t most,
                                    Milliseconds deadline) {
  std::string content;
  while (true) {
    io::Stream::More more = co_await exchange.read(content, deadline);
    if (content.size() > most)
      co_return Error{Code::exhausted, cat("its answer is longer than ", most, " bytes"), ""};
    if (more == io::Stream::More::end) co_return std::move(content);
    if (more != io::Stream::More::yes) co_return Error{Code::io, "its answer broke off", ""};
  }
}

}  // namespace

Result<std::unique_ptr<Poster>> Poster::create(io::Loop& loop, const Endpoint& endpoint) {
  std::vector<net::Header> headers = {{"Content-Type", "application/json"},
                                      {"Connection", "close"}};
  for (const auto& [name, value] : endpoint.headers) headers.push_back({name, value});
  std::unique_ptr<Poster> poster(new Poster(loop, std::move(headers)));
  // Where to send is the operator's word: also to this machine, and without TLS.
  io::HttpClientOptions options{.url = endpoint.url, .private_addresses = true};
  if (endpoint.url.tls && !endpoint.certificate.empty())
    options.trust = TRY(read_file(endpoint.certificate, kLargestCertificates));
  poster->client_ = TRY(io::HttpClient::create(loop, std::move(options)));
  return poster;
}

// The one who waits for post() gets an answer without a status.
void Poster::stop() {
  stopped_ = true;
  if (under_way_) under_way_->cut();
}

// One at a time: `under_way_` is what stop() cuts.
Task<Poster::Posted> Poster::post(std::string body, Milliseconds patience, size_t most_answer) {
  if (stopped_) co_return Posted{.why = "it was stopped"};
  Milliseconds deadline = loop_.now() + patience;
  io::HttpRequest request{.method = "POST", .headers = headers_, .body = std::move(body)};
  under_way_ = std::make_shared<io::HttpExchange>();
  Posted posted = co_await exchange(std::move(request), most_answer, deadline);
  under_way_.reset();
  co_return posted;
}

Task<Poster::Posted> Poster::exchange(io::HttpRequest request, size_t most_answer,
                                      Milliseconds deadline) {
  std::shared_ptr<io::HttpExchange> with = under_way_;
  Result<void> sent = co_await client_->send(std::move(request), with, deadline);
  if (!sent) co_return Posted{.why = sent.error().message};
  Posted posted{.status = with->head.status, .retry_after = retry_after(with->head)};
  const std::string& authority = client_->url().authority;
  if (posted.status < 200 || posted.status > 299)
    posted.why = cat(authority, " answered ", posted.status, " ",
                     printable(with->head.reason.substr(0, 100)));
  if (most_answer == 0) co_return posted;
  Result<std::string> answer = co_await read_body(*with, most_answer, deadline);
  if (!answer) co_return Posted{.why = cat(authority, ": ", answer.error().message)};
  posted.answer = std::move(answer).value();
  co_return posted;
}

}  // namespace paddock::telemetry
