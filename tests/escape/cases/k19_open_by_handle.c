// K19 open_by_handle_at: opens a file by inode number, past every directory (the "shocker" attack on early Docker).
// layers: seccomp caps user_ns
// process: seccomp caps
// control: run
// control(user): kernel
#include "hostile.h"

int main(void) {
  union {
    struct file_handle handle;
    char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
  } file;
  file.handle.handle_bytes = MAX_HANDLE_SZ;
  int mount_id;
  if (name_to_handle_at(AT_FDCWD, "/usr/bin", &file.handle, &mount_id, 0) == -1) stopped("name_to_handle_at");
  int mount = open("/usr", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (mount == -1) stopped("open /usr");
  if (open_by_handle_at(mount, &file.handle, O_RDONLY | O_CLOEXEC) >= 0) escaped("any inode of the host's disk can be opened");
  stopped("open_by_handle_at");
}
