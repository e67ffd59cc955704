# SPDX-License-Identifier: Apache-2.0
"""docs/production.md: the messages it explains are those that people get."""

import os
import pathlib
import re
import subprocess

import pytest
from services import DEADLINE

SOURCE = pathlib.Path(os.environ["JESCOPE_SOURCE"])
TEXT = (SOURCE / "docs/production.md").read_text()
MESSAGES = re.findall(r"^### `(.+)`$", TEXT, re.M)
OURS = [message for message in MESSAGES if message.startswith("jescope: ")]
JEMALLOCS = [message for message in MESSAGES if message.startswith("<jemalloc>: ")]
LOADERS = [message for message in MESSAGES if message.startswith("ERROR: ")]

# What provokes those of jemalloc that do not quote it.
CONFS = {
    "<jemalloc>: Malformed conf string": "prof=true",
    "<jemalloc>: Conf string ends with key": "prof",
    '<jemalloc>: failed to open "/x/je.PID.0.f.heap"': "prof:true,prof_final:true,prof_prefix:/x/je",
}


PLACES = re.compile(r"NAME \(PID\)|\b(?:NAME|PID|VERSION|TIME|NUMBER|ADDRESS|SIZE|PROGRAM)\b|…")


def pattern(message):
    """Words in capitals, and dots, stand for what differs."""
    return re.compile("[^;]+?".join(map(re.escape, PLACES.split(message))))


def run(**variables):
    done = subprocess.run(["/bin/true"], env=variables, capture_output=True, text=True, timeout=DEADLINE, check=True)
    return done.stderr


def test_every_message_is_of_a_kind_we_check():
    assert set(MESSAGES) == {*OURS, *JEMALLOCS, *LOADERS} and OURS and JEMALLOCS and LOADERS


def is_in_golden_cases(message):
    return any(pattern(message).search(path.read_text()) for path in (SOURCE / "tests/golden/cases").glob("*.case"))


def is_in_source(message):
    """Its longest constant part: some messages take a program of a special kind, and have a test with one."""
    source = "\n".join(path.read_text() for path in (SOURCE / "src").glob("*/*.c"))
    return max(PLACES.split(message), key=len).strip() in re.sub(r'"\s*\n\s*"', "", source)


@pytest.mark.parametrize("message", OURS)
def test_ours_are_said(message):
    assert is_in_golden_cases(message) or is_in_source(message)


@pytest.mark.parametrize("message", JEMALLOCS)
def test_jemallocs(message):
    probe = run(LD_PRELOAD="libjemalloc.so.2")
    if probe:
        pytest.skip("libjemalloc2 is not installed")
    conf = CONFS.get(message) or message.split(": ", 2)[2]
    assert pattern(message).search(run(LD_PRELOAD="libjemalloc.so.2", MALLOC_CONF=conf))


@pytest.mark.parametrize("message", LOADERS)
def test_the_loaders(message):
    assert message in run(LD_PRELOAD=re.search("object '(.*?)'", message).group(1))


def test_links_lead_somewhere():
    for link in re.findall(r"\]\(([^)#]+)\)", TEXT) + re.findall(r"`((?:docs|integrations|bench)/[^` ]+)`", TEXT):
        assert (SOURCE / "docs" / link).exists() or (SOURCE / link).exists(), link
