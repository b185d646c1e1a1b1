// The requests of docs/formats/guest.md, one struct for each operation. What has its default value
// is not sent.
//
//   guest::StartRequest start{.argv = {"/bin/sh", "-c", "id"}, .user = "root"};
//   std::shared_ptr<guest::Channel> channel = client->open(guest::to_value(start));
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/record.h"

namespace paddock::guest {

// A member that is left out of the request while it has its default value.
template <class Struct, class Member>
constexpr auto sparse(const char* key, Member Struct::*place) {
  return field(key, place, Presence::sparse);
}

template <class Request>
constexpr auto path_fields() {
  return std::make_tuple(field("path", &Request::path), sparse("user", &Request::user));
}

// The size of a terminal, in characters.
struct TerminalRequest {
  int64_t rows = 24, columns = 80;
  bool operator==(const TerminalRequest&) const = default;
  static constexpr auto fields() {
    return std::make_tuple(field("rows", &TerminalRequest::rows),
                           field("columns", &TerminalRequest::columns));
  }
};
inline Value to_field(const TerminalRequest& size) {
  return write_record(TerminalRequest::fields(), size);
}

// Starts a program and follows it to its end. Empty fields mean the defaults of the sandbox.
struct StartRequest {
  static constexpr const char* kOperation = "start";
  std::vector<std::string> argv;
  std::map<std::string, std::string> env;
  std::string cwd, user, tag;
  // Without it the program reads an empty stdin.
  bool wants_input = false;
  std::optional<TerminalRequest> terminal;
  // In milliseconds; 0 means that there is no limit.
  int64_t timeout_ms = 0;
  static constexpr auto fields() {
    using R = StartRequest;
    return std::make_tuple(sparse("argv", &R::argv), sparse("env", &R::env), sparse("cwd", &R::cwd),
                           sparse("user", &R::user), sparse("tag", &R::tag),
                           sparse("stdin", &R::wants_input), sparse("terminal", &R::terminal),
                           sparse("timeout_ms", &R::timeout_ms));
  }
};

// These name a process by its pid, or by the tag it was started with. A pid that is set is sent,
// whatever it is: the guest says what is wrong with it.
struct AttachRequest {
  static constexpr const char* kOperation = "attach";
  std::optional<int64_t> pid;
  std::string tag;
  // Only the end is sent, nothing of what the program writes.
  bool quiet = false;
  static constexpr auto fields() {
    using R = AttachRequest;
    return std::make_tuple(sparse("pid", &R::pid), sparse("tag", &R::tag),
                           sparse("quiet", &R::quiet));
  }
};
// The data of this channel go to the process until the channel's input ends.
struct InputRequest {
  static constexpr const char* kOperation = "input";
  std::optional<int64_t> pid;
  std::string tag;
  bool terminal = false;
  static constexpr auto fields() {
    using R = InputRequest;
    return std::make_tuple(sparse("pid", &R::pid), sparse("tag", &R::tag),
                           sparse("terminal", &R::terminal));
  }
};
struct CloseInputRequest {
  static constexpr const char* kOperation = "close_stdin";
  std::optional<int64_t> pid;
  std::string tag;
  static constexpr auto fields() {
    using R = CloseInputRequest;
    return std::make_tuple(sparse("pid", &R::pid), sparse("tag", &R::tag));
  }
};
// Sends a signal to the process itself; SIGKILL goes to its process group as well.
struct SignalRequest {
  static constexpr const char* kOperation = "signal";
  std::optional<int64_t> pid;
  std::string tag;
  Value signal;  // a name ("SIGTERM") or a number
  static constexpr auto fields() {
    using R = SignalRequest;
    return std::make_tuple(sparse("pid", &R::pid), sparse("tag", &R::tag),
                           field("signal", &R::signal));
  }
};
// Changes the size of a process's terminal.
struct ResizeRequest {
  static constexpr const char* kOperation = "resize";
  std::optional<int64_t> pid;
  std::string tag;
  int64_t rows = 24, columns = 80;
  static constexpr auto fields() {
    using R = ResizeRequest;
    return std::make_tuple(sparse("pid", &R::pid), sparse("tag", &R::tag), field("rows", &R::rows),
                           field("columns", &R::columns));
  }
};

// Requests for files. `own_rights` means that the user's rights hold, not root's.
struct ReadRequest {
  static constexpr const char* kOperation = "read";
  std::string path, user;
  // Bytes from the beginning; without them the whole file is read.
  std::optional<int64_t> offset, length;
  bool own_rights = false;
  static constexpr auto fields() {
    using R = ReadRequest;
    return std::make_tuple(field("path", &R::path), sparse("user", &R::user),
                           sparse("offset", &R::offset), sparse("length", &R::length),
                           sparse("own_rights", &R::own_rights));
  }
};
// The metadata replaces what the file had of it.
// The data of this channel become the content. Without `append` the file is emptied first.
struct WriteRequest {
  static constexpr const char* kOperation = "write";
  std::string path, user;
  std::optional<int64_t> mode;
  std::map<std::string, std::string> metadata;
  bool append = false, own_rights = false;
  static constexpr auto fields() {
    using R = WriteRequest;
    return std::make_tuple(field("path", &R::path), sparse("user", &R::user),
                           sparse("mode", &R::mode), sparse("metadata", &R::metadata),
                           sparse("append", &R::append), sparse("own_rights", &R::own_rights));
  }
};
// `depth` is how many levels to list, 1 for the directory alone.
struct ListRequest {
  static constexpr const char* kOperation = "list";
  std::string path, user;
  std::optional<int64_t> depth;
  bool own_rights = false;
  static constexpr auto fields() {
    using R = ListRequest;
    return std::make_tuple(field("path", &R::path), sparse("user", &R::user),
                           sparse("depth", &R::depth), sparse("own_rights", &R::own_rights));
  }
};
// Operations that take a path and a user, and no more.
struct StatRequest {
  static constexpr const char* kOperation = "stat";
  std::string path, user;
  static constexpr auto fields() { return path_fields<StatRequest>(); }
};
struct MakeDirectoryRequest {
  static constexpr const char* kOperation = "make_directory";
  std::string path, user;
  static constexpr auto fields() { return path_fields<MakeDirectoryRequest>(); }
};
struct RemoveRequest {
  static constexpr const char* kOperation = "remove";
  std::string path, user;
  static constexpr auto fields() { return path_fields<RemoveRequest>(); }
};
struct PackRequest {
  static constexpr const char* kOperation = "pack";
  std::string path, user;
  static constexpr auto fields() { return path_fields<PackRequest>(); }
};
// The data of this channel are a tar, possibly with gzip, which is unpacked beneath `path`.
struct UnpackRequest {
  static constexpr const char* kOperation = "unpack";
  std::string path, user;
  static constexpr auto fields() { return path_fields<UnpackRequest>(); }
};
struct MoveRequest {
  static constexpr const char* kOperation = "move";
  std::string source, destination, user;
  static constexpr auto fields() {
    using R = MoveRequest;
    return std::make_tuple(field("source", &R::source), field("destination", &R::destination),
                           sparse("user", &R::user));
  }
};
// One file of the sources, which are removed then.
struct ComposeRequest {
  static constexpr const char* kOperation = "compose";
  std::vector<std::string> sources;
  std::string path, user;
  static constexpr auto fields() {
    using R = ComposeRequest;
    return std::make_tuple(field("sources", &R::sources), field("path", &R::path),
                           sparse("user", &R::user));
  }
};
struct WatchRequest {
  static constexpr const char* kOperation = "watch";
  std::string path, user;
  bool recursive = false, entries = false, network_mounts = false;
  static constexpr auto fields() {
    using R = WatchRequest;
    return std::make_tuple(field("path", &R::path), sparse("user", &R::user),
                           sparse("recursive", &R::recursive), sparse("entries", &R::entries),
                           sparse("network_mounts", &R::network_mounts));
  }
};

// Connects to a port that something inside listens on. The data go both ways.
struct ConnectRequest {
  static constexpr const char* kOperation = "connect";
  int64_t port = 0;
  static constexpr auto fields() { return std::make_tuple(field("port", &ConnectRequest::port)); }
};
// Asks for the ids, home and shell of a user, or of the default one.
struct UserRequest {
  static constexpr const char* kOperation = "user";
  std::string user;
  static constexpr auto fields() { return std::make_tuple(sparse("user", &UserRequest::user)); }
};
// Replaces the settings for everything that is started from now on.
struct SettingsRequest {
  static constexpr const char* kOperation = "settings";
  std::map<std::string, std::string> env;
  std::string user, cwd;
  static constexpr auto fields() {
    using R = SettingsRequest;
    return std::make_tuple(field("env", &R::env), sparse("user", &R::user), sparse("cwd", &R::cwd));
  }
};

// Operations without parameters.
struct ProcessesRequest {
  static constexpr const char* kOperation = "processes";
  static constexpr auto fields() { return std::tuple(); }
};
struct StopAllRequest {
  static constexpr const char* kOperation = "stop_all";
  static constexpr auto fields() { return std::tuple(); }
};
struct ContinueAllRequest {
  static constexpr const char* kOperation = "continue_all";
  static constexpr auto fields() { return std::tuple(); }
};
struct MetricsRequest {
  static constexpr const char* kOperation = "metrics";
  static constexpr auto fields() { return std::tuple(); }
};

// The request as it is sent.
template <class Request>
  requires requires { Request::kOperation; }
Value to_value(const Request& request) {
  Value value = Value::Object{{"op", Request::kOperation}};
  write_fields(Request::fields(), request, value);
  return value;
}

}  // namespace paddock::guest
