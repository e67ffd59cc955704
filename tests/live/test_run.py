# SPDX-License-Identifier: Apache-2.0
"""`jescope run`: what it adds to a program, and that the program does not notice anything else."""

import fcntl
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import termios

import pytest

from sanitized import preloadable
from services import (AGENT, AS_ROOT, DEADLINE, JESCOPE, PYTHON, VICTIMS, children, environment, jescope, redis, redis_program,
                      service, started, status, wait_for)

# Says which signals it gets, and at SIGUSR2 how often each came.
COUNTER = """
import os, signal, sys
counts = {}
def count(number, frame):
    counts[number] = counts.get(number, 0) + 1
    os.write(1, b"got %d\\n" % number)
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGWINCH):
    signal.signal(number, count)
done = []
signal.signal(signal.SIGUSR2, lambda number, frame: done.append(1))
print("ready", os.getpid(), flush=True)
while not done:
    signal.pause()
print(sorted(counts.items()), flush=True)
"""


def variable(pid, name):
    for entry in pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
        if entry.startswith(name.encode() + b"="):
            return entry.decode().split("=", 1)[1]
    return None


def said(scratch, *words, **options):
    return jescope(scratch, "run", "--", *words, **options).stdout


def test_python_gets_jemalloc(tmp_path):
    with service(tmp_path) as python:
        assert re.fullmatch(rf"{AGENT}:/.*/libjemalloc\.so\.2", variable(python.pid, "LD_PRELOAD"))
        assert status(tmp_path, python.pid)["jemalloc"]["serves_malloc"]


def test_redis_keeps_its_own(tmp_path):
    if redis_program(tmp_path) is None:
        pytest.skip("redis-tools is not installed")
    assert said(tmp_path, redis_program(tmp_path), "--version").count("malloc=jemalloc") == 1
    with redis(tmp_path) as server:
        # Its environment cannot be asked: it writes its title over it.
        maps = pathlib.Path(f"/proc/{server.pid}/maps").read_text()
        assert len({line.split()[-1] for line in maps.splitlines() if "libjemalloc" in line}) == 1
        assert str(AGENT) in maps


@pytest.mark.parametrize("program", ["victim", "victim-static", "victim-je", "victim-rjem", "victim-shared-rjem"])
def test_own_jemalloc_is_found(tmp_path, program):
    """Linked dynamically or statically, under any prefix."""
    if not (VICTIMS / program).exists():
        pytest.skip(f"{program} is not built: jemalloc's static archive is not installed")
    with started([JESCOPE, "run", VICTIMS / program], env=environment(tmp_path)) as runner:
        pid = int(runner.stdout.readline().split()[1])
        assert variable(pid, "LD_PRELOAD") == str(AGENT)
        wait_for(lambda: status(tmp_path, pid)["profiling"]["available"], "profiling is ready")


@preloadable
def test_preloaded_by_the_user(tmp_path):
    library = re.search(r"(/[^\s:=]*libjemalloc\.so\.2)", said(tmp_path, "env")).group(1)
    env = dict(environment(tmp_path), LD_PRELOAD=library)
    assert f"LD_PRELOAD={library}:{AGENT}\n" in said(tmp_path, "env", env=env)


@preloadable
def test_run_in_run(tmp_path):
    out = said(tmp_path, JESCOPE, "run", "env")
    assert out.count(str(AGENT)) == 1 and len(re.findall(r"libjemalloc\.so\.2", out)) == 1


@pytest.mark.parametrize("line", [f"#!{PYTHON} -u", "#!/usr/bin/env python3", "#!/usr/bin/env -S python3 -u"])
def test_script(tmp_path, line):
    script = tmp_path / "script"
    script.write_text(f"{line}\nprint('jemalloc' in open('/proc/self/maps').read())\n")
    script.chmod(0o755)
    assert said(tmp_path, script) == "True\n"


def test_script_of_a_jemalloc_program(tmp_path):
    """The interpreter brings its own, so none is added."""
    script = tmp_path / "script"
    script.write_text(f"#!{VICTIMS}/victim\n")
    script.chmod(0o755)
    with started([JESCOPE, "run", script], env=environment(tmp_path)) as runner:
        pid = int(runner.stdout.readline().split()[1])
        assert variable(pid, "LD_PRELOAD") == str(AGENT)


def test_text_without_interpreter(tmp_path):
    script = tmp_path / "script"
    script.write_text("echo $LD_PRELOAD\n")
    script.chmod(0o755)
    assert "libjemalloc" in said(tmp_path, script)


def test_options_of_the_program_are_its_own(tmp_path):
    assert jescope(tmp_path, "run", "echo", "--active", "-x", "--", "y").stdout == "--active -x -- y\n"
    assert said(tmp_path, "echo", "--", "y").endswith("-- y\n")


@pytest.mark.skipif(not AS_ROOT, reason="a program of another user needs root to make")
def test_privileged_program_is_warned_of(tmp_path):
    program = tmp_path / "privileged"
    shutil.copy("/bin/echo", program)
    os.chown(program, 65534, 65534)
    program.chmod(0o4755)
    done = jescope(tmp_path, "run", program, "hello")
    assert done.stdout == "hello\n"
    assert "the agent cannot be preloaded into" in done.stderr and "run it as the user it changes to" in done.stderr


def test_static_program_is_warned_of(tmp_path):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    (tmp_path / "static.c").write_text("int main(void) { return 4; }\n")
    built = subprocess.run([compiler, "-static", "-o", "static", "static.c"], cwd=tmp_path, capture_output=True)
    if built.returncode != 0:
        pytest.skip("no static C library")
    done = jescope(tmp_path, "run", "./static", check=False)
    assert done.returncode == 4 and "it is statically linked" in done.stderr
    refused = jescope(tmp_path, "run", "--sampler=jescope", "./static", check=False)
    assert refused.returncode == 1 and "--sampler=jescope: the agent, which has the sampler, cannot be preloaded" in refused.stderr


@pytest.mark.skipif(not AS_ROOT, reason="hiding a library needs root")
def test_missing_jemalloc_names_the_package(tmp_path, own_mounts):
    library = re.search(r"(/[^\s:=]*libjemalloc\.so\.2)", said(tmp_path, "env")).group(1)
    script = f"mount --bind /dev/null {pathlib.Path(library).resolve()} && {JESCOPE} run /bin/echo hello"
    done = subprocess.run([*own_mounts, "sh", "-c", script], capture_output=True, text=True, timeout=DEADLINE,
                          env=environment(tmp_path))
    assert (done.returncode, done.stdout) == (1, "")
    assert "libjemalloc.so.2 is not installed; install the package libjemalloc2" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV], ids=lambda number: number.name)
def test_exit_status_of_a_signal(tmp_path, number):
    assert jescope(tmp_path, "run", "sh", "-c", f"kill -{int(number)} $$", check=False).returncode == 128 + number


def test_signals_are_forwarded_once(tmp_path):
    with started([JESCOPE, "run", PYTHON, "-c", COUNTER], env=environment(tmp_path)) as runner:
        pid = int(runner.stdout.readline().split()[1])
        assert pid == children(runner.pid)[0]
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGWINCH):
            runner.send_signal(number)
            assert runner.stdout.readline() == f"got {int(number)}\n"
        runner.send_signal(signal.SIGUSR2)
        assert runner.stdout.readline() == "[(1, 1), (2, 1), (10, 1), (15, 1), (28, 1)]\n"
        assert runner.wait(DEADLINE) == 0


def pending(pid):
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return any(int(mask, 16) for mask in re.findall(r"^(?:SigPnd|ShdPnd):\s+(\w+)", text, re.M))


def asleep(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "S"


def test_ignored_signals_stay_ignored(tmp_path):
    """As nohup(1) asks for."""
    script = "trap '' HUP; exec \"$@\""
    out = subprocess.run(["sh", "-c", script, "sh", JESCOPE, "run", "grep", "SigIgn", "/proc/self/status"], text=True,
                         capture_output=True, env=environment(tmp_path), timeout=DEADLINE, check=True).stdout
    assert int(out.split()[1], 16) & 1
    mask = said(tmp_path, "grep", "SigBlk", "/proc/self/status")
    assert int(mask.split()[1], 16) == 0


class Terminal:
    """A session of its own with a terminal, and in it a job as a shell would start one."""

    def __init__(self, command, env):
        self.leader, follower = pty.openpty()
        self.shell = subprocess.Popen([sys.executable, "-c", SHELL, *map(str, command)], stdin=follower, stdout=follower,
                                      stderr=subprocess.PIPE, env=env, start_new_session=True, text=True,
                                      preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(follower)
        self.text = self.events = ""

    def expect(self, pattern):
        while not re.search(pattern, self.text):
            self.text += self._read(self.leader, f"{pattern!r} after {self.text!r}")
        return re.search(pattern, self.text)

    def type(self, keys):
        os.write(self.leader, keys.encode())

    def event(self):
        """The next line of SHELL."""
        while "\n" not in self.events:
            self.events += self._read(self.shell.stderr.fileno(), f"an event, the terminal shows {self.text!r}")
        line, _, self.events = self.events.partition("\n")
        return line

    @staticmethod
    def _read(descriptor, what):
        ready, _, _ = select.select([descriptor], [], [], DEADLINE)
        assert ready, f"not within {DEADLINE} s: {what}"
        return os.read(descriptor, 4096).decode()

    def close(self):
        self.shell.kill()
        self.shell.communicate()
        os.close(self.leader)


# Starts a job in the foreground and tells on stderr what becomes of it; continues it when it is stopped.
SHELL = """
import os, signal, sys
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
pid = os.fork()
if pid == 0:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpgrp())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    os.execv(sys.argv[1], sys.argv[1:])
while True:
    _, how = os.waitpid(pid, os.WUNTRACED)
    if not os.WIFSTOPPED(how):
        break
    print("stopped", file=sys.stderr, flush=True)
    os.tcsetpgrp(0, pid)
    os.killpg(pid, signal.SIGCONT)
print("ended", os.waitstatus_to_exitcode(how), file=sys.stderr, flush=True)
"""


@pytest.fixture
def terminal(tmp_path):
    found = []

    def start(*command):
        found.append(Terminal(command, environment(tmp_path)))
        return found[0]

    yield start
    for each in found:
        each.close()


def test_interrupt_from_the_terminal_comes_once(terminal):
    job = terminal(JESCOPE, "run", PYTHON, "-c", COUNTER)
    pid = int(job.expect(r"ready (\d+)").group(1))
    runner = int(re.search(r"\nPPid:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text()).group(1))
    job.type("\x03")
    job.expect("got 2")
    # The terminal has sent it to both; once jescope has taken its own and sleeps again, a second one would be here.
    wait_for(lambda: not pending(runner) and asleep(runner), "jescope has dealt with its own")
    os.kill(pid, signal.SIGUSR2)
    job.expect(re.escape("[(2, 1)]"))
    assert job.event() == "ended 0"


def test_stop_from_the_terminal(terminal):
    """Ctrl-Z stops the whole job, and fg continues it."""
    job = terminal(JESCOPE, "run", "sh", "-c", "echo ready; read line; echo got $line")
    job.expect("ready")
    job.type("\x1a")
    assert job.event() == "stopped"
    job.type("word\n")
    job.expect("got word")
    assert job.event() == "ended 0"


def test_interrupt_ends_what_does_not_catch_it(terminal):
    job = terminal(JESCOPE, "run", PYTHON, "-c", "import signal; signal.signal(2, signal.SIG_DFL); print('ready', flush=True); "
                                                 "signal.pause()")
    job.expect("ready")
    job.type("\x03")
    assert job.event() == f"ended {128 + signal.SIGINT}"


def test_first_process_reaps(tmp_path):
    flags = ["--fork", "--pid", "--mount-proc", "--kill-child"]
    flags = flags if AS_ROOT else ["--user", "--map-root-user"] + flags
    if subprocess.run(["unshare", *flags, "true"], capture_output=True).returncode != 0:
        pytest.skip("this system does not let us make namespaces")
    # Orphans end up with process 1, which is jescope; when the last has ended no zombie is left.
    script = """
        (true & true & true &)
        while ps -e -o stat= | grep -q Z; do :; done
        echo clean; exit 5"""
    done = subprocess.run(["unshare", *flags, JESCOPE, "run", "sh", "-c", script], capture_output=True, text=True,
                          timeout=DEADLINE, env=environment(tmp_path))
    assert (done.stdout, done.returncode) == ("clean\n", 5)


def test_first_process_forwards(tmp_path):
    flags = ["--fork", "--pid", "--mount-proc", "--kill-child"]
    flags = flags if AS_ROOT else ["--user", "--map-root-user"] + flags
    if subprocess.run(["unshare", *flags, "true"], capture_output=True).returncode != 0:
        pytest.skip("this system does not let us make namespaces")
    with started(["unshare", *flags, JESCOPE, "run", PYTHON, "-c", COUNTER], env=environment(tmp_path)) as unshare:
        unshare.stdout.readline()
        first = children(unshare.pid)[0]
        os.kill(first, signal.SIGTERM)
        assert unshare.stdout.readline() == "got 15\n"
        os.kill(children(first)[0], signal.SIGUSR2)
        assert unshare.stdout.readline() == "[(15, 1)]\n"


def test_installed(tmp_path):
    """A copy in another place finds the agent that came along."""
    for name, source in {"bin/jescope": JESCOPE, "agent/libjescope-agent.so": AGENT}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(source, tmp_path / name)
    done = subprocess.run([tmp_path / "bin/jescope", "run", "env"], capture_output=True, text=True, timeout=DEADLINE,
                          env=environment(tmp_path), check=True)
    assert f"LD_PRELOAD={tmp_path}/agent/libjescope-agent.so:" in done.stdout
    (tmp_path / "agent/libjescope-agent.so").unlink()
    done = subprocess.run([tmp_path / "bin/jescope", "run", "env"], capture_output=True, text=True, timeout=DEADLINE,
                          env=environment(tmp_path))
    assert done.returncode == 1 and "the agent libjescope-agent.so is not installed with" in done.stderr


PLAIN_SOURCE = '#include <stdio.h>\n#include <unistd.h>\nint main(int n, char **words) { puts("ran"); fflush(stdout); if (n > 1) pause(); return 0; }\n'


def built(scratch, compiler, *words, source=PLAIN_SOURCE, name="built"):
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    (scratch / f"{name}.c").write_text(source)
    subprocess.run([compiler, "-o", scratch / name, scratch / f"{name}.c", *map(str, words)], check=True, capture_output=True)
    return scratch / name


def victim_or_skip(name):
    if not (VICTIMS / name).exists():
        pytest.skip(f"{name} is not built: jemalloc's static archive is not installed")
    return VICTIMS / name


def test_musl_is_refused_before_it_starts(tmp_path):
    """The agent needs glibc: a program that loads it with musl's loader dies while it is loaded."""
    done = jescope(tmp_path, "run", "--", built(tmp_path, "musl-gcc"), check=False)
    assert done.returncode == 1 and done.stdout == ""
    assert "is linked against musl" in done.stderr and done.stderr.count("\n") == 1


def test_a_static_program_is_not_ended_by_prof(tmp_path):
    """jemalloc 5.3.0 as Debian builds it aborts a statically linked program under prof:true."""
    victim_or_skip("storm-alone")
    source = "#include <stdlib.h>\n" + PLAIN_SOURCE.replace("puts(", "free(malloc(1000)); puts(")
    program = built(tmp_path, "gcc", "-static", "-fno-builtin", "-x", "none", "-ljemalloc", "-lm", "-lstdc++", source=source)
    done = jescope(tmp_path, "run", "--", program)
    assert done.stdout == "ran\n"
    assert "is statically linked, and jemalloc's prof:true can crash such a program" in done.stderr
    # What the user asks for is the user's.
    done = jescope(tmp_path, "run", "--", program, check=False, env=environment(tmp_path, MALLOC_CONF="prof:true"))
    assert done.stdout == "" and done.returncode == 128 + signal.SIGABRT


def test_the_pid_of_run_itself(tmp_path):
    """Shells know it as that of the program ($!)."""
    with service(tmp_path) as process:
        done = jescope(tmp_path, "doctor", process.runner.pid, check=False)
        assert done.returncode == 1 and re.search(rf"is jescope itself; the program that it runs is python\S* \({process.pid}\)", done.stderr)


def test_a_stripped_jemalloc_is_said_before_it_starts(tmp_path):
    """Its executable exports malloc, so none that is preloaded is used: nothing would be seen, and nothing would say so."""
    stripped = tmp_path / "stripped"
    subprocess.run(["strip", "-o", stripped, victim_or_skip("victim-static")], check=True)
    with started([JESCOPE, "run", "--", stripped], env=environment(tmp_path), stderr=subprocess.PIPE) as run:
        pid = int(run.stdout.readline().split()[1])
        assert "libjemalloc" not in variable(pid, "LD_PRELOAD")
        done = jescope(tmp_path, "status", pid, check=False)
        assert done.returncode == 1 and "its symbols were stripped" in done.stderr and "restart it under" not in done.stderr
        assert "a linked jemalloc without symbols" in run.communicate("", timeout=DEADLINE)[1]


def test_a_program_with_a_malloc_of_its_own(tmp_path):
    source = '#include <stddef.h>\nvoid *malloc(size_t n) { static char heap[1 << 22]; static size_t at; at += (n + 15) / 16 * 16; ' \
             'return heap + at - (n + 15) / 16 * 16; }\nvoid free(void *p) { (void)p; }\n' + PLAIN_SOURCE
    program = built(tmp_path, "gcc", "-rdynamic", "-fno-builtin", source=source)
    done = jescope(tmp_path, "run", "--", program)
    assert done.stdout == "ran\n" and "has its own malloc linked in" in done.stderr
    with started([program, "stay"], env=environment(tmp_path)) as process:
        process.stdout.readline()
        done = jescope(tmp_path, "status", process.pid, check=False)
        assert done.returncode == 1 and "linked with another malloc" in done.stderr and "restart it under" not in done.stderr


def test_a_link_to_a_program_that_finds_its_libraries_beside_itself(tmp_path):
    """As /usr/bin/java: $ORIGIN is the directory of the file, not of the link."""
    home = tmp_path / "home"
    (home / "lib").mkdir(parents=True)
    library = built(home / "lib", "gcc", "-shared", "-fPIC", source="int beside(void) { return 0; }\n", name="libbeside.so")
    source = "int beside(void);\n" + PLAIN_SOURCE.replace("return 0;", "return beside();")
    program = built(home, "gcc", library, "-Wl,-rpath,$ORIGIN/lib", source=source)
    (tmp_path / "link").symlink_to(program)
    done = jescope(tmp_path, "run", "--", tmp_path / "link")
    assert (done.stdout, done.stderr) == ("ran\n", "")
    library.unlink()
    done = jescope(tmp_path, "run", "--", tmp_path / "link", check=False)
    assert done.returncode == 1 and "cannot be loaded" in done.stderr and "libbeside.so" in done.stderr


def test_jescopes_sampler_from_the_start(tmp_path):
    """Also where jemalloc could profile; with its period and its memory, in the program and in what it starts."""
    words = ["--active", "--sampler=jescope", "--sample=64KiB", "--sampler-memory=2MiB", "--", VICTIMS / "victim"]
    with started([JESCOPE, "run", *words], env=environment(tmp_path)) as run:
        pid = int(run.stdout.readline().split()[1])
        wait_for(lambda: status(tmp_path, pid)["profiling"]["active"], "the sampler is on")
        profiling = status(tmp_path, pid)["profiling"]
        assert profiling["sampler"] == "jescope" and profiling["sampler_figures"]["period_bytes"] == 64 << 10
        assert variable(pid, "JESCOPE_SAMPLER") == "active:true,lg_sample:16,memory:2097152"
        dump = tmp_path / "heap"
        jescope(tmp_path, "dump", "-o", dump, pid)
        assert dump.read_bytes().startswith(b"heap_v2/65536\n#sampler jescope 1 since=")
        refused = jescope(tmp_path, "enable", "--sampler-memory=4MiB", pid, check=False)
        assert refused.returncode == 1 and "is on already" in refused.stderr
        jescope(tmp_path, "disable", pid)
        jescope(tmp_path, "enable", "--sampler-memory=4MiB", "--for=1h", pid)
        assert status(tmp_path, pid)["profiling"]["active"]
        jescope(tmp_path, "disable", pid)
        os.kill(pid, signal.SIGKILL)


@preloadable
def test_samplers_that_run_cannot_give(tmp_path):
    with started([JESCOPE, "run", "--active", "--sampler=jemalloc", "--", VICTIMS / "victim"], env=environment(tmp_path)) as run:
        pid = int(run.stdout.readline().split()[1])
        wait_for(lambda: status(tmp_path, pid)["profiling"]["active"], "jemalloc's profiler is on")
        assert status(tmp_path, pid)["profiling"]["sampler"] == "jemalloc" and variable(pid, "JESCOPE_SAMPLER") is None
        refused = jescope(tmp_path, "enable", "--sampler-memory=4MiB", pid, check=False)
        assert refused.returncode == 1 and "choose that sampler, too: --sampler=jescope" in refused.stderr
        os.kill(pid, signal.SIGKILL)
    for words, reason in ((["--sampler=jemalloc", "--sampler-memory=4MiB"], "not for --sampler=jemalloc"), (["--sampler-memory=4KiB"], "1MiB to 1GiB")):
        refused = jescope(tmp_path, "run", *words, "--", "true", check=False)
        assert refused.returncode == 2 and reason in refused.stderr


def test_a_program_that_lost_the_environment_of_run(tmp_path):
    """It already runs under 'jescope run', so that this is not advised."""
    program = built(tmp_path, "gcc")
    with started([JESCOPE, "run", "--", "env", "-i", program, "stay"], env=environment(tmp_path)) as run:
        assert run.stdout.readline() == "ran\n"
        pid = children(run.pid)[0]
        done = jescope(tmp_path, "status", pid, check=False)
        assert done.returncode == 1 and "without its environment" in done.stderr
        os.kill(pid, signal.SIGKILL)
