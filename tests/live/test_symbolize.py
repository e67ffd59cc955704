# SPDX-License-Identifier: Apache-2.0
"""Names of addresses in real ELF files, built here in many ways, against llvm-symbolizer, addr2line and what we know."""

import contextlib
import functools
import http.server
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import threading
import time
import zlib

import pytest

SOURCE = pathlib.Path(os.environ["JESCOPE_SOURCE"])
TOOL = pathlib.Path(os.environ["JESCOPE_BUILD"]) / "tests/unit/symbolize/symbolize-addresses"
DATA = SOURCE / "tests/data/symbolize"
LLVM = shutil.which("llvm-symbolizer-14") or shutil.which("llvm-symbolizer")
DEADLINE = 180


def needs(*programs):
    missing = [p for p in programs if shutil.which(p) is None]
    return pytest.mark.skipif(bool(missing), reason=f"needs {', '.join(missing)}")


def run(*command, **kwargs):
    return subprocess.run([str(c) for c in command], check=True, capture_output=True, text=True, timeout=DEADLINE,
                          **kwargs)


class Answers(list):
    """One list of (function, file, line) per address; about: the note on the object."""
    about: dict


def parse(text):
    answers = []
    for block in text.split("\n\n"):
        lines = block.strip("\n").split("\n")
        if lines == [""]:
            continue
        frames = []
        for function, place in zip(lines[::2], lines[1::2]):
            file, line = re.fullmatch(r"(.*?):(\d+)(?::\d+)?", place).groups()
            frames.append((function, file, int(line)))
        answers.append(frames)
    return answers


def ask(binary, addresses, *options, env=None):
    done = run(TOOL, *options, binary, input="".join(f"0x{a:x}\n" for a in addresses),
               env={**os.environ, "DEBUGINFOD_URLS": "", **(env or {})})
    answers = Answers(parse(done.stdout))
    answers.about = dict(line.split(": ", 1) for line in done.stderr.splitlines() if ": " in line)
    return answers


def ask_llvm(binary, addresses):
    done = run(LLVM, f"--obj={binary}", "--inlines", "--no-demangle",
               input="".join(f"0x{a:x}\n" for a in addresses), env={**os.environ, "DEBUGINFOD_URLS": ""})
    return parse(done.stdout)


def symbols(binary, kinds="tTwWiI"):
    rows = {}
    for line in run("nm", "-S", "--defined-only", binary).stdout.splitlines():
        fields = line.split()
        if len(fields) == 4 and fields[2] in kinds:
            rows[fields[3]] = (int(fields[0], 16), int(fields[1], 16))
    return rows


def find(rows, part):
    return next(value for name, value in sorted(rows.items()) if part in name and ".cold" not in name)


def every_address(binary):
    return sorted({a for start, size in symbols(binary).values() for a in range(start, start + size)})


def compile_and_link(directory, compiler, flags, name, sources):
    """Compiles each source by itself, as a project would, and links them."""
    objects = []
    for source in sources:
        target = f"{name}-{pathlib.Path(source).stem}.o"
        run(compiler, "-std=c++17", "-O2", *flags, "-c", DATA / source, "-o", target, cwd=directory)
        objects.append(target)
    run(compiler, *[f for f in flags if not f.startswith("-gsplit")], "-Wl,--build-id", "-o", name, *objects,
        cwd=directory)
    return directory / name


@functools.cache
def built_once(compiler, flags, sources):
    """Compiling takes most of the time of these tests."""
    with tempfile.TemporaryDirectory() as directory:
        return compile_and_link(pathlib.Path(directory), compiler, flags, "program", sources).read_bytes()


def build(directory, compiler="g++", flags=("-g",), name="shapes", sources=("shapes.cc", "other.cc")):
    if "-gsplit-dwarf" in flags:
        return compile_and_link(directory, compiler, flags, name, sources)
    binary = directory / name
    binary.write_bytes(built_once(compiler, tuple(flags), tuple(sources)))
    binary.chmod(0o755)
    return binary


def plain(name):
    """Without the suffixes that tell parts and clones of one function apart, and with one name for all constructors."""
    name = re.sub(r"\.(isra|part|constprop|cold|lto_priv)(\.\d+)*", "", name)
    if not name.startswith("_"):
        return name.rsplit("::", 1)[-1]  # put together by us where there is no linkage name
    return re.sub(r"(C|D)[0-4](?=[EI])", r"\1x", name)


def normal(frames):
    return [(plain(function), os.path.normpath(file), line) for function, file, line in frames]


def compare(binary, oracle, *options):
    """Every address of every function with debug information: same functions, files and lines as the oracle's."""
    addresses = every_address(binary)
    ours = ask(binary, addresses, "--linkage", *options)
    theirs = ask_llvm(oracle, addresses)
    assert len(ours) == len(theirs) == len(addresses)
    with_lines = 0
    for address, mine, other in zip(addresses, ours, theirs):
        if other[0][1] == "??" or re.search(r"\.cc\.[0-9a-f]+$", other[-1][0]):  # what LTO calls its own symbols
            continue
        with_lines += 1
        assert normal(mine) == normal(other), hex(address)
    assert with_lines > 200
    return ours


VERSIONS = [("g++", v) for v in (2, 3, 4, 5)] + [("clang++-14", v) for v in (2, 3, 4, 5)]


@pytest.mark.skipif(LLVM is None, reason="needs llvm-symbolizer")
@pytest.mark.parametrize("compiler,version", VERSIONS)
def test_every_address_as_llvm(tmp_path, compiler, version):
    if shutil.which(compiler) is None:
        pytest.skip(f"needs {compiler}")
    strict = compiler == "g++" and version in (3, 4)
    flags = [f"-gdwarf-{version}"] + (["-gstrict-dwarf"] if strict else [])
    binary = build(tmp_path, compiler, flags)
    ours = compare(binary, binary)
    assert ours.about["source"] == "dwarf"


@pytest.mark.skipif(LLVM is None, reason="needs llvm-symbolizer")
@pytest.mark.parametrize("flags", [
    ("-g", "-flto", "-ffat-lto-objects"),
    ("-g", "-ffunction-sections", "-Wl,--gc-sections"),
    ("-g", "-no-pie"),
    ("-g", "-gz=zlib"),
    ("-g", "-fdebug-types-section"),
    ("-g", "-gdwarf64"),
    ("-g", "-gno-as-locview-support", "-gno-column-info"),
    ("-g", "-O0"),
])
def test_kinds_of_builds_as_llvm(tmp_path, flags):
    binary = build(tmp_path, "g++", flags)
    compare(binary, binary)


def test_strict_dwarf_2(tmp_path):
    """It cannot say that a unit lies in several places: .debug_aranges must help."""
    binary = build(tmp_path, flags=("-gdwarf-2", "-gstrict-dwarf", "-O1"))
    rows = symbols(binary)
    for part, file in (("9elsewhere", "shapes.cc"), ("BoxIiE3get", "shapes.cc"), ("5count", "other.cc")):
        start, size = find(rows, part)
        for frames in ask(binary, range(start, start + size), "--linkage"):
            assert part in frames[-1][0]
            assert frames[-1][1] == "??" or frames[-1][1].endswith(file)
        assert frames[0][2] > 0


@needs("clang++-14", "ld.lld-14")
def test_lld_layout(tmp_path):
    """lld gives .text another address than its offset in the file."""
    binary = build(tmp_path, "clang++-14", ("-g", "-fuse-ld=lld-14"))
    compare(binary, binary)


@pytest.mark.parametrize("compiler,version", [("g++", 4), ("g++", 5), ("clang++-14", 4), ("clang++-14", 5)])
def test_split(tmp_path, compiler, version):
    if shutil.which(compiler) is None:
        pytest.skip(f"needs {compiler}")
    whole = build(tmp_path, compiler, [f"-gdwarf-{version}"], "whole")
    split = build(tmp_path, compiler, [f"-gdwarf-{version}", "-gsplit-dwarf"], "split")
    assert symbols(whole) == symbols(split)
    addresses = every_address(split)
    mine, expected = ask(split, addresses), ask(whole, addresses)
    assert mine == expected
    assert mine.about["note"] == ""
    assert any(len(frames) > 2 for frames in mine)
    # Moved away they are found by --debug-path, and missed without.
    (tmp_path / "elsewhere").mkdir()
    for part in tmp_path.glob("*.dwo"):
        part.rename(tmp_path / "elsewhere" / part.name)
    assert ask(split, addresses, "--debug-path", tmp_path / "elsewhere") == expected
    without = ask(split, addresses)
    assert "debug-path" in without.about["note"]
    assert any(frames[0][2] > 0 for frames in without), "lines are in the program itself"


@pytest.mark.parametrize("compiler,version,packer", [
    ("g++", 4, "dwp"), ("clang++-14", 4, "llvm-dwp-14"), ("clang++-14", 5, "llvm-dwp-14"), ("g++", 5, "llvm-dwp-14")])
def test_package(tmp_path, compiler, version, packer):
    for program in (compiler, packer):
        if shutil.which(program) is None:
            pytest.skip(f"needs {program}")
    split = build(tmp_path, compiler, [f"-gdwarf-{version}", "-gsplit-dwarf"], "split")
    addresses = every_address(split)
    expected = ask(split, addresses)
    assert any(len(frames) > 2 for frames in expected)
    parts = sorted(p.name for p in tmp_path.glob("*.dwo"))
    run(packer, "-o", "split.dwp", *parts, cwd=tmp_path)
    for part in parts:
        (tmp_path / part).unlink()
    assert ask(split, addresses) == expected
    (tmp_path / "packages").mkdir()
    (tmp_path / "split.dwp").rename(tmp_path / "packages/split.dwp")
    assert ask(split, addresses) != expected
    assert ask(split, addresses, "--debug-path", tmp_path / "packages") == expected


@needs("dwz")
@pytest.mark.parametrize("version", [4, 5])
def test_dwz(tmp_path, version):
    first = build(tmp_path, "g++", [f"-gdwarf-{version}"], "first")
    second = build(tmp_path, "g++", [f"-gdwarf-{version}", "-DSECOND"], "second")
    addresses = every_address(first)
    expected = ask(first, addresses)
    run("dwz", "-m", "shared.debug", "-M", tmp_path / "shared.debug", "first", "second", cwd=tmp_path)
    assert ".gnu_debugaltlink" in run("readelf", "-SW", first).stdout
    assert ask(first, addresses) == expected
    assert second.exists()
    (tmp_path / "shared.debug").unlink()
    alone = ask(first, addresses)
    assert "not found" in alone.about["note"]
    assert len(alone) == len(expected)


@needs("eu-strip")
def test_debuglink_beside_and_below(tmp_path):
    binary = build(tmp_path)
    addresses = every_address(binary)
    expected = ask(binary, addresses)
    run("objcopy", "--only-keep-debug", "shapes", "shapes.debug", cwd=tmp_path)
    run("objcopy", "--strip-all", "--remove-section=.note.gnu.build-id", "--add-gnu-debuglink=shapes.debug", "shapes",
        cwd=tmp_path)
    assert ask(binary, addresses) == expected
    (tmp_path / ".debug").mkdir()
    (tmp_path / "shapes.debug").rename(tmp_path / ".debug/shapes.debug")
    assert ask(binary, addresses) == expected
    # In a tree of debug files, at the directory of the program.
    tree = tmp_path / "tree" / str(tmp_path).lstrip("/")
    tree.mkdir(parents=True)
    (tmp_path / ".debug/shapes.debug").rename(tree / "shapes.debug")
    assert ask(binary, addresses, "--debug-path", tmp_path / "tree") == expected
    # Another file under that name is not taken.
    with open(tree / "shapes.debug", "ab") as file:
        file.write(b"x")
    refused = ask(binary, addresses, "--debug-path", tmp_path / "tree")
    assert refused.about["source"] in ("dynsym", "none")
    assert all(frames[0][1] == "??" for frames in refused)


def build_id(binary):
    return re.search(r"Build ID: ([0-9a-f]+)", run("readelf", "-n", binary).stdout).group(1)


@needs("eu-strip")
def test_build_id_directory(tmp_path):
    binary = build(tmp_path)
    addresses = every_address(binary)
    expected = ask(binary, addresses)
    identity = build_id(binary)
    target = tmp_path / "debug/.build-id" / identity[:2] / f"{identity[2:]}.debug"
    target.parent.mkdir(parents=True)
    run("eu-strip", "--remove-comment", "-f", target, binary)
    mine = ask(binary, addresses, "--debug-path", tmp_path / "debug")
    assert mine == expected
    assert mine.about["path"] == str(target)
    assert mine.about["build id"] == identity


@needs("xz")
def test_minidebuginfo(tmp_path):
    binary = build(tmp_path, flags=("-g", "-O1"))
    rows = symbols(binary)
    run("objcopy", "--only-keep-debug", binary, "full", cwd=tmp_path)
    run("objcopy", "--strip-debug", "full", "mini", cwd=tmp_path)
    run("xz", "-k", "mini", cwd=tmp_path)
    run("objcopy", "--strip-all", "--add-section=.gnu_debugdata=mini.xz", "shapes", "small", cwd=tmp_path)
    start, _ = find(rows, "hidden")
    answers = ask(tmp_path / "small", [start, start + 1])
    assert [frames[0][0] for frames in answers] == ["shapes::(anonymous namespace)::hidden(int)"] * 2
    assert answers.about["source"] == "symtab"


def test_names_only_inside_a_symbol(tmp_path):
    """The trap: the address after the last byte of a function is not the function before."""
    binary = build(tmp_path, flags=("-g0",))
    run("strip", binary)
    dynamic = {}
    library = pathlib.Path(run("g++", "-print-file-name=libstdc++.so.6").stdout.strip()).resolve()
    for line in run("nm", "-DS", "--defined-only", library).stdout.splitlines():
        fields = line.split()
        if len(fields) == 4 and fields[2] in "TWi":
            dynamic.setdefault(int(fields[0], 16), []).append((int(fields[1], 16), fields[3].split("@")[0]))
    text = next(line.split() for line in run("readelf", "-SW", library).stdout.replace("[ ", "[").splitlines()
                if " .text " in line)
    low, size = int(text[3], 16), int(text[5], 16)
    addresses = list(range(low, low + size, 37))
    starts = sorted(dynamic)
    inside = unknown = 0
    answers = ask(library, addresses, "--linkage")
    if answers.about["source"] != "dynsym":
        pytest.skip("libstdc++ has more than its exported names here")
    import bisect
    for address, frames in zip(addresses, answers):
        covering = {name for start in starts[max(0, bisect.bisect_right(starts, address) - 40):
                                             bisect.bisect_right(starts, address)]
                    for length, name in dynamic[start] if start <= address < start + length}
        if covering:
            inside += 1
            assert frames[0][0] in covering, hex(address)
        else:
            unknown += 1
            assert frames[0][0] == f"[{library.name}+0x{address:x}]"
    assert inside > 1000 and unknown > 1000


def test_another_file_is_refused(tmp_path):
    binary = build(tmp_path)
    start, _ = find(symbols(binary), "hidden")
    (tmp_path / "large").mkdir()
    (tmp_path / "large/shapes").write_bytes(pathlib.Path(shutil.which("gdb") or TOOL).read_bytes())
    swapped = ask(binary, [start], "--mapped-as", tmp_path / "large/shapes")
    assert swapped.about["source"] == "mismatch"
    assert "does not fit" in swapped.about["note"] and "--sysroot" in swapped.about["note"]
    assert swapped[0][0][0].startswith("[shapes+0x")


def test_sysroot(tmp_path):
    binary = build(tmp_path)
    start, _ = find(symbols(binary), "hidden")
    (tmp_path / "root/opt").mkdir(parents=True)
    shutil.copy(binary, tmp_path / "root/opt/service")
    answers = ask(binary, [start], "--mapped-as", "/opt/service", "--sysroot", tmp_path / "root")
    assert answers.about["path"] == str(tmp_path / "root/opt/service")
    assert "hidden" in answers[0][-1][0]


def test_binary_path_variable(tmp_path):
    binary = build(tmp_path)
    start, _ = find(symbols(binary), "hidden")
    (tmp_path / "store").mkdir()
    shutil.copy(binary, tmp_path / "store/service")
    answers = ask(binary, [start], "--mapped-as", "/opt/service",
                  env={"PPROF_BINARY_PATH": str(tmp_path / "store")})
    assert "hidden" in answers[0][-1][0]


def test_deleted_program_of_a_live_target(tmp_path):
    """/proc/PID/map_files leads to the file that runs, also when another has taken its place."""
    binary = build(tmp_path)
    copy = shutil.copy(binary, tmp_path / "running")
    waiting = build(tmp_path, name="waits", sources=("waits.cc",))
    addresses = every_address(waiting)
    expected = ask(waiting, addresses)
    running = tmp_path / "service"
    shutil.copy(waiting, running)
    with subprocess.Popen([str(running)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout.readline() == b"ready\n"
            line = next(line for line in open(f"/proc/{process.pid}/maps") if " r-xp " in line and str(running) in line)
            start, limit = line.split()[0].split("-")
            if not os.access(f"/proc/{process.pid}/map_files/{start}-{limit}", os.R_OK):
                pytest.skip("needs the right to read /proc/PID/map_files")
            running.unlink()
            shutil.copy(copy, running)
            answers = ask(waiting, addresses, "--pid", process.pid, "--start", int(start, 16), "--mapped-as", running,
                          "--deleted")
            assert answers == expected
            assert "map_files" in answers.about["path"]
        finally:
            process.stdin.close()
            process.wait(timeout=DEADLINE)


def test_physical_functions_only(tmp_path):
    binary = build(tmp_path)
    start, size = find(symbols(binary), "hidden")
    addresses = list(range(start, start + size))
    full, physical = ask(binary, addresses), ask(binary, addresses, "--no-inlines")
    assert any(len(frames) > 1 for frames in full)
    assert physical == [[frames[-1]] for frames in full]


def cached(tmp_path, binary):
    """The one file that the cache keeps for binary."""
    (kept,) = (tmp_path / "cache/jescope/symbols").glob(f"{build_id(binary)}-*")
    return kept


def namesake(binary, path):
    """A copy of binary whose functions have other names; build id and size are the same."""
    path.write_bytes(binary.read_bytes().replace(b"hidden", b"stolen"))
    assert build_id(path) == build_id(binary) and path.stat().st_size == binary.stat().st_size
    return path


def test_cache_keeps_files_of_one_build_id_apart(tmp_path):
    binary = build(tmp_path)
    start, _ = find(symbols(binary), "hidden")
    other = namesake(binary, tmp_path / "namesake")
    env = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    assert "stolen" in ask(other, [start], "--cache", env=env)[0][0][0]
    assert "hidden" in ask(binary, [start], "--cache", env=env)[0][0][0]
    assert len(list((tmp_path / "cache/jescope/symbols").iterdir())) == 2


@pytest.mark.skipif(os.geteuid() != 0, reason="giving a file to another user needs root")
def test_cache_keeps_nothing_of_another_users_file(tmp_path):
    binary = build(tmp_path)
    start, _ = find(symbols(binary), "hidden")
    os.chown(binary, 65534, 65534)
    env = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    assert "hidden" in ask(binary, [start], "--cache", env=env)[0][0][0]
    assert not list((tmp_path / "cache").glob("jescope/symbols/*"))


def test_cache_gives_the_same(tmp_path):
    binary = build(tmp_path)
    addresses = every_address(binary)
    env = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    expected = ask(binary, addresses)
    half = addresses[::2]
    assert ask(binary, half, "--cache", env=env) == expected[::2]
    kept = cached(tmp_path, binary)
    assert kept.stat().st_mode & 0o777 == 0o600
    small = kept.stat().st_size
    assert ask(binary, addresses, "--cache", env=env) == expected
    assert kept.stat().st_size > small
    warm = ask(binary, addresses, "--cache", env=env)
    assert warm == expected and warm.about["source"] == "dwarf"
    # A damaged file is ignored and recreated.
    good = bytearray(kept.read_bytes())
    for position in (0, 9, 20, len(good) // 2, len(good) - 2):
        bad = bytearray(good)
        bad[position] ^= 0x41
        kept.write_bytes(bad)
        assert ask(binary, addresses, "--cache", env=env) == expected
    kept.write_bytes(good[: len(good) // 2])
    assert ask(binary, addresses, "--cache", env=env) == expected
    assert kept.read_bytes() == good


def test_cache_notices_a_stripped_file(tmp_path):
    binary = build(tmp_path)
    start, _ = find(symbols(binary), "hidden")
    env = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    assert ask(binary, [start], "--cache", env=env).about["source"] == "dwarf"
    run("strip", "--strip-debug", binary)
    assert ask(binary, [start], "--cache", env=env).about["source"] == "symtab"


def test_cache_with_many_writers(tmp_path):
    binary = build(tmp_path)
    addresses = every_address(binary)
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    slices = [addresses[i::6] for i in range(6)]
    running = [(chunk, subprocess.Popen([str(TOOL), "--cache", str(binary)], stdin=subprocess.PIPE, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env))
               for chunk in slices]
    for chunk, process in running:
        out, _ = process.communicate("".join(f"0x{a:x}\n" for a in chunk), timeout=DEADLINE)
        assert process.returncode == 0
        assert parse(out) == ask(binary, chunk)
    assert ask(binary, addresses, "--cache", env=env) == ask(binary, addresses)
    assert list((tmp_path / "cache/jescope/symbols").iterdir()) == [cached(tmp_path, binary)]


def test_no_cache_directory_is_no_error(tmp_path):
    binary = build(tmp_path)
    start, _ = find(symbols(binary), "hidden")
    (tmp_path / "file").write_text("")
    answers = ask(binary, [start], "--cache", env={"XDG_CACHE_HOME": str(tmp_path / "file")})
    assert "hidden" in answers[0][-1][0]


@needs("rustc")
@pytest.mark.parametrize("scheme", ["legacy", "v0"])
def test_rust(tmp_path, scheme):
    unstable = ["-Z", "unstable-options"] if scheme == "legacy" else []
    built = subprocess.run(["rustc", "-g", "-O", *unstable, f"-Csymbol-mangling-version={scheme}", "-o",
                            str(tmp_path / "names"), str(DATA / "names.rs")], capture_output=True, text=True,
                           timeout=DEADLINE, env={**os.environ, "RUSTC_BOOTSTRAP": "1"})
    if built.returncode != 0:
        pytest.skip(f"rustc cannot build here: {built.stderr.splitlines()[0]}")
    start, _ = find(symbols(tmp_path / "names"), "Thing4grow")
    answers = ask(tmp_path / "names", [start])
    assert re.fullmatch(r"<?names(\[\w+\])?::inner::Thing>?::grow", answers[0][-1][0])
    assert answers[0][-1][1].endswith("names.rs")


class Debuginfod(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        body = self.server.files.get(self.path)
        self.send_response(200 if body else 404)
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, *arguments):
        pass


@contextlib.contextmanager
def serving():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Debuginfod)
    server.asked, server.files = [], {}
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def debuginfod():
    with serving() as server:
        yield server


@pytest.fixture
def elsewhere():
    """Another service of the machine."""
    with serving() as server:
        yield server


def test_debuginfod_on_request(tmp_path, debuginfod):
    binary = build(tmp_path)
    addresses = every_address(binary)
    expected = ask(binary, addresses)
    identity = build_id(binary)
    run("objcopy", "--only-keep-debug", "shapes", "shapes.debug", cwd=tmp_path)
    run("strip", binary)
    debuginfod.files[f"/buildid/{identity}/debuginfo"] = (tmp_path / "shapes.debug").read_bytes()
    (tmp_path / "shapes.debug").unlink()
    env = {"DEBUGINFOD_CACHE_PATH": str(tmp_path / "client"), "DEBUGINFOD_TIMEOUT": "5"}
    ask(binary, addresses, env=env)
    assert debuginfod.asked == []
    env["DEBUGINFOD_URLS"] = f"http://127.0.0.1:{debuginfod.server_port}/"
    assert ask(binary, addresses, env=env) == expected
    assert debuginfod.asked != []


class Redirecting(Debuginfod):
    """Answers with the path of another place, and headers for the terminal of whoever prints them."""
    def do_GET(self):
        self.server.asked.append(self.path)
        self.send_response(302)
        self.send_header("Location", self.server.place)
        self.send_header("X-DEBUGINFOD-NAME", "\x1b[2J")
        self.send_header("Content-Length", "0")
        self.end_headers()


def test_debuginfod_server_that_redirects(tmp_path, debuginfod, elsewhere):
    """It would choose what root's command asks for at services of the machine and its network."""
    binary = build(tmp_path)
    addresses = every_address(binary)[:1]
    run("objcopy", "--only-keep-debug", "shapes", "shapes.debug", cwd=tmp_path)
    run("strip", binary)
    elsewhere.files["/file"] = (tmp_path / "shapes.debug").read_bytes()
    (tmp_path / "shapes.debug").unlink()
    debuginfod.RequestHandlerClass = Redirecting
    env = {"DEBUGINFOD_URLS": f"http://127.0.0.1:{debuginfod.server_port}/"}
    bare = ask(binary, addresses)
    for i, place in enumerate((f"http://127.0.0.1:{elsewhere.server_port}/file", "/file")):
        debuginfod.place = place
        assert ask(binary, addresses, env=env | {"DEBUGINFOD_CACHE_PATH": str(tmp_path / f"client{i}")}) == bare
    assert len(debuginfod.asked) == 2 and elsewhere.asked == []


def test_debuginfod_server_whose_headers_are_not_printed(tmp_path, debuginfod):
    binary = build(tmp_path)
    run("strip", binary)
    debuginfod.RequestHandlerClass, debuginfod.place = Redirecting, "/file"
    env = {"DEBUGINFOD_CACHE_PATH": str(tmp_path / "client"), "DEBUGINFOD_URLS": f"http://127.0.0.1:{debuginfod.server_port}/",
           "DEBUGINFOD_VERBOSE": "1", "DEBUGINFOD_PROGRESS": "1"}
    done = run(TOOL, binary, input="0x1000\n", env=os.environ | env)
    assert debuginfod.asked != [] and "\x1b" not in done.stderr and "X-DEBUGINFOD" not in done.stderr


class Silent(Debuginfod):
    """Begins to answer, and sends next to nothing."""
    def do_GET(self):
        self.server.asked.append(self.path)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"x")
        self.wfile.flush()
        self.server.over.wait()


def test_debuginfod_server_that_hardly_answers(tmp_path, debuginfod):
    binary = build(tmp_path)
    addresses = every_address(binary)[:1]
    run("strip", binary)
    debuginfod.RequestHandlerClass, debuginfod.over = Silent, threading.Event()
    env = {"DEBUGINFOD_CACHE_PATH": str(tmp_path / "client"), "DEBUGINFOD_URLS": f"http://127.0.0.1:{debuginfod.server_port}/"}
    before = time.monotonic()
    try:
        ask(binary, addresses, env=env)
    finally:
        debuginfod.over.set()
    assert debuginfod.asked != [] and time.monotonic() - before < 40


def layers_of_gzip(megabytes):
    """gzip three times: within the innermost, blocks without a byte, which take a minute for 20000 megabytes."""
    def packed(parts):
        pack = zlib.compressobj(9, zlib.DEFLATED, -15)
        return b"".join([*map(pack.compress, parts), pack.flush(zlib.Z_FULL_FLUSH)])

    head = b"\x1f\x8b\x08" + bytes(7)
    ten = packed([b"\x00\x00\x00\xff\xff" * (2 << 20)])
    return head + packed([head, packed([head]), *[ten] * (megabytes // 10)])


class Layered(Debuginfod):
    """Answers with little that libcurl takes long to decompress, in one call."""
    def do_GET(self):
        self.server.asked.append(self.path)
        with contextlib.suppress(OSError):
            self.send_response(200)
            self.send_header("Content-Encoding", "gzip, gzip, gzip")
            self.send_header("Content-Length", str(len(self.server.body)))
            self.end_headers()
            self.wfile.write(self.server.body)


def test_debuginfod_server_whose_answer_takes_long_to_decompress(tmp_path, debuginfod):
    binary = build(tmp_path)
    addresses = every_address(binary)[:1]
    run("strip", binary)
    debuginfod.RequestHandlerClass, debuginfod.body = Layered, layers_of_gzip(40000)
    env = {"DEBUGINFOD_CACHE_PATH": str(tmp_path / "client"), "DEBUGINFOD_URLS": f"http://127.0.0.1:{debuginfod.server_port}/"}
    before = time.monotonic()
    ask(binary, addresses, env=env)
    assert debuginfod.asked != [] and time.monotonic() - before < 40
    assert list((tmp_path / "client").rglob("debuginfo.*")) == []  # nor what was begun


@needs("addr2line")
def test_lines_as_addr2line(tmp_path):
    binary = build(tmp_path)
    start, size = find(symbols(binary), "rarely")
    addresses = list(range(start, start + size))
    theirs = run("addr2line", "-e", binary, *(f"0x{a:x}" for a in addresses)).stdout.splitlines()
    ours = ask(binary, addresses)
    for address, frames, place in zip(addresses, ours, theirs):
        file, line = re.match(r"(.*):(\d+|\?)", place).groups()
        assert (os.path.basename(frames[0][1]), str(frames[0][2])) == (os.path.basename(file), line), hex(address)


def test_known_inlines(tmp_path):
    binary = build(tmp_path)
    start, size = find(symbols(binary), "BoxIiE3get")
    lines = (DATA / "shapes.cc").read_text().splitlines()
    where = {text: lines.index(text) + 1 for text in ("    sink = x;", "    int y = innermost(x) * 3;",
                                                      "            sum += middle(i);")}
    shapes = str(DATA / "shapes.cc")
    expected = [("shapes::innermost", shapes, where["    sink = x;"]),
                ("shapes::middle", shapes, where["    int y = innermost(x) * 3;"]),
                ("shapes::Box<int>::get(int) const", shapes, where["            sum += middle(i);"])]
    assert expected in [list(frames) for frames in ask(binary, range(start, start + size))]
