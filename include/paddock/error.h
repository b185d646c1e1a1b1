// Errors as values. A function that can fail returns Result<T>; TRY hands the error up.
//
//   Result<Fd> open_root(const std::string& path) {
//     Fd fd = TRY(open_path(path));
//     TRY(check_is_directory(fd));
//     return fd;
//   }
//
// A message reads "what we tried: why it failed"; `hint` says what the reader can do about it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace paddock {

enum class Code {
  invalid,      // the caller asked for something malformed or impossible
  denied,       // the policy forbids it
  unsupported,  // this host cannot enforce it
  not_found,
  conflict,   // the world changed underneath
  exhausted,  // no room, no ids, too many
  io,         // the kernel said no
  internal,   // a bug in Paddock
};

const char* to_string(Code code);

// What callers branch on where `code` is too coarse. Each kind belongs to one code;
// base/error_table.h says which, and how each is told to clients.
enum class Kind : uint8_t {
  none,                 // the code says it all
  unrecorded,           // nothing was done, because no record of it could be made
  gone,                 // the sandbox was paused or has ended meanwhile
  unavailable,          // the other side cannot be reached now
  canceled,             // the caller gave it up
  deadline_exceeded,    // no response in time
  already_exists,       // it is there already
  failed_precondition,  // not in this state
  aborted,              // something else happened first
  unauthenticated,      // nobody has proved who is asking
  unimplemented,        // the other side does not know this operation
  malformed,            // valid JSON of the wrong shape, or text that is not UTF-8
  too_large,            // more than is taken at once
  unknown,              // nothing more is known about it
};

struct Error {
  Code code = Code::internal;
  std::string message;  // what was tried: why it failed
  std::string hint;     // what the reader can do about it; for people only
  Kind kind = Kind::none;
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state_.index() == 0; }
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  Error& error() { return std::get<1>(state_); }
  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  explicit operator bool() const { return !error_; }
  void value() const {}
  Error& error() { return *error_; }
  const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

}  // namespace paddock

// Evaluates to the value, or returns the error from the enclosing function.
#define TRY(expression)                                      \
  ({                                                         \
    auto try_result_ = (expression);                         \
    if (!try_result_) return std::move(try_result_.error()); \
    std::move(try_result_).value();                          \
  })
