# SPDX-License-Identifier: Apache-2.0
"""A command of root's about another's process is one process that watches another one: neither is seen from outside."""

import contextlib
import os
import signal
import subprocess

import leaker as leakers
import pytest
from services import DEADLINE, JESCOPE, environment

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root's commands are supervised")

STACKS = 6000  # more than two pipes hold of their dump


@pytest.fixture(scope="module")
def target(tmp_path_factory):
    folder = tmp_path_factory.mktemp("supervised")
    with leakers.leaker(folder, MALLOC_CONF="prof:true,prof_active:true,lg_prof_sample:0") as process:
        process.folder = folder
        process.tell(f"stacks {STACKS}")
        process.stdout.readline()
        yield process


@contextlib.contextmanager
def dump(target, **options):
    """By its name, which any user's process could have."""
    with subprocess.Popen([JESCOPE, "dump", leakers.NAME, "-o", "-"], cwd="/", env=environment(target.folder), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options) as process:
        yield process


def supervised(process):
    with open(f"/proc/{process.pid}/task/{process.pid}/children") as children:
        return children.read().split()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_while_its_output_is_not_read(target, number):
    with dump(target) as process:
        assert os.read(process.stdout.fileno(), 4) == b"heap"
        assert len(supervised(process)) == 1
        process.send_signal(number)
        assert process.wait(DEADLINE) == -number


def test_output_is_whole_though_it_is_read_late(target):
    with dump(target) as process:
        assert os.read(process.stdout.fileno(), 4) == b"heap"
        output, errors = process.communicate(timeout=DEADLINE)
        assert process.returncode == 0 and errors == b""
        assert output.count(b"\n@ ") >= STACKS and b"MAPPED_LIBRARIES:" in output


def test_output_that_is_closed_ends_it(target):
    with dump(target, restore_signals=True) as process:
        assert os.read(process.stdout.fileno(), 4) == b"heap"
        process.stdout.close()
        assert process.wait(DEADLINE) == -signal.SIGPIPE
