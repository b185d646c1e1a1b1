#include "api/code.h"

namespace paddock::api {

namespace {

using code::Cell;

constexpr io::Milliseconds kAtOnce = 100;  // a cell that ends so soon is answered in one piece
constexpr io::Milliseconds kKeepalive = 5'000;
constexpr char kAlive[] = "{\"type\":\"keepalive\"}\n";

// Stops the cell when nobody hears of it any more, however this ends.
struct CellListener {
  std::shared_ptr<Cell> cell;
  ~CellListener() { cell->abandon(); }
};

Headers stream_headers() {
  return {{"Content-Type", "application/x-ndjson"},
          {"X-Accel-Buffering", "no"},
          {"Cache-Control", "no-cache"}};
}

// The last line. That something was taken out is said only when it was: clients know the line
// without it.
std::string end_line(const Cell& cell) {
  Value event = Value::Object{{"type", "end_of_execution"}};
  redact::Counts counts = cell.redacted();
  if (!counts.empty()) put_counts(counts, event);
  return to_json(event) + "\n";
}

}  // namespace

io::Task<void> stream_cell(Exchange& exchange, io::Loop& loop, std::shared_ptr<Cell> cell) {
  CellListener listener{cell};
  exchange.on_client_gone([cell] { cell->abandon(); });
  Headers headers = stream_headers();
  Cell::News news = co_await cell->next(loop.now() + kAtOnce);
  if (news.kind == Cell::News::Kind::lines && cell->is_finished()) {
    std::string body = news.lines + end_line(*cell);
    (void)co_await exchange.answer(200, std::move(headers), std::move(body));
    co_return;
  }
  bool there = co_await exchange.begin(200, std::move(headers));
  bool begun = false;
  while (there) {
    if (news.kind == Cell::News::Kind::end) break;
    std::string piece =
        news.kind == Cell::News::Kind::late ? (begun ? kAlive : "") : std::move(news.lines);
    begun = true;
    if (!piece.empty()) there = co_await exchange.write(piece);
    if (there) news = co_await cell->next(loop.now() + kKeepalive);
  }
  if (!there || cell->is_abandoned()) co_return;
  std::string last = end_line(*cell);
  there = co_await exchange.write(last);
  if (there) (void)co_await exchange.finish();
}

}  // namespace paddock::api
