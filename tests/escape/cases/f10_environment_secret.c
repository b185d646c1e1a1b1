// F10 environment: looks for a secret that the caller had in its own environment.
// layers: env
// process: env
// control: run
#include "hostile.h"

int main(void) {
  if (getenv("PADDOCK_ESCAPE_SECRET")) escaped("the caller's secret is in the environment");
  held("not in the environment");
}
