"""A PostgreSQL server in the fake Internet, at db.example."""
import contextlib
import glob
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from support import paddock

NOBODY = 65534  # it wants a user with an account, and not root


def _programs():
    for folder in sorted(glob.glob("/usr/lib/postgresql/*/bin"), reverse=True):
        if os.path.exists(os.path.join(folder, "initdb")):
            return folder
    raise unittest.SkipTest("PostgreSQL's server is not installed (apt-get install postgresql)")


@contextlib.contextmanager
def running(net):
    """A server that trusts everybody, with the user `tester`."""
    programs, data = _programs(), tempfile.mkdtemp(prefix="paddock-test-postgres-")
    os.chown(data, NOBODY, NOBODY)
    quiet = {"env": paddock.environment("user"), "cwd": "/", "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}

    def as_nobody(program, *arguments):
        return net.world.enter(mount=False) + ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--",
                                               os.path.join(programs, program), *arguments]

    try:
        subprocess.run(as_nobody("initdb", "-D", data, "-U", "tester", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C"), check=True, **quiet)
        with open(os.path.join(data, "pg_hba.conf"), "w") as file:
            file.write("host all all all trust\n")
        server = subprocess.Popen(as_nobody("postgres", "-D", data, "-h", "*", "-k", data, "-F"), **quiet)
        try:
            while subprocess.run(as_nobody("pg_isready", "-q", "-h", "127.0.0.1"), **quiet).returncode != 0:
                if server.poll() is not None:
                    raise AssertionError(f"PostgreSQL did not start: exit {server.returncode}")
                time.sleep(0.05)
            yield
        finally:
            server.send_signal(signal.SIGINT)
            server.wait()
    finally:
        shutil.rmtree(data, ignore_errors=True)
