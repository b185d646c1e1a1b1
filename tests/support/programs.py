"""Programs that take what they are not given, and tell how far they came."""

# How many processes there could be, and the errno of the one that could not.
FORK_BOMB = """
import os, time
made = 0
try:
    while made < 100:
        if os.fork() == 0:
            time.sleep(10)
            os._exit(0)
        made += 1
except OSError as error:
    print(made, error.errno)
time.sleep(0.3)
"""

# The name of the error, and how many bytes there could be.
FILL = """
import errno, os, time
name = os.path.join(os.environ['TMPDIR'], 'hog')
block, error, total = b'x' * 65536, None, 0
try:
    with open(name, 'wb', buffering=0) as file:
        while total < 60 << 20:
            total += file.write(block)
except OSError as problem:
    error = errno.errorcode[problem.errno]
time.sleep(0.3)
print(error, total)
"""

# The errno, and the highest descriptor.
MANY_DESCRIPTORS = """
import os
highest = 2
try:
    while highest < 500: highest = os.dup(0)
except OSError as problem:
    print(problem.errno, highest)
"""
