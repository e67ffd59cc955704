# SPDX-License-Identifier: Apache-2.0
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest
import victims


@pytest.fixture
def sockets(tmp_path):
    """A directory as the agent wants it: ours, 0700."""
    folder = tmp_path / "sockets"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def own_mounts():
    """The command that gives a program mounts of its own."""
    command = ["unshare", "--mount"]
    if subprocess.run([*command, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("this machine (or container) does not permit mount namespaces")
    return command


@pytest.fixture
def open_path():
    """A directory that other users can enter, unlike tmp_path, whose parent is closed to them whenever another pytest starts."""
    folder = tempfile.mkdtemp(prefix="jescope-test-")
    os.chmod(folder, 0o755)
    yield pathlib.Path(folder)
    shutil.rmtree(folder)


@pytest.fixture
def start(sockets):
    """start(VARIANT, ...) starts a victim that ends with the test."""
    started = []

    def start_one(variant="victim", **options):
        options.setdefault("sockets", sockets)
        victim = victims.Victim(variant, **options)
        started.append(victim)
        return victim

    yield start_one
    for victim in started:
        victim.stop()
