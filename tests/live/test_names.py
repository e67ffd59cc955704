# SPDX-License-Identifier: Apache-2.0
"""Function names against gdb's, and in reports: one function has one name, two never share one."""

import collections
import functools
import json
import os
import pathlib
import re
import subprocess
import tempfile

import pytest

from test_symbolize import DATA, ask, needs, run, symbols

JESCOPE = pathlib.Path(os.environ["JESCOPE_BUILD"]) / "src/cli/jescope"
JEMALLOC = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"
COMPILERS = [pytest.param("g++"), pytest.param("clang++-14", marks=needs("clang++-14"))]


@functools.cache
def built_once(compiler, flags):
    with tempfile.TemporaryDirectory() as directory:
        program = pathlib.Path(directory) / "functions"
        run(compiler, "-std=c++17", "-O1", "-w", *flags, "-o", program, DATA / "functions.cc")
        return program.read_bytes()


def build(directory, compiler, *flags):
    program = directory / "functions"
    program.write_bytes(built_once(compiler, flags))
    program.chmod(0o755)
    return program


def gdb_names(program, addresses):
    """gdb's names of the functions that begin at addresses."""
    script = program.parent / "names.gdb"
    script.write_text("".join(f"info symbol 0x{a:x}\n" for a in addresses))
    lines = run("gdb", "-nx", "-batch", "-x", script, program).stdout.splitlines()
    return [re.sub(r"( in section .*| \+ \d+ in section .*)$", "", line) for line in lines]


def aliases(program):
    """All demangled names per address: constructors, identical functions."""
    names = collections.defaultdict(set)
    for line in run("nm", "-C", "--defined-only", program).stdout.splitlines():
        address, kind, name = line.split(" ", 2) if line[0] != " " else (None, None, None)
        if address and kind in "tTwW":
            names[int(address, 16)].add(name)
    return names


@needs("gdb")
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("flags", [("-g",), ("-g", "-gdwarf-4"), ("-gline-tables-only",), ()])
def test_names_are_gdbs(tmp_path, compiler, flags):
    if compiler == "g++" and flags == ("-gline-tables-only",):
        flags = ("-g1",)
    program = build(tmp_path, compiler, *flags)
    addresses = sorted({start for name, (start, size) in symbols(program).items() if size > 0 and name.startswith("_Z")})
    assert len(addresses) >= 40
    known = aliases(program)
    ours = ask(program, addresses)
    for address, theirs, frames in zip(addresses, gdb_names(program, addresses), ours):
        name = frames[-1][0]  # the last frame is the physical function
        assert name == theirs or name in known[address], (hex(address), name, theirs)


def record(program, directory):
    """The dump of every allocation that the program leaves behind."""
    run(program, cwd=directory,
        env={**os.environ, "LD_PRELOAD": JEMALLOC,
             "MALLOC_CONF": f"prof:true,prof_final:true,lg_prof_sample:0,prof_prefix:{directory}/dump"})
    return next(directory.glob("dump.*.heap"))


def report(dump, *options):
    done = subprocess.run([JESCOPE, "report", "--format=json", *options, dump], check=True, capture_output=True, text=True,
                          timeout=180, env={**os.environ, "DEBUGINFOD_URLS": "", "XDG_CACHE_HOME": str(dump.parent)})
    return json.loads(done.stdout)


@pytest.mark.parametrize("compiler", COMPILERS)
def test_one_name_for_one_function(tmp_path, compiler):
    dump = record(build(tmp_path, compiler, "-g"), tmp_path)
    rows = report(dump, "--wrappers")["rows"]
    shown = [row["display"] for row in rows]
    assert len(shown) == len(set(shown)), "two functions share a name"
    ours = [row for row in rows if row.get("file", "").endswith("functions.cc")]
    by_line = collections.defaultdict(set)
    for row in report(dump, "--wrappers", "--by=line")["rows"]:
        if row.get("file", "").endswith("functions.cc"):
            by_line[row["function"]].add(re.sub(r" /\S+:\d+$", "", row["display"]))
    assert all(len(names) == 1 or "[" in min(names) for names in by_line.values()), "one function has two names"
    assert {min(names) for names in by_line.values() if len(names) == 1} <= set(shown)
    names = "\n".join(row["display"] for row in ours)
    for wanted in ("shop::(anonymous namespace)::hold(int)", "shop::(anonymous namespace)::hold(char const*)",
                   "shop::(anonymous namespace)::Local::operator<", "shop::(anonymous namespace)::Local::operator->",
                   "shop::Cart<int>::add", "main::InMain::member"):
        assert wanted in names
    assert "::::" not in names and "(anonymous class)" not in names
    # Two overloads that are inlined everywhere, and two lambdas of one type: told apart, not added up.
    assert len([row for row in ours if "::inlined" in row["display"]]) == 2
    sizes = {row["flat"]["inuse_space"]["estimate"] for row in ours if "operator()" in row["display"]}
    assert len([size for size in sizes if 3000 <= size < 8000]) >= 3


@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_difference_finds_functions_again(tmp_path, compiler):
    """Another build, with every line moved: nothing but noise has changed."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    before = record(build(tmp_path / "a", compiler, "-g"), tmp_path / "a")
    moved = tmp_path / "b/functions.cc"
    moved.write_text("\n\n\n" + (DATA / "functions.cc").read_text())
    program = tmp_path / "b/functions-next"
    run(compiler, "-std=c++17", "-O1", "-w", "-g", "-o", program, moved)
    changes = report(record(program, tmp_path / "b"), "--base", before, "--wrappers")
    for row in changes["rows"]:
        assert row["flat"]["inuse_space"]["estimate"] == row["flat_base"]["inuse_space"]["estimate"], row["display"]




def test_names_travel_with_the_dump(tmp_path):
    """A symbolized dump tells without the program what the dump tells with it: functions, inlined calls, lines."""
    program = build(tmp_path, "g++", "-g")
    dump = record(program, tmp_path)
    named = tmp_path / "named.heap"
    run(JESCOPE, "report", "-o", named, dump)
    with_program = report(dump, "--by=line", "--wrappers")["rows"]
    program.unlink()
    rows = report(named, "--by=line", "--wrappers")["rows"]
    key = "display", "flat", "cum", "file", "line"
    ours = [[row.get(k) for k in key] for row in with_program if row["known"]]
    assert [[row.get(k) for k in key] for row in rows if row["known"]] == ours
    assert any("::inlined" in row["display"] and row["line"] for row in rows)


LIVE = r"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
void *kept[2000];
__attribute__((noinline)) void *hold_by_name(int n) { return malloc(n); }
int main(void) {
    for (int i = 0; i < 1000; i++) kept[i] = hold_by_name(5000);
    puts("ready"); fflush(stdout);
    for (int i = 1000;; i++) { free(kept[1000 + i % 1000]); kept[1000 + i % 1000] = hold_by_name(6000); usleep(1000); }
}
"""


@pytest.fixture
def live(tmp_path):
    (tmp_path / "live.c").write_text(LIVE)
    run("gcc", "-g", "-O1", "-o", tmp_path / "live", tmp_path / "live.c")
    with subprocess.Popen([tmp_path / "live"], stdout=subprocess.PIPE, text=True,
                          env={**os.environ, "LD_PRELOAD": JEMALLOC, "MALLOC_CONF": "prof:true,lg_prof_sample:10"}) as process:
        assert process.stdout.readline() == "ready\n"
        yield process
        process.kill()


@pytest.mark.parametrize("command", [("dump",), ("record", "--for=500ms")])
def test_dump_with_names(tmp_path, live, command):
    dump = tmp_path / "live.heap"
    run(JESCOPE, *command, "--symbolize", "-o", dump, str(live.pid))
    (tmp_path / "live").unlink()
    text = run(JESCOPE, "report", "--format=stacks", "-n", "1", dump).stdout
    assert re.search(r"^  > hold_by_name .*live\.c:6$", text, re.M), text
    names = run("jeprof", "--text", dump).stdout
    assert "hold_by_name" in names


FAMILY = LIVE.replace("int main(void) {", "int main(void) { fork();").replace("#include <unistd.h>", """#include <unistd.h>
__attribute__((noinline)) void *hold_in_child(int n) { return malloc(n); }""").replace(
    "kept[i] = hold_by_name(5000);", "kept[i] = (getppid() == parent ? hold_in_child : hold_by_name)(5000);").replace(
    "{ fork();", "{ int parent = getpid(); fork();")


def test_dump_of_a_family_with_names(tmp_path):
    """The dump of each process brings its names along."""
    (tmp_path / "family.c").write_text(FAMILY)
    program, dump = tmp_path / "family", tmp_path / "family.heap"
    run("gcc", "-g", "-O1", "-o", program, tmp_path / "family.c")
    with subprocess.Popen([program], stdout=subprocess.PIPE, text=True,
                          env={**os.environ, "LD_PRELOAD": JEMALLOC, "MALLOC_CONF": "prof:true,lg_prof_sample:10"}) as process:
        try:
            assert [process.stdout.readline() for _ in range(2)] == ["ready\n"] * 2
            run(JESCOPE, "record", "--for=2s", "--children", "--symbolize", "-o", dump, str(process.pid))
        finally:
            for pid in (*map(int, pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()), process.pid):
                os.kill(pid, 9)
    program.unlink()
    assert dump.read_text().count("--- symbol\n") == 2
    rows = {row["display"]: row for row in report(dump, "--by=line")["rows"]}
    for function in ("hold_by_name", "hold_in_child"):
        assert any(function in name and "family.c:" in name for name in rows), rows.keys()
    again = tmp_path / "again.heap"
    run(JESCOPE, "report", "--format=symbolized", "-o", again, dump)
    assert {"hold_by_name", "hold_in_child"} <= {row["display"] for row in report(again)["rows"]}


GENERATED = r"""
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void) {
    /* sub rsp, 8; mov rax, malloc; call rax; add rsp, 8; ret */
    unsigned char code[] = {0x48, 0x83, 0xec, 8, 0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xd0, 0x48, 0x83, 0xc4, 8, 0xc3};
    void *(*target)(size_t) = malloc;
    char path[64];
    unsigned char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(code + 6, &target, 8);
    memcpy(page + 64, code, sizeof code);
    snprintf(path, sizeof path, "/tmp/perf-%d.map", getpid());
    FILE *map = fopen(path, "w");
    fprintf(map, "%lx %x JS:*serveRequest /srv/app.js:12:7\n", (unsigned long)page + 64, (unsigned)sizeof code);
    fclose(map);
    for (int i = 0; i < 100; i++) ((void *(*)(size_t))(page + 64))(100000);
    puts("ready"); fflush(stdout);
    pause();
}
"""


# What reports call the functions of holds.rs and holds.d, and the wrappers whose memory is theirs.
RUST_LEGACY = {"<holds::shop::Cart<u64> as holds::shop::Store>::keep", "holds::table"}
RUST_V0 = RUST_LEGACY | {"<holds::shop::Cart<[u32; 8]>>::fill"}
D = {"holds.Cart!(int).Cart.fill", "holds.Cart!(int).Cart.opIndexAssign", "holds.Store.keep", "holds.lambda().__lambda4"}
# Debian's, not another one installed in addition: newer ones need a newer demangler.
RUSTC = "/usr/bin/rustc"
LANGUAGES = [
    pytest.param([RUSTC, "-O"], "holds.rs", "_ZN", RUST_LEGACY | {"holds::shop::Cart<T>::fill"}, marks=needs(RUSTC), id="rust"),
    pytest.param([RUSTC, "-O", "-C", "debuginfo=2"], "holds.rs", "_ZN", RUST_LEGACY, marks=needs(RUSTC), id="rust-g"),
    pytest.param([RUSTC, "-O", "-C", "symbol-mangling-version=v0"], "holds.rs", "_R", RUST_V0, marks=needs(RUSTC), id="rust-v0"),
    pytest.param([RUSTC, "-O", "-C", "debuginfo=2", "-C", "symbol-mangling-version=v0"], "holds.rs", "_R", RUST_V0,
                 marks=needs(RUSTC), id="rust-v0-g"),
    pytest.param(["gdc", "-O1"], "holds.d", "_D", D, marks=needs("gdc"), id="gdc"),
    pytest.param(["gdc", "-O1", "-g"], "holds.d", "_D", D, marks=needs("gdc"), id="gdc-g"),
]


@needs("gdb")
@pytest.mark.parametrize("compiler, source, mangling, holders", LANGUAGES)
def test_names_of_other_languages(tmp_path, compiler, source, mangling, holders):
    """Functions of Rust and D are called as gdb calls them, without the hashes that it leaves in names of Rust, and
    reports charge to them what their language's library allocates for them."""
    program, dump = tmp_path / "holds", tmp_path / "holds.heap"
    run(*compiler, "-o", program, DATA / source)
    addresses = sorted({start for name, (start, size) in symbols(program).items() if size > 0 and name.startswith(mangling)})
    assert len(addresses) >= 9
    known = aliases(program)
    for address, theirs, frames in zip(addresses, gdb_names(program, addresses), ask(program, addresses)):
        name = frames[-1][0]
        assert name == re.sub(r"::h[0-9a-f]{16}$", "", theirs) or name in known[address], (hex(address), name, theirs)
    environment = {**os.environ, "LD_PRELOAD": JEMALLOC, "MALLOC_CONF": "prof:true,lg_prof_sample:10"}
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout.readline() == "ready\n"
        run(JESCOPE, "dump", "-o", dump, str(process.pid))
    rows = report(dump)["rows"]
    holding = {row["display"] for row in rows if row["flat"]["inuse_space"]["estimate"] > 300_000}
    assert holders <= holding, holding
    assert not [name for name in holding if re.match(r"<?(alloc|core|std)\b|<u8 as alloc", name)], holding


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the code that is generated is for x86_64")
def test_generated_code_is_named(tmp_path):
    """Compilers of JavaScript, Java or Python leave the names of the code they generate in /tmp/perf-PID.map."""
    (tmp_path / "jit.c").write_text(GENERATED)
    run("gcc", "-O1", "-o", tmp_path / "jit", tmp_path / "jit.c")
    with subprocess.Popen([tmp_path / "jit"], stdout=subprocess.PIPE, text=True,
                          env={**os.environ, "LD_PRELOAD": JEMALLOC, "MALLOC_CONF": "prof:true,lg_prof_sample:10"}) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            row = r"^ +[0-9.]+ MiB .*  JS:\*serveRequest /srv/app\.js:12:7$"
            live = run(JESCOPE, "report", str(process.pid)).stdout
            assert re.search(row, live, re.M), live
            run(JESCOPE, "dump", "-o", tmp_path / "jit.heap", str(process.pid))
            assert re.search(row, run(JESCOPE, "report", "--pid", str(process.pid), tmp_path / "jit.heap").stdout, re.M)
            without = run(JESCOPE, "report", tmp_path / "jit.heap").stdout
            assert "code generated at run time; use --pid" in without and not re.search(row, without, re.M)
            os.unlink(f"/tmp/perf-{process.pid}.map")
            assert f"no /tmp/perf-{process.pid}.map names it" in run(JESCOPE, "report", str(process.pid)).stdout
        finally:
            process.kill()


@pytest.mark.parametrize("case", ["stripped", "gone", "replaced"])
def test_missing_names_are_explained(tmp_path, case):
    program = build(tmp_path, "g++")
    if case == "stripped":
        run("strip", program)
    dump = record(program, tmp_path)
    if case == "gone":
        program.unlink()
    elif case == "replaced":
        os.utime(program, (2**31, 2**31))
    notes = "\n".join(report(dump)["notes"])
    wanted = {"stripped": "it is stripped|only its exported names", "gone": "the file was not found; use --pid",
              "replaced": "the file that ran was replaced"}[case]
    assert re.search(rf"no function names in {re.escape(str(program))} \(.*%.*\): .*({wanted})", notes), notes


def test_debuginfod_without_servers_is_said(tmp_path):
    program = build(tmp_path, "g++")
    run("strip", program)
    notes = "\n".join(report(record(program, tmp_path), "--debuginfod")["notes"])
    assert "set DEBUGINFOD_URLS and use --debuginfod" in notes


def test_report_on_a_terminal(tmp_path):
    """On a terminal the report is made before it is written: nothing of the line that shows progress is in it."""
    dump = record(build(tmp_path, "g++"), tmp_path)
    piped = run(JESCOPE, "report", dump).stdout
    script = "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) != 0)"
    shown = run("python3", "-c", script, JESCOPE, "report", "--color=never", dump, stdin=subprocess.DEVNULL).stdout
    # Each "\r\x1b[K" erases what its line has shown.
    shown = re.sub(r"[^\n]*\r\x1b\[K", "", shown.replace("\r\n", "\n"))
    assert shown == piped
