// inside: three kinds of work that time themselves, to compare the same program inside and outside
// of a wall. Prints nanoseconds. How long the wall took to start is not part of it.
//
//   inside cpu | inside spawn | inside files DIRECTORY
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr int kHashPasses = 24, kSpawns = 200, kFiles = 20'000, kFilesAtOnce = 1'000;

int64_t now_ns() {
  timespec time;
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

// Mixes 8 MB of memory again and again: arithmetic, and more memory than the inner caches hold.
bool use_cpu() {
  std::vector<uint64_t> words(1 << 20, 0x9e3779b97f4a7c15ULL);
  uint64_t hash = 14695981039346656037ULL;
  for (int pass = 0; pass < kHashPasses; ++pass)
    for (uint64_t& word : words) word = hash = (hash ^ word) * 1099511628211ULL;
  return hash != 0;
}

bool spawn_programs() {
  char program[] = "/bin/true";
  char* argv[] = {program, nullptr};
  for (int i = 0; i < kSpawns; ++i) {
    pid_t pid;
    int status;
    if (::posix_spawn(&pid, program, nullptr, nullptr, argv, environ) != 0) return false;
    if (::waitpid(pid, &status, 0) != pid || status != 0) return false;
  }
  return true;
}

// Makes, looks at and removes small files, a thousand standing at a time.
bool use_files(const std::string& directory) {
  if (::chdir(directory.c_str()) != 0) return false;
  struct stat info;
  char name[32];
  for (int first = 0; first < kFiles; first += kFilesAtOnce) {
    for (int i = first; i < first + kFilesAtOnce; ++i) {
      std::snprintf(name, sizeof name, "file-%d", i);
      int file = ::open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
      if (file < 0 || ::write(file, name, sizeof name) != sizeof name) return false;
      ::close(file);
    }
    for (int i = first; i < first + kFilesAtOnce; ++i) {
      std::snprintf(name, sizeof name, "file-%d", i);
      if (::stat(name, &info) != 0) return false;
    }
    for (int i = first; i < first + kFilesAtOnce; ++i) {
      std::snprintf(name, sizeof name, "file-%d", i);
      if (::unlink(name) != 0) return false;
    }
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  std::string work = argc > 1 ? argv[1] : "";
  int64_t begin = now_ns();
  bool worked = work == "cpu"                  ? use_cpu()
                : work == "spawn"              ? spawn_programs()
                : work == "files" && argc == 3 ? use_files(argv[2])
                                               : false;
  int64_t end = now_ns();
  if (!worked) {
    std::perror(("inside: " + work).c_str());
    return 1;
  }
  std::printf("%lld\n", static_cast<long long>(end - begin));
}
