// K24 groups: looks whether the caller's supplementary groups came along.
// layers: code
// process: code
// users: root
// control: none
#include <grp.h>

#include "hostile.h"

int main(void) {
  gid_t groups[64];
  int count = getgroups(64, groups);
  if (count == -1) stopped("getgroups");
  for (int i = 0; i < count; ++i) {
    if (groups[i] != getgid()) escaped("group %d of the caller", groups[i]);
  }
  held("no group but our own");
}
