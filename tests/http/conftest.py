# SPDX-License-Identifier: Apache-2.0
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
    """A directory of the module's own. Its path is short, since sockets lie there, and their names are limited to 107 bytes."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="jescope-http-"))
    (folder / "agents").mkdir(mode=0o700)
    yield folder
    shutil.rmtree(folder)
