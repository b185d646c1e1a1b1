// F10 environment: looks for variables of the caller that make programs load or run something.
// layers: env
// process: env
// control: run
#include "hostile.h"

extern char** environ;

int main(void) {
  static const char* const kPrefixes[] = {"LD_", "BASH_ENV", "ENV=", "GIT_", "NODE_OPTIONS", "PYTHONSTARTUP", "PYTHONPATH", "PERL5",
                                          "RUBYOPT", "GCONV_PATH", "LOCPATH", "SSH_AUTH_SOCK", "DBUS_", "XDG_RUNTIME_DIR", "DISPLAY"};
  for (char** variable = environ; *variable; ++variable) {
    for (size_t i = 0; i < sizeof kPrefixes / sizeof *kPrefixes; ++i) {
      if (strncmp(*variable, kPrefixes[i], strlen(kPrefixes[i])) == 0) escaped("%s came in", *variable);
    }
  }
  held("nothing of the caller's environment");
}
