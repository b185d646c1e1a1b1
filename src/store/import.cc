#include "store/import.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>

#include "base/text.h"
#include "linux/tree.h"
#include "store/archive.h"
#include "store/layout.h"
#include "store/state.h"

namespace paddock::store {

namespace {

// Fails if it exists: an import never writes into something old.
Result<Fd> make_directory(int parent, const char* name) {
  if (::mkdirat(parent, name, 0755) != 0) return errno_error(errno, cat("make '", name, "'"));
  return kernel::open_beneath(parent, name, O_RDONLY | O_DIRECTORY);
}

// One import, into a directory of its own that is renamed at the end.
class Import {
 public:
  Import(int place, const ImportOptions& options, Image& image)
      : place_(place), options_(options), image_(image) {}

  // A tarball is unpacked before it is known whether it is the root itself or holds the layers of
  // one.
  Result<void> from_file(int source) {
    Fd unpacked = TRY(make_directory(place_, "rootfs"));
    TRY(unpack_archive(source, unpacked.get(),
                       {.limits = options_.limits, .progress = options_.progress}, report_));
    std::optional<std::vector<Fd>> layers = TRY(open_layers(unpacked.get()));
    if (!layers) return {};
    if (::renameat(place_, "rootfs", place_, "layout") != 0) return errno_error(errno, "import");
    report_ = {};
    TRY(stack(*layers));
    return kernel::remove_tree(place_, "layout");
  }

  // A layout in a directory needs no unpacking of its own.
  Result<void> from_directory(int source) {
    std::optional<std::vector<Fd>> layers = TRY(open_layers(source));
    if (layers) return stack(*layers);
    return Error{Code::invalid, "import: a directory that is no OCI layout",
                 "a plain directory needs no import: paddock run --root DIR"};
  }

  // Synced before it is renamed, so that an image that has its name is complete.
  Result<void> finish(int images, const std::string& temporary) {
    image_.bytes = report_.bytes;
    image_.files = report_.entries;
    if (image_.files == 0) return Error{Code::invalid, "import: there is nothing in it", ""};
    TRY(write_file(place_, "image.json", image_meta(image_)));
    if (::syncfs(place_) != 0) return errno_error(errno, "import: sync");
    if (::renameat2(images, temporary.c_str(), images, image_.name.c_str(), RENAME_NOREPLACE) == 0)
      return {};
    if (errno == EEXIST)
      return Error{Code::conflict, cat("import '", image_.name, "': an image of that name exists"),
                   ""};
    return errno_error(errno, "import: rename");
  }

  const UnpackReport& report() const { return report_; }

 private:
  // The lowest layer has nothing to take away. The others are read twice: whiteouts first, then
  // content.
  Result<void> stack(const std::vector<Fd>& layers) {
    Fd root = TRY(make_directory(place_, "rootfs"));
    image_.layers = layers.size();
    for (size_t i = 0; i < layers.size(); ++i) {
      UnpackOptions pass{.pass = UnpackOptions::Pass::whiteouts,
                         .limits = options_.limits,
                         .progress = options_.progress};
      if (i > 0) TRY(unpack_archive(layers[i].get(), root.get(), pass, report_));
      pass.pass = UnpackOptions::Pass::content;
      TRY(unpack_archive(layers[i].get(), root.get(), pass, report_));
    }
    return {};
  }

  int place_;
  const ImportOptions& options_;
  Image& image_;
  UnpackReport report_;
};

std::vector<std::string> notes_of(const UnpackReport& report) {
  std::vector<std::string> notes;
  if (report.skipped_devices)
    notes.push_back(cat(report.skipped_devices, " devices, fifos or sockets were left out"));
  if (report.dropped_setuid)
    notes.push_back(cat(report.dropped_setuid, " files lost their setuid or setgid bit"));
  return notes;
}

}  // namespace

// Everything happens in a directory with another name. Whatever fails, nothing of it is left.
Result<Imported> import_image(const std::string& name, const std::string& file,
                              const ImportOptions& options) {
  if (!is_image_name(name))
    return Error{Code::invalid, cat("import '", printable(name), "': not an image name"),
                 "use a-z, 0-9 and . _ - in it"};
  Fd source = TRY(open_file(file, O_RDONLY | O_NONBLOCK));
  struct stat info;
  if (::fstat(source.get(), &info) != 0)
    return errno_error(errno, cat("stat '", printable(file), "'"));
  bool is_directory = S_ISDIR(info.st_mode);
  if (!is_directory && !S_ISREG(info.st_mode))
    return Error{Code::invalid, cat("import '", printable(file), "': no file or directory"), ""};
  if (find_image(name))
    return Error{Code::conflict, cat("import '", name, "': an image of that name exists"),
                 cat("remove it with: paddock image rm ", name)};

  StateDirectory images = TRY(open_state("images"));
  TRY(sweep_images(images.fd.get()));
  std::string temporary = cat(".import-", TRY(random_name(10)));
  Fd place = TRY(make_directory(images.fd.get(), temporary.c_str()));
  (void)::flock(place.get(), LOCK_EX | LOCK_NB);  // tells sweep_images that someone is at work

  Imported imported;
  imported.image.name = name;
  imported.image.root = cat(images.path, "/", name, "/rootfs");
  imported.image.source = kernel::split_path(file).name;
  imported.image.imported_seconds = ::time(nullptr);
  Import import(place.get(), options, imported.image);
  Result<void> done =
      is_directory ? import.from_directory(source.get()) : import.from_file(source.get());
  if (done) done = import.finish(images.fd.get(), temporary);
  imported.notes = notes_of(import.report());
  if (done) return imported;
  (void)kernel::remove_tree(images.fd.get(), temporary);
  return done.error();
}

}  // namespace paddock::store
