// K16 /proc/PARENT/fd: lists and opens the launcher's descriptors.
// layers: undumpable
// process: landlock caps
// process(user): landlock
// control: run
#include <dirent.h>

#include "hostile.h"

int main(void) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/fd", getppid());
  DIR* directory = opendir(path);
  if (!directory) stopped(path);
  int count = 0;
  for (struct dirent* entry; (entry = readdir(directory));) count += entry->d_name[0] != '.';
  if (count > 0) escaped("%d descriptors of the launcher are listed", count);
  held("the list is empty");
}
