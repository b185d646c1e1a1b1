# Takes all the inotify instances it can get, and holds on to them.
import ctypes, time
libc = ctypes.CDLL(None)
count = 0
while count < 100_000 and libc.inotify_init() >= 0:
    count += 1
time.sleep(40)
