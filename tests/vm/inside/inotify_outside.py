import ctypes
print("the host still can" if ctypes.CDLL(None).inotify_init() >= 0 else "the host cannot any more")
