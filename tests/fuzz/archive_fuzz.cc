// Unpacks the input as an archive, plainly and as a layer, and checks that nothing appears outside
// the directory.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "base/fd.h"
#include "linux/tree.h"
#include "store/archive.h"

namespace {

using namespace paddock;

// One place for the whole process: "root" is unpacked into, "sentinel" must stay alone beside it.
struct Place {
  Place() {
    char name[] = "/dev/shm/paddock_archive_fuzz.XXXXXX";
    if (!::mkdtemp(name)) std::abort();
    path = name;
    fd = open_file(path, O_RDONLY | O_DIRECTORY).value();
    Fd sentinel =
        kernel::open_beneath(fd.get(), "sentinel", O_WRONLY | O_CREAT | O_EXCL, 0600).value();
    if (!write_all(sentinel.get(), "untouched")) std::abort();
  }
  ~Place() {
    (void)kernel::remove_tree(fd.get(), "root");
    (void)kernel::remove_tree(fd.get(), "sentinel");
    (void)::rmdir(path.c_str());
  }
  std::string path;
  Fd fd;
};

void check_outside(const Place& place) {
  std::vector<std::string> names = kernel::list_directory(place.fd.get()).value();
  if (names != std::vector<std::string>{"root", "sentinel"}) std::abort();
  Fd sentinel = kernel::open_beneath(place.fd.get(), "sentinel", O_RDONLY).value();
  if (read_all(sentinel.get(), 100).value() != "untouched") std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static Place place;
  Fd archive(::memfd_create("archive", MFD_CLOEXEC));
  if (!archive ||
      !write_all(archive.get(), std::string_view(reinterpret_cast<const char*>(data), size)))
    return 0;
  if (::mkdirat(place.fd.get(), "root", 0700) != 0) std::abort();
  {
    Fd root = kernel::open_beneath(place.fd.get(), "root", O_RDONLY | O_DIRECTORY).value();
    store::UnpackReport report;
    store::UnpackOptions options;
    options.limits = {.bytes = 1 << 20, .entries = 200, .ratio = 200, .ratio_from = 1 << 16};
    for (auto pass : {store::UnpackOptions::Pass::plain, store::UnpackOptions::Pass::whiteouts,
                      store::UnpackOptions::Pass::content}) {
      options.pass = pass;
      (void)store::unpack_archive(archive.get(), root.get(), options, report);
    }
    if (report.bytes > options.limits.bytes) std::abort();
  }
  check_outside(place);
  if (!kernel::remove_tree(place.fd.get(), "root")) std::abort();
  return 0;
}
