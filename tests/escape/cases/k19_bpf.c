// K19 bpf: makes a BPF map, the first step to loading programs into the kernel.
// layers: seccomp caps user_ns
// process: seccomp caps
// control: run
// control(user): kernel
#include <linux/bpf.h>

#include "hostile.h"

int main(void) {
  union bpf_attr attributes;
  memset(&attributes, 0, sizeof attributes);
  attributes.map_type = BPF_MAP_TYPE_ARRAY;
  attributes.key_size = 4;
  attributes.value_size = 8;
  attributes.max_entries = 1;
  if (syscall(SYS_bpf, BPF_MAP_CREATE, &attributes, sizeof attributes) >= 0) escaped("a BPF map is ours");
  stopped("bpf");
}
