# SPDX-License-Identifier: Apache-2.0
"""The manifests for Kubernetes: their settings are sufficient for jescope, tested with processes that are confined accordingly."""

import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest
import victims
from services import AS_ROOT, DEADLINE, JESCOPE, environment

yaml = pytest.importorskip("yaml", reason="python3-yaml is not installed")
INTEGRATIONS = pathlib.Path(os.environ["JESCOPE_SOURCE"]) / "integrations"


def manifest(name):
    return yaml.safe_load((INTEGRATIONS / "kubernetes" / name).read_text())


def container(pod, name):
    return next(one for one in pod["initContainers"] + pod["containers"] if one["name"] == name)


def become(pod, name):
    """The words before a program that give it the rights of a container."""
    user, context = pod["securityContext"], container(pod, name)["securityContext"]
    assert context["capabilities"] == {"drop": ["ALL"]} and context["allowPrivilegeEscalation"] is False
    return ["setpriv", f"--reuid={user['runAsUser']}", f"--regid={user['runAsGroup']}", "--clear-groups", "--no-new-privs",
            "--bounding-set=-all"]


@pytest.fixture
def volume(open_path):
    """An emptyDir as a pod with fsGroup gets it, with what its init container puts there."""
    group = manifest("sidecar.yaml")["spec"]["securityContext"]["fsGroup"]
    os.chown(open_path, 0, group)
    os.chmod(open_path, 0o2777)
    for file in (victims.AGENT, victims.program(), JESCOPE):  # where every user may run them
        shutil.copy(file, open_path)
    return open_path


@pytest.mark.skipif(not AS_ROOT, reason="becoming another user needs root")
def test_sidecar(tmp_path, start, volume, own_mounts):
    pod = manifest("sidecar.yaml")["spec"]
    assert pod["shareProcessNamespace"] is True
    assert container(pod, "jescope-agent")["command"][1].endswith("/jescope/" + victims.AGENT.name)
    mounted = container(pod, "app")["volumeMounts"][0]["mountPath"]
    variables = {one["name"]: one["value"].replace(mounted, str(volume), 1) for one in container(pod, "app")["env"]}
    app = start(command=[*become(pod, "app"), "env", *(f"{name}={value}" for name, value in variables.items()),
                         volume / "victim"], preload=None)
    beside = [*own_mounts, *become(pod, "jescope"), volume / JESCOPE.name]
    env = dict(environment(tmp_path), JESCOPE_SOCKET_DIR="/nonexistent")

    def ask(*words):
        done = subprocess.run([*beside, *words], env=env, capture_output=True, text=True, timeout=DEADLINE, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    pid = str(app.process.pid)
    victims.eventually(lambda: list((volume / "sockets").glob("*.sock")), "the agent listens")
    told = json.loads(ask("status", "--json", pid))
    assert told["uid"] == pod["securityContext"]["runAsUser"]
    assert told["profiling"]["available"] and not told["profiling"]["active"]
    ask("enable", pid)
    assert ask("dump", "-o", "-", pid).startswith("heap_v2/")


def test_node_has_the_rights_of_the_unit():
    pod = manifest("node.yaml")["spec"]["template"]["spec"]
    assert pod["hostPID"] is True
    unit = (INTEGRATIONS / "systemd/jescope-serve.service.in").read_text()
    of_unit = re.search(r"^CapabilityBoundingSet=(.*)$", unit, re.M).group(1).split()
    capabilities = pod["containers"][0]["securityContext"]["capabilities"]
    assert capabilities["drop"] == ["ALL"] and {f"CAP_{name}" for name in capabilities["add"]} == set(of_unit)
