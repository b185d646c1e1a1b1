// P03 changes the system: creates, renames and deletes in /usr, /bin and /lib, which the host would later run.
// layers: read_only landlock uid
// process: landlock uid
// users: root
// control: run
#include "hostile.h"

static const char* const kDirectories[] = {"/usr", "/usr/bin", "/usr/lib", "/usr/local/bin", "/lib", "/bin", "/sbin", "/etc/alternatives"};

int main(void) {
  int error = 0;
  for (unsigned i = 0; i < sizeof kDirectories / sizeof *kDirectories; ++i) {
    char path[256], other[256];
    snprintf(path, sizeof path, "%s/.probe-%d", kDirectories[i], getpid());
    snprintf(other, sizeof other, "%s/.probe-%d-b", kDirectories[i], getpid());
    int file = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    int made = file >= 0;
    if (!made) error = errno;
    made |= mkdir(other, 0700) == 0;
    made |= symlink("x", other) == 0;
    made |= mknod(other, S_IFIFO | 0600, 0) == 0;
    unlink(path);
    unlink(other);
    rmdir(other);
    if (made) escaped("made a file in %s", kDirectories[i]);
    if (truncate("/usr/share/common-licenses/BSD", 1 << 20) == 0) escaped("truncated a file of the host");
  }
  held("%s", strerror(error));
}
