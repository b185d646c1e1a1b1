#include "launch/root.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

namespace paddock::launch {

namespace {

// The parent directory of `path` and its last name, reached without following links.
struct Place {
  Fd parent;
  std::string name;
};

Result<Place> find_place(int root, const std::string& path) {
  size_t slash = path.rfind('/');
  std::string parent = slash == 0 ? "/" : path.substr(0, slash);
  return Place{TRY(kernel::open_in_root(root, parent)), path.substr(slash + 1)};
}

Result<void> make_directory(int root, const Step& step) {
  Place place = TRY(find_place(root, step.target));
  if (::mkdirat(place.parent.get(), place.name.c_str(), step.mode) != 0 && errno != EEXIST)
    return errno_error(errno, cat("make directory '", printable(step.target), "' inside"));
  return {};
}

Result<void> make_file(int root, const Step& step) {
  Place place = TRY(find_place(root, step.target));
  int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  Fd file(::openat(place.parent.get(), place.name.c_str(), flags, step.mode));
  if (!file) return errno_error(errno, cat("make file '", printable(step.target), "' inside"));
  return write_all(file.get(), step.text);
}

Result<void> make_symlink(int root, const Step& step) {
  Place place = TRY(find_place(root, step.target));
  if (::symlinkat(step.text.c_str(), place.parent.get(), place.name.c_str()) != 0)
    return errno_error(errno, cat("make link '", printable(step.target), "' inside"));
  return {};
}

// Masks come from the root's own files of mode 0, never from a device or path that could have been replaced.
constexpr char kMaskFile[] = "/.mask-file";
constexpr char kMaskDirectory[] = "/.mask-directory";

Result<void> make_mask_sources(int root) {
  TRY(make_file(root, Step{.target = kMaskFile, .mode = 0}));
  return make_directory(root, Step{.target = kMaskDirectory, .mode = 0});
}

Result<void> mask(int root, const Step& step) {
  Result<Fd> place = kernel::open_in_root(root, step.target);
  if (!place && place.error().code == Code::not_found) return {};
  if (!place) return std::move(place.error());
  struct stat info;
  if (::fstat(place.value().get(), &info) != 0) return errno_error(errno, cat("stat '", printable(step.target), "'"));
  Fd cover = TRY(kernel::clone_mount_beneath(root, S_ISDIR(info.st_mode) ? kMaskDirectory : kMaskFile));
  TRY(kernel::add_mount_attributes(cover.get(), MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC));
  return kernel::place_mount(cover.get(), root, step.target);
}

Result<void> apply_step(int root, const Step& step, Fd& source) {
  switch (step.kind) {
    case Step::Kind::directory: return make_directory(root, step);
    case Step::Kind::file: return make_file(root, step);
    case Step::Kind::symlink: return make_symlink(root, step);
    case Step::Kind::mask: return mask(root, step);
    case Step::Kind::unmount: return kernel::unmount(step.target);
    case Step::Kind::bind:
    case Step::Kind::proc: return kernel::place_mount(source.get(), root, step.target);
    case Step::Kind::inner_bind: {
      Fd inner = TRY(kernel::clone_mount_beneath(root, step.text));
      TRY(kernel::add_mount_attributes(inner.get(), step.attributes));
      return kernel::place_mount(inner.get(), root, step.target);
    }
    case Step::Kind::tmpfs: {
      Fd mount = TRY(kernel::new_mount("tmpfs", {cat("size=", step.size), cat("nr_inodes=", step.inodes), "mode=0755"}, step.attributes));
      return kernel::place_mount(mount.get(), root, step.target);
    }
    case Step::Kind::devpts: {
      Fd mount = TRY(kernel::new_mount("devpts", {"ptmxmode=0666", "mode=0600"}, step.attributes));
      return kernel::place_mount(mount.get(), root, step.target);
    }
    case Step::Kind::overlay: {
      Fd mount = TRY(kernel::new_mount("overlay", split(step.text, '\n'), step.attributes));
      return kernel::place_mount(mount.get(), root, step.target);
    }
  }
  return Error{Code::internal, "build the root: unknown step", ""};
}

}  // namespace

Result<void> take_sources(const Plan& plan, Taker taker, Sources& sources) {
  sources.resize(plan.steps.size());
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    if (step.kind == Step::Kind::bind && step.by_keeper == (taker == Taker::keeper)) {
      sources[i] = TRY(kernel::clone_mount(step.text, step.identity));
      if (step.shift_owner) {
        Result<void> shifted = kernel::shift_mount_owner(sources[i].get(), step.owner);
        if (!shifted && !(step.attributes & MOUNT_ATTR_RDONLY)) return std::move(shifted.error());
      }
      TRY(kernel::add_mount_attributes(sources[i].get(), step.attributes));
    }
    // The kernel lets us mount a new proc only while a complete one is in sight.
    if (step.kind == Step::Kind::proc && taker == Taker::first_process)
      sources[i] = TRY(kernel::new_mount("proc", {}, step.attributes));
  }
  return {};
}

Result<void> build_root(const Plan& plan, Sources& sources) {
  TRY(kernel::make_mounts_private());
  TRY(take_sources(plan, Taker::first_process, sources));
  Fd root = TRY(kernel::new_mount("tmpfs", {"size=64M", "nr_inodes=20000", "mode=0755"}, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV));
  TRY(kernel::enter_new_root(root.get()));
  TRY(make_mask_sources(root.get()));
  for (size_t i = 0; i < plan.steps.size(); ++i) TRY(apply_step(root.get(), plan.steps[i], sources[i]));
  mount_attr seal{};
  seal.attr_set = plan.root_attributes;
  if (::mount_setattr(root.get(), "", AT_EMPTY_PATH, &seal, sizeof seal) != 0) return errno_error(errno, "seal the root");
  return {};
}

}  // namespace paddock::launch
