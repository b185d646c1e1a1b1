# Much to look at in /proc: no clock may wait for that.
import os, time
for _ in range(40):
    if os.fork() == 0:
        for _ in range(900):
            os.open("/dev/null", os.O_RDONLY)
        time.sleep(60)
        os._exit(0)
time.sleep(60)
