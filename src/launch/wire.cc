// A plan as bytes. One list of fields per type serves both directions, so they cannot drift apart.
// Integers are little-endian and of fixed width; strings and lists carry their length. Decoding
// checks every length against what is left, and refuses what is left over. Fuzzed in tests/fuzz.
#include <cstring>
#include <type_traits>

#include "base/text.h"
#include "launch/plan.h"

namespace paddock::launch {

namespace {

// Raised with every change of a field: keeper and caller may come from different builds by mistake.
constexpr uint32_t kVersion = 4;

// Appends each field. The same calls as on the Reader, so that one list serves both.
class Writer {
 public:
  template <class T>
    requires std::is_integral_v<T> || std::is_enum_v<T>
  void operator()(T& value) {
    uint64_t wide = static_cast<uint64_t>(value);
    char little[sizeof(T)];
    for (size_t i = 0; i < sizeof(T); ++i) little[i] = static_cast<char>(wide >> (8 * i) & 0xff);
    bytes.append(little, sizeof little);
  }
  void operator()(std::string& text) {
    count(text.size());
    bytes += text;
  }
  template <class T>
  void operator()(std::vector<T>& list);
  void count(size_t size) {
    uint32_t narrow = static_cast<uint32_t>(size);
    (*this)(narrow);
  }

  std::string bytes;
};

// Takes each field from the front. After a failure everything reads as empty, and finished() is
// false.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : left_(bytes) {}

  template <class T>
    requires std::is_integral_v<T> || std::is_enum_v<T>
  void operator()(T& value) {
    if (left_.size() < sizeof(T)) return fail();
    uint64_t wide = 0;
    for (size_t i = 0; i < sizeof(T); ++i)
      wide |= static_cast<uint64_t>(static_cast<unsigned char>(left_[i])) << (8 * i);
    left_.remove_prefix(sizeof(T));
    if constexpr (std::is_same_v<T, bool>) {
      if (wide > 1) return fail();
      value = wide == 1;
    } else if constexpr (std::is_same_v<T, Step::Kind>) {
      if (wide > static_cast<uint64_t>(Step::Kind::enter)) return fail();
      value = static_cast<T>(wide);
    } else {
      value = static_cast<T>(wide);
    }
  }
  void operator()(std::string& text) {
    size_t size = count();
    text.assign(left_.substr(0, size));
    left_.remove_prefix(size);
  }
  template <class T>
  void operator()(std::vector<T>& list);
  // A length, at most as many as there are bytes left: each item takes at least one.
  size_t count() {
    uint32_t size = 0;
    (*this)(size);
    if (size > left_.size()) fail();
    return failed_ ? 0 : size;
  }

  bool finished() const { return !failed_ && left_.empty(); }

 private:
  void fail() {
    failed_ = true;
    left_ = {};
  }

  std::string_view left_;
  bool failed_ = false;
};

template <class A>
void fields(A& a, std::string& text) {
  a(text);
}

template <class A>
void fields(A& a, Step& step) {
  a(step.kind), a(step.target), a(step.text), a(step.mode), a(step.size), a(step.inodes),
      a(step.attributes);
  a(step.identity.device), a(step.identity.inode), a(step.required), a(step.optional),
      a(step.replace), a(step.by_keeper), a(step.shift_owner);
  a(step.owner.from_uid), a(step.owner.to_uid), a(step.owner.from_gid), a(step.owner.to_gid),
      a(step.owner.count);
  a(step.owner.person), a(step.owner.person_uid), a(step.owner.person_gid);
}

template <class A>
void fields(A& a, std::pair<std::string, std::string>& pair) {
  a(pair.first), a(pair.second);
}

template <class A>
void fields(A& a, kernel::CgroupPlan& cgroup) {
  a(cgroup.directory), a(cgroup.join), a(cgroup.writes), a(cgroup.uses);
}

template <class A>
void fields(A& a, kernel::LandlockRule& rule) {
  a(rule.path), a(rule.rights), a(rule.device), a(rule.inode);
}

template <class A>
void fields(A& a, kernel::Rlimit& limit) {
  a(limit.resource), a(limit.value);
}

template <class A>
void fields(A& a, Watch& watch) {
  a(watch.wall_time), a(watch.cpu_time), a(watch.idle_time), a(watch.memory), a(watch.pids),
      a(watch.disk);
  a(watch.inodes), a(watch.measured), a(watch.measured_disk), a(watch.measured_inodes),
      a(watch.measured_whole), a(watch.kernel_memory), a(watch.kernel_pids), a(watch.kernel_disk),
      a(watch.kernel_inodes);
}

template <class A>
void fields(A& a, NetworkPlan& network) {
  a(network.enabled), a(network.addresses), a(network.rules), a(network.log_rule),
      a(network.log_listen), a(network.ipv6), a(network.port);
}

template <class A>
void fields(A& a, Plan& plan) {
  a(plan.id), a(plan.container), a(plan.privileged), a(plan.namespaces);
  a(plan.ids.inside_uid), a(plan.ids.outside_uid), a(plan.ids.inside_gid), a(plan.ids.outside_gid),
      a(plan.ids.count);
  a(plan.ids.sub_uid), a(plan.ids.sub_gid), a(plan.ids.sub_count);
  a(plan.hostname);
  a(plan.boot.runtime), a(plan.boot.argv), a(plan.boot.carried), a(plan.boot.config),
      a(plan.boot.proc);
  fields(a, plan.network);
  a(plan.own_root), a(plan.steps), a(plan.root_attributes), a(plan.cgroups), a(plan.sweep);
  a(plan.new_keyring), a(plan.undumpable), a(plan.drop_capabilities), a(plan.capabilities),
      a(plan.no_new_privs);
  a(plan.landlock.handled_files), a(plan.landlock.handled_net), a(plan.landlock.scoped),
      a(plan.landlock.rules);
  a(plan.landlock_own_proc), a(plan.rlimits), a(plan.close_descriptors), a(plan.seccomp);
  a(plan.argv), a(plan.env), a(plan.cwd), a(plan.search_path);
  for (int& index : plan.stdio) a(index);
  a(plan.rows), a(plan.columns), a(plan.hold), a(plan.space), a(plan.space_folders),
      a(plan.space_bytes), a(plan.space_inodes), a(plan.space_files), a(plan.discard),
      a(plan.living), a(plan.directory), a(plan.scratch);
  fields(a, plan.watch);
}

template <class T>
void Writer::operator()(std::vector<T>& list) {
  count(list.size());
  for (T& item : list) fields(*this, item);
}

template <class T>
void Reader::operator()(std::vector<T>& list) {
  size_t size = count();
  list.clear();
  for (size_t i = 0; i < size && !failed_; ++i) fields(*this, list.emplace_back());
}

}  // namespace

std::string encode(const Plan& plan) {
  Writer writer;
  uint32_t version = kVersion;
  writer(version);
  writer.bytes.reserve(32 << 10);
  // The field lists serve both directions; a writer only reads.
  fields(writer, const_cast<Plan&>(plan));
  return std::move(writer.bytes);
}

Result<Plan> decode(std::string_view bytes) {
  Reader reader(bytes);
  uint32_t version = 0;
  reader(version);
  if (version != kVersion)
    return Error{Code::invalid, "read the plan: it is of another version",
                 "rebuild all of Paddock together"};
  Plan plan;
  fields(reader, plan);
  if (!reader.finished()) return Error{Code::invalid, "read the plan: it is malformed", ""};
  return plan;
}

}  // namespace paddock::launch
