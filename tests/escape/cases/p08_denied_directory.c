// P08 a denied directory: lists it, enters it, guesses names in it, and climbs back into it from outside.
// layers: masks
// process: none
// control: run
// flags: --deny /usr/share/common-licenses
#include <dirent.h>

#include "hostile.h"

#define DIRECTORY "/usr/share/common-licenses"

int main(void) {
  const char* guesses[] = {DIRECTORY "/GPL-3", DIRECTORY "/BSD", DIRECTORY "/./BSD", "/proc/self/root" DIRECTORY "/BSD",
                           "/usr/share/doc/../common-licenses/BSD", "/usr/share//common-licenses//BSD"};
  for (unsigned i = 0; i < sizeof guesses / sizeof *guesses; ++i) {
    struct stat now;
    if (stat(guesses[i], &now) == 0) escaped("%s is there", guesses[i]);
    if (open(guesses[i], O_RDONLY | O_CLOEXEC) >= 0) escaped("%s opens", guesses[i]);
  }
  int error = errno;
  DIR* list = opendir(DIRECTORY);
  struct dirent* entry;
  while (list && (entry = readdir(list))) {
    if (entry->d_name[0] != '.') escaped("%s/%s is listed", DIRECTORY, entry->d_name);
  }
  if (list) {
    int made = openat(dirfd(list), "new", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    if (made >= 0) escaped("made a file in the denied directory");
    if (chdir(DIRECTORY) == 0 && chdir("..") == 0 && access("common-licenses/BSD", F_OK) == 0) escaped("entered from the side");
  }
  held("%s", strerror(error));
}
