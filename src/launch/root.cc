#include "launch/root.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

namespace paddock::launch {

namespace {

// Carries the steps out. Every place is reached from the root's descriptor without following a
// link; directories that hold several things are opened once.
class Builder {
 public:
  // `beside`: the host's tree stays, and this process alone changes its root.
  Builder(int root, bool beside) : root_(root), beside_(beside) {}

  int root() const { return root_; }

  // Removes the names of the masks. The masks stay where they are, and a root that can be written
  // to should not show them.
  void remove_mask_names() const {
    if (mask_place_.empty() || !mask_file_) return;
    (void)::unlink((mask_place_ + kMaskFile).c_str());
    (void)::rmdir((mask_place_ + kMaskDirectory).c_str());
  }

  // In a root that cannot be written to, the masks stand where something comes to cover them.
  Result<void> put_masks_in(const std::string& path) {
    Fd mount = TRY(kernel::new_mount("tmpfs", {"size=64K", "nr_inodes=16", "mode=0755"},
                                     MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC));
    TRY(kernel::place_mount(mount.get(), root_, path));
    mask_place_ = path;
    TRY(prepare_masks());
    return kernel::add_mount_attributes(mount.get(), MOUNT_ATTR_RDONLY);
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
      case Step::Kind::tmpfs:
        return place(step,
                     kernel::new_mount("tmpfs",
                                       {cat("size=", step.size), cat("nr_inodes=", step.inodes),
                                        step.mode & 01000 ? "mode=1777" : "mode=0755"},
                                       step.attributes));
      case Step::Kind::devpts:
        return place(step, kernel::new_mount("devpts", {"ptmxmode=0666", "mode=0600", "max=256"},
                                             step.attributes));
      case Step::Kind::mqueue: return place(step, kernel::new_mount("mqueue", {}, step.attributes));
      case Step::Kind::overlay:
        return place(step, kernel::new_mount("overlay", split(step.text, '\n'), step.attributes));
      case Step::Kind::inner_bind: return bind_inner(step);
      case Step::Kind::enter: return enter(step);
    }
    return Error{Code::internal, "build the root: unknown step", ""};
  }

 private:
  // Masks come from the root's own files of mode 0, never from a device or path that could have
  // been replaced.
  static constexpr char kMaskFile[] = "/.mask-file";
  static constexpr char kMaskDirectory[] = "/.mask-directory";

  struct Place {
    int parent;
    std::string name;
  };

  // Where a path is to be made: its parent, opened without following links, and its last component.
  // The parent stays open for the next step, which often has the same one.
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
    if (step.replace && ::unlinkat(place.parent, place.name.c_str(), 0) != 0 && errno != ENOENT)
      return errno_error(errno, cat("replace '", printable(step.target), "' inside"));
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

  // Takes the mount's error as well, so that each kind of step is one line in apply().
  Result<void> place(const Step& step, Result<Fd> mount) {
    if (!mount) return std::move(mount.error());
    parent_path_.clear();  // what was there before may be covered now
    return kernel::place_mount(mount.value().get(), root_, step.target);
  }

  Result<void> bind_inner(const Step& step) {
    if (step.optional && !kernel::open_in_root(root_, step.target)) return {};
    Fd inner = TRY(kernel::clone_mount_beneath(root_, step.text));
    TRY(kernel::add_mount_attributes(inner.get(), step.attributes));
    return place(step, std::move(inner));
  }

  Result<void> enter(const Step& step) {
    TRY(beside_ ? kernel::change_root(step.target) : kernel::enter_mount(step.target));
    own_root_ = TRY(open_file("/", O_PATH | O_DIRECTORY));
    root_ = own_root_.get();
    parent_path_.clear();
    mask_file_.reset();
    mask_directory_.reset();
    placed_file_.reset();
    placed_directory_.reset();
    mask_place_ = "/run";  // a tmpfs by then: the root itself may lie on a disk
    return {};
  }

  Result<void> prepare_masks() {
    TRY(make_file({.target = mask_place_ + kMaskFile, .mode = 0}));
    TRY(make_directory({.target = mask_place_ + kMaskDirectory, .mode = 0}));
    mask_file_ = TRY(kernel::open_in_root(root_, mask_place_ + kMaskFile));
    mask_directory_ = TRY(kernel::open_in_root(root_, mask_place_ + kMaskDirectory));
    return {};
  }

  Result<void> mask(const Step& step) {
    if (!mask_file_) TRY(prepare_masks());
    Result<Fd> place = kernel::open_in_root(root_, step.target);
    if (!place && place.error().code == Code::not_found && !step.required) return {};
    if (!place) return std::move(place.error());
    struct stat info;
    if (::fstat(place.value().get(), &info) != 0)
      return errno_error(errno, cat("stat '", printable(step.target), "'"));
    // A copy of a cover that is in place has its attributes already.
    Fd& placed = S_ISDIR(info.st_mode) ? placed_directory_ : placed_file_;
    const Fd& source = S_ISDIR(info.st_mode) ? mask_directory_ : mask_file_;
    Fd cover = TRY(kernel::clone_mount_of(placed ? placed.get() : source.get()));
    if (!placed)
      TRY(kernel::add_mount_attributes(cover.get(), MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
                                                        MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC));
    TRY(kernel::place_mount_on(cover.get(), place.value().get()));
    if (!placed) placed = std::move(cover);
    return {};
  }

  int root_;
  bool beside_;
  std::string parent_path_;  // what parent_ is open on
  std::string mask_place_;
  Fd own_root_, parent_, mask_file_, mask_directory_, placed_file_, placed_directory_;
};

}  // namespace

bool takes_source(const Step& step, Taker taker) {
  if (step.kind == Step::Kind::bind) return step.by_keeper == (taker == Taker::keeper);
  // The kernel lets us mount a new proc only while a complete one is visible.
  return step.kind == Step::Kind::proc && taker == Taker::first_process;
}

namespace {

// Mounts that are shifted alike share one user namespace, since making one takes a process.
class Shifts {
 public:
  Result<int> find(const kernel::OwnerShift& wanted) {
    for (const auto& [shift, fd] : made_)
      if (shift == wanted) return fd.get();
    made_.emplace_back(wanted, TRY(kernel::make_shift(wanted)));
    return made_.back().second.get();
  }

 private:
  std::vector<std::pair<kernel::OwnerShift, Fd>> made_;
};

Result<void> shift(int mount, const kernel::OwnerShift& owner, Shifts& shifts) {
  return kernel::apply_shift(mount, TRY(shifts.find(owner)));
}

Result<Fd> take_source(const Step& step, Shifts& shifts) {
  if (step.kind == Step::Kind::proc) return kernel::new_mount("proc", {}, step.attributes);
  Fd mount = TRY(kernel::clone_mount(step.text, step.identity));
  if (step.shift_owner) {
    Result<void> shifted = shift(mount.get(), step.owner, shifts);
    if (!shifted && !(step.attributes & MOUNT_ATTR_RDONLY)) return std::move(shifted.error());
  }
  TRY(kernel::add_mount_attributes(mount.get(), step.attributes));
  return mount;
}

}  // namespace

Result<void> take_sources(const Plan& plan, Taker taker, Sources& sources) {
  Shifts shifts;
  sources.resize(plan.steps.size());
  for (size_t i = 0; i < plan.steps.size(); ++i)
    if (takes_source(plan.steps[i], taker)) sources[i] = TRY(take_source(plan.steps[i], shifts));
  return {};
}

namespace {

// A tmpfs for what holds no data: the places where everything else is mounted.
Result<Fd> new_root() {
  return kernel::new_mount("tmpfs", {"size=64M", "nr_inodes=20000", "mode=0755"},
                           MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
}

// Carries the steps out in `root`, which this process has entered.
Result<void> build_in(int root, bool beside, const Plan& plan, Sources& sources) {
  Builder builder(root, beside);
  for (size_t i = 0; i < plan.steps.size(); ++i) TRY(builder.apply(plan.steps[i], sources[i]));
  mount_attr seal{};
  seal.attr_set = plan.root_attributes;
  builder.remove_mask_names();
  if (::mount_setattr(builder.root(), "", AT_EMPTY_PATH, &seal, sizeof seal) != 0)
    return errno_error(errno, "seal the root");
  return {};
}

}  // namespace

Result<void> build_root(const Plan& plan, Sources& sources) {
  TRY(take_sources(plan, Taker::first_process, sources));
  Fd root = TRY(new_root());
  TRY(kernel::enter_new_root(root.get()));
  return build_in(root.get(), false, plan, sources);
}

Result<void> build_root_at(const std::string& place, const Plan& plan, Sources& sources) {
  Fd root = TRY(new_root());
  Fd at = TRY(open_file(place, O_PATH | O_DIRECTORY | O_NOFOLLOW));
  TRY(kernel::place_mount_on(root.get(), at.get()));
  TRY(kernel::change_root(place));
  return build_in(root.get(), true, plan, sources);
}

Result<void> build_proc(const Plan& plan) {
  const std::vector<Step>& steps = plan.boot.proc;
  Shifts shifts;
  Sources sources(steps.size());  // taken while the runtime's proc, which is complete, is visible
  for (size_t i = 0; i < steps.size(); ++i)
    if (takes_source(steps[i], Taker::first_process))
      sources[i] = TRY(take_source(steps[i], shifts));
  Fd root = TRY(open_file("/", O_PATH | O_DIRECTORY));
  // The runtime's was writable until here: the kernel gives a writable proc only beside another.
  Fd covered = TRY(open_file("/proc", O_PATH | O_DIRECTORY));
  TRY(kernel::add_mount_attributes(covered.get(), MOUNT_ATTR_RDONLY));
  Builder builder(root.get(), false);
  TRY(builder.put_masks_in("/proc"));
  for (size_t i = 0; i < steps.size(); ++i) TRY(builder.apply(steps[i], sources[i]));
  return {};
}

std::string root_at(const std::string& place, const Plan& plan) {
  std::string root = place;
  for (const Step& step : plan.steps)
    if (step.kind == Step::Kind::enter) root += step.target;
  return root;
}

}  // namespace paddock::launch
