// Part of every program that is built with AddressSanitizer: what it must not do inside a sandbox.
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

// Uses nothing that the sanitizer intercepts, because it is not ready yet. The guest and everything
// it starts have PADDOCK in their environment.
__attribute__((no_sanitize("address", "undefined"))) bool is_inside() {
  static char environment[4096];
  long fd = ::syscall(SYS_open, "/proc/self/environ", O_RDONLY);
  long size = fd < 0 ? 0 : ::syscall(SYS_read, fd, environment, sizeof environment);
  if (fd >= 0) ::syscall(SYS_close, fd);
  const char* wanted = "PADDOCK=";
  for (long at = 0, matched = 0; at < size; ++at) {
    bool at_start = at == 0 || environment[at - 1] == '\0';
    matched = environment[at] == wanted[matched] && (matched > 0 || at_start) ? matched + 1 : 0;
    if (wanted[matched] == '\0') return true;
  }
  return false;
}

}  // namespace

// Inside, nobody may change limits, and nobody may trace a process to look for leaks.
extern "C" __attribute__((no_sanitize("address", "undefined"))) const char*
__asan_default_options() {
  return is_inside() ? "disable_coredump=0:detect_leaks=0" : "";
}
