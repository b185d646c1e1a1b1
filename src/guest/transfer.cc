// Operations that move the bytes of files: read, write, compose. They move a piece at a time, at
// the pace of whoever takes them.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "guest/entry.h"
#include "guest/files.h"
#include "guest/operations.h"
#include "guest/request.h"

namespace paddock::guest {

namespace {

constexpr size_t kPiece = kLargestData;
constexpr size_t kMostSources = 10'000;

// Opens a regular file for reading. O_NONBLOCK, because opening a pipe would wait for a writer.
Result<Fd> open_for_reading(const std::string& path) {
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!file && (errno == ENOENT || errno == ENOTDIR))
    return refuse(Code::not_found, cat("path '", path, "' does not exist"));
  if (!file) return refuse_errno(errno, cat("open '", path, "'"));
  struct stat info;
  if (::fstat(file.get(), &info) != 0) return refuse_errno(errno, cat("open '", path, "'"));
  if (S_ISDIR(info.st_mode)) return refuse(Code::invalid, cat("path '", path, "' is a directory"));
  if (!S_ISREG(info.st_mode))
    return refuse(Code::invalid, cat("path '", path, "' is not a regular file"));
  return file;
}

// Writing to a regular file does not wait for anyone, so the guest does it itself.
Result<void> write_piece(int file, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    ssize_t count = ::write(file, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return refuse_errno(errno, cat("write '", path, "'"));
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return {};
}

}  // namespace

Answer read_file_bytes(Guest& guest, CallPointer call) {
  Result<Place> place = place_in(guest, call->request);
  if (!place) co_return place.error();
  Result<std::optional<int64_t>> offset = number_of(call->request, "offset", 0, INT64_MAX / 2);
  Result<std::optional<int64_t>> length = number_of(call->request, "length", 0, INT64_MAX / 2);
  if (!offset) co_return offset.error();
  if (!length) co_return length.error();
  // The rights are those of the user only while the file is opened, not across a wait.
  Result<Fd> file = Error{};
  {
    FileRights rights(guest, place.value());
    file = open_for_reading(place.value().path);
  }
  if (!file) co_return file.error();
  if (offset.value() && ::lseek(file.value().get(), *offset.value(), SEEK_SET) < 0)
    co_return refuse_errno(errno, "seek");

  Value entry = with_entry(Describer().of_open(file.value().get(), place.value().path));
  bool told = co_await call->message(std::move(entry));
  if (!told) co_return refuse(Code::internal, "the entry cannot be told");
  int64_t left = length.value().value_or(INT64_MAX);
  std::string piece(kPiece, '\0');
  while (left > 0 && !call->cancelled()) {
    size_t size = std::min<size_t>({kPiece, call->room(), static_cast<size_t>(left)});
    if (size == 0) {
      (void)co_await call->bell.wait();
      continue;
    }
    ssize_t count = ::read(file.value().get(), piece.data(), size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) co_return refuse_errno(errno, cat("read '", place.value().path, "'"));
    if (count == 0) break;
    call->push({piece.data(), static_cast<size_t>(count)}, kOutput);
    left -= count;
    co_await guest.loop.yield();
  }
  co_return Value();
}

Answer write_file_bytes(Guest& guest, CallPointer call) {
  Result<Place> place = place_in(guest, call->request);
  if (!place) co_return place.error();
  Result<std::optional<int64_t>> mode = number_of(call->request, "mode", 0, 07777);
  if (!mode) co_return mode.error();
  Result<Metadata> metadata = pairs_of(call->request, "metadata");
  if (!metadata) co_return metadata.error();
  Result<void> fits = check_metadata(metadata.value());
  if (!fits) co_return fits.error();
  const Value* append = call->request.find("append");
  bool adds = append && append->as_bool() && *append->as_bool();
  Result<Fd> file = Error{};
  bool has_mode = true;
  {
    FileRights rights(guest, place.value());
    file = open_for_writing(place.value(), adds ? Existing::added_to : Existing::emptied);
    if (file && mode.value())
      has_mode = ::fchmod(file.value().get(), static_cast<mode_t>(*mode.value())) == 0;
  }
  if (!file) co_return file.error();
  if (!has_mode) co_return refuse_errno(errno, "set the mode");
  while (true) {
    std::optional<std::string> bytes = co_await call->input();
    if (!bytes) break;
    Result<void> written = write_piece(file.value().get(), *bytes, place.value().path);
    if (!written) co_return written.error();
  }
  Result<void> noted = set_metadata(file.value().get(), metadata.value());
  if (!noted) co_return noted.error();
  co_return with_entry(Describer().of_open(file.value().get(), place.value().path));
}

// Whether a path leads to this open file, perhaps through a link.
bool is_same_file(const Fd& file, const std::string& path) {
  struct stat opened, found;
  return ::fstat(file.get(), &opened) == 0 && ::stat(path.c_str(), &found) == 0 &&
         opened.st_dev == found.st_dev && opened.st_ino == found.st_ino;
}

// Joins files that were uploaded in parts, and removes the parts when all of them are in it.
Answer compose_file(Guest& guest, CallPointer call) {
  Result<Place> place = place_in(guest, call->request);
  if (!place) co_return place.error();
  Result<std::vector<std::string>> sources = texts_of(call->request, "sources");
  if (!sources) co_return sources.error();
  if (sources.value().empty() || sources.value().size() > kMostSources)
    co_return refuse(Code::invalid, "'sources' has none, or too many");
  std::vector<std::string> paths;
  for (const std::string& source : sources.value()) {
    Result<std::string> path = resolve_path(source, place.value().user, place.value().user.home);
    if (!path) co_return path.error();
    if (path.value() == place.value().path)
      co_return refuse(Code::invalid, "the destination is among the sources");
    Result<Fd> opened = open_for_reading(path.value());  // all of them, before anything changes
    if (!opened) co_return opened.error();
    if (is_same_file(opened.value(), place.value().path))
      co_return refuse(Code::invalid, "the destination is among the sources, by another name");
    paths.push_back(std::move(path).value());
  }
  Result<Fd> file = open_for_writing(place.value());
  if (!file) co_return file.error();
  for (const std::string& path : paths) {
    Result<Fd> source = open_for_reading(path);
    if (!source) co_return source.error();
    std::string piece(kPiece, '\0');
    while (!call->cancelled()) {
      ssize_t count = ::read(source.value().get(), piece.data(), piece.size());
      if (count < 0) co_return refuse_errno(errno, cat("read '", path, "'"));
      if (count == 0) break;
      Result<void> written = write_piece(
          file.value().get(), {piece.data(), static_cast<size_t>(count)}, place.value().path);
      if (!written) co_return written.error();
      co_await guest.loop.yield();
    }
  }
  if (!call->cancelled())
    for (const std::string& path : paths) (void)::unlink(path.c_str());
  co_return with_entry(Describer().of_open(file.value().get(), place.value().path));
}

}  // namespace paddock::guest
