#!/usr/bin/env python3
"""Runs a command with a terminal as standard input and standard error: `scripts/at_terminal.py COMMAND ARGUMENT…`.

Standard output is that of this script. What the command writes to the terminal goes to standard error, without carriage
returns and control sequences. Passes SIGTERM on. Exits with the exit code of the command.
"""
import os
import pty
import re
import signal
import subprocess
import sys

CONTROL = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]|\r")


def main() -> int:
    master, terminal = pty.openpty()
    started = subprocess.Popen(sys.argv[1:], stdin=terminal, stderr=terminal)
    os.close(terminal)
    signal.signal(signal.SIGTERM, lambda *_: started.terminate())
    said = b""
    while True:
        try:
            read = os.read(master, 65536)
        except OSError:  # The last process closed the terminal.
            break
        if not read:
            break
        said += read
    code = started.wait()
    sys.stderr.buffer.write(CONTROL.sub(b"", said))
    return code


if __name__ == "__main__":
    sys.exit(main())
