"""The kernel's line to the server, and everything that the user's code prints.

Commands come and events go on private duplicates of descriptors 0 and 1. What the user's code has as 0, 1 and 2 is /dev/null
and two pipes, so that output of subprocesses and of C code becomes events too. Python's own writes do not go through the
pipes: one print is one event, at once and in order.
"""
import codecs
import datetime
import fcntl
import io
import json
import os
import select
import signal
import sys
import threading

from . import plain

INTERRUPT = {signal.SIGINT}
LONGEST_LINE = 16 << 20   # of one event; what is larger is not sent
LONGEST_TEXT = 1 << 20    # of one stdout or stderr event
LONGEST_DRAIN = 2 << 20   # a writer in the background cannot hold up the end of a cell


def private(fd):
    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 64)


def now():
    return datetime.datetime.now(datetime.timezone.utc).isoformat()


def parse(line):
    """A command; None for what a server that died in the middle has left."""
    try:
        command = json.loads(line)
    except ValueError:
        return None
    return command if isinstance(command, dict) else None


class Pipe:
    """What was written to descriptor 1 or 2 by somebody who knows nothing of us."""

    def __init__(self, target, name):
        reader, writer = os.pipe()
        os.dup2(writer, target)
        os.close(writer)
        self.fd = private(reader)
        os.close(reader)
        os.set_blocking(self.fd, False)
        self.name = name
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")


class Wire:
    def __init__(self):
        self.lock = threading.RLock()
        self.commands_fd, self.events_fd = private(0), private(1)
        nowhere = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nowhere, 0)
        os.close(nowhere)
        self.pipes = [Pipe(1, "stdout"), Pipe(2, "stderr")]
        self.cell = 0           # the one that runs; 0: none, and what is printed then is nobody's
        self.is_child = False
        self.held = b""         # lines that go with the next one
        sys.stdin = open(0, closefd=False)
        sys.stdout, sys.stderr = Output(self, 1, "stdout"), Output(self, 2, "stderr")
        sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr
        os.register_at_fork(before=self.flush, after_in_child=self.leave)
        self.start_reader()

    def leave(self):
        """A forked child of the user's code: it has the pipes like any other program, and the line is not its."""
        self.is_child = True
        self.lock = threading.RLock()
        for fd in (self.commands_fd, self.events_fd):
            os.close(fd)

    def start_reader(self):
        # Signals are for the main thread: it is the one to be interrupted.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        threading.Thread(target=self.read_pipes, name="paddock-output", daemon=True).start()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def read_pipes(self):
        waiting = select.poll()
        for pipe in self.pipes:
            waiting.register(pipe.fd, select.POLLIN)
        while True:
            waiting.poll()
            with self.lock:
                self.flush_python()
                self.drain()

    def drain(self):
        left = LONGEST_DRAIN
        for pipe in self.pipes:
            while left > 0:
                try:
                    data = os.read(pipe.fd, 65536)
                except BlockingIOError:
                    break
                left -= len(data)
                text = pipe.decoder.decode(data)
                if text:
                    self.text(pipe.name, text)

    def flush_python(self):
        for stream in (sys.__stdout__, sys.__stderr__):
            stream.give()

    def flush(self):
        """Everything printed so far is on its way."""
        with self.lock:
            self.flush_python()
            self.drain()

    def commands(self):
        buffer = b""
        while True:
            line, newline, rest = buffer.partition(b"\n")
            if newline:
                buffer = rest
                command = parse(line)
                if command is not None:
                    yield command
                continue
            data = os.read(self.commands_fd, 1 << 20)
            if not data:
                return
            buffer += data

    def text(self, name, text):
        for start in range(0, len(text), LONGEST_TEXT):
            self.send({"type": name, "text": text[start:start + LONGEST_TEXT], "timestamp": now()})

    def send(self, event, cell=None, soon=False):
        """One event of the cell that runs. The only place that writes to the line. `soon`: with the next one, which saves the
        server a wake-up; for events that are followed by another at once, or that nobody is waiting for."""
        cell = self.cell if cell is None else cell
        if self.is_child or (cell == 0 and event["type"] != "ready"):
            return
        line = plain.to_json(event)
        while len(line) > LONGEST_LINE:  # without the largest of its formats
            largest = max((key for key in event if key != "type"), key=lambda key: len(plain.to_json(event[key])))
            event = {**event, largest: f"… ({largest} is larger than {LONGEST_LINE >> 20} MiB)"}
            line = plain.to_json(event)
        with self.lock:
            self.held += b"%d %s\n" % (cell, line)
            if not soon:
                self.write_held()

    def write_held(self):
        # An interrupt waits for the end of the line.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, INTERRUPT)
        try:
            view, self.held = memoryview(self.held), b""
            while view:
                view = view[os.write(self.events_fd, view):]
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Output(io.TextIOBase):
    """sys.stdout or sys.stderr: an event per line or flush."""

    encoding, errors, newlines, line_buffering = "utf-8", "replace", None, True

    def __init__(self, wire, fd, name):
        self._wire, self._fd, self.name = wire, fd, f"<{name}>"
        self._event, self._parts, self._size = name, [], 0
        self.buffer = Bytes(self)

    def write(self, text):
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        if self._wire.is_child:
            os.write(self._fd, text.encode("utf-8", "replace"))
            return len(text)
        with self._wire.lock:
            if text:
                self._parts.append(text)
                self._size += len(text)
                if text[-1] == "\n" or self._size > 16384:
                    self.flush()
        return len(text)

    def flush(self):
        if self._wire.is_child or not self._parts:
            return
        with self._wire.lock:
            self._wire.drain()  # what a subprocess has written stands before this
            self.give()

    def give(self):
        text, self._parts, self._size = "".join(self._parts), [], 0
        if text:
            self._wire.text(self._event, text)

    def writable(self):
        return True

    def fileno(self):
        return self._fd

    def isatty(self):
        return False

    def reconfigure(self, **_):
        pass

    def close(self):
        self.flush()


class Bytes(io.BufferedIOBase):
    """sys.stdout.buffer."""

    def __init__(self, text):
        self._text, self._decoder = text, codecs.getincrementaldecoder("utf-8")("replace")

    def write(self, data):
        self._text.write(self._decoder.decode(bytes(data)))
        return len(data)

    def writable(self):
        return True

    def flush(self):
        self._text.flush()

    def fileno(self):
        return self._text.fileno()
