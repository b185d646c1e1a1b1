// P12 forged overlay marks: redirects, metacopies and whiteouts written into the copied workspace, to make another directory appear in it.
// layers: mount_ns landlock
// process: none
// control: kernel
// flags: --workspace {workspace}:copy --discard
#include <dirent.h>
#include <sys/xattr.h>

#include "hostile.h"

static const char* const kPrefixes[] = {"user.overlay.", "trusted.overlay.", "user.overlay.overlay."};

static void mark(const char* path, const char* name, const char* value) {
  for (unsigned i = 0; i < sizeof kPrefixes / sizeof *kPrefixes; ++i) {
    char full[128];
    snprintf(full, sizeof full, "%s%s", kPrefixes[i], name);
    setxattr(path, full, value, strlen(value), 0);
  }
}

int main(void) {
  if (chdir("/workspace") != 0) cannot("/workspace: %s", strerror(errno));
  const char* targets[] = {"/", "/etc", "/../../../etc", "/var/lib", "/root"};
  char name[64];
  for (unsigned i = 0; i < sizeof targets / sizeof *targets; ++i) {
    snprintf(name, sizeof name, "forged-%u", i);
    if (mkdir(name, 0700) != 0) cannot("mkdir: %s", strerror(errno));
    mark(name, "redirect", targets[i]);
    mark(name, "opaque", "x");
    snprintf(name, sizeof name, "file-%u", i);
    int file = open(name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    if (file >= 0) close(file);
    mark(name, "redirect", "/etc/shadow");
    mark(name, "metacopy", "");
    mark(name, "origin", "");
  }
  if (mknod("whiteout", S_IFCHR | 0600, 0) == 0) escaped("made a whiteout device");
  for (unsigned i = 0; i < sizeof targets / sizeof *targets; ++i) {
    // A new name makes the kernel look the directory up again.
    char moved[64];
    snprintf(name, sizeof name, "forged-%u", i);
    snprintf(moved, sizeof moved, "moved-%u", i);
    rename(name, moved);
    DIR* list = opendir(moved);
    struct dirent* entry;
    while (list && (entry = readdir(list))) {
      if (entry->d_name[0] != '.') escaped("%s shows %s", moved, entry->d_name);
    }
    if (list) closedir(list);
    struct stat now;
    snprintf(name, sizeof name, "file-%u", i);
    if (stat(name, &now) == 0 && now.st_size > 0) escaped("%s shows another file", name);
  }
  held("%s", strerror(errno));
}
