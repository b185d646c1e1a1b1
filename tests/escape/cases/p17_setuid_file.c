// P17 leaves a setuid program for the host: chmod in all its forms, creation with the bit set, other system call tables, attributes.
// layers: seccomp
// process: seccomp
// control: run
// flags: --workspace {workspace}:rw
// flags(process root):
#include <linux/openat2.h>
#include <sys/mman.h>

#include "hostile.h"

enum { kFchmodat2 = 452, kSpecial = S_ISUID | S_ISGID };

static char path[300];
static int file = -1;

static void fresh(void) {
  if (file >= 0) close(file);
  unlink(path);
  file = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0755);
  if (file < 0) cannot("open %s: %s", path, strerror(errno));
}

static void check(const char* how) {
  struct stat now;
  if (lstat(path, &now) == 0 && (now.st_mode & kSpecial) && !S_ISDIR(now.st_mode)) {
    unlink(path);
    escaped("%s gave mode %o", how, now.st_mode & 07777);
  }
}

static void by_chmod(mode_t mode) {
  fresh();
  chmod(path, mode);
  check("chmod");
  fchmod(file, mode);
  check("fchmod");
  fchmodat(AT_FDCWD, path, mode, 0);
  check("fchmodat");
  syscall(kFchmodat2, AT_FDCWD, path, mode, 0);
  check("fchmodat2");
  syscall(kFchmodat2, file, "", mode, AT_EMPTY_PATH);
  check("fchmodat2 with an empty path");
  // The kernel looks at 16 bits of the mode; a filter that compares more can be fooled.
  syscall(SYS_chmod, path, 0xffff0000UL | mode);
  check("chmod with high bits");
  syscall(SYS_fchmod, (0xdeadUL << 32) | (unsigned)file, 0x100000000UL | mode);
  check("fchmod with bits above 32");
}

static void by_creation(mode_t mode) {
  umask(0);
  struct open_how how = {.flags = O_CREAT | O_WRONLY | O_CLOEXEC, .mode = mode};
  for (int kind = 0; kind < 7; ++kind) {
    unlink(path);
    int made = -1;
    switch (kind) {
      case 0: made = (int)syscall(SYS_open, path, O_CREAT | O_WRONLY, mode); break;
      case 1: made = (int)syscall(SYS_creat, path, mode); break;
      case 2: made = (int)syscall(SYS_openat, AT_FDCWD, path, O_CREAT | O_WRONLY, mode); break;
      case 3: made = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how); break;
      case 4: mknod(path, S_IFREG | mode, 0); break;
      case 5: mknodat(AT_FDCWD, path, S_IFIFO | mode, 0); break;
      case 6: made = (int)syscall(SYS_openat, AT_FDCWD, path, O_CREAT | O_WRONLY, 0xffff0000UL | mode); break;
    }
    if (made >= 0) close(made);
    char what[32];
    snprintf(what, sizeof what, "creation number %d", kind);
    check(what);
  }
  // A file without a name, given one afterwards.
  unlink(path);
  char directory[300], through[64];
  snprintf(directory, sizeof directory, "%s", path);
  *strrchr(directory, '/') = '\0';
  int nameless = open(directory, O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
  snprintf(through, sizeof through, "/proc/self/fd/%d", nameless);
  if (nameless >= 0) (void)!linkat(AT_FDCWD, through, AT_FDCWD, path, AT_SYMLINK_FOLLOW);
  check("O_TMPFILE and linkat");
  if (nameless >= 0) close(nameless);
}

#ifdef __x86_64__
// The 32-bit table has its own numbers: chmod is 15, and 306 is fchmodat.
static void by_other_tables(mode_t mode) {
  fresh();
  char* low = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
  if (low == MAP_FAILED) return;
  strcpy(low, path);
  pid_t child = fork();
  if (child == 0) {
    long result = 15;
    __asm__ volatile("int $0x80" : "+a"(result) : "b"(low), "c"((long)mode) : "memory", "r8", "r9", "r10", "r11");
    _exit(0);
  }
  waitpid(child, NULL, 0);
  check("chmod by int 0x80");
  child = fork();
  if (child == 0) {
    syscall(0x40000000 | SYS_chmod, path, mode);
    _exit(0);
  }
  waitpid(child, NULL, 0);
  check("chmod of the x32 table");
}
#else
static void by_other_tables(mode_t mode) { (void)mode; }
#endif

int main(void) {
  const char* tmp = getenv("TMPDIR");
  const char* places[] = {"/workspace", tmp ? tmp : "/tmp"};
  mode_t modes[] = {04755, 02755, 06711};
  for (int p = 0; p < 2; ++p) {
    if (access(places[p], W_OK) != 0) continue;
    snprintf(path, sizeof path, "%s/setuid-%d", places[p], getpid());
    for (int m = 0; m < 3; ++m) {
      by_chmod(modes[m]);
      by_creation(modes[m]);
      by_other_tables(modes[m]);
    }
    unlink(path);
  }
  held("%s", strerror(errno));
}
