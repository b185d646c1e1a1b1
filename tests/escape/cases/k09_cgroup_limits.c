// K09 own limits: opens the limit files of its own cgroup, v1 and v2, for writing.
// layers: mount_ns landlock uid
// process: landlock uid
// control: observe
// control(user): kernel
#include "hostile.h"

static int last = ENOENT;

static void try_files(const char* hierarchy, const char* group) {
  static const char* const kFiles[] = {"memory.limit_in_bytes", "memory.max", "pids.max", "cpu.max", "cpu.cfs_quota_us",
                                       "cgroup.freeze"};
  for (size_t i = 0; i < sizeof kFiles / sizeof *kFiles; ++i) {
    char path[4096];
    snprintf(path, sizeof path, "/sys/fs/cgroup%s%s/%s", hierarchy, group, kFiles[i]);
    if (open(path, O_WRONLY | O_CLOEXEC) >= 0) escaped("%s is open for writing", path);
    if (errno != ENOENT) last = errno;
  }
}

int main(void) {
  static const char* const kHierarchies[] = {"", "/unified", "/memory", "/pids", "/cpu", "/cpu,cpuacct"};
  FILE* groups = fopen("/proc/self/cgroup", "re");
  if (!groups) stopped("/proc/self/cgroup");
  for (char line[4096]; fgets(line, sizeof line, groups);) {
    char* colon = strchr(line, ':');
    char* group = colon ? strchr(colon + 1, ':') : NULL;
    if (!group) continue;
    group[strcspn(group, "\n")] = '\0';
    for (size_t i = 0; i < sizeof kHierarchies / sizeof *kHierarchies; ++i) try_files(kHierarchies[i], group + 1);
  }
  held("%s", strerror(last));
}
