# SPDX-License-Identifier: Apache-2.0
"""Memory control groups with a limit, version 1 and 2, where one can be made."""

import contextlib
import pathlib
import tempfile

import pytest

CGROUPS = pathlib.Path("/sys/fs/cgroup")
WAYS = [  # where new groups go, and what a limit, the charge and its peak are called
    (CGROUPS / "memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "memory.max_usage_in_bytes"),
    (CGROUPS, "memory.max", "memory.current", "memory.peak"),
]
SWAP = [("memory.memsw.limit_in_bytes", lambda size: size), ("memory.swap.max", lambda size: 0)]
MIB = 1 << 20


class Group:
    def __init__(self, path, *files):
        self.path = path
        self.limit_file, self.usage_file, self.peak_file = (path / file for file in files)

    def take(self, pid):
        (self.path / "cgroup.procs").write_text(str(pid))

    def limit(self, size):
        self.forbid_swap(size)  # it cannot be below the limit of memory, neither before this nor after it
        self.limit_file.write_text(str(size))
        self.forbid_swap(size)

    def forbid_swap(self, size):
        for file, swap in SWAP:
            with contextlib.suppress(OSError):
                (self.path / file).write_text(str(swap(size)))

    def usage(self):
        return int(self.usage_file.read_text())

    def peak(self):
        return int(self.peak_file.read_text())

    def forget_peak(self):
        with contextlib.suppress(OSError):  # version 2 cannot before Linux 6.12
            self.peak_file.write_text("0")


@pytest.fixture
def group():
    """A memory control group of this test's own."""
    for parent, *files in WAYS:
        try:
            path = pathlib.Path(tempfile.mkdtemp(prefix="jescope-test-", dir=parent))
        except OSError:
            continue
        path.chmod(0o755)  # as those of services: root's server reads them as another user
        made = Group(path, *files)
        if made.limit_file.exists():
            yield made
            for pid in (path / "cgroup.procs").read_text().split():
                with contextlib.suppress(OSError):
                    (parent / "cgroup.procs").write_text(pid)
            path.rmdir()
            return
        path.rmdir()
    pytest.skip("no memory control group can be made here")


@contextlib.contextmanager
def unit_group(*names):
    """The control group that systemd would have made for a unit, by the parts of its path; what is put into it is moved out again."""
    lines = pathlib.Path("/proc/self/cgroup").read_text().splitlines()
    line = next((line for line in lines if line.startswith("0::") or ":name=systemd:" in line), "")
    roots = [CGROUPS / "systemd"] if "systemd" in line else [CGROUPS / "unified", CGROUPS]
    root = next((root for root in roots if (root / "cgroup.procs").exists()), None)
    made = []
    try:
        for name in names:
            path = (made[-1] if made else root) / name
            path.mkdir()
            made.append(path)
    except (OSError, TypeError):
        pytest.skip("no control group can be made here")
    try:
        yield made[-1]
    finally:
        for pid in (made[-1] / "cgroup.procs").read_text().split():
            with contextlib.suppress(OSError):
                (root / "cgroup.procs").write_text(pid)
        for path in reversed(made):
            path.rmdir()
