#include "store/pack.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include <memory>
#include <optional>

#include "base/fd.h"
#include "base/text.h"
#include "linux/tree.h"

namespace paddock::store {

namespace {

// Bounds the recursion.
constexpr int kDeepest = 200;

// Writes a directory as a tarball, piece by piece, into the sink. Special files are left out.
class Packing {
 public:
  Packing(const PackSink& sink, const PackFilter& keep) : sink_(sink), keep_(keep) {}

  // Names are written as raw bytes: they need not be valid in any character set.
  Result<void> run(int directory) {
    if (!archive_) return Error{Code::exhausted, "pack: out of memory", ""};
    (void)::archive_write_set_format_pax_restricted(archive_.get());
    (void)::archive_write_set_options(archive_.get(), "hdrcharset=BINARY");
    (void)::archive_write_set_bytes_in_last_block(archive_.get(), 1);
    if (::archive_write_open2(archive_.get(), this, nullptr, take, nullptr, nullptr) != ARCHIVE_OK)
      return failed("the archive");
    TRY(pack_entries(directory, "", 0));
    if (::archive_write_close(archive_.get()) != ARCHIVE_OK) return failed("the archive");
    return {};
  }

 private:
  // libarchive only knows success and failure, so the error of the sink is kept aside.
  static la_ssize_t take(archive*, void* self, const void* bytes, size_t size) {
    auto* packing = static_cast<Packing*>(self);
    Result<void> taken = packing->sink_(std::string_view(static_cast<const char*>(bytes), size));
    if (taken) return static_cast<la_ssize_t>(size);
    packing->refused_ = taken.error();
    return -1;
  }

  // An error of the sink explains more than libarchive's own.
  Error failed(const std::string& path) const {
    if (refused_) return *refused_;
    const char* why = ::archive_error_string(archive_.get());
    return Error{Code::io, cat("pack '", printable(path), "': ", why ? printable(why) : "cannot"),
                 ""};
  }

  Result<void> pack_entries(int directory, const std::string& before, int depth) {
    if (depth > kDeepest)
      return Error{Code::invalid, cat("pack '", printable(before), "': too deep"), ""};
    for (const std::string& name : TRY(kernel::list_directory(directory)))
      TRY(pack(directory, name, before + name, depth));
    return {};
  }

  // A directory that the filter refuses is not entered at all.
  Result<void> pack(int directory, const std::string& name, const std::string& path, int depth) {
    struct stat info;
    if (::fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
      return errno_error(errno, cat("pack '", printable(path), "'"));
    if (keep_ && !keep_(path, S_ISDIR(info.st_mode))) return {};
    if (S_ISDIR(info.st_mode)) {
      Fd inner = TRY(kernel::open_beneath(directory, name, O_RDONLY | O_DIRECTORY));
      TRY(write_head(path, info, ""));
      return pack_entries(inner.get(), path + "/", depth + 1);
    }
    if (S_ISLNK(info.st_mode)) {
      char target[PATH_MAX];
      ssize_t size = ::readlinkat(directory, name.c_str(), target, sizeof target);
      if (size < 0) return errno_error(errno, cat("pack '", printable(path), "'"));
      return write_head(path, info, std::string(target, static_cast<size_t>(size)));
    }
    return S_ISREG(info.st_mode) ? pack_file(directory, name, path) : Result<void>();
  }

  // The size is written before the content. A file that grows meanwhile is cut, one that shrinks is
  // filled up.
  Result<void> pack_file(int directory, const std::string& name, const std::string& path) {
    Fd file = TRY(kernel::open_beneath(directory, name, O_RDONLY | O_NONBLOCK));
    struct stat info;
    if (::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode))
      return Error{Code::conflict, cat("pack '", printable(path), "': it changed meanwhile"), ""};
    TRY(write_head(path, info, ""));
    char buffer[64 << 10];
    for (int64_t left = info.st_size; left > 0;) {
      ssize_t size = ::read(file.get(), buffer, sizeof buffer);
      if (size < 0 && errno == EINTR) continue;
      if (size < 0) return errno_error(errno, cat("pack '", printable(path), "'"));
      if (size == 0) break;  // shorter now: libarchive fills up
      la_ssize_t written = ::archive_write_data(archive_.get(), buffer,
                                                static_cast<size_t>(std::min<int64_t>(size, left)));
      if (written < 0) return failed(path);
      left -= size;
    }
    return ::archive_write_finish_entry(archive_.get()) == ARCHIVE_OK ? Result<void>()
                                                                      : failed(path);
  }

  // Owners are left out on purpose: they mean nothing to the receiver.
  Result<void> write_head(const std::string& path, const struct stat& info,
                          const std::string& target) {
    std::unique_ptr<archive_entry, void (*)(archive_entry*)> entry(::archive_entry_new(),
                                                                   ::archive_entry_free);
    ::archive_entry_copy_pathname(entry.get(), path.c_str());
    ::archive_entry_set_mode(entry.get(), info.st_mode);
    ::archive_entry_set_mtime(entry.get(), info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
    if (S_ISREG(info.st_mode)) ::archive_entry_set_size(entry.get(), info.st_size);
    if (S_ISLNK(info.st_mode)) ::archive_entry_copy_symlink(entry.get(), target.c_str());
    int status = ::archive_write_header(archive_.get(), entry.get());
    return status == ARCHIVE_OK || status == ARCHIVE_WARN ? Result<void>() : failed(path);
  }

  const PackSink& sink_;
  const PackFilter& keep_;
  std::optional<Error> refused_;
  std::unique_ptr<archive, int (*)(archive*)> archive_{::archive_write_new(), ::archive_write_free};
};

}  // namespace

Result<void> pack_directory(int directory, const PackSink& sink, const PackFilter& keep) {
  return Packing(sink, keep).run(directory);
}

}  // namespace paddock::store
