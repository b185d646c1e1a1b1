// R04 page tables: one untouched-looking page in every 2 MiB costs a page of kernel memory that no resident set shows.
// layers: cgroup
// process: cgroup
// control: run
// flags: --memory 16M
// expect: limit=memory
#include <sys/mman.h>

#include "hostile.h"

enum { kLimitKiB = 16 * 1024, kMostKiB = 4 * kLimitKiB };

static const size_t kRegion = 2UL << 20;

static long page_tables_kib(void) {
  FILE* status = fopen("/proc/self/status", "re");
  if (!status) return 0;
  char line[256];
  long kib = 0;
  while (fgets(line, sizeof line, status)) {
    if (sscanf(line, "VmPTE: %ld", &kib) == 1) break;
  }
  fclose(status);
  return kib;
}

int main(void) {
  size_t regions = kMostKiB / 4 + 64;
  // Readable only: neither committed memory nor data. Reading maps the shared zero page, and pays for the table above it.
  volatile char* area = mmap(NULL, regions * kRegion, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (area == MAP_FAILED) held("mmap of %zu GiB: %s", regions * kRegion >> 30, strerror(errno));
  madvise((void*)area, regions * kRegion, MADV_NOHUGEPAGE);
  for (size_t i = 0; i < regions; ++i) (void)area[i * kRegion];
  usleep(300 * 1000);
  long kib = page_tables_kib();
  if (kib >= kMostKiB) escaped("%ld KiB of page tables under a limit of %d KiB", kib, kLimitKiB);
  held("%ld KiB of page tables", kib);
}
