# SPDX-License-Identifier: Apache-2.0
"""Programs whose debug information names files that their user may not read, reported by root."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest
from victims import BUILD, eventually

JESCOPE = BUILD / "src/cli/jescope"
NOBODY = 65534
LINES = 40

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="becoming other users needs root"),
    pytest.mark.skipif(shutil.which("gcc") is None or not list(pathlib.Path("/usr/include/jemalloc").glob("*.h")),
                       reason="needs gcc and libjemalloc-dev"),
]

FUNCTION = """
__attribute__((noinline)) static void f{line}(void)
{{
#line {line} "{path}"
    sink = malloc(1 << 20);
    __asm__ volatile("");
}}
"""
PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <jemalloc/jemalloc.h>
static void *volatile sink;
{functions}
int main(int argc, char **argv)
{{
    for (int i = 0; i < 20; i++) {{
        {calls}
    }}
    const char *name = argv[1];
    mallctl("prof.dump", NULL, NULL, &name, sizeof name);
    puts("ready");
    fflush(stdout);
    pause();
}}
"""


@pytest.fixture
def secret(open_path):
    path = open_path / "secret"
    path.write_text("".join(f"SECRET-{line}\n" for line in range(1, LINES + 1)))
    path.chmod(0o600)
    return path


@pytest.fixture
def build(open_path):
    """build(PATH, OWNER) makes a program of OWNER's that says its functions lie in PATH."""

    def build_one(path, owner):
        lines = range(1, LINES + 1, 5)
        source = open_path / "leak.c"
        source.write_text(PROGRAM.format(functions="".join(FUNCTION.format(line=n, path=path) for n in lines),
                                         calls=" ".join(f"f{n}();" for n in lines)))
        program = open_path / "leak"
        subprocess.run(["gcc", "-O1", "-g", source, "-o", program, "-ljemalloc"], check=True)
        os.chown(program, owner, owner)
        return program

    return build_one


@pytest.fixture
def start(open_path):
    """start(PROGRAM, USER) runs it until it has allocated and written its own dump; returns (process, dump)."""
    started = []

    def start_one(program, user):
        folder = open_path / "written"
        folder.mkdir(mode=0o700)
        os.chown(folder, user, user)
        dump = folder / "own.heap"
        process = subprocess.Popen([JESCOPE, "run", "--active", "--sample=64K", "--", program, dump], user=user,
                                   group=user, extra_groups=[], stdout=subprocess.PIPE, text=True, cwd=folder,
                                   env={"PATH": os.environ["PATH"], "JESCOPE_SOCKET_DIR": str(folder)})
        started.append(process)
        assert process.stdout.readline() == "ready\n"
        return process, dump

    yield start_one
    for process in started:
        process.terminate()  # which 'jescope run' hands on; SIGKILL would leave the program behind
        process.wait(60)


def report(*arguments, **environment):
    done = subprocess.run([JESCOPE, "report", "--format=source", "--count=0", *map(str, arguments)], check=False,
                          capture_output=True, text=True, timeout=180, env={**os.environ, **environment})
    assert done.returncode == 0 and re.search(r"^f1 ", done.stdout, re.M), done.stdout + done.stderr
    return done.stdout


def child_of(process):
    """The program that 'jescope run' started."""
    listing = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
    return int(eventually(lambda: listing.read_text().split(), "the program starts")[0])


def test_live_target(secret, build, start):
    process, dump = start(build(secret, NOBODY), NOBODY)
    assert "SECRET" not in report(child_of(process), JESCOPE_SOCKET_DIR=str(dump.parent))


def test_readable_sources_are_shown(secret, build, start):
    secret.chmod(0o644)
    process, dump = start(build(secret, NOBODY), NOBODY)
    assert "SECRET-31" in report(child_of(process), JESCOPE_SOCKET_DIR=str(dump.parent))
    assert "SECRET-31" in report(dump)


def test_sources_that_control_a_terminal(secret, build, start):
    secret.write_text("\n".join(f"SECRET-{n} \x1b[2J \u009b31m \x7f \u202e" for n in range(1, LINES + 1)), encoding="utf-8")
    secret.chmod(0o644)
    _, dump = start(build(secret, NOBODY), NOBODY)
    shown = report(dump)
    assert "SECRET-31" in shown and not re.search("[\x1b\u009b\x7f\u202e]", shown), shown


def test_dump_of_another_user(secret, build, start):
    _, dump = start(build(secret, 0), NOBODY)
    assert "SECRET" not in report(dump)


def test_dump_of_ours_of_a_program_of_another_user(secret, build, start):
    _, dump = start(build(secret, NOBODY), NOBODY)
    os.chown(dump, 0, 0)
    assert "SECRET" not in report(dump)


def test_link_to_a_file_of_ours(secret, build, start, open_path):
    link = open_path / "source.c"
    link.symlink_to(secret)
    process, dump = start(build(link, NOBODY), NOBODY)
    assert "SECRET" not in report(child_of(process), JESCOPE_SOCKET_DIR=str(dump.parent))


def test_what_the_user_names_is_read_with_his_rights(secret, build, start):
    _, dump = start(build(secret, NOBODY), NOBODY)
    assert "SECRET-31" in report("--sysroot=/", dump)


def test_names_found_with_another_users_dump_are_for_his_reports(secret, build, start, tmp_path):
    cache = tmp_path / "cache"
    _, dump = start(build(secret, 0), NOBODY)

    def kept():
        report(dump, XDG_CACHE_HOME=str(cache))
        return {".of-65534" in file.name for file in (cache / "jescope" / "symbols").iterdir()}

    assert kept() == {True}
    os.chown(dump, 0, 0)
    assert kept() == {True, False}
