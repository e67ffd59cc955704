# SPDX-License-Identifier: Apache-2.0
"""The completions for bash, fish and zsh, each asked by its own shell. A test's line ends where the cursor is."""

import os
import pathlib
import pty
import select
import shlex
import shutil
import subprocess
import time

import pytest

from services import DEADLINE, JESCOPE, environment, jescope, service

COMPLETIONS = pathlib.Path(os.environ["JESCOPE_BUILD"]) / "docs"

# The words of the command line as readline splits them ('=' is one); the last is the one to complete.
BASH = """
compopt() { :; }
. "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
_jescope
printf '%s\\n' "${COMPREPLY[@]}"
"""

# Its line editor completes on a terminal only: its offers go to a file instead of the screen.
ZSH = """
PS1= PROMPT_EOL_MARK=
fpath=({completions} $fpath)
autoload -Uz compinit && compinit -u -D
compadd() {{
    if [[ ${{@[1,(i)(-|--)]}} == *-(O|A|D)\\ * ]]; then
        builtin compadd "$@"
        return
    fi
    local -a hits
    builtin compadd -A hits "$@"
    print -rl -- $hits >>{answer}
    builtin compadd "$@"
}}
ask() {{ : >{answer}; zle complete-word; print done >{answer}.done }}
zle -C complete-word complete-word _main_complete
zle -N ask && bindkey '^T' ask
print ready >{answer}.ready
"""


def asking(scratch):
    env = environment(scratch)
    env["PATH"] = f"{JESCOPE.parent}:{env['PATH']}"
    env["TERM"] = "dumb"
    return env


def ask_bash(scratch, line):
    words = [part for word in line.split(" ") for part in word.replace("=", " = ").split(" ")]
    if words[-2:] == ["=", ""]:  # readline ends in '=' then
        words.pop()
    done = subprocess.run(["bash", "-c", BASH, "bash", COMPLETIONS / "jescope", *words], cwd=scratch, env=asking(scratch),
                          text=True, capture_output=True, timeout=DEADLINE, check=True)
    assert done.stderr == ""
    return done.stdout.split()


def ask_fish(scratch, line):
    done = subprocess.run(["fish", "--no-config", "-c", f"source {COMPLETIONS}/jescope.fish; complete -C {shlex.quote(line)}"],
                          cwd=scratch, env=asking(scratch), text=True, capture_output=True, timeout=DEADLINE, check=True)
    assert done.stderr == ""
    offered = [row.split("\t")[0] for row in done.stdout.splitlines()]
    return [word.rpartition("=")[2] or word for word in offered]


def wait_for_file(path, terminal):
    """The terminal is read meanwhile, or the shell would wait for us."""
    end = time.monotonic() + DEADLINE
    said = b""
    while not path.exists() or not path.read_text():
        assert time.monotonic() < end, said
        if select.select([terminal], [], [], 0.01)[0]:
            said += os.read(terminal, 4096)


def ask_zsh(scratch, line):
    answer = scratch / "answer"
    setup = scratch / "setup.zsh"
    setup.write_text(ZSH.format(completions=shlex.quote(str(COMPLETIONS)), answer=shlex.quote(str(answer))))
    for suffix in ("ready", "done"):
        pathlib.Path(f"{answer}.{suffix}").unlink(missing_ok=True)
    ours, its = pty.openpty()
    shell = subprocess.Popen(["zsh", "-f", "-i"], stdin=its, stdout=its, stderr=its, cwd=scratch, env=asking(scratch),
                             start_new_session=True)
    os.close(its)
    try:
        os.write(ours, f"source {shlex.quote(str(setup))}\n".encode())
        wait_for_file(pathlib.Path(f"{answer}.ready"), ours)
        os.write(ours, line.encode() + b"\x14")
        wait_for_file(pathlib.Path(f"{answer}.done"), ours)
    finally:
        shell.kill()
        shell.wait()
        os.close(ours)
    return answer.read_text().split()


ASK = {"bash": ask_bash, "fish": ask_fish, "zsh": ask_zsh}


@pytest.fixture(params=sorted(ASK))
def completed(request, tmp_path):
    if shutil.which(request.param) is None:
        pytest.skip(f"{request.param} is not installed")

    def ask(line):
        return [word.rstrip("=") for word in ASK[request.param](tmp_path, line)]

    return ask


def test_commands(completed):
    assert sorted(completed("jescope st")) == ["stats", "status"]
    assert {"run", "ps", "record"} <= set(completed("jescope "))
    assert {"--help", "--version"} <= set(completed("jescope --"))


def test_options(completed):
    assert completed("jescope record --ev") == ["--every"]
    assert sorted(completed("jescope detach --")) == ["--help"]


def test_files(completed, tmp_path):
    (tmp_path / "one.heap").touch()
    assert completed("jescope dump -o on") == ["one.heap"]
    assert completed("jescope dump --output=on") == ["one.heap"]
    assert "one.heap" in completed("jescope dump --output=")
    assert completed("jescope report one") == ["one.heap"]


def test_words_of_an_option(completed):
    assert completed("jescope report --format=fol") == ["folded"]


def test_targets(completed, tmp_path):
    with service(tmp_path) as python:
        assert str(python.pid) in completed(f"jescope status {str(python.pid)[:1]}")
        # Others' tests run python3, too, and an ambiguous name is not a target.
        python.rename(f"only-{os.getpid()}")
        assert f"only-{os.getpid()}" in completed("jescope record --for=5s only")
        with service(tmp_path) as twin:
            twin.rename(f"only-{os.getpid()}")
            assert f"only-{os.getpid()}" not in completed("jescope record --for=5s only")


def test_words_after_the_first_operand(completed):
    assert completed("jescope msg 1 memory_profile act") == ["activate"]


def test_what_the_history_has(completed, tmp_path):
    log = pathlib.Path(os.environ["JESCOPE_SOURCE"]) / "tests/data/stats/console-5.3.0.log.gz"
    for name in ("web-front", "web-back", "other"):
        jescope(tmp_path, "import", "--target", name, log)
    assert sorted(completed("jescope series --target=web")) == ["web-back", "web-front"]
    assert completed("jescope series resi") == ["resident"]


def test_names_are_not_run(completed, tmp_path):
    """A process may be called as it likes."""
    with service(tmp_path) as python:
        python.rename("$(>ran)")
        assert str(python.pid) in completed(f"jescope status {str(python.pid)[:1]}")
        completed("jescope status $")
        assert not (tmp_path / "ran").exists()


def test_names_that_would_mean_something_else(completed, tmp_path):
    """An option, and another process."""
    with service(tmp_path) as python:
        for name, typed in (("-o/tmp/x", "jescope status "), ("99999999", "jescope status 9999")):
            python.rename(name)
            assert name not in completed(typed)
        name = f"a:{os.getpid()}"
        python.rename(name)
        assert [offered.replace("\\", "") for offered in completed("jescope status a:")] == [name]
