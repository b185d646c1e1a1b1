// A coroutine that somebody waits for. It starts when it is awaited, or when spawn() lets it run on
// its own.
//
//   Task<Bytes> read_head(Socket& socket);
//   Task<void> serve(Socket& socket) {
//     Bytes head = co_await read_head(socket);
//     …
//   }
//
// A task that can fail returns Task<Result<T>>. CO_TRY declares a variable with the value, or ends
// the coroutine with the error; CO_TRY_VOID does so where there is no value. Both take a Result or
// something that is awaited for one:
//
//   Task<Result<Reply>> resume(Call& call) {
//     CO_TRY(Fields fields, co_await call.fields());
//     CO_TRY_VOID(fields.done());
//     …
//   }
//
// Kept simple on purpose, and used simply: awaited calls stand alone or after `=`, their arguments
// are plain variables (g++ 12 destroys temporaries in more complicated ones twice).
#pragma once

#include <coroutine>
#include <cstdlib>
#include <optional>
#include <utility>

namespace paddock::io {

template <class T>
class Task;

namespace detail {

// What all promises share: the coroutine that waits, which is resumed when this one ends.
struct PromiseBase {
  std::coroutine_handle<> waiting;  // goes on when this is done

  std::suspend_always initial_suspend() noexcept { return {}; }
  struct Final {
    bool await_ready() noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> done) noexcept {
      return done.promise().waiting ? done.promise().waiting : std::noop_coroutine();
    }
    void await_resume() noexcept {}
  };
  Final final_suspend() noexcept { return {}; }
  void unhandled_exception() noexcept { std::abort(); }  // nothing here throws but out of memory
};

template <class T>
struct Promise : PromiseBase {
  std::optional<T> value;
  Task<T> get_return_object();
  void return_value(T result) { value.emplace(std::move(result)); }
};

template <>
struct Promise<void> : PromiseBase {
  Task<void> get_return_object();
  void return_void() {}
};

}  // namespace detail

template <class T>
class [[nodiscard]] Task {
 public:
  using promise_type = detail::Promise<T>;

  explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (handle_) handle_.destroy();
  }

  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> waiting) noexcept {
    handle_.promise().waiting = waiting;
    return handle_;
  }
  T await_resume() {
    if constexpr (!std::is_void_v<T>) return std::move(*handle_.promise().value);
  }

 private:
  std::coroutine_handle<promise_type> handle_;
};

template <class T>
Task<T> detail::Promise<T>::get_return_object() {
  return Task<T>(std::coroutine_handle<Promise<T>>::from_promise(*this));
}
inline Task<void> detail::Promise<void>::get_return_object() {
  return Task<void>(std::coroutine_handle<Promise<void>>::from_promise(*this));
}

namespace detail {

// Runs at once, and frees itself at its end.
struct Alone {
  struct promise_type {
    Alone get_return_object() noexcept { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() noexcept { std::abort(); }
  };
};

}  // namespace detail

// Lets a task run on its own, up to its first wait at once.
inline detail::Alone spawn(Task<void> task) { co_await task; }

// Runs two tasks at the same time, and resumes its waiter when both are done.
class Both {
 public:
  Both(Task<void> first, Task<void> second)
      : first_(std::move(first)), second_(std::move(second)) {}
  bool await_ready() {
    run(first_);
    run(second_);
    return left_ == 0;
  }
  void await_suspend(std::coroutine_handle<> waiting) { waiting_ = waiting; }
  void await_resume() {}

 private:
  detail::Alone run(Task<void>& task) {
    co_await task;
    if (--left_ == 0 && waiting_) waiting_.resume();
  }
  Task<void> first_, second_;
  int left_ = 2;
  std::coroutine_handle<> waiting_;
};

}  // namespace paddock::io

// Not a statement expression, as TRY is: g++ 12 destroys temporaries in those twice when the
// coroutine is suspended within.
#define CO_TRY(declaration, ...)                                                      \
  auto PADDOCK_UNIQUE(co_try_) = __VA_ARGS__;                                         \
  if (!PADDOCK_UNIQUE(co_try_)) co_return std::move(PADDOCK_UNIQUE(co_try_).error()); \
  declaration = std::move(PADDOCK_UNIQUE(co_try_)).value()

#define CO_TRY_VOID(...)                                              \
  do {                                                                \
    auto co_try_result_ = __VA_ARGS__;                                \
    if (!co_try_result_) co_return std::move(co_try_result_.error()); \
  } while (false)

#define PADDOCK_UNIQUE(name) PADDOCK_JOIN(name, __LINE__)
#define PADDOCK_JOIN(a, b) PADDOCK_JOIN_NOW(a, b)
#define PADDOCK_JOIN_NOW(a, b) a##b
