# SPDX-License-Identifier: Apache-2.0
"""jescope at a simulated terminal: its output with escape sequences, and its appearance."""

import contextlib
import fcntl
import os
import re
import select
import struct
import subprocess
import termios
import time

from services import DEADLINE, JESCOPE, environment

ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """A pseudo terminal of COLUMNS columns; .text is the output of a program."""

    def __init__(self, columns):
        self.master, self.slave = os.openpty()
        attributes = termios.tcgetattr(self.slave)
        attributes[1] &= ~termios.OPOST
        termios.tcsetattr(self.slave, termios.TCSANOW, attributes)
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.raw = b""

    @property
    def text(self):
        return self.raw.decode()

    def read(self, condition, process):
        """Until condition() or the end of what the program writes."""
        end = time.monotonic() + DEADLINE
        while not condition():
            assert time.monotonic() < end, f"not within {DEADLINE} s; so far {self.raw!r}"
            if select.select([self.master], [], [], 0.02)[0]:
                self.raw += os.read(self.master, 65536)
            elif process.poll() is not None:
                return

    def close(self):
        os.close(self.master)
        os.close(self.slave)


@contextlib.contextmanager
def at_terminal(scratch, *words, columns=80, streams=("stdout", "stderr"), stdin=subprocess.DEVNULL, **more):
    """Runs a command whose STREAMS are a terminal; the process and the terminal."""
    terminal = Terminal(columns)
    env = environment(scratch, **{"TERM": "xterm", **more})
    env.pop("COLUMNS", None)
    given = {stream: terminal.slave if stream in streams else subprocess.PIPE for stream in ("stdout", "stderr")}
    process = subprocess.Popen([JESCOPE, *map(str, words)], stdin=stdin, env=env, **given)
    try:
        yield process, terminal
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream:
                stream.close()
        terminal.close()


def shown(scratch, *words, **options):
    """All that a command writes on its terminal."""
    with at_terminal(scratch, *words, **options) as (process, terminal):
        terminal.read(lambda: False, process)
        return terminal.text
