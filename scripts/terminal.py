#!/usr/bin/env python3
"""Runs a bash script in a pseudo-terminal and prints what a person would see: `scripts/terminal.py SCRIPT [COLUMNS]`.

A line `\\x1etype:DELAY:TEXT` in the output makes it type TEXT (with backslash escapes) DELAY seconds after the next output,
or after three times DELAY seconds without output; the line itself is not printed. Exits with the exit code of the script.
"""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

TYPE = re.compile(rb"\x1etype:([0-9.]+):([^\r\n]*)\r?\n")


# A script that prints nothing for this many seconds hangs, and is ended.
LIMIT = 240


def run(script: str, columns: int = 180, out=None, environment=None, folder=None) -> int:
    """Runs the script; `out` receives the bytes it prints."""
    heard = time.monotonic()
    pid, master = pty.fork()
    if pid == 0:
        # A parent that runs in the background ignores these, and bash could not change that.
        for name in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
            signal.signal(name, signal.SIG_DFL)
        if folder:
            os.chdir(folder)
        os.execvpe("bash", ["bash", "--norc", "--noprofile", script], environment or dict(os.environ))
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    pending, held = [], b""
    while True:
        now = time.monotonic()
        if now - heard > LIMIT:
            os.kill(pid, signal.SIGKILL)
            break
        for _, _, text in [it for it in pending if it[0] <= now]:
            os.write(master, text)
        pending = [it for it in pending if it[0] > now]
        ready, _, _ = select.select([master], [], [], 0.05)
        if not ready:
            continue
        try:
            read = os.read(master, 65536)
        except OSError:
            break
        if not read:
            break
        heard = now
        pending = [(min(due, now + delay), delay, text) for due, delay, text in pending]
        held += read
        while match := TYPE.search(held):
            text = match.group(2).decode().encode().decode("unicode_escape").encode()
            delay = float(match.group(1))
            # On a busy machine a program starts late: without output it gets more time.
            wait = delay if held[match.end():].strip() else 3 * delay
            pending.append((now + wait, delay, text))
            held = held[: match.start()] + held[match.end():]
        # A marker may be cut in two: keep the last line back while it could become one.
        cut = held.rfind(b"\x1e")
        whole = held if cut < 0 or b"\n" in held[cut:] else held[:cut]
        held = held[len(whole):]
        if out:
            out(whole)
    if out:
        out(held)
    # Closing the terminal sends SIGHUP to programs that still run in it.
    os.close(master)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status)


def main() -> None:
    def out(some: bytes) -> None:
        sys.stdout.buffer.write(some)
        sys.stdout.buffer.flush()

    columns = int(sys.argv[2]) if len(sys.argv) > 2 else 180
    sys.exit(run(sys.argv[1], columns, out))


if __name__ == "__main__":
    main()
