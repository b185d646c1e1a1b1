// Carries several connections over one stream of bytes, for containers that nothing but a stream
// can be handed to: another kernel's. One carrier stands on each side:
//
//   keeper, pipes, link ── outer carrier ══ one stream ══ inner carrier ── first process inside
//
// A frame is an 8-byte head (kind, 0, channel, size; little-endian) and its bytes. Each channel may
// have kWindow bytes under way that the other side has not passed on yet, so that a channel which
// nobody reads holds up no other. The outer side trusts nothing of what comes: whatever breaks the
// rules ends the stream.
#pragma once

#include <poll.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"

namespace paddock::launch {

class Carrier {
 public:
  enum Channel : uint16_t { kGuard = 0, kIn = 1, kOut = 2, kErr = 3, kLink = 4, kFirstStream = 16 };
  static constexpr size_t kWindow = 256 << 10;

  explicit Carrier(Fd stream);

  // What is read from `from` goes over, and what comes is written to `to`. Either may be missing.
  void carry(uint16_t channel, Fd from, Fd to);

  // The same for records, which overtake nothing that kOut and kErr had before them.
  void carry_guard(Fd socket);

  // A guest's link (launch/living.h): what it hands on is a stream of its own. The side that
  // `opens` reads it, the other one writes it.
  void carry_link(Fd link, bool opens);

  // Waits until something can be done, and does it. `also` is watched as well; its revents are
  // filled in. False once the stream has ended, or broken a rule, and what came is delivered.
  bool turn(pollfd* also = nullptr);

  // Passes on what can be read at this moment, and waits until it is gone.
  void finish();

 private:
  enum Kind : uint8_t { kData = 1, kEnd, kCredit, kOpen, kMessage };
  struct Line {
    Fd from, to;
    size_t credit = kWindow;  // what may still be sent
    size_t owed = 0;          // what was passed on, and not told yet
    std::string pending;      // came, and is not passed on
    bool sent_end = false, got_end = false;
  };

  void send(Kind kind, uint16_t channel, std::string_view bytes);
  void send_credit(uint16_t channel, Line& line);
  bool may_read(uint16_t channel, const Line& line) const;
  void read_from(uint16_t channel, Line& line);
  void read_link();
  void write_to(uint16_t channel, Line& line);
  void read_stream();
  void write_stream();
  bool take_frame(Kind kind, uint16_t channel, std::string_view bytes);
  bool take_message(std::string_view bytes, Fd end);
  void forget_ended();
  bool holds_back_guard() const;

  Fd stream_, link_;
  bool opens_ = false, over_ = false;
  std::string incoming_, outgoing_;
  std::map<uint16_t, Line> lines_;
  uint16_t next_stream_ = kFirstStream;
  // Of kOut and kErr: what must be passed on before the next bytes of the guard.
  size_t before_guard_[2] = {0, 0};
  bool guard_waits_ = false;  // it has something, and the output before that was counted
};

// The two processes that carry. The outer one gives what the inner one needs first.
struct CarriedEnds {
  Fd guard, in, out, err;  // for a guest, `in` is its link
  bool living = false;
};
[[noreturn]] void carry_outside(Fd stream, std::string_view plan, CarriedEnds ends);

// PID 1 of a container that has nothing but `stream`: starts launch_inside() and carries for it.
[[noreturn]] void carry_inside(Fd stream);

}  // namespace paddock::launch
