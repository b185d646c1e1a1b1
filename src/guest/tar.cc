// The operations `pack` and `unpack`: trees of files as a tar, by a child that has become the user.
#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <locale.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <memory>

#include "base/text.h"
#include "guest/files.h"
#include "guest/helper.h"
#include "guest/operations.h"
#include "guest/request.h"
#include "linux/tree.h"

namespace paddock::guest {

namespace {

constexpr int kDeepest = 256;
constexpr size_t kBlock = 64 << 10;

// An error with libarchive's reason. Its text may quote names from the archive, so it is made
// printable.
Error failed(const std::string& what, const std::string& path, archive* reason) {
  const char* why = ::archive_error_string(reason);
  return refuse(Code::invalid, cat(what, path.empty() ? "" : cat(" '", printable(path), "'"), ": ",
                                   why ? printable(why) : "not possible"));
}

// libarchive converts names to the locale. With UTF-8 they stay as they are.
void use_utf8() { (void)::setlocale(LC_CTYPE, "C.UTF-8"); }

// Writes a tree as a tar. Directories are walked by descriptor without following links, since
// programs inside may change the tree meanwhile.
class Packer {
 public:
  Result<Value> run(const std::string& path, int output) {
    use_utf8();
    archive* writer = archive_.get();
    (void)::archive_write_set_format_pax_restricted(writer);
    (void)::archive_write_set_options(writer, "hdrcharset=BINARY");
    (void)::archive_write_set_bytes_per_block(writer, kBlock);
    (void)::archive_write_set_bytes_in_last_block(writer, 1);
    if (::archive_write_open_fd(writer, output) != ARCHIVE_OK) return failed("pack", "", writer);
    struct stat info;
    if (::stat(path.c_str(), &info) != 0)
      return refuse(Code::not_found, cat("path '", path, "' does not exist"));
    if (S_ISDIR(info.st_mode)) {
      Fd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      if (!directory) return refuse_errno(errno, cat("pack '", path, "'"));
      TRY(pack_beneath(directory.get(), "", 0));
    } else {
      Fd parent(::open(parent_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      if (!parent) return refuse_errno(errno, cat("pack '", path, "'"));
      std::string name = path.substr(path.rfind('/') + 1);
      TRY(pack_one(parent.get(), name, name, 0));
    }
    if (::archive_write_close(writer) != ARCHIVE_OK) return failed("pack", "", writer);
    return Value();
  }

 private:
  Result<void> pack_beneath(int directory, const std::string& before, int depth) {
    if (depth > kDeepest)
      return refuse(Kind::failed_precondition, cat("pack '", printable(before), "': too deep"));
    for (const std::string& name : TRY(kernel::list_directory(directory)))
      TRY(pack_one(directory, name, before + name, depth));
    return {};
  }

  // What vanished meanwhile is left out; so are sockets, pipes and devices.
  Result<void> pack_one(int directory, const std::string& name, const std::string& path,
                        int depth) {
    struct stat info;
    if (::fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return {};
    if (S_ISLNK(info.st_mode)) {
      char target[PATH_MAX];
      ssize_t size = ::readlinkat(directory, name.c_str(), target, sizeof target);
      return size < 0 ? Result<void>()
                      : write_head(path, info, std::string(target, static_cast<size_t>(size)));
    }
    if (!S_ISDIR(info.st_mode) && !S_ISREG(info.st_mode)) return {};
    Fd opened(::openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!opened) return refuse_errno(errno, cat("pack '", printable(path), "'"));
    if (::fstat(opened.get(), &info) != 0) return refuse_errno(errno, "pack");
    TRY(write_head(path, info, ""));
    return S_ISDIR(info.st_mode) ? pack_beneath(opened.get(), path + "/", depth + 1)
                                 : write_content(opened.get(), path, info.st_size);
  }

  // Writes as many bytes as the head says; if the file is shorter, libarchive fills the rest with
  // zeros.
  Result<void> write_content(int file, const std::string& path, int64_t left) {
    char buffer[kBlock];
    while (left > 0) {
      ssize_t size =
          ::read(file, buffer, static_cast<size_t>(std::min<int64_t>(left, sizeof buffer)));
      if (size < 0) return refuse_errno(errno, cat("pack '", printable(path), "'"));
      if (size == 0) break;
      if (::archive_write_data(archive_.get(), buffer, static_cast<size_t>(size)) < 0)
        return failed("pack", path, archive_.get());
      left -= size;
    }
    return ::archive_write_finish_entry(archive_.get()) == ARCHIVE_OK
               ? Result<void>()
               : failed("pack", path, archive_.get());
  }

  // Owners are numbers; names inside and outside need not agree.
  Result<void> write_head(const std::string& path, const struct stat& info,
                          const std::string& target) {
    std::unique_ptr<archive_entry, void (*)(archive_entry*)> entry(::archive_entry_new(),
                                                                   ::archive_entry_free);
    ::archive_entry_copy_pathname(entry.get(), path.c_str());
    ::archive_entry_set_mode(entry.get(), info.st_mode);
    ::archive_entry_set_uid(entry.get(), info.st_uid);
    ::archive_entry_set_gid(entry.get(), info.st_gid);
    ::archive_entry_set_mtime(entry.get(), info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
    if (S_ISREG(info.st_mode)) ::archive_entry_set_size(entry.get(), info.st_size);
    if (S_ISLNK(info.st_mode)) ::archive_entry_copy_symlink(entry.get(), target.c_str());
    int status = ::archive_write_header(archive_.get(), entry.get());
    return status == ARCHIVE_OK || status == ARCHIVE_WARN ? Result<void>()
                                                          : failed("pack", path, archive_.get());
  }

  std::unique_ptr<archive, int (*)(archive*)> archive_{::archive_write_new(), ::archive_write_free};
};

// Unpacks a tar that anybody may have made. Nothing is written outside of `root`, whatever names
// and links the archive has.
class Unpacker {
 public:
  explicit Unpacker(int root) : root_(root) {}

  Result<Value> run(int input) {
    use_utf8();
    archive* reader = archive_.get();
    (void)::archive_read_support_format_tar(reader);
    (void)::archive_read_support_format_gnutar(reader);
    (void)::archive_read_support_format_empty(reader);
    (void)::archive_read_support_filter_gzip(reader);
    if (::archive_read_open_fd(reader, input, kBlock) != ARCHIVE_OK)
      return failed("unpack", "", reader);
    int64_t files = 0;
    while (true) {
      archive_entry* entry = nullptr;
      int status = ::archive_read_next_header(reader, &entry);
      if (status == ARCHIVE_EOF) break;
      if (status != ARCHIVE_OK && status != ARCHIVE_WARN) return failed("unpack", "", reader);
      TRY(unpack(entry));
      ++files;
    }
    // The rest is padding. It is read, so that the sender does not see a broken pipe.
    char rest[kBlock];
    while (::read(input, rest, sizeof rest) > 0) {}
    Value result;
    result.set("files", files);
    return result;
  }

 private:
  // The path without "." and empty parts; nothing that leads out.
  static Result<std::string> clean(const char* name) {
    std::vector<std::string> parts;
    std::string_view text = name ? name : "";
    if (starts_with(text, "/"))
      return refuse(Code::invalid, cat("unpack '", printable(text), "': an absolute path"));
    for (std::string& part : split(text, '/')) {
      if (part.empty() || part == ".") continue;
      if (part == "..")
        return refuse(Code::invalid, cat("unpack '", printable(text), "': a path that leads out"));
      parts.push_back(std::move(part));
    }
    return join(parts, "/");
  }

  // Links in the target are followed as if it were the root: they lead nowhere else.
  Result<Fd> open_directory(const std::string& path) {
    Result<Fd> opened = kernel::open_as_root(root_, path, O_RDONLY | O_DIRECTORY);
    if (opened || errno != ENOENT || path.empty()) return opened;
    kernel::PathParts parts = kernel::split_path(path);
    Fd parent = TRY(open_directory(parts.parent));
    if (::mkdirat(parent.get(), parts.name.c_str(), 0755) != 0 && errno != EEXIST)
      return refuse_errno(errno, cat("unpack '", printable(path), "'"));
    return kernel::open_as_root(root_, path, O_RDONLY | O_DIRECTORY);
  }

  // What is there is replaced, never written into. Devices, pipes and sockets are skipped.
  Result<void> unpack(archive_entry* entry) {
    std::string path = TRY(clean(::archive_entry_pathname(entry)));
    mode_t type = ::archive_entry_filetype(entry);
    const char* hard_link = ::archive_entry_hardlink(entry);
    if (path.empty()) return {};  // the target itself
    if (type == AE_IFDIR && !hard_link) return unpack_directory(path, entry);
    kernel::PathParts parts = kernel::split_path(path);
    Fd parent = TRY(open_directory(parts.parent));
    auto broken = [&] { return refuse_errno(errno, cat("unpack '", printable(path), "'")); };
    if (::unlinkat(parent.get(), parts.name.c_str(), 0) != 0 && errno != ENOENT) return broken();
    if (hard_link) {
      kernel::PathParts from = kernel::split_path(TRY(clean(hard_link)));
      Fd source = TRY(kernel::open_as_root(root_, from.parent, O_RDONLY | O_DIRECTORY));
      return ::linkat(source.get(), from.name.c_str(), parent.get(), parts.name.c_str(), 0) == 0
                 ? Result<void>()
                 : broken();
    }
    if (type == AE_IFLNK) {
      const char* target = ::archive_entry_symlink(entry);
      return target && ::symlinkat(target, parent.get(), parts.name.c_str()) == 0 ? Result<void>()
                                                                                  : broken();
    }
    if (type != AE_IFREG) return {};
    Fd file(::openat(parent.get(), parts.name.c_str(),
                     O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file) return broken();
    TRY(write_content(file.get(), path));
    if (::fchmod(file.get(), ::archive_entry_perm(entry) & 0777) != 0) return broken();
    set_time(file.get(), entry);
    return {};
  }

  // The owner can always enter its directories, or a read-only one could not be filled.
  Result<void> unpack_directory(const std::string& path, archive_entry* entry) {
    Fd directory = TRY(open_directory(path));
    // Ignored if it fails: a directory that was there may belong to somebody else.
    (void)::fchmod(directory.get(), (::archive_entry_perm(entry) & 0777) | 0700);
    return {};
  }

  Result<void> write_content(int file, const std::string& path) {
    while (true) {
      const void* bytes;
      size_t size;
      la_int64_t offset;
      int status = ::archive_read_data_block(archive_.get(), &bytes, &size, &offset);
      if (status == ARCHIVE_EOF) return {};
      if (status != ARCHIVE_OK && status != ARCHIVE_WARN)
        return failed("unpack", path, archive_.get());
      for (size_t at = 0; at < size;) {
        ssize_t count = ::pwrite(file, static_cast<const char*>(bytes) + at, size - at,
                                 offset + static_cast<off_t>(at));
        if (count < 0) return refuse_errno(errno, cat("unpack '", printable(path), "'"));
        at += static_cast<size_t>(count);
      }
    }
  }

  static void set_time(int file, archive_entry* entry) {
    if (!::archive_entry_mtime_is_set(entry)) return;
    timespec times[2] = {{0, UTIME_NOW},
                         {::archive_entry_mtime(entry), ::archive_entry_mtime_nsec(entry)}};
    (void)::futimens(file, times);
  }

  int root_;
  std::unique_ptr<archive, int (*)(archive*)> archive_{::archive_read_new(), ::archive_read_free};
};

}  // namespace

Answer pack_files(Guest& guest, CallPointer call) {
  Result<Place> place = place_in(guest, call->request);
  if (!place) co_return place.error();
  std::string path = place.value().path;
  Work work = [path](HelperStreams streams) { return Packer().run(path, streams.output); };
  Result<Value> packed = co_await run_helper(guest, call, place.value().user, work);
  co_return packed;
}

Answer unpack_files(Guest& guest, CallPointer call) {
  Result<Place> place = place_in(guest, call->request);
  if (!place) co_return place.error();
  Result<bool> made = make_directories(place.value().path, place.value().ownership);
  if (!made) co_return made.error();
  std::string path = place.value().path;
  Work work = [path](HelperStreams streams) -> Result<Value> {
    Fd root(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!root) return refuse_errno(errno, cat("unpack into '", path, "'"));
    return Unpacker(root.get()).run(streams.input);
  };
  Result<Value> unpacked = co_await run_helper(guest, call, place.value().user, work);
  co_return unpacked;
}

}  // namespace paddock::guest
