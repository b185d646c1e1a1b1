// Only in coverage builds, linked with -Wl,--wrap=_exit. Keepers, guests and helpers end by _exit,
// which writes no counters; here it does. A process whose root holds no folder of counters cannot
// write any, and its part is lost.
extern "C" {

// As in libgcov of GCC 12. A child that shares our memory until its exec has dumped the counters
// for both, and what was counted since then would be left out.
struct GcovRoot {
  void* list;
  unsigned dumped : 1;
  unsigned run_counted : 1;
};
extern GcovRoot __gcov_root;
void __gcov_dump(void);
[[noreturn]] void __real__exit(int status);

[[noreturn]] void __wrap__exit(int status) {
  __gcov_root.dumped = 0;
  __gcov_dump();
  __real__exit(status);
}
}
