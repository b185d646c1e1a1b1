// K34 PR_SET_MM: makes /proc/self/exe point at another program, to fool whoever looks.
// layers: caps
// process: caps
// control: observe
// control(process user): kernel
#include <linux/prctl.h>
#include <sys/prctl.h>

#include "hostile.h"

int main(void) {
  int fd = open("/usr/bin/env", O_RDONLY | O_CLOEXEC);
  if (fd == -1) cannot("no /usr/bin/env");
  char line[4096] = "";
  int stat_file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  if (stat_file == -1 || read(stat_file, line, sizeof line - 1) <= 0) cannot("/proc/self/stat");
  unsigned long long field[60] = {0};
  char* rest = strrchr(line, ')');
  if (!rest) cannot("/proc/self/stat");
  rest += 3;  // past the state, which is field 3
  for (int i = 4; i < 52; ++i) field[i] = strtoull(rest, &rest, 10);
  struct prctl_mm_map map = {
      .start_code = field[26], .end_code = field[27], .start_stack = field[28], .start_data = field[45], .end_data = field[46],
      .start_brk = field[47], .brk = (uintptr_t)sbrk(0), .arg_start = field[48], .arg_end = field[49], .env_start = field[50],
      .env_end = field[51], .exe_fd = (uint32_t)fd,
  };
  long result = prctl(PR_SET_MM, PR_SET_MM_MAP, &map, sizeof map, 0);
  if (result == 0) escaped("/proc/self/exe is a lie");
  if (errno == EBUSY) escaped("/proc/self/exe can be changed once the old file is unmapped");
  stopped("PR_SET_MM_MAP");
}
