# SPDX-License-Identifier: Apache-2.0
"""The units for systemd: sound, confined, and jescope works with the rights that they leave."""

import contextlib
import http.client
import json
import os
import pathlib
import pwd
import re
import shutil
import socket
import subprocess

import pytest
import victims
from services import AS_ROOT, BUILD, DEADLINE, JESCOPE, environment, started, wait_for

UNITS = sorted((BUILD / "integrations/systemd").glob("jescope*.*"))
EXPOSURE = 2.2  # of 10, by systemd's own count; opening files with the rights of a target's user takes 0.2 of it
OWNER = 65534

pytestmark = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")


@pytest.fixture
def unit_folder(tmp_path):
    """The units as systemd finds them, an instance of each template, with the program where it is."""
    for unit in UNITS:
        text = re.sub(r"^(Exec\w+=)\S+/jescope\b", rf"\g<1>{JESCOPE}", unit.read_text(), flags=re.M)
        (tmp_path / unit.name.replace("@.", "@redis-server.")).write_text(text)
    return tmp_path


def analyze(folder, *words):
    done = subprocess.run(["systemd-analyze", *words], cwd=folder, capture_output=True, text=True, timeout=DEADLINE,
                          env=environment(folder, SYSTEMD_LOG_LEVEL="warning"), check=False)
    return done.returncode, done.stdout + done.stderr


def services(folder):
    return sorted(folder.glob("*.service"))


def test_units_are_sound(unit_folder):
    assert services(unit_folder)
    units = [f"./{unit.name}" for unit in sorted(unit_folder.glob("jescope*"))]
    assert analyze(unit_folder, "verify", "--man=no", *units) == (0, "")


def test_a_broken_unit_is_not_sound(unit_folder):
    """That verify tells, here and now."""
    unit = services(unit_folder)[0]
    unit.write_text(unit.read_text().replace("ExecStart=", "ExecStart=/nonexistent"))
    assert analyze(unit_folder, "verify", "--man=no", f"./{unit.name}") != (0, "")


def test_services_are_confined(unit_folder):
    for unit in services(unit_folder):
        threshold = str(round(EXPOSURE * 10))
        status, said = analyze(unit_folder, "security", "--no-pager", "--offline=yes", f"--threshold={threshold}",
                               f"./{unit.name}")
        assert status == 0, said


def test_what_reads_the_files_of_others_can_give_up_its_rights(unit_folder):
    """What confine/sandbox.c calls and goes on without where it fails."""
    wanted = {"capset", "landlock_create_ruleset", "landlock_restrict_self"}
    for unit in services(unit_folder):
        filters = re.findall(r"^SystemCallFilter=([^~].*)$", unit.read_text(), re.M)
        assert wanted <= {word for words in filters for word in words.split()}, unit.name


def capabilities(unit):
    words = re.search(r"^CapabilityBoundingSet=(.*)$", unit.read_text(), re.M).group(1).split()
    return ["+" + word.removeprefix("CAP_").lower() for word in words]


@pytest.fixture
def theirs(start, open_path):
    """A process of another user."""
    folder = open_path / "sockets"
    folder.mkdir(mode=0o700)
    os.chown(folder, OWNER, OWNER)
    for file in (victims.AGENT, victims.program()):
        shutil.copy(file, open_path)
    victim = start(command=[open_path / "victim"], sockets=folder, user=OWNER, group=OWNER, extra_groups=[],
                   preload=[open_path / victims.AGENT.name])
    victim.client().close()
    return victim


def confined(name):
    """The words before a program that leave it the rights of a unit."""
    unit = next(unit for unit in UNITS if unit.name.startswith(name))
    return ["setpriv", "--no-new-privs", f"--bounding-set=-all,{','.join(capabilities(unit))}"]


needs_root = pytest.mark.skipif(not AS_ROOT, reason="giving rights away needs root")


@needs_root
def test_collect_with_the_rights_of_its_unit(tmp_path, own_mounts, theirs, open_path):
    """The socket is not in our mounts, as with PrivateTmp."""
    history = tmp_path / "history.db"
    collect = [*confined("jescope-collect@"), JESCOPE, "collect", "--every=500ms", f"--history={history}", str(theirs.process.pid)]
    hide = f'mount -t tmpfs none {open_path} && exec "$@"'

    def samples():
        done = subprocess.run([JESCOPE, "series", f"--history={history}", "allocated", "--format=csv"], capture_output=True,
                              text=True, timeout=DEADLINE, check=False)
        return len(done.stdout.splitlines()) >= 2

    with started([*own_mounts, "sh", "-c", hide, "sh", *collect], env={"PATH": os.environ["PATH"]}) as process:
        wait_for(samples, "samples in the history")
    assert process.returncode == 0


@needs_root
def test_watch_with_the_rights_of_its_unit(tmp_path, own_mounts, theirs, open_path):
    box = f"--directory={tmp_path / 'box'}"
    watch = [*confined("jescope-watch@"), JESCOPE, "watch", "-v", box, str(theirs.process.pid)]
    hide = f'mount -t tmpfs none {open_path} && exec "$@"'
    with started([*own_mounts, "sh", "-c", hide, "sh", *watch], env={"PATH": os.environ["PATH"]},
                 stderr=subprocess.PIPE) as process:
        said = process.stderr.readline()
        assert f"victim ({theirs.process.pid}): snapshot 1 (first)" in said, said
    listed = subprocess.run([JESCOPE, "last", box, "victim", "--json"], capture_output=True, text=True, timeout=DEADLINE,
                            check=True)
    assert json.loads(listed.stdout)["lives"][0]["snapshots"][0]["dump"]


class UnixConnection(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(DEADLINE)
        self.sock.connect(self.host)


def get(path, url):
    with contextlib.closing(UnixConnection(str(path))) as connection:
        connection.request("GET", url, headers={"Host": "localhost"})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


def pids_served(path):
    return [target["pid"] for target in json.loads(get(path, "/api/v1/targets")[1])["targets"]]


def test_the_socket_is_for_its_owner_alone():
    """The server reaches everybody's processes: a loopback address would be everybody's."""
    text = next(unit for unit in UNITS if unit.suffix == ".socket").read_text()
    assert re.findall(r"^Listen\w+=(.*)$", text, re.M) == ["/run/jescope/http.sock"]
    assert re.findall(r"^SocketMode=(.*)$", text, re.M) == ["0600"]


@needs_root
def test_serve_with_the_rights_of_its_unit(tmp_path, theirs, open_path):
    """The socket comes from outside, a network of its own it has none."""
    if subprocess.run(["unshare", "--net", "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("network namespaces are not permitted here")
    shipped = pathlib.Path(os.environ["JESCOPE_SOURCE"]) / "integrations/systemd/serve.conf"
    config = tmp_path / "serve.conf"
    user = next((name for name in ("jescope", "nobody") if name in [entry.pw_name for entry in pwd.getpwall()]))
    state = open_path / "state"
    state.mkdir(mode=0o700)
    shutil.chown(state, user)  # as jescope.tmpfiles has it
    config.write_text(re.sub("^history=.*", f"history={state}/serve.db", shipped.read_text(), flags=re.M))
    path = tmp_path / "http.sock"
    serve = [*confined("jescope-serve.service"), JESCOPE, "serve", "--blackbox=off", f"--config={config}"]
    command = ["systemd-socket-activate", f"--listen={path}", "unshare", "--net", *serve]
    with started(command, env={"PATH": os.environ["PATH"]}, cwd=tmp_path, stderr=subprocess.PIPE) as server:
        assert "Listening on" in server.stderr.readline()
        wait_for(lambda: theirs.process.pid in pids_served(path), "the other user's process is served")
        assert get(path, f"/targets/{theirs.process.pid}/mtev/memory.json")[0] == 200
        assert get(path, "/metrics")[0] == 200
        assert get(path, f"/api/v1/targets/{theirs.process.pid}/statistics")[0] == 200
    assert (state / "serve.db").owner() == user
