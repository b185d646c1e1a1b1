# The name of a process is no statement about its memory.
import ctypes, time
ctypes.CDLL(None).prctl(15, b"RssAnon: 0")
block = bytearray(400 << 20)
time.sleep(1)
