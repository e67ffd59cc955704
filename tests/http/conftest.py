# SPDX-License-Identifier: Apache-2.0
import dataclasses
import os
import pathlib
import shutil
import sys
import tempfile

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "live"))
# What the two directories share asks for these when it is read.
os.environ.setdefault("JESCOPE_SOURCE", str(pathlib.Path(__file__).parents[2]))
os.environ.setdefault("JESCOPE_BUILD", os.environ["JESCOPE_SOURCE"] + "/build")


@pytest.fixture(scope="module")
def scratch():
    """A directory of the module's own. Its path is short, since sockets lie there, and their names are limited to 107 bytes.

    The server of root's becomes another user, which must reach a directory of its history in here."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="jescope-http-"))
    folder.chmod(0o711)
    (folder / "agents").mkdir(mode=0o700)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def folder():
    """A directory that other users may enter. Not pytest's own, whose parent is closed to others whenever another pytest starts."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="jescope-http-"))
    path.chmod(0o755)
    (path / "agents").mkdir(mode=0o700)
    yield path
    shutil.rmtree(path)


@dataclasses.dataclass
class Token:
    options: list  # for serve
    headers: list  # for curl


@pytest.fixture
def read_token(tmp_path):
    """A token that may read, and a server's options that make it ask for one."""
    secret = "a-token-that-may-only-read"
    path = tmp_path / "tokens"
    path.write_text(f"read {secret} reader\n")
    path.chmod(0o600)
    return Token([f"--token-file={path}"], ["--header", f"Authorization: Bearer {secret}"])
