# SPDX-License-Identifier: Apache-2.0
"""What systemd says of the end of a watched process, on a bus of its own with a stand-in for systemd, and of the real one where that runs."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

import pytest
from groups import MIB, unit_group
from leaker import NAME, leaker
from services import AS_ROOT, BUILD, DEADLINE, JESCOPE, PYTHON, VICTIMS, environment, jescope, started, wait_for

LIMIT = 150 * MIB

BUS = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN" "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:path={socket}</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
"""

# Reads {"unit": NAME, "answers": BOOL, "properties": {NAME: [TYPE, VALUE]}} from lines, and answers by the latest one; each question is a line.
MANAGER = """
import json, sys
from gi.repository import Gio, GLib

INTERFACES = Gio.DBusNodeInfo.new_for_xml('''<node>
<interface name="org.freedesktop.systemd1.Manager"><method name="GetUnit"><arg type="s" direction="in"/><arg type="o" direction="out"/></method></interface>
<interface name="org.freedesktop.DBus.Properties"><method name="GetAll"><arg type="s" direction="in"/><arg type="a{sv}" direction="out"/></method></interface>
</node>''').interfaces
UNIT = "/org/freedesktop/systemd1/unit/the_2done"
state = {}

def call(connection, sender, path, interface, method, arguments, invocation):
    print(method, *arguments.unpack(), flush=True)
    if not state["answers"]:
        return
    if method == "GetAll":
        properties = {name: GLib.Variant(*value) for name, value in state["properties"].items()}
        invocation.return_value(GLib.Variant("(a{sv})", (properties,)))
    elif arguments.unpack() == (state["unit"],):
        invocation.return_value(GLib.Variant("(o)", (UNIT,)))
    else:
        invocation.return_dbus_error("org.freedesktop.systemd1.NoSuchUnit", "Unit not loaded.")

def hear(channel, condition):
    line = sys.stdin.readline()
    if not line:
        loop.quit()
        return False
    state.update(json.loads(line))
    print("heard", flush=True)
    return True

loop = GLib.MainLoop()
flags = Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION
connection = Gio.DBusConnection.new_for_address_sync(sys.argv[1], flags, None, None)
connection.register_object("/org/freedesktop/systemd1", INTERFACES[0], call, None, None)
connection.register_object(UNIT, INTERFACES[1], call, None, None)
connection.call_sync("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "RequestName",
                     GLib.Variant("(su)", ("org.freedesktop.systemd1", 4)), None, Gio.DBusCallFlags.NONE, -1, None)
GLib.io_add_watch(sys.stdin, GLib.PRIORITY_DEFAULT, GLib.IO_IN | GLib.IO_HUP, hear)
print("ready", flush=True)
loop.run()
"""

pytestmark = pytest.mark.skipif(not AS_ROOT, reason="only root makes control groups with the name of a unit")


class Manager:
    """The stand-in, and the address of its bus."""

    def __init__(self, process, address):
        self.process, self.address = process, address
        self.read_until("ready")

    def read_until(self, word):
        for line in self.process.stdout:
            if line.startswith(word):
                return line.split()
        raise AssertionError("the stand-in has ended")

    def say(self, unit, *, answers=True, **properties):
        self.process.stdin.write(json.dumps({"unit": unit, "answers": answers, "properties": properties}) + "\n")
        self.process.stdin.flush()
        self.read_until("heard")


@pytest.fixture
def manager(tmp_path):
    if shutil.which("dbus-daemon") is None or subprocess.run([PYTHON, "-c", "import gi"], capture_output=True, check=False).returncode != 0:
        pytest.skip("dbus-daemon or python3-gi is not installed")
    with tempfile.TemporaryDirectory(prefix="jescope-test-") as folder:  # the path of a socket is short
        socket = pathlib.Path(folder) / "bus"
        (tmp_path / "bus.conf").write_text(BUS.format(socket=socket))
        with started(["dbus-daemon", f"--config-file={tmp_path / 'bus.conf'}", "--nofork", "--print-address=1"]) as bus:
            address = bus.stdout.readline().strip()
            with started([PYTHON, "-c", MANAGER, address]) as process:
                yield Manager(process, address)


@contextlib.contextmanager
def watched(tmp_path, manager, pid, variable="DBUS_SYSTEM_BUS_ADDRESS"):
    command = [JESCOPE, "watch", "-v", f"--directory={tmp_path / 'box'}", pid]
    own = environment(tmp_path, DBUS_SYSTEM_BUS_ADDRESS="unix:path=/nonexistent") | {variable: manager.address}
    with started(command, cwd=tmp_path, env=own, stderr=subprocess.PIPE) as watch:
        assert "snapshot 1 (first)" in watch.stderr.readline()
        yield watch


def running(pid):
    return {"Result": ["s", "success"], "ExecMainPID": ["u", pid], "ExecMainExitTimestampMonotonic": ["t", 0], "ExecMainCode": ["i", 0],
            "ExecMainStatus": ["i", 0]}


def ended(pid, result, number=signal.SIGKILL):
    return {"Result": ["s", result], "ExecMainPID": ["u", pid], "ExecMainExitTimestampMonotonic": ["t", 77], "ExecMainCode": ["i", 2],
            "ExecMainStatus": ["i", int(number)]}


def last(tmp_path):
    """As JSON, and what the command prints."""
    box = f"--directory={tmp_path / 'box'}"
    [life] = json.loads(jescope(tmp_path, "last", NAME, "--json", box).stdout)["lives"]
    return life, jescope(tmp_path, "last", NAME, box, check=False).stdout  # nothing is held: status 3


@pytest.mark.parametrize("variable,names", [("DBUS_SYSTEM_BUS_ADDRESS", ("jescope-test.slice", "jescope-test-a.service")),
                                            ("DBUS_SYSTEM_BUS_ADDRESS", ("jescope-test-b.scope",)),
                                            ("DBUS_SESSION_BUS_ADDRESS", (f"user@{os.geteuid()}.service", "app.slice", "jescope-test-c.service"))])
def test_result(tmp_path, manager, variable, names):
    """The question is repeated until systemd has noticed the end; a unit whose result says so was killed by OOM."""
    with unit_group(*names) as group, leaker(tmp_path) as program:
        pid = program.pid_inside
        (group / "cgroup.procs").write_text(str(pid))
        manager.say(names[-1], **running(pid))
        with watched(tmp_path, manager, pid, variable) as watch:
            os.kill(pid, signal.SIGKILL)
            program.wait(DEADLINE)
            kind = "Scope" if names[-1].endswith("scope") else "Service"
            assert manager.read_until("GetAll") == ["GetAll", f"org.freedesktop.systemd1.{kind}"]
            manager.say(names[-1], **ended(pid, "oom-kill"))
            assert watch.wait(DEADLINE) == 0
            assert "killed by OOM at " in watch.stderr.read()
    life, text = last(tmp_path)
    assert life["state"] == life["end"]["cause"] == "oom-kill" and life["end"]["number"] == signal.SIGKILL
    assert life["end"]["unit"] == names[-1] and life["end"]["unit_result"] == "oom-kill"
    assert f"unit: {names[-1]}, result: oom-kill\n" in text


@pytest.mark.parametrize("name,properties", [("a worker", {"Result": ["s", "success"], "ExecMainPID": ["u", 1]}), ("no service", {}),
                                             ("not a result", {"Result": ["s", "\x1b[31m"], "ExecMainPID": ["u", 1]})])
def test_a_unit_that_does_not_say(tmp_path, manager, name, properties):
    unit = "jescope-test-d.service"
    with unit_group(unit) as group, leaker(tmp_path) as program:
        (group / "cgroup.procs").write_text(str(program.pid_inside))
        manager.say("another.service" if name == "no service" else unit, **properties)
        with watched(tmp_path, manager, program.pid_inside) as watch:
            os.kill(program.pid_inside, signal.SIGTERM)
            assert watch.wait(DEADLINE) == 0
            assert "ended by signal 15 (Terminated) at " in watch.stderr.read()
    life, text = last(tmp_path)
    assert life["end"]["unit"] is None and life["end"]["unit_result"] is None and "unit:" not in text


def test_a_manager_that_does_not_answer(tmp_path, manager):
    """It is not waited for any longer than three seconds, and all else is noted."""
    unit = "jescope-test-e.service"
    with unit_group(unit) as group, leaker(tmp_path) as program:
        (group / "cgroup.procs").write_text(str(program.pid_inside))
        manager.say(unit, answers=False)
        with watched(tmp_path, manager, program.pid_inside) as watch:
            os.kill(program.pid_inside, signal.SIGTERM)
            manager.read_until("GetUnit")
            assert watch.wait(DEADLINE) == 0
    life, _ = last(tmp_path)
    assert life["end"]["cause"] == "signal" and life["end"]["unit_result"] is None


# ---- the real one ----

@pytest.fixture
def real():
    if not pathlib.Path("/run/systemd/system").is_dir():
        pytest.skip("systemd is not process 1 here; tests/soak/cgroup2 boots a machine where it is")


@contextlib.contextmanager
def service_of(tmp_path, unit, *command, **variables):
    """A leaker as a service with a limit of memory."""
    agents = tmp_path / "agents"
    own = environment(tmp_path, JESCOPE_SOCKET_DIR=str(agents), **variables)
    words = ["systemd-run", "--quiet", "--pipe", "--wait", f"--unit={unit}", f"--property=MemoryMax={LIMIT}", "--property=MemorySwapMax=0",
             *(f"--setenv={name}={value}" for name, value in own.items()), *command]
    program = tmp_path / NAME
    program.symlink_to(VICTIMS / "leaker")
    with started([*words, program], cwd=tmp_path) as process:
        try:
            process.pid_inside = int(process.stdout.readline())
            wait_for(lambda: list(agents.glob(f"{process.pid_inside}.*.sock")), "the agent listens")
            yield process
        finally:
            subprocess.run(["systemctl", "stop", unit], capture_output=True, check=False)
            subprocess.run(["systemctl", "reset-failed", unit], capture_output=True, check=False)


def agent_preloaded():
    jemalloc = next(path for path in pathlib.Path("/usr/lib").rglob("libjemalloc.so.2"))
    return {"LD_PRELOAD": f"{BUILD / 'src/agent/libjescope-agent.so'} {jemalloc}", "MALLOC_CONF": "prof:true,prof_active:false"}


@pytest.mark.parametrize("is_main", [True, False], ids=["main-process", "other-process"])
def test_real_oom_kill(tmp_path, real, is_main):
    """The kernel kills a service of the real systemd at its limit: the counter of the group and the result of the unit say so."""
    unit = f"jescope-test-{os.getpid()}-{int(is_main)}.service"
    how = agent_preloaded() if is_main else {}
    with service_of(tmp_path, unit, *([] if is_main else [str(JESCOPE), "run", "--"]), **how) as program:
        with started([JESCOPE, "watch", "-v", f"--directory={tmp_path / 'box'}", program.pid_inside], cwd=tmp_path, env=environment(tmp_path),
                     stderr=subprocess.PIPE) as watch:
            assert "snapshot 1 (first)" in watch.stderr.readline()
            program.stdin.write(f"leak {60 * MIB}\n")
            program.stdin.flush()
            assert watch.wait(DEADLINE) == 0
            said = watch.stderr.read()
    life, text = last(tmp_path)
    print(said, text, file=sys.stderr)
    end = life["end"]
    assert end["cause"] == "oom-kill" and end["unit"] == unit and end["unit_result"] == "oom-kill", end
    assert end["limit"] == LIMIT and "killed by OOM at " in said and f"unit: {unit}, result: oom-kill" in text


def test_real_exit(tmp_path, real):
    unit = f"jescope-test-{os.getpid()}-exit.service"
    with service_of(tmp_path, unit, **agent_preloaded()) as program:
        with started([JESCOPE, "watch", "-v", f"--directory={tmp_path / 'box'}", program.pid_inside], cwd=tmp_path, env=environment(tmp_path),
                     stderr=subprocess.PIPE) as watch:
            assert "snapshot 1 (first)" in watch.stderr.readline()
            program.stdin.write("stop 0\n")
            program.stdin.flush()
            assert watch.wait(DEADLINE) == 0
    life, _ = last(tmp_path)
    assert life["end"]["cause"] == "exit" and life["end"]["number"] == 1 and life["end"]["unit_result"] == "exit-code"
