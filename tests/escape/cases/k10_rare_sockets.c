// K10 rare socket families, each with a history of kernel bugs.
// layers: seccomp
// process: seccomp
// control: observe
#include <sys/socket.h>

#include "hostile.h"

int main(void) {
  // A type that no family has: the filter answers EPERM or EACCES, a reached kernel says that the family or type is unknown.
  static const int kFamilies[] = {AF_ALG, AF_PACKET, AF_KEY, AF_TIPC, AF_RDS, AF_CAN, AF_BLUETOOTH, AF_XDP, AF_NFC, AF_KCM, AF_SMC,
                                  AF_PPPOX, AF_APPLETALK, AF_IPX, AF_X25, AF_AX25, AF_ROSE, AF_PHONET, AF_IEEE802154, AF_QIPCRTR};
  for (size_t i = 0; i < sizeof kFamilies / sizeof *kFamilies; ++i) {
    if (socket(kFamilies[i], 9, 0) >= 0) escaped("family %d is open", kFamilies[i]);
    if (errno == EAFNOSUPPORT || errno == ESOCKTNOSUPPORT || errno == EPROTONOSUPPORT) {
      escaped("family %d reached the kernel: %s", kFamilies[i], strerror(errno));
    }
  }
  stopped("socket");
}
