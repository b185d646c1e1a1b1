// Files and directories between this machine and a sandbox: what `paddock cp FROM TO` means, and
// the streams that do it. What comes from a sandbox never leaves its target.
#pragma once

#include <cstdint>
#include <string>

#include "base/percent.h"
#include "client/client.h"
#include "paddock/error.h"

namespace paddock::cli {

using client::Client;
using client::Response;
using client::sandbox_path;
using client::Upload;

struct CopyPaths {
  // `from` and `to` are without the id.
  std::string id, from, to;
  bool into_sandbox = false;
};

// Exactly one side is ID:PATH. A path here with a colon in it is written with a slash in front of
// that (./a:b).
Result<CopyPaths> parse_copy(const std::string& from, const std::string& to);

// Where it is copied to: `to` itself, or under its own name in it when `to` is a directory or ends
// in a slash. "DIR/." means what is in DIR, and has no name of its own.
Result<std::string> copy_target(const std::string& from, const std::string& to,
                                bool to_is_directory);

struct Transfer {
  const Client& client;
  std::string id;
  // The owner of the files inside. Empty: the default user.
  std::string user;
  bool shows_progress = true;
};

struct Transferred {
  // Sent or received.
  uint64_t bytes = 0;
};

// The entry inside, or null when there is none.
Result<Value> remote_entry(const Transfer& transfer, const std::string& path);

Result<Transferred> upload_file(const Transfer& transfer, const std::string& local,
                                const std::string& path);
// Up to its end.
Result<Transferred> upload_input(const Transfer& transfer, int input, const std::string& path);
Result<Transferred> upload_directory(const Transfer& transfer, const std::string& local,
                                     const std::string& path);

// Written beside `local` first and renamed: there is all of the file or nothing. A link that stands
// there is replaced.
Result<Transferred> download_file(const Transfer& transfer, const std::string& path,
                                  const Value& entry, const std::string& local);
Result<Transferred> download_output(const Transfer& transfer, const std::string& path, int output);
Result<Transferred> download_directory(const Transfer& transfer, const std::string& path,
                                       const std::string& local);

}  // namespace paddock::cli
