// Files and directories between this machine and a sandbox, as streams. What comes from a sandbox
// never leaves its target.
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

struct Transfer {
  const Client& client;
  std::string id;
  std::string user;  // whose files they are inside; empty: the default user
  bool shows_progress = true;
};

struct Transferred {
  uint64_t bytes = 0;  // sent or received
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
