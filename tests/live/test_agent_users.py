# SPDX-License-Identifier: Apache-2.0
"""Whom the agent lets in: its own user and root, across users, privileged programs and containers."""

import os
import resource
import shutil
import subprocess
import tempfile

import pytest
import wire
from services import JESCOPE, environment, jescope
from victims import AGENT, BUILD, DEBUG, assert_inert, complaint, eventually, inner_pid, program, start_time, status_of

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="becoming other users needs root")

OWNER, STRANGER = 65534, 65533


@pytest.fixture
def start_as_owner(start, open_path):
    """start_as_owner() runs a victim as OWNER, in a socket directory of OWNER's."""
    shutil.copy(AGENT, open_path)
    shutil.copy(program(), open_path)
    folder = open_path / "sockets"
    folder.mkdir(mode=0o700)
    os.chown(folder, OWNER, OWNER)

    def start_one(**options):
        options.setdefault("sockets", folder)
        options.setdefault("user", OWNER)
        options.setdefault("group", OWNER)
        options.setdefault("preload", [open_path / AGENT.name])
        return start(command=[open_path / "victim"], extra_groups=[], **options)

    return start_one


def say_hello_as(uid, path):
    """The result of a client of user UID: 'answered', 'closed' or the name of an errno."""
    ends = os.pipe()
    pid = os.fork()
    if pid == 0:
        outcome = "crashed"
        try:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            with wire.Client(path) as client:
                outcome = "answered" if client.greeting.pid > 0 else "empty"
        except ConnectionError:
            outcome = "closed"
        except OSError as error:
            outcome = type(error).__name__
        finally:
            os.write(ends[1], outcome.encode())
            os._exit(0)
    os.close(ends[1])
    with os.fdopen(ends[0]) as stream:
        outcome = stream.read()
    os.waitpid(pid, 0)
    return outcome


def test_its_own_user_and_root_are_let_in(start_as_owner):
    victim = start_as_owner()
    with victim.client() as client:
        assert client.greeting.uid == OWNER
        assert client.dump().startswith(b"heap_v2/")
    assert say_hello_as(OWNER, victim.socket_of()) == "answered"


def test_another_user_does_not_even_reach_the_socket(start_as_owner):
    victim = start_as_owner()
    victim.client().close()
    assert say_hello_as(STRANGER, victim.socket_of()) == "PermissionError"


def test_another_user_who_reaches_the_socket_is_not_let_in(start_as_owner):
    victim = start_as_owner()
    with victim.client() as client:
        path = victim.socket_of()
        path.parent.chmod(0o755)
        path.chmod(0o666)
        assert say_hello_as(STRANGER, path) == "closed"
        assert say_hello_as(OWNER, path) == "answered"
        assert client.hello().uid == OWNER


def test_a_program_of_roots_lets_nobody_else_in(start, open_path):
    folder = open_path / "sockets"
    folder.mkdir(mode=0o700)
    victim = start(sockets=folder)
    victim.client().close()
    folder.chmod(0o755)
    victim.socket_of().chmod(0o666)
    assert say_hello_as(OWNER, victim.socket_of()) == "closed"


def test_who_drops_privileges_answers_to_the_new_user(start, open_path):
    folder = open_path / "sockets"
    folder.mkdir(mode=0o700)
    victim = start(sockets=folder)
    victim.client().close()
    folder.chmod(0o755)
    victim.socket_of().chmod(0o666)
    victim.ask(f"setuid {OWNER}")
    assert say_hello_as(OWNER, victim.socket_of()) == "answered"
    assert say_hello_as(STRANGER, victim.socket_of()) == "closed"
    victim.client().close()


def test_a_user_taken_on_for_a_time_is_not_let_in(start, open_path):
    """As a file server does: a connection would outlive the time, and lead into a process of root's."""
    folder = open_path / "sockets"
    folder.mkdir(mode=0o700)
    victim = start(sockets=folder)
    victim.client().close()
    folder.chmod(0o755)
    victim.socket_of().chmod(0o666)
    victim.ask(f"seteuid {OWNER}")
    assert say_hello_as(OWNER, victim.socket_of()) == "closed"
    victim.client().close()
    victim.ask("seteuid 0")
    victim.client().close()


def test_a_user_who_may_have_no_more_threads(start_as_owner):
    """The agent's cannot start: nothing of it is left, and the program runs."""
    one = resource.RLIMIT_NPROC
    victim = start_as_owner(preexec_fn=lambda: resource.setrlimit(one, (0, 0)), env=DEBUG)
    complaint(victim, b"cannot start a thread")
    assert_inert(victim)


# AT_SECURE: a program that gained privileges

# Runs "$@" where /tmp is empty but for the build directory, should that be there. $1: an empty directory elsewhere.
IN_A_TMP_OF_ITS_OWN = """
set -e
keep=$1 build=$2
shift 2
mount --bind "$build" "$keep"
mount -t tmpfs -o mode=1777 none /tmp
mkdir -p "$build"
mount --bind "$keep" "$build"
exec "$@"
"""


@pytest.fixture
def privileged(start):
    """privileged(ENV) runs a setuid-root victim, linked to the agent, as OWNER with ENV and with a /tmp of its own."""
    folder = tempfile.mkdtemp(prefix="jescope-test-", dir="/var/tmp")
    os.chmod(folder, 0o755)
    keep, copy = os.path.join(folder, "build"), os.path.join(folder, "victim-linked")
    os.mkdir(keep)
    enter = ["unshare", "--mount", "sh", "-c", IN_A_TMP_OF_ITS_OWN, "sh", keep, str(BUILD)]

    def start_one(env):
        if subprocess.run([*enter, "true"], capture_output=True).returncode != 0:
            pytest.skip("mounting is not permitted here")
        shutil.copy(program("victim-linked"), copy)
        os.chmod(copy, 0o4755)
        become = ["setpriv", f"--reuid={OWNER}", f"--regid={OWNER}", "--clear-groups", copy]
        return start("victim-linked", command=[*enter, *become], preload=None, conf=None, env=env, sockets="/tmp/own")

    yield start_one
    shutil.rmtree(folder)


def test_a_privileged_program_ignores_the_environment(privileged):
    victim = privileged(
        {
            "JESCOPE": "off",
            "JESCOPE_ONLY": "nothing",
            "JESCOPE_DEBUG": "1",
            "JESCOPE_SOCKET_DIR": "/tmp/own",
            "XDG_RUNTIME_DIR": "/tmp",
        }
    )
    assert status_of(victim.pid, victim.pid)["Uid"].split()[:2] == [str(OWNER), "0"]
    tmp = f"/proc/{victim.pid}/root/tmp"
    path = f"{tmp}/.jescope-0/{victim.pid}.{start_time(victim.pid)}.sock"
    eventually(lambda: os.path.exists(path), "a socket in the default directory")
    with wire.Client(path) as client:
        assert client.greeting.uid == 0
        assert client.read("stats.allocated", "size") > 0
    assert not {"own", "jescope"}.intersection(os.listdir(tmp))
    victim.process.stdin.close()
    assert victim.wait() == 0
    assert victim.process.stderr.read() == b""


def test_an_ordinary_program_linked_to_the_agent_heeds_it(start, tmp_path):
    assert_inert(start("victim-linked", preload=None, env={"JESCOPE": "off"}))
    with start("victim-linked", preload=None).client() as client:
        assert client.dump().startswith(b"heap_v2/")


# Containers: other pid, mount and user namespaces

NAMESPACES = {
    "pid and mount": ["unshare", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child"],
    "all but user": ["unshare", *"--mount --pid --net --ipc --uts --fork --mount-proc --kill-child".split()],
}


@pytest.mark.parametrize("namespaces", NAMESPACES)
def test_in_a_container(start, sockets, namespaces):
    """Its sockets lie in a file system that only it sees, under the pid that only it sees."""
    mount = 'mount -t tmpfs -o mode=700 none "$0" && exec "$@"'
    enter = [*NAMESPACES[namespaces], "sh", "-c", mount, str(sockets)]
    if subprocess.run([*enter, "true"], capture_output=True).returncode != 0:
        pytest.skip(f"namespaces of its own ({namespaces}) are not permitted here")
    victim = start(command=[*enter, "env", f"LD_PRELOAD={AGENT}", str(program())], preload=None)
    assert victim.said_pid == 1
    parent = victim.process.pid
    with open(f"/proc/{parent}/task/{parent}/children") as stream:
        pid = int(stream.read())
    assert inner_pid(pid) == 1
    path = f"/proc/{pid}/root{sockets}/1.{start_time(pid)}.sock"
    eventually(lambda: os.path.exists(path), "the agent inside")
    assert os.listdir(sockets) == []
    with wire.Client(path) as client:
        assert client.greeting.pid == 1
        assert client.greeting.start_time == start_time(pid)
        assert client.dump().startswith(b"heap_v2/")
        client.take(60_000)
    assert victim.ask("read 1 prof.active") == "1"


def test_in_a_user_namespace(start, open_path):
    """The owner of the container is root inside it: it is let in, by whatever number it goes there."""
    enter = ["unshare", "--user", "--map-root-user"]
    if subprocess.run([*enter, "true"], capture_output=True, user=OWNER, group=OWNER).returncode != 0:
        pytest.skip("user namespaces are not permitted here")
    for file in (AGENT, program()):
        shutil.copy(file, open_path)
    folder = open_path / "sockets"
    folder.mkdir(mode=0o700)
    os.chown(folder, OWNER, OWNER)
    victim = start(
        command=[*enter, open_path / "victim"],
        sockets=folder,
        preload=None,
        user=OWNER,
        group=OWNER,
        extra_groups=[],
    )
    victim.ask(f"dlopen {open_path / AGENT.name}")
    path = victim.socket_of()
    eventually(path.exists, "the agent inside")
    assert say_hello_as(OWNER, path) == "answered"
    # Root of the host is no user in there.
    done = jescope(open_path, "status", "--via=agent", victim.pid, check=False)
    assert done.returncode == 0 and "reached by   agent" in done.stdout, done


def test_in_a_time_namespace(start, sockets, tmp_path):
    """The time since boot differs there, so the agent knows another start time; inside, both know the same."""
    enter = ["unshare", "--time", "--boottime", "100000"]
    if subprocess.run([*enter, "true"], capture_output=True).returncode != 0:
        pytest.skip("time namespaces are not permitted here")
    victim = start(command=[*enter, "env", f"LD_PRELOAD={AGENT}", str(program())], preload=None)
    ahead = 100000 * os.sysconf("SC_CLK_TCK")
    eventually(lambda: os.listdir(sockets) == [f"{victim.pid}.{start_time(victim.pid) + ahead}.sock"], "the agent inside")
    words = ["status", "--via=agent", str(victim.pid)]
    for command in ([JESCOPE, *words], ["nsenter", f"--time=/proc/{victim.pid}/ns/time", JESCOPE, *words]):
        done = subprocess.run(command, env=environment(tmp_path, JESCOPE_SOCKET_DIR=str(sockets)), capture_output=True, text=True, check=False)
        assert done.returncode == 0 and "reached by   agent" in done.stdout, done
