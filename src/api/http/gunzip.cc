#include "api/http/gunzip.h"

#include <zlib.h>

#include <utility>

namespace paddock::api {

// Kept out of the header with zlib's types.
struct Gunzip::State {
  z_stream stream{};
  std::string waiting;
  size_t used = 0;  // of what waits: decoded already
  // full: the last piece was, so that there may be more inside.
  bool good = false, ended = false, full = false;
};

Gunzip::Gunzip() : state_(std::make_unique<State>()) {
  state_->good = inflateInit2(&state_->stream, 16 + MAX_WBITS) == Z_OK;  // 16: gzip
}

Gunzip::~Gunzip() { inflateEnd(&state_->stream); }

bool Gunzip::ended() const { return state_->ended && state_->used == state_->waiting.size(); }

Result<std::string> Gunzip::take(std::string_view bytes, size_t most) {
  State& state = *state_;
  if (!state.good) return Error{Code::internal, "decode the body: zlib could not be set up"};
  state.waiting.erase(0, std::exchange(state.used, 0));
  state.waiting += bytes;
  std::string piece(most, '\0');
  size_t made = 0;
  while ((state.used < state.waiting.size() || state.full) && made == 0) {
    if (state.ended) {  // several gzip streams one after the other are one
      if (inflateReset(&state.stream) != Z_OK)
        return Error{Code::internal, "decode the body: zlib could not be reset"};
      state.ended = false;
    }
    state.stream.next_in = reinterpret_cast<Bytef*>(state.waiting.data() + state.used);
    state.stream.avail_in = static_cast<uInt>(state.waiting.size() - state.used);
    state.stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    state.stream.avail_out = static_cast<uInt>(most);
    int status = inflate(&state.stream, Z_NO_FLUSH);
    made = most - state.stream.avail_out;
    state.used = state.waiting.size() - state.stream.avail_in;
    state.full = state.stream.avail_out == 0 && status != Z_STREAM_END;
    if (status == Z_STREAM_END)
      state.ended = true;
    else if (status == Z_BUF_ERROR)
      break;  // needs more
    else if (status != Z_OK)
      return Error{Code::invalid, "decode the body: it is not what gzip makes"};
  }
  piece.resize(made);
  return piece;
}

}  // namespace paddock::api
