# SPDX-License-Identifier: Apache-2.0
"""A stand-in for systemd-oomd, which speaks the protocol of its prekill hook (systemd 260): one call for each group."""

import json
import pathlib
import socket

from services import DEADLINE


def group_of(pid):
    """The path of the control group of a process, as systemd names it."""
    for line in pathlib.Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        if line.startswith("0::") or ":name=systemd:" in line:
            return line.split(":", 2)[2]
    raise AssertionError(f"process {pid} has no control group")


def notify(hook, group):
    """GROUP is about to be killed: the answer of who listens at HOOK."""
    with socket.socket(socket.AF_UNIX) as oomd:
        oomd.settimeout(DEADLINE)
        oomd.connect(str(hook))
        oomd.sendall(json.dumps({"method": "io.systemd.oom.Prekill.Notify", "parameters": {"cgroup": group}}).encode() + b"\0")
        answer = b""
        while not answer.endswith(b"\0"):
            part = oomd.recv(4096)
            assert part, "no answer"
            answer += part
        return json.loads(answer[:-1])
