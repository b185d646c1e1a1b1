// K30 names: sets the host name and the NIS domain to what they are.
// layers: seccomp caps
// process: seccomp caps
// control: run
// control(process user): kernel
#include <sys/utsname.h>

#include "hostile.h"

int main(void) {
  struct utsname names;
  if (uname(&names) == -1) stopped("uname");
  if (sethostname(names.nodename, strlen(names.nodename)) == 0) escaped("the host name is ours to set");
  if (setdomainname(names.domainname, strlen(names.domainname)) == 0) escaped("the domain name is ours to set");
  stopped("sethostname");
}
