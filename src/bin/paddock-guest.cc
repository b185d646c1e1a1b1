// paddock-guest: the first process of a living sandbox; started by paddock-launch.
#include <unistd.h>

int main() { return 125; }
