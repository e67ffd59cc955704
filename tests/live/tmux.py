# SPDX-License-Identifier: Apache-2.0
"""A real terminal: tmux, whose keys are typed and whose screen is read."""

import contextlib
import itertools
import shlex
import subprocess

from services import JESCOPE, environment, wait_for


NUMBERS = itertools.count()


class Tmux:
    def __init__(self, scratch, columns, rows):
        self.socket = str(scratch / f"tmux{next(NUMBERS)}")
        self.scratch = scratch
        self.size = ("-x", str(columns), "-y", str(rows))
        self.errors = scratch / "tmux-stderr"

    def do(self, *words, check=True):
        return subprocess.run(["tmux", "-f", "/dev/null", "-S", self.socket, *words], env=environment(self.scratch, TERM="xterm-256color"),
                              check=check, capture_output=True, text=True, timeout=180).stdout

    def start(self, *words):
        """A shell with job control that runs jescope and then prints its status."""
        self.do("new-session", "-d", *self.size, "exec bash --norc --noprofile -i")
        command = shlex.join([str(JESCOPE), *map(str, words)])
        self.press(f"clear; {command} 2>{shlex.quote(str(self.errors))}; echo status $?", "Enter")

    @property
    def screen(self):
        return self.do("capture-pane", "-p")

    def wait(self, *texts):
        """Until all of them are on the screen."""
        seen = []

        def there():
            seen[:] = [self.screen]
            return all(text in seen[0] for text in texts)
        try:
            wait_for(there, texts)
        except AssertionError as error:
            raise AssertionError(f"{texts} not on the screen:\n{seen[0]}\n{self.errors.read_text()}") from error
        return seen[0]

    def press(self, *keys):
        self.do("send-keys", *keys)

    def wait_for_shell(self):
        """Until jescope is not in the foreground: it would read, or discard, what is typed."""
        wait_for(lambda: self.do("display-message", "-p", "#{pane_current_command}").strip() == "bash", "the shell is in the foreground")

    def pid(self):
        """Of jescope."""
        shell = int(self.do("display-message", "-p", "#{pane_pid}"))
        return int(subprocess.run(["pgrep", "-P", str(shell)], capture_output=True, text=True, check=True).stdout)


@contextlib.contextmanager
def tmux(scratch, *words, columns=100, rows=30):
    terminal = Tmux(scratch, columns, rows)
    terminal.start(*words)
    try:
        yield terminal
    finally:
        terminal.do("kill-server", check=False)
