# A process whose first thread is gone still has its memory.
import ctypes, threading, time
def fill():
    time.sleep(0.5)
    block = bytearray(400 << 20)
    time.sleep(1)
threading.Thread(target=fill).start()
ctypes.CDLL(None).pthread_exit(None)
