#include "store/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <locale.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>

#include "base/text.h"
#include "linux/tree.h"

namespace paddock::store {

namespace {

using Pass = UnpackOptions::Pass;
constexpr char kWhiteout[] = ".wh.";
constexpr char kOpaque[] = ".wh..wh..opq";

// How often progress is reported, in unpacked bytes.
constexpr uint64_t kProgressBytes = 8 << 20;

// libarchive converts names to the thread's locale and would lose what "C" cannot hold.
class Utf8Locale {
 public:
  Utf8Locale()
      : locale_(::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)),
        before_(locale_ ? ::uselocale(locale_) : nullptr) {}
  ~Utf8Locale() {
    if (!locale_) return;
    (void)::uselocale(before_);
    ::freelocale(locale_);
  }
  Utf8Locale(const Utf8Locale&) = delete;
  Utf8Locale& operator=(const Utf8Locale&) = delete;

 private:
  locale_t locale_, before_;
};

// Reads an archive that may be hostile, and lets the Extractor write. Only this class calls
// libarchive.
class Unpacking {
 public:
  Unpacking(int root, const UnpackOptions& options, UnpackReport& report)
      : options_(options), report_(report), extractor_(root, options_.limits, report_) {}

  Result<void> run(int file) {
    TRY(open(file));
    while (true) {
      archive_entry* entry = nullptr;
      int status = ::archive_read_next_header(archive_.get(), &entry);
      if (status == ARCHIVE_EOF) return {};
      if (status != ARCHIVE_OK && status != ARCHIVE_WARN) return broken();
      TRY(check_amount());
      if (options_.pass != Pass::whiteouts) TRY(extractor_.count_entry());
      TRY(unpack(entry));
      tell_progress();
    }
  }

 private:
  // Only formats and filters that are read in this process are enabled.
  Result<void> open(int file) {
    if (!archive_) return Error{Code::exhausted, "unpack: out of memory", ""};
    archive* reader = archive_.get();
    (void)::archive_read_support_format_tar(reader);
    (void)::archive_read_support_format_gnutar(reader);
    // Not archive_read_support_filter_all: that also starts outside programs (lrzip, grzip).
    (void)::archive_read_support_filter_gzip(reader);
    (void)::archive_read_support_filter_bzip2(reader);
    (void)::archive_read_support_filter_xz(reader);
    (void)::archive_read_support_filter_lzma(reader);
    (void)::archive_read_support_filter_lzip(reader);
    (void)::archive_read_support_filter_zstd(reader);
    (void)::archive_read_support_filter_lz4(reader);
    (void)::archive_read_support_filter_compress(reader);
    if (::lseek(file, 0, SEEK_SET) < 0 && errno != ESPIPE) return errno_error(errno, "unpack");
    if (::archive_read_open_fd(reader, file, 1 << 16) != ARCHIVE_OK) return broken();
    return {};
  }

  // The text of libarchive may quote the archive, so it is made printable.
  Error broken() const {
    const char* why = ::archive_error_string(archive_.get());
    return Error{Code::invalid, cat("unpack: ", why ? printable(why) : "not an archive"),
                 "it has to be a tarball, an image saved by docker, or an OCI layout"};
  }

  // A bomb may also consist of what is read but never written.
  Result<void> check_amount() const {
    auto packed = static_cast<uint64_t>(::archive_filter_bytes(archive_.get(), -1));
    auto unpacked = static_cast<uint64_t>(::archive_filter_bytes(archive_.get(), 0));
    const UnpackLimits& limits = options_.limits;
    if (unpacked > limits.bytes + limits.entries * 2048)  // headers and padding are no content
      return Error{Code::exhausted, cat("unpack: more than ", human_size(limits.bytes), " in all"),
                   "raise it with --max-size"};
    if (unpacked > limits.ratio_from && unpacked / limits.ratio > packed)
      return Error{Code::exhausted,
                   cat("unpack: ", human_size(packed), " became ", human_size(unpacked),
                       ", which looks like a bomb"),
                   "unpack it by hand and import the plain tarball if you trust it"};
    return {};
  }

  // Entries of a type that makes no sense in an image are counted and left out.
  Result<void> unpack(archive_entry* entry) {
    const char* raw = ::archive_entry_pathname(entry);
    if (!raw) return Error{Code::invalid, "unpack: a name that is not text", ""};
    std::string path = TRY(entry_path(raw));
    kernel::PathParts parts = kernel::split_path(path);
    bool is_whiteout = options_.pass != Pass::plain && starts_with(parts.name, kWhiteout);
    if (is_whiteout || options_.pass == Pass::whiteouts) {
      if (is_whiteout && options_.pass == Pass::whiteouts) TRY(carry_out(parts));
      return pass_over();
    }

    if (const char* target = ::archive_entry_hardlink(entry)) return link(path, target);
    unsigned mode = ::archive_entry_perm(entry);
    switch (::archive_entry_filetype(entry)) {
      case AE_IFREG: return unpack_file(entry, path, mode);
      case AE_IFDIR: return extractor_.directory(path, mode);
      case AE_IFLNK: {
        const char* target = ::archive_entry_symlink(entry);
        return extractor_.symlink(path, target ? target : "");
      }
      default: ++report_.skipped_devices; return pass_over();
    }
  }

  // Some archives give a hard link content as well; it is skipped.
  Result<void> link(const std::string& path, const std::string& target) {
    TRY(extractor_.hard_link(path, TRY(entry_path(target))));
    return pass_over();
  }

  // Reads content that is not wanted here, since libarchive would do it without looking at the
  // amount.
  Result<void> pass_over() {
    const void* block = nullptr;
    size_t length = 0;
    int64_t offset = 0;
    while (true) {
      int status = ::archive_read_data_block(archive_.get(), &block, &length, &offset);
      if (status == ARCHIVE_EOF) return {};
      if (status != ARCHIVE_OK && status != ARCHIVE_WARN) return broken();
      TRY(check_amount());
    }
  }

  // A whiteout removes what lower layers have brought.
  Result<void> carry_out(const kernel::PathParts& whiteout) {
    if (whiteout.name == kOpaque) return extractor_.clear(whiteout.parent);
    if (starts_with(whiteout.name, ".wh..wh.")) return {};  // aufs's own bookkeeping
    std::string name = whiteout.name.substr(sizeof kWhiteout - 1);
    if (name.empty() || name == "." || name == "..")
      return Error{Code::invalid, "unpack: a whiteout without a name", ""};
    return extractor_.remove(whiteout.parent.empty() ? name : cat(whiteout.parent, "/", name));
  }

  // The declared size has been counted against the limit, so more content than that is refused.
  Result<void> unpack_file(archive_entry* entry, const std::string& path, unsigned mode) {
    int64_t declared = ::archive_entry_size_is_set(entry) ? ::archive_entry_size(entry) : 0;
    if (declared < 0)
      return Error{Code::invalid, cat("unpack '", printable(path), "': a negative size"), ""};
    auto size = static_cast<uint64_t>(declared);
    Fd file = TRY(extractor_.file(path, mode, size));
    while (true) {
      const void* block = nullptr;
      size_t length = 0;
      int64_t offset = 0;
      int status = ::archive_read_data_block(archive_.get(), &block, &length, &offset);
      if (status == ARCHIVE_EOF) break;
      if (status != ARCHIVE_OK && status != ARCHIVE_WARN) return broken();
      TRY(check_amount());
      if (length == 0) continue;
      if (offset < 0 || static_cast<uint64_t>(offset) > size ||
          length > size - static_cast<uint64_t>(offset))
        return Error{Code::invalid,
                     cat("unpack '", printable(path), "': more content than it declares"), ""};
      if (::lseek(file.get(), offset, SEEK_SET) < 0)
        return errno_error(errno, cat("unpack '", printable(path), "'"));
      TRY(write_all(file.get(), std::string_view(static_cast<const char*>(block), length)));
      tell_progress();
    }
    // The end of a sparse file may be a hole.
    if (::ftruncate(file.get(), declared) != 0)
      return errno_error(errno, cat("unpack '", printable(path), "'"));
    return {};
  }

  // Reported at intervals: the callback prints a line.
  void tell_progress() {
    if (!options_.progress) return;
    auto unpacked = static_cast<uint64_t>(::archive_filter_bytes(archive_.get(), 0));
    if (unpacked < told_ + kProgressBytes) return;
    told_ = unpacked;
    options_.progress(report_);
  }

  Utf8Locale locale_;
  const UnpackOptions& options_;
  UnpackReport& report_;
  Extractor extractor_;
  std::unique_ptr<archive, int (*)(archive*)> archive_{::archive_read_new(), ::archive_read_free};
  uint64_t told_ = 0;
};

}  // namespace

Result<void> unpack_archive(int archive, int root, const UnpackOptions& options,
                            UnpackReport& report) {
  return Unpacking(root, options, report).run(archive);
}

}  // namespace paddock::store
