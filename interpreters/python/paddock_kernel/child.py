"""A language that is a process of its own beside its kernel: it never outlives the kernel, and interrupts are requests."""
import os
import signal
import subprocess
import time

# Ends the process group when the kernel, which holds the other end of the guard's input, is gone.
GUARD = "trap '' INT HUP TERM; read -r _; kill -9 -$1"
PATIENCE = 3.5  # seconds after which a process that was interrupted is replaced; the server ends the kernel after 5


class Stuck(Exception):
    """The process did not stop when it was interrupted."""


class Interrupts:
    """What the server asks for by SIGINT: noted by the handler, acted on by the loop that waits for the cell."""

    def __init__(self):
        self.fd, self.bell = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self.asked_at = None
        self.listening = False
        signal.signal(signal.SIGINT, self.take)

    def take(self, *_):
        if self.listening and self.asked_at is None:
            self.asked_at = time.monotonic()
            os.write(self.bell, b"!")

    def listen(self):
        self.asked_at = None
        self.listening = True

    def ignore(self):
        self.listening = False
        try:
            os.read(self.fd, 64)
        except BlockingIOError:
            pass


class Child:
    """The process, in a group of its own, and its guard."""

    def __init__(self, argv, **options):
        self.process = subprocess.Popen(argv, start_new_session=True, **options)
        self.guard = subprocess.Popen(["/bin/sh", "-c", GUARD, "paddock-guard", str(self.process.pid)], stdin=subprocess.PIPE,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        self.gone = os.pidfd_open(self.process.pid)

    def signal(self, number):
        try:
            os.killpg(self.process.pid, number)  # not reaped before end(), so the number is still the group's
        except ProcessLookupError:
            pass

    def end(self, kill=False):
        """Gives the exit code, negative for a signal."""
        if kill:
            self.signal(signal.SIGKILL)
        self.guard.kill()
        self.guard.wait()
        self.guard.stdin.close()
        code = self.process.wait()
        os.close(self.gone)
        return code
