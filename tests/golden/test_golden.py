# SPDX-License-Identifier: Apache-2.0
"""Command lines with the stdout, stderr and exit status they must have. One file of cases/ is one command line:

    # what it shows
    setup: NAME            a function of setups.py; it gives @PID@ and the like
    env: NAME=VALUE        more of the environment, any number of lines
    run: WORDS             shell words; the first is jescope
    exit: STATUS
    --- stdout
    ...
    --- stderr
    ...

Numbers that change are written as @PID@, @TIME@, @TMP@. `ninja golden-update` rewrites the expectations; read the diff.
"""

import os
import pathlib
import re
import shlex
import subprocess

import pytest

import setups

CASES = sorted((pathlib.Path(__file__).parent / "cases").glob("*.case"))


class Case:
    def __init__(self, path):
        self.path = path
        head, _, rest = path.read_text().partition("--- stdout\n")
        self.stdout, _, self.stderr = rest.partition("--- stderr\n")
        self.lines = [line for line in head.splitlines() if not line.startswith("exit:")]
        fields = [line.split(": ", 1) for line in self.lines if not line.startswith("#")]
        self.setup = next((value for name, value in fields if name == "setup"), "nothing")
        self.env = dict(value.split("=", 1) for name, value in fields if name == "env")
        self.run = next(value for name, value in fields if name == "run")
        exits = re.search(r"^exit: (\d+)$", head, re.M)
        self.exit = int(exits.group(1)) if exits else None

    def write(self, exit, stdout, stderr):
        lines = self.lines + [f"exit: {exit}"]
        self.path.write_text("\n".join(lines) + f"\n--- stdout\n{stdout}--- stderr\n{stderr}")


def environment(scratch):
    keep = {name: value for name, value in os.environ.items() if name.startswith(("ASAN", "UBSAN", "LSAN"))}
    return dict(keep, PATH="/usr/bin:/bin", TZ="UTC", HOME=str(scratch), JESCOPE_SOCKET_DIR=str(scratch / "agents"))


def normalise(text, names):
    for name, value in sorted(names.items()):
        pattern = value.pattern if isinstance(value, re.Pattern) else re.escape(str(value))
        text = re.sub(rf"(?<!\d)(?:{pattern})(?!\d)", f"@{name}@", text)
    return re.sub(r"\b\d{8}T\d{6}\b", "@TIME@", text)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_case(path, tmp_path, request):
    case = Case(path)
    env = environment(tmp_path)
    with getattr(setups, case.setup)(tmp_path, env) as found:
        names = dict(found, TMP=tmp_path)
        words = [re.sub(r"@(\w+)@", lambda match: str(names[match.group(1)]), word) for word in shlex.split(case.run)]
        assert words[0] == "jescope"
        done = subprocess.run([setups.JESCOPE, *words[1:]], env=dict(env, **case.env), cwd=tmp_path, capture_output=True,
                              text=True, timeout=setups.DEADLINE, stdin=subprocess.DEVNULL)
    stdout, stderr = normalise(done.stdout, names), normalise(done.stderr, names)
    if request.config.getoption("--update"):
        case.write(done.returncode, stdout, stderr)
        return
    assert (done.returncode, stdout, stderr) == (case.exit, case.stdout, case.stderr)
    assert not [file for file in tmp_path.glob("*.heap") if file.stat().st_size == 0], "an empty file remains"
