// Whether anything of the caller came along: variables, descriptors, memory, namespaces.
#include <dirent.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/text.h"
#include "probe/probe.h"

namespace paddock::probe {

namespace {

const Answers kAnswers("surroundings");

// Every variable must be declared by the policy or set by Paddock itself.
void look_for_variables(const Targets& targets) {
  std::vector<std::string> others;
  for (char** entry = environ; *entry; ++entry) {
    std::string name = std::string(*entry).substr(0, std::string(*entry).find('='));
    if (std::find(targets.environment.begin(), targets.environment.end(), name) ==
        targets.environment.end())
      others.push_back(name);
  }
  if (others.empty())
    kAnswers.held("see undeclared variables", "only what is declared is there");
  else
    kAnswers.failed("see undeclared variables", join(others, ", "));
}

// The descriptor of the listing itself does not count.
void look_for_descriptors() {
  DIR* folder = ::opendir("/proc/self/fd");
  if (!folder) return kAnswers.untried("inherit a descriptor", std::strerror(errno));
  std::vector<std::string> others;
  while (dirent* entry = ::readdir(folder)) {
    int number = std::atoi(entry->d_name);
    if (number > 2 && number != ::dirfd(folder)) others.push_back(entry->d_name);
  }
  ::closedir(folder);
  if (others.empty())
    kAnswers.held("inherit a descriptor", "only 0, 1 and 2 are open");
  else
    kAnswers.failed("inherit a descriptor", cat("open: ", join(others, ", ")));
}

// Ids of System V memory are per namespace: the same number inside may be other memory.
void share_memory(const Targets& targets) {
  const char* probe = "read System V memory of the host";
  void* memory = ::shmat(targets.shared_memory, nullptr, SHM_RDONLY);
  if (memory == reinterpret_cast<void*>(-1)) return kAnswers.held(probe, std::strerror(errno));
  bool same =
      std::strncmp(static_cast<const char*>(memory), targets.shared_text.c_str(), 4095) == 0;
  (void)::shmdt(memory);
  if (same)
    kAnswers.failed(probe, "what the host wrote can be read");
  else
    kAnswers.held(probe, "its number belongs to other memory here");
}

// The link of /proc/self/ns holds the inode, which names a namespace.
void compare_namespaces(const Targets& targets) {
  for (const auto& [name, host] : targets.namespaces) {
    char own[64] = {};
    std::string probe = cat("share the ", name, " namespace");
    if (::readlink(cat("/proc/self/ns/", name).c_str(), own, sizeof own - 1) <= 0)
      kAnswers.untried(probe, std::strerror(errno));
    else if (host == own)
      kAnswers.failed(probe, cat(own, " is the host's"));
    else
      kAnswers.held(probe, own);
  }
}

// RLIMIT_CORE of 0 keeps core files away; 1 also keeps the kernel from starting a core handler on
// the host (fs/coredump.c).
void leave_core_file() {
  rlimit limit;
  bool small = ::getrlimit(RLIMIT_CORE, &limit) == 0 && limit.rlim_max <= 1;
  if (small)
    kAnswers.held("leave a core file", cat("RLIMIT_CORE is ", limit.rlim_max));
  else
    kAnswers.failed("leave a core file", "RLIMIT_CORE allows it");
}

}  // namespace

// Everything that could have come along by inheritance.
void check_surroundings(const Targets& targets) {
  look_for_variables(targets);
  look_for_descriptors();
  share_memory(targets);
  compare_namespaces(targets);
  leave_core_file();
}

}  // namespace paddock::probe
