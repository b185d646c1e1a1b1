# System V semaphores are memory of the kernel.
import ctypes, sys
libc = ctypes.CDLL(None)
made = 0
for _ in range(3000):
    if libc.semget(0, 32000, 0o1600) < 0:
        break
    made += 1
print(made, "sets")
sys.exit(1 if made < 600 else 0)
