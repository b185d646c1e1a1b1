#include "launch/root.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

namespace paddock::launch {

namespace {

// Carries the steps out. Every place is reached from the root's descriptor without following a link; directories that
// hold several things are opened once.
class Builder {
 public:
  explicit Builder(int root) : root_(root) {}

  Result<void> prepare_masks() {
    TRY(make_file({.target = kMaskFile, .mode = 0}));
    TRY(make_directory({.target = kMaskDirectory, .mode = 0}));
    mask_file_ = TRY(kernel::open_in_root(root_, kMaskFile));
    mask_directory_ = TRY(kernel::open_in_root(root_, kMaskDirectory));
    return {};
  }

  Result<void> apply(const Step& step, Fd& source) {
    switch (step.kind) {
      case Step::Kind::directory: return make_directory(step);
      case Step::Kind::file: return make_file(step);
      case Step::Kind::symlink: return make_symlink(step);
      case Step::Kind::mask: return mask(step);
      case Step::Kind::unmount: return kernel::unmount(step.target);
      case Step::Kind::bind:
      case Step::Kind::proc: return place(step, std::move(source));
      case Step::Kind::tmpfs: return place(step, kernel::new_mount("tmpfs", {cat("size=", step.size), cat("nr_inodes=", step.inodes), "mode=0755"}, step.attributes));
      case Step::Kind::devpts: return place(step, kernel::new_mount("devpts", {"ptmxmode=0666", "mode=0600"}, step.attributes));
      case Step::Kind::overlay: return place(step, kernel::new_mount("overlay", split(step.text, '\n'), step.attributes));
      case Step::Kind::inner_bind: {
        Fd inner = TRY(kernel::clone_mount_beneath(root_, step.text));
        TRY(kernel::add_mount_attributes(inner.get(), step.attributes));
        return place(step, std::move(inner));
      }
    }
    return Error{Code::internal, "build the root: unknown step", ""};
  }

 private:
  // Masks come from the root's own files of mode 0, never from a device or path that could have been replaced.
  static constexpr char kMaskFile[] = "/.mask-file";
  static constexpr char kMaskDirectory[] = "/.mask-directory";

  struct Place {
    int parent;
    std::string name;
  };

  Result<Place> find_place(const std::string& path) {
    size_t slash = path.rfind('/');
    if (slash == 0) return Place{root_, path.substr(1)};
    std::string parent = path.substr(0, slash);
    if (parent != parent_path_) {
      parent_ = TRY(kernel::open_in_root(root_, parent));
      parent_path_ = parent;
    }
    return Place{parent_.get(), path.substr(slash + 1)};
  }

  Result<void> make_directory(const Step& step) {
    Place place = TRY(find_place(step.target));
    if (::mkdirat(place.parent, place.name.c_str(), step.mode) != 0 && errno != EEXIST)
      return errno_error(errno, cat("make directory '", printable(step.target), "' inside"));
    return {};
  }

  Result<void> make_file(const Step& step) {
    Place place = TRY(find_place(step.target));
    int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    Fd file(::openat(place.parent, place.name.c_str(), flags, step.mode));
    if (!file) return errno_error(errno, cat("make file '", printable(step.target), "' inside"));
    return write_all(file.get(), step.text);
  }

  Result<void> make_symlink(const Step& step) {
    Place place = TRY(find_place(step.target));
    if (::symlinkat(step.text.c_str(), place.parent, place.name.c_str()) != 0)
      return errno_error(errno, cat("make link '", printable(step.target), "' inside"));
    return {};
  }

  Result<void> place(const Step& step, Result<Fd> mount) {
    if (!mount) return std::move(mount.error());
    parent_path_.clear();  // what was there before may be covered now
    return kernel::place_mount(mount.value().get(), root_, step.target);
  }

  Result<void> mask(const Step& step) {
    Result<Fd> place = kernel::open_in_root(root_, step.target);
    if (!place && place.error().code == Code::not_found && !step.required) return {};
    if (!place) return std::move(place.error());
    struct stat info;
    if (::fstat(place.value().get(), &info) != 0) return errno_error(errno, cat("stat '", printable(step.target), "'"));
    Fd cover = TRY(kernel::clone_mount_of(S_ISDIR(info.st_mode) ? mask_directory_.get() : mask_file_.get()));
    TRY(kernel::add_mount_attributes(cover.get(), MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC));
    return kernel::place_mount_on(cover.get(), place.value().get());
  }

  int root_;
  std::string parent_path_;  // what parent_ is open on
  Fd parent_, mask_file_, mask_directory_;
};

}  // namespace

bool takes_source(const Step& step, Taker taker) {
  if (step.kind == Step::Kind::bind) return step.by_keeper == (taker == Taker::keeper);
  // The kernel lets us mount a new proc only while a complete one is in sight.
  return step.kind == Step::Kind::proc && taker == Taker::first_process;
}

namespace {

Result<Fd> take_source(const Step& step) {
  if (step.kind == Step::Kind::proc) return kernel::new_mount("proc", {}, step.attributes);
  Fd mount = TRY(kernel::clone_mount(step.text, step.identity));
  if (step.shift_owner) {
    Result<void> shifted = kernel::shift_mount_owner(mount.get(), step.owner);
    if (!shifted && !(step.attributes & MOUNT_ATTR_RDONLY)) return std::move(shifted.error());
  }
  TRY(kernel::add_mount_attributes(mount.get(), step.attributes));
  return mount;
}

}  // namespace

Result<void> take_sources(const Plan& plan, Taker taker, Sources& sources) {
  sources.resize(plan.steps.size());
  for (size_t i = 0; i < plan.steps.size(); ++i)
    if (takes_source(plan.steps[i], taker)) sources[i] = TRY(take_source(plan.steps[i]));
  return {};
}

Result<void> build_root(const Plan& plan, Sources& sources) {
  TRY(take_sources(plan, Taker::first_process, sources));
  Fd root = TRY(kernel::new_mount("tmpfs", {"size=64M", "nr_inodes=20000", "mode=0755"}, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV));
  TRY(kernel::enter_new_root(root.get()));
  Builder builder(root.get());
  TRY(builder.prepare_masks());
  for (size_t i = 0; i < plan.steps.size(); ++i) TRY(builder.apply(plan.steps[i], sources[i]));
  mount_attr seal{};
  seal.attr_set = plan.root_attributes;
  if (::mount_setattr(root.get(), "", AT_EMPTY_PATH, &seal, sizeof seal) != 0) return errno_error(errno, "seal the root");
  return {};
}

}  // namespace paddock::launch
