// K34 no_new_privs: takes the flag back with prctl(PR_SET_NO_NEW_PRIVS, 0).
// layers: no_new_privs
// process: no_new_privs
// control: run
#include <sys/prctl.h>

#include "hostile.h"

int main(void) {
  prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0);
  if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1) escaped("no_new_privs is not set");
  held("no_new_privs stays");
}
