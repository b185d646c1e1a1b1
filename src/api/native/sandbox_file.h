// A file in a sandbox as the body of an HTTP message: sent to a client, or received from one. For
// the native API and for envd.
#pragma once

#include <optional>
#include <string>

#include "api/http/gunzip.h"
#include "api/native/sandbox_call.h"

namespace paddock::api {

// Answers with a file, or with the part of it that the Range header asks for. envd also tells the
// date of the file, and answers on condition of it.
io::Task<Result<Reply>> send_file(const SandboxCall& inside, guest::ReadRequest request);
// Answers with what is beneath a directory, as a tar stream.
io::Task<Result<Reply>> send_archive(const SandboxCall& inside, guest::PackRequest request);
// Answers with {"entries":[…]}: what is in a directory. `view`: an entry of the guest's as the API
// shows it. The list may be long: it goes out as it comes in.
io::Task<Result<Reply>> send_entries(const SandboxCall& inside, guest::ListRequest request,
                                     Value (*view)(const Value& entry));

// The body of a request in pieces, decoded where it is compressed.
class UploadBody {
 public:
  UploadBody(Exchange& exchange, bool compressed) : exchange_(exchange) {
    if (compressed) gunzip_.emplace();
  }
  io::Task<Result<std::string>> read();  // empty at the end

 private:
  Exchange& exchange_;
  std::optional<Gunzip> gunzip_;
  io::Turn turn_;  // of what is decoded: a megabyte may become a gigabyte
  bool any_ = false;
};

// One file, or one archive, on its way into a sandbox.
class FileUpload {
 public:
  explicit FileUpload(const SandboxCall& inside) : inside_(inside) {}
  // Records that it is about to be written (`act`: upload or unpack), and opens it in the guest.
  io::Task<Result<void>> open(Value request, const char* act);
  // False: the guest takes no more, and finish() says why.
  io::Task<bool> write(std::string_view bytes);
  io::Task<Result<Value>> finish();  // the guest's result
  void cancel();                     // half a file is none

 private:
  const SandboxCall& inside_;
  std::optional<GuestChannel> channel_;
};

// The whole body as one file or archive: opens, writes and finishes an upload.
io::Task<Result<Value>> receive_file(const SandboxCall& inside, UploadBody& body, Value request,
                                     const char* act);

}  // namespace paddock::api
