# SPDX-License-Identifier: Apache-2.0
"""The completion for bash, asked as readline asks it."""

import os
import pathlib
import shutil
import subprocess

import pytest

from services import DEADLINE, JESCOPE, environment, service

COMPLETION = pathlib.Path(os.environ["JESCOPE_SOURCE"]) / "completions/jescope"

# The words of the command line as readline splits them ('=' is one); the last is the one to complete.
ASK = """
compopt() { :; }
. "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
_jescope
printf '%s\\n' "${COMPREPLY[@]}"
"""

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")


def completed(scratch, *words):
    env = environment(scratch)
    env["PATH"] = f"{JESCOPE.parent}:{env['PATH']}"
    done = subprocess.run(["bash", "-c", ASK, "bash", COMPLETION, "jescope", *words], cwd=scratch, env=env, text=True,
                          capture_output=True, timeout=DEADLINE, check=True)
    assert done.stderr == ""
    return done.stdout.split()


def test_commands(tmp_path):
    assert completed(tmp_path, "st") == ["status", "stats"]
    assert {"run", "ps", "record", "--help", "--version"} <= set(completed(tmp_path, ""))


def test_options(tmp_path):
    assert completed(tmp_path, "record", "--f") == ["--for="]
    assert completed(tmp_path, "status", "--") == ["--json", "--help"]


def test_files(tmp_path):
    (tmp_path / "one.heap").touch()
    assert completed(tmp_path, "dump", "-o", "on") == ["one.heap"]
    assert completed(tmp_path, "dump", "--output", "=", "on") == ["one.heap"]
    assert completed(tmp_path, "dump", "--output", "=") == ["one.heap"]
    assert completed(tmp_path, "report", "one") == ["one.heap"]


def test_words_of_an_option(tmp_path):
    assert completed(tmp_path, "report", "--format", "=", "fol") == ["folded"]


def test_targets(tmp_path):
    with service(tmp_path) as python:
        assert str(python.pid) in completed(tmp_path, "status", str(python.pid)[:1])
        assert "python3" in completed(tmp_path, "record", "--for", "=", "5s", "pyth")
