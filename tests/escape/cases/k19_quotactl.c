// K19 quotactl: asks every file system of the host to sync its quotas.
// layers: seccomp
// process: seccomp
// control: run
#include <sys/quota.h>

#include "hostile.h"

int main(void) { judge_reach("quotactl(Q_SYNC)", quotactl(QCMD(Q_SYNC, USRQUOTA), NULL, 0, NULL)); }
