#include "cli/transfer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <thread>

#include "base/text.h"
#include "cli/progress.h"
#include "linux/tree.h"
#include "store/archive.h"
#include "store/pack.h"
#include "store/state.h"

namespace paddock::cli {

namespace {

// The length of the ID in front of the colon; npos for a path here.
size_t id_length(const std::string& text) {
  size_t colon = text.find(':');
  bool here = colon == std::string::npos || colon == 0 || text.find('/') < colon || text[0] == '.';
  return here ? std::string::npos : colon;
}

}  // namespace

// Exactly one side must be in a sandbox; copying between two sandboxes is not offered.
Result<CopyPaths> parse_copy(const std::string& from, const std::string& to) {
  size_t left = id_length(from), right = id_length(to);
  if ((left == std::string::npos) == (right == std::string::npos))
    return Error{
        Code::invalid,
        left == std::string::npos ? "neither side is in a sandbox" : "both sides are in a sandbox",
        "one of FROM and TO is ID:PATH, for example: paddock cp data.csv ID:/home/user/"};
  bool in = right != std::string::npos;
  CopyPaths paths = in ? CopyPaths{to.substr(0, right), from, to.substr(right + 1), true}
                       : CopyPaths{from.substr(0, left), from.substr(left + 1), to, false};
  if (paths.from.empty() || paths.to.empty())
    return Error{Code::invalid, cat("'", printable(in ? to : from), "' names no path"),
                 "ID:PATH, for example ID:/home/user/data.csv"};
  if (paths.from == "-" && !in)
    return Error{Code::invalid, "'-' is stdin: it stands here, not in the sandbox", ""};
  return paths;
}

// Follows cp(1): into a directory under its own name, and "DIR/." for its content alone.
Result<std::string> copy_target(const std::string& from, const std::string& to,
                                bool to_is_directory) {
  bool into = to_is_directory || ends_with(to, "/");
  if (!into) return to;
  std::string name = from;
  if (name == "." || ends_with(name, "/.")) return to;
  while (name.size() > 1 && name.back() == '/') name.pop_back();
  name = name.substr(name.rfind('/') == std::string::npos ? 0 : name.rfind('/') + 1);
  if (name.empty() || name == "..")
    return Error{Code::invalid, cat("'", printable(from), "' has no name of its own"),
                 "name the target in full"};
  return cat(to, ends_with(to, "/") ? "" : "/", name);
}

namespace {

std::string query(const Transfer& transfer, const std::string& path) {
  return cat("?path=", percent_encode(path),
             transfer.user.empty() ? "" : cat("&user=", percent_encode(transfer.user)));
}

// Only permission bits: setuid and the like are not carried over.
std::string octal(unsigned mode) {
  char text[8];
  std::snprintf(text, sizeof text, "%o", mode & 0777);
  return text;
}

// The next bytes of a file or a pipe; none at its end.
Result<std::string> read_piece(int fd) {
  std::string piece(64 << 10, '\0');
  while (true) {
    ssize_t size = ::read(fd, piece.data(), piece.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return errno_error(errno, "read");
    piece.resize(static_cast<size_t>(size));
    return piece;
  }
}

// The response has no content that matters; reading it shows that the server has everything.
Result<Transferred> send(const Transfer& transfer, const std::string& target, Upload upload,
                         Progress& progress) {
  client::Source inner = std::move(upload.next);
  upload.next = [&]() -> Result<std::string> {
    std::string piece = TRY(inner());
    progress.add(piece.size());
    return piece;
  };
  Response response = TRY(transfer.client.send("PUT", sandbox_path(transfer.id, target), upload));
  (void)TRY(response.read_all());
  return Transferred{progress.done()};
}

// Each piece of the body goes to `take`.
Result<Transferred> receive(Response& response, Progress& progress,
                            const std::function<Result<void>(const std::string&)>& take) {
  while (true) {
    std::string piece = TRY(response.read());
    if (piece.empty()) return Transferred{progress.done()};
    TRY(take(piece));
    progress.add(piece.size());
  }
}

// Unknown for a chunked body; then no percentage is shown.
std::optional<uint64_t> length_of(const Response& response) {
  if (response.head().body.kind != net::Body::Kind::length) return std::nullopt;
  return response.head().body.length;
}

}  // namespace

// Null means that the file is missing, while a missing sandbox is an error.
Result<Value> remote_entry(const Transfer& transfer, const std::string& path) {
  Result<Value> answer =
      transfer.client.ask("GET", sandbox_path(transfer.id, "/files/stat" + query(transfer, path)));
  if (!answer && answer.error().code == Code::not_found) {
    // Is it the file that is not there, or the sandbox?
    TRY(transfer.client.ask("GET", sandbox_path(transfer.id)));
    return Value();
  }
  if (!answer) return answer.error();
  const Value* entry = answer.value().find("entry");
  return entry ? *entry : answer.value();
}

// A pipe or device has no size, and is sent like standard input.
Result<Transferred> upload_file(const Transfer& transfer, const std::string& local,
                                const std::string& path) {
  Fd file = TRY(open_file(local, O_RDONLY));
  struct stat info;
  if (::fstat(file.get(), &info) != 0)
    return errno_error(errno, cat("look at '", printable(local), "'"));
  if (!S_ISREG(info.st_mode)) return upload_input(transfer, file.get(), path);
  auto size = static_cast<uint64_t>(info.st_size);
  Progress progress(local, size, transfer.shows_progress);
  uint64_t left = size;
  // Exactly as many bytes as were announced, whatever happens to the file meanwhile.
  Upload upload{size, [&]() -> Result<std::string> {
                  if (left == 0) return std::string();
                  std::string piece = TRY(read_piece(file.get()));
                  if (piece.empty())
                    return Error{Code::conflict,
                                 cat("'", printable(local), "' became shorter while it was read"),
                                 ""};
                  if (piece.size() > left) piece.resize(left);
                  left -= piece.size();
                  return piece;
                }};
  return send(transfer, cat("/files", query(transfer, path), "&mode=", octal(info.st_mode)),
              std::move(upload), progress);
}

// The size is not known, so it is sent in chunks.
Result<Transferred> upload_input(const Transfer& transfer, int input, const std::string& path) {
  Progress progress("-", std::nullopt, transfer.shows_progress);
  return send(transfer, "/files" + query(transfer, path),
              {std::nullopt, [&] { return read_piece(input); }}, progress);
}

// Packed by another thread through a pipe: neither the whole tar nor a temporary file is needed.
Result<Transferred> upload_directory(const Transfer& transfer, const std::string& local,
                                     const std::string& path) {
  Fd directory = TRY(open_file(local, O_RDONLY | O_DIRECTORY));
  Pipe pipe = TRY(make_pipe());
  Result<void> packed = Result<void>();
  std::thread packer([&] {
    packed = store::pack_directory(directory.get(), [&](std::string_view bytes) {
      return write_all(pipe.write.get(), bytes);
    });
    pipe.write.reset();
  });
  Progress progress(local, std::nullopt, transfer.shows_progress);
  // A tar that ends too soon must not look whole: the request is broken off instead.
  Upload upload{std::nullopt, [&]() -> Result<std::string> {
                  std::string piece = TRY(read_piece(pipe.read.get()));
                  if (!piece.empty()) return piece;
                  packer.join();
                  if (!packed) return packed.error();
                  return piece;
                }};
  Result<Transferred> sent =
      send(transfer, "/tar" + query(transfer, path), std::move(upload), progress);
  pipe.read.reset();
  if (packer.joinable()) packer.join();
  return sent;
}

// The mode follows the umask of the user, as with cp.
Result<Transferred> download_file(const Transfer& transfer, const std::string& path,
                                  const Value& entry, const std::string& local) {
  Response response =
      TRY(transfer.client.open("GET", sandbox_path(transfer.id, "/files" + query(transfer, path))));
  Progress progress(path, length_of(response), transfer.shows_progress);
  std::string unfinished = cat(local, ".", TRY(store::random_name(8)), ".part");
  Fd file = TRY(open_file(unfinished, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
  Result<Transferred> received = receive(
      response, progress, [&](const std::string& piece) { return write_all(file.get(), piece); });
  unsigned mode = static_cast<unsigned>(number_in(entry, "mode")) & 0777;
  mode_t mask = ::umask(0);
  (void)::umask(mask);
  if (received && (::fchmod(file.get(), (mode ? mode : 0644) & ~mask) != 0 ||
                   ::rename(unfinished.c_str(), local.c_str()) != 0))
    received = errno_error(errno, cat("write '", printable(local), "'"));
  if (!received) (void)::unlink(unfinished.c_str());
  return received;
}

Result<Transferred> download_output(const Transfer& transfer, const std::string& path, int output) {
  Response response =
      TRY(transfer.client.open("GET", sandbox_path(transfer.id, "/files" + query(transfer, path))));
  Progress progress(path, length_of(response), transfer.shows_progress);
  return receive(response, progress,
                 [&](const std::string& piece) { return write_all(output, piece); });
}

// The archive comes from a sandbox and is unpacked like a hostile one: nothing leaves the
// directory.
Result<Transferred> download_directory(const Transfer& transfer, const std::string& path,
                                       const std::string& local) {
  Response response =
      TRY(transfer.client.open("GET", sandbox_path(transfer.id, "/tar" + query(transfer, path))));
  if (::mkdir(local.c_str(), 0777) != 0 && errno != EEXIST)
    return errno_error(errno, cat("make '", printable(local), "'"));
  Fd root = TRY(open_file(local, O_RDONLY | O_DIRECTORY));
  Pipe pipe = TRY(make_pipe());
  Result<void> unpacked = Result<void>();
  std::thread unpacker([&] {
    store::UnpackReport report;
    unpacked = store::unpack_archive(pipe.read.get(), root.get(), {}, report);
    std::string rest(64 << 10, '\0');
    // Padding after the end of the archive.
    while (unpacked && ::read(pipe.read.get(), rest.data(), rest.size()) > 0) {}
    pipe.read.reset();
  });
  Progress progress(path, length_of(response), transfer.shows_progress);
  Result<Transferred> received = receive(response, progress, [&](const std::string& piece) {
    return write_all(pipe.write.get(), piece);
  });
  pipe.write.reset();
  unpacker.join();
  if (!unpacked) return unpacked.error();
  return received;
}

}  // namespace paddock::cli
