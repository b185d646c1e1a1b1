# A nameless file in the descriptor table of one thread.
import ctypes, os, threading, time
def fill():
    ctypes.CDLL(None).unshare(0x400)  # CLONE_FILES
    fd = os.memfd_create("block")
    for _ in range(400):
        os.write(fd, bytes(1 << 20))
    time.sleep(1)
thread = threading.Thread(target=fill)
thread.start()
thread.join()
