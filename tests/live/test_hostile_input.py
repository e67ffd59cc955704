# SPDX-License-Identifier: Apache-2.0
"""Expensive dumps and program files in 'jescope report', and its notes on omitted parts."""

import contextlib
import json
import os
import pathlib
import random
import re
import resource
import shutil
import struct
import subprocess
import threading
import time
import zlib

import pytest
from sanitized import SANITIZED
from victims import BUILD

JESCOPE = BUILD / "src/cli/jescope"
HEADER = "heap_v2/524288\n  t*: 1: 8 [0: 0]\n"
NOBODY = 65534
needs_compiler = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="becoming other users needs root")


def processor_time():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def report(*arguments, prefix=(), deadline=120, **options):
    """Which takes DEADLINE seconds of processor time at most: that of the clock depends on what else the machine does."""
    before = processor_time()
    done = subprocess.run([*prefix, JESCOPE, "report", *map(str, arguments)], check=False, capture_output=True, text=True,
                          timeout=10 * deadline, env={**os.environ, "DEBUGINFOD_URLS": ""}, **options)
    assert processor_time() - before < deadline
    return done


def write_dump(path, stacks, maps=""):
    text = "".join(f"@ {' '.join(map(hex, stack))}\n  t*: 1: 524288 [0: 0]\n" for stack in stacks)
    path.write_text(f"{HEADER}{text}\nMAPPED_LIBRARIES:\n{maps}")
    return path


def colliding(number, bits):
    """One of 2**bits texts that are one to djb2, the hash of GLib's strings."""
    return "".join("Ez" if number >> bit & 1 else "FY" for bit in range(bits))


def test_symbols_and_mappings_made_to_collide(tmp_path):
    # Quadratic: 150 s for this many symbols, 190 s for the mappings.
    bits = 12 if SANITIZED else 15
    symbols = "".join(f"0x{0x1000 + i:x} {colliding(i, bits)}\n" for i in range(1 << bits))
    stacks = "".join(f"@ 0x{0x1001 + i:x}\n  t*: 1: 524288 [0: 0]\n" for i in range(1 << bits))
    named = tmp_path / "names.heap"
    named.write_text(f"--- symbol\nbinary=/x\n{symbols}---\n--- heap\n{HEADER}{stacks}\nMAPPED_LIBRARIES:\n")
    assert colliding(12345, bits) in report("--count=0", named, deadline=60).stdout
    maps = "".join(f"{i << 32 | i:x}-{(i << 32 | i) + 1:x} r-xp 0 00:00 0 /{colliding(i, bits)}\n" for i in range(1 << bits))
    assert report(write_dump(tmp_path / "maps.heap", [[0x1000]], maps), deadline=60).returncode == 0


def test_threads_made_to_collide(tmp_path):
    """As many threads as samples, whose names are one to djb2: each is read, named and found again."""
    bits = 11 if SANITIZED else 15
    threads = "".join(f"  t{i}: 1: 8 [0: 0] {colliding(i, bits)}\n" for i in range(1 << bits))
    samples = "".join(f"  t{i}: 1: 8 [0: 0]\n" for i in range(1 << bits))
    dump = tmp_path / "threads.heap"
    dump.write_text(f"heap_v2/1\n  t*: {1 << bits}: {8 << bits} [0: 0]\n{threads}@ 0x1000\n  t*: {1 << bits}: {8 << bits} [0: 0]\n{samples}\n"
                    "MAPPED_LIBRARIES:\n")
    for thread in ("t7", colliding((1 << bits) - 1, bits)):
        done = report(f"--thread={thread}", "--format=json", dump, deadline=60)
        assert done.returncode == 0 and json.loads(done.stdout), done.stderr


def named_dump(path, symbols, stacks):
    text = "".join(f"@ {' '.join(map(hex, stack))}\n  t*: 1: 524288 [0: 0]\n" for stack in stacks)
    path.write_text(f"--- symbol\nbinary=/x\n{symbols}---\n--- heap\n{HEADER}{text}\nMAPPED_LIBRARIES:\n")
    return path


@pytest.mark.skipif(SANITIZED, reason="measures time")
@pytest.mark.parametrize("name", ["f", "a::f"])
def test_functions_of_one_name_at_many_lines(tmp_path, name):
    # Quadratic: 90 s.
    n, deep = 1 << 19, 4000
    symbols = "".join(f"@ a.c:1:{i + 1}\n0x{0x100000 + 16 * i:x} {name}{'(int)' * (name != 'f' and i % 2)}\n" for i in range(n))
    stacks = [[0x100001 + 16 * j for j in range(i, min(n, i + deep))] for i in range(0, n, deep)]
    done = report("--count=1", named_dump(tmp_path / "lines.heap", symbols, stacks), deadline=60)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(SANITIZED, reason="measures time")
def test_as_many_files_as_locations(tmp_path):
    # Quadratic: 70 s.
    n, deep = 200_000, 4000
    stacks = [[0x100001 + 0x1000 * j for j in range(i, min(n, i + deep))] for i in range(0, n, deep)]
    maps = "".join(f"{0x100000 + 0x1000 * i:x}-{0x101000 + 0x1000 * i:x} r-xp 0 00:00 0 {tmp_path}/{i}\n" for i in range(n))
    done = report("--count=1", write_dump(tmp_path / "files.heap", stacks, maps), deadline=60)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(SANITIZED, reason="measures time")
def test_ranges_of_one_file_without_end(tmp_path):
    """Each was opened, and checked against all: more than 40 s."""
    place, path = re.search(r"^(\S+) r-xp [^/\n]*(/\S+)$", pathlib.Path("/proc/self/maps").read_text(), re.MULTILINE).groups()
    begin = int(place.split("-")[0], 16)
    lines = "".join(f"{place} r-xp {0x100000000 + 0x1000 * i:x} 08:01 0 {path}\n" for i in range(400_000))
    done = report(f"--pid={os.getpid()}", write_dump(tmp_path / "ranges.heap", [[begin + 32, begin + 48]], lines), deadline=40)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(SANITIZED, reason="measures time")
def test_inlined_frames_that_multiply(tmp_path):
    """A frame of a dump stands for all that is inlined in it: a dump of two megabytes took minutes."""
    deep = named_dump(tmp_path / "inlined.heap", f"0x1000 {'--'.join('a' * 300_000)}\n", [[0x100000 + i] + [0x1001] * 500 for i in range(200)])
    done = report(deep, deadline=30)
    assert done.returncode == 2 and "--no-inlines" in done.stderr, done.stderr
    assert report("--no-inlines", deep, deadline=30).returncode == 0


@needs_compiler
@pytest.mark.skipif(SANITIZED, reason="measures time")
def test_long_name_of_many_locations(tmp_path):
    """Their number times the length of the name: 45 s."""
    name, size, start = "f" * 60_000, 0x200000, 0x10000000
    source, library = tmp_path / "long.s", tmp_path / "long.so"
    source.write_text(f".text\n.globl {name}\n.type {name},@function\n{name}:\n.space {size},0x90\n.size {name},{size}\n")
    subprocess.run(["gcc", "-nostdlib", "-shared", "-o", library, source], check=True)
    segments = subprocess.run(["readelf", "-lW", library], check=True, capture_output=True, text=True).stdout
    code = int(re.search(r"LOAD +(0x[0-9a-f]+) .* R E ", segments)[1], 16)
    maps = f"{start + code:x}-{start + code + size:x} r-xp {code:08x} 08:01 1 {library}\n"
    dump = write_dump(tmp_path / "long.heap", [[start + code + 16 * i + 1] for i in range(32_000)], maps)
    done = report("--format=pprof", "-o", tmp_path / "long.pb.gz", dump, deadline=30)
    assert done.returncode == 0, done.stderr


@needs_root
def test_output_into_what_another_user_has_put_there(tmp_path):
    """A pipe would give him what is written, a link have a device written to; our own pipe is one to write to."""
    dump = write_dump(tmp_path / "a.heap", [[0x1000]])
    pipe, link = tmp_path / "pipe.txt", tmp_path / "link.txt"
    os.mkfifo(pipe)
    link.symlink_to("/dev/null")
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    for place in (pipe, link):
        os.chown(place, NOBODY, NOBODY, follow_symlinks=False)
        done = report(dump, "-o", place)
        assert done.returncode == 1 and "of another user" in done.stderr, done.stderr
    os.chown(pipe, 0, 0)
    assert report(dump, "-o", pipe).returncode == 0
    assert os.read(reader, 1 << 16)
    os.close(reader)
    assert report(dump, "-o", "/dev/stdout", "--format=text").stdout


@needs_root
def test_output_where_a_link_of_another_user_leads(tmp_path):
    """A link on the way would have root make a file in a directory of his choice."""
    dump = write_dump(tmp_path / "a.heap", [[0x1000]])
    place, his, own = tmp_path / "place", tmp_path / "his", tmp_path / "own"
    (place / "inner").mkdir(parents=True)
    for link in (his, own):
        link.symlink_to(place)
    os.chown(his, NOBODY, NOBODY, follow_symlinks=False)
    for path in (his / "x.txt", his / "inner/x.txt"):
        done = report(dump, "-o", path)
        assert done.returncode == 1 and "of another user" in done.stderr, done.stderr
    assert list(place.iterdir()) == [place / "inner"] and not list((place / "inner").iterdir())
    assert report(dump, "-o", own / "inner/x.txt").returncode == 0
    assert (place / "inner/x.txt").stat().st_size > 0


@needs_root
@pytest.mark.parametrize("command", [["report"], ["stats"], ["doctor", "--for=1s"]], ids=lambda words: words[0])
def test_file_of_another_user_takes_the_place_of_no_process(tmp_path, command):
    """In a directory where he may write, as /tmp: what it says would be taken for the process's."""
    def run(name):
        return subprocess.run([JESCOPE, *command, name], check=False, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, cwd=tmp_path)

    name = f"jsc{os.getpid()}"
    (tmp_path / "bin").mkdir()
    shutil.copy("/bin/sleep", tmp_path / "bin" / name)
    with subprocess.Popen([tmp_path / "bin" / name, "1000"]) as sleep:
        try:
            pid = str(sleep.pid)
            for file in (pid, name):
                write_dump(tmp_path / file, [[0x1000]])
                os.chown(tmp_path / file, NOBODY, NOBODY)
            assert "jemalloc" in run(pid).stderr
            assert f"give the pid of the process, or ./{name}" in run(name).stderr
            assert "file of another user" not in run("./" + name).stderr
        finally:
            sleep.kill()


READERS = [["report"], ["diff"], ["growth"], ["doctor"], ["stats"], ["abs"], ["import", "--history=@/history.db"], ["rules", "check"]]


def read_by(reader, *paths, tmp_path, **options):
    """The second and third file of those who compare."""
    more = {"diff": 1, "growth": 2}.get(reader[0], 0)
    words = [word.replace("@", str(tmp_path)) for word in reader]
    return subprocess.run([JESCOPE, *words, *map(str, paths), *[str(paths[0])] * more], check=False, capture_output=True, text=True,
                          timeout=60, stdin=subprocess.DEVNULL, **options)


def descendants(pid):
    for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        yield child
        yield from descendants(child)


def seconds_of_child(command):
    """The processor time that the child of COMMAND, which may be supervised, may take, once it has entered its sandbox."""
    limited = re.compile(r"^Max cpu time +(\d+)", re.MULTILINE)
    deadline = time.monotonic() + 60
    while command.poll() is None and time.monotonic() < deadline:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # one has ended
            for child in descendants(command.pid):
                if found := limited.search(pathlib.Path(f"/proc/{child}/limits").read_text()):
                    return int(found[1])
    return None


@needs_root
@pytest.mark.parametrize(("reader", "owner", "seconds"), [("report", NOBODY, 120), ("report", 0, 1800), ("doctor", NOBODY, 30), ("doctor", 0, 1800)])
def test_processor_time_for_a_file_of_another_user(reader, owner, seconds):
    """The child waits for what it is to read."""
    reads, writes = os.pipe()
    os.fchown(reads, owner, owner)
    with subprocess.Popen([JESCOPE, reader, "-"], stdin=reads, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as command:
        os.close(reads)
        try:
            assert seconds_of_child(command) in (seconds, seconds + 1)  # the hard limit is set first, a second later
        finally:
            os.close(writes)


@needs_root
def test_processor_time_of_extract_for_another_user(tmp_path):
    log, tool = tmp_path / "log", tmp_path / "extract-jem-stats"
    tool.symlink_to(JESCOPE)
    log.touch()
    os.truncate(log, 4 << 30)  # a hole: long enough to look
    os.chown(log, NOBODY, NOBODY)
    with subprocess.Popen([tool, log], cwd=tmp_path, stdout=subprocess.DEVNULL) as command:
        try:
            assert seconds_of_child(command) in (30, 31)  # the hard limit is set first, a second later
        finally:
            command.kill()
    assert not (tmp_path / "jemdata.py").exists()


@pytest.mark.parametrize(("words", "seconds"), [([], 120), (["--no-files"], 1800)], ids=("asks", "asks-not"))
def test_processor_time_for_files_of_debuginfod(words, seconds):
    env = {**os.environ, "DEBUGINFOD_URLS": "http://127.0.0.1:9/"}
    with subprocess.Popen([JESCOPE, "report", *words, "-"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          env=env) as command:
        assert seconds_of_child(command) in (seconds, seconds + 1)  # the hard limit is set first, a second later
        command.stdin.close()


@needs_root
@pytest.mark.parametrize("reader", READERS, ids=lambda words: words[0])
def test_what_another_user_has_put_where_a_file_is_read(tmp_path, reader):
    """A FIFO blocked the command; a link had it print a line of what only root may read."""
    secret, own = tmp_path / "secret", tmp_path / "his"
    secret.write_text("root:hash\n")
    own.write_text("heap_v1/none\n")
    os.mkfifo(tmp_path / "fifo.heap")
    (tmp_path / "secret.heap").symlink_to(secret)
    (tmp_path / "tty.heap").symlink_to("/dev/tty")
    (tmp_path / "his.heap").symlink_to(own)
    for path in [own, *tmp_path.glob("*.heap")]:
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    for name, why in [("fifo.heap", "it is a FIFO of another user"), ("tty.heap", "a link of another user leads there"),
                      ("secret.heap", "a link of another user leads there, and the file is not his")]:
        done = read_by(reader, tmp_path / name, tmp_path=tmp_path)
        assert done.returncode == 1 and why in done.stderr and "root:hash" not in done.stdout + done.stderr, done
    assert "another user" not in read_by(reader, tmp_path / "his.heap", tmp_path=tmp_path).stderr


@needs_root
def test_links_of_another_user_in_a_directory(tmp_path):
    secret, folder = tmp_path / "secret", tmp_path / "folder"
    secret.write_text("root:hash\n")
    folder.mkdir()
    (folder / "a.heap").symlink_to(secret)
    os.chown(folder / "a.heap", NOBODY, NOBODY, follow_symlinks=False)
    done = read_by(["doctor"], folder, tmp_path=tmp_path)
    assert done.returncode == 1 and "a link of another user leads there" in done.stderr and "root:hash" not in done.stderr


@pytest.mark.parametrize("reader", READERS, ids=lambda words: words[0])
def test_devices_are_not_read(tmp_path, reader):
    done = read_by(reader, "/dev/zero", tmp_path=tmp_path)
    assert done.returncode == 1 and "it is a device, not a file" in done.stderr, done


def test_pipes_of_ours(tmp_path):
    dump = write_dump(tmp_path / "a.heap", [[0x1000]])
    expected = report(dump, "--format=folded").stdout
    assert expected
    shell = ["bash", "-c", 'cat "$2" | "$1" report --format=folded - && "$1" report --format=folded <(cat "$2") && '
             'cat "$2" | "$1" report --format=folded /dev/stdin && mkfifo "$2.fifo" && { cat "$2" > "$2.fifo" & } && '
             '"$1" report --format=folded "$2.fifo"', "bash", JESCOPE, dump]
    done = subprocess.run(shell, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == 4 * expected, done


@pytest.mark.parametrize("most", [64, None], ids=["limited", "raised"])
def test_more_files_than_may_be_open(tmp_path, most):
    for number in range(200):
        write_dump(tmp_path / f"{number:03}.heap", [[0x1000]])

    def limited():
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, most or resource.getrlimit(resource.RLIMIT_NOFILE)[1]))

    done = read_by(["doctor"], tmp_path, tmp_path=tmp_path, preexec_fn=limited)
    if most is None:
        assert done.returncode in (0, 4), done
    else:
        assert done.returncode == 1 and "no more than 64 files may be open at once; name fewer" in done.stderr, done


@pytest.mark.parametrize("output", ["text", "stacks", "tree", "folded", "flamegraph", "callgraph", "speedscope", "pprof", "json"])
def test_numbers_of_64_bits(tmp_path, output):
    """Counts, sizes, addresses and mappings up to the largest: an error or a report, in which no sum wraps round to less than nothing."""
    most = (1 << 64) - 1
    stacks = "".join(f"@ {address}\n  t*: {most}: {most} [{most}: {most}]\n  t{most}: 1: {most} [0: 0]\n"
                     for address in (f"{most:#x} 0x0", "0x0", *map(hex, range(1, 10))))
    dump = tmp_path / "huge.heap"
    dump.write_text(f"heap_v2/{most}\n  t*: {most}: {most} [{most}: {most}]\n{stacks}\nMAPPED_LIBRARIES:\n"
                    f"0-{most:x} r-xp {most:x} ffffffff:ffffffff {most} /x\n")
    target = tmp_path / "report"
    for options in ([], ["--partial"], ["--value=alloc_space"], [f"--base={dump}"], [f"--thread=t{most}"]):
        done = report(f"--format={output}", f"--output={target}", *options, dump, deadline=60)
        assert done.returncode in (0, 1, 3), (options, done)
        assert done.returncode != 1 or done.stderr.startswith("jescope: "), (options, done.stderr)
        text = target.read_bytes().replace(bytes(tmp_path), b"") if target.exists() else b""
        assert not re.search(rb"\b(nan|inf)\b|-\d{3}", text.lower() if output in ("text", "tree") else b""), (options, text[:500])
        if output in ("json", "speedscope") and done.returncode != 1:
            json.loads(text)
        target.unlink(missing_ok=True)


def test_stack_deeper_than_any_program(tmp_path):
    dump = write_dump(tmp_path / "deep.heap", [range(0x1000, 0x1000 + 20000), [0x1000]])
    done = report(dump)
    assert done.returncode == 1 and "4096 frames in one stack" in done.stderr
    partial = report("--partial", dump)
    assert partial.returncode == 3 and "incomplete" in partial.stdout


def test_no_thread_to_be_had(tmp_path):
    """A limit of address space that no thread's stack fits into; it hung for ever."""
    maps = "".join(f"{0x10000 * i:x}-{0x10000 * i + 0x1000:x} r-xp 0 00:00 0 /lib/x{i}\n" for i in range(1, 9))
    dump = write_dump(tmp_path / "x.heap", [[0x10000 * i + 16 for i in range(1, 9)]], maps)
    for limit in (26000, 40000, 60000, 100000):
        done = report("--format=flamegraph", dump, prefix=["sh", "-c", f"ulimit -v {limit}; exec \"$@\"", "sh"], deadline=60)
        assert done.returncode != 0 or "</svg>" in done.stdout


@needs_root
def test_no_process_to_be_had(tmp_path):
    tmp_path.chmod(0o755)
    dump = write_dump(tmp_path / "x.heap", [[0x1000]], "1000-2000 r-xp 0 00:00 0 /lib/x\n")
    shutil.copy(dump, "/tmp/nproc.heap")
    prefix = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "prlimit", "--nproc=1"]
    try:
        done = report("--format=folded", "/tmp/nproc.heap", prefix=prefix, deadline=60)
    finally:
        os.unlink("/tmp/nproc.heap")
    assert done.returncode == 0 or "jescope: " in done.stderr


def sections_of(image):
    offset, = struct.unpack_from("<Q", image, 40)
    size, n, names = struct.unpack_from("<HHH", image, 58)
    rows = [list(struct.unpack_from("<IIQQQQIIQQ", image, offset + i * size)) for i in range(n)]
    start = rows[names][4]
    return [(image[start + row[0]:image.index(0, start + row[0])].decode(), row) for row in rows]


def inflate_sections(path, claimed):
    """Rewrites two debug sections of a library so that each says it expands to CLAIMED bytes."""
    image = bytearray(path.read_bytes())
    rows = sections_of(image)
    for name, row in rows:
        if name in (".debug_line", ".debug_str"):
            body = bytes(image[row[4]:row[4] + row[5]])
            packed = struct.pack("<IIQQ", 1, 0, claimed, 1) + zlib.compress(body) + bytes(claimed // 1000)
            row[4], row[5] = len(image), len(packed)
            row[2] |= 0x800
            image += packed
    image += bytes(-len(image) % 8)
    struct.pack_into("<Q", image, 40, len(image))
    path.write_bytes(image + b"".join(struct.pack("<IIQQQQIIQQ", *row) for _, row in rows))


def build_library(folder):
    (folder / "x.c").write_text("int f(int x) { return x + 1; }\nint g(int x) { return f(x) * 2; }\n")
    path = folder / "libx.so"
    subprocess.run(["gcc", "-g", "-O1", "-shared", "-fPIC", folder / "x.c", "-o", path], check=True)
    return path


def dump_of(path, folder):
    """A dump whose stacks lie in the code of the library."""
    for line in subprocess.run(["readelf", "-lW", path], check=True, capture_output=True, text=True).stdout.splitlines():
        if "LOAD" in line and "R E" in line:
            words = line.split()
            offset, size = int(words[1], 16), int(words[4], 16)
    start, pages = 0x7f0000000000, -(-size // 4096) * 4096
    return write_dump(folder / "library.heap", [[start + i] for i in range(0, size, 7)],
                      f"{start:x}-{start + pages:x} r-xp {offset:x} 00:00 0 {path}\n")


@needs_compiler
def test_debug_information_that_is_damaged(tmp_path):
    """Whatever debug information says, the report is written, and the names of the symbol table are in it."""
    library = build_library(tmp_path)
    sound = library.read_bytes()
    dump = dump_of(library, tmp_path)
    rows = {name: row for name, row in sections_of(sound) if name.startswith(".debug_")}
    assert {".debug_info", ".debug_abbrev", ".debug_line"} <= rows.keys()
    for seed in range(8 if SANITIZED else 30):
        chance = random.Random(seed)
        image = bytearray(sound)
        for row in rows.values():
            for _ in range(chance.randrange(4)):
                image[row[4] + chance.randrange(row[5])] = chance.choice((0, 1, 0x7f, 0x80, 0xff, chance.randrange(256)))
        library.write_bytes(image)
        done = report("--by=address", "--count=0", dump, deadline=60)
        assert done.returncode == 0, (seed, done.stderr)
        assert "libx.so" in done.stdout or re.search(r"\b[fg]\b", done.stdout), (seed, done.stdout)


@needs_compiler
@pytest.mark.skipif(SANITIZED, reason="a sanitizer reserves more address space than the test allows")
def test_sections_that_expand_beyond_measure(tmp_path):
    path = build_library(tmp_path)
    dump = dump_of(path, tmp_path)
    inflate_sections(path, 1500 << 20)
    os.utime(path, (1, 1))
    done = report(dump, prefix=["sh", "-c", "ulimit -v 4194304; exec \"$@\"", "sh"])
    assert done.returncode == 0, done.stderr
    assert "left out" in done.stdout


def program_with_symbols(path, number, length):
    """An ELF program of NUMBER symbols at one address, whose names are the ends of one of LENGTH characters."""
    texts, sections = b"\0" + b"a" * length + b"\0", b"\0.text\0.symtab\0.strtab\0.shstrtab\0"
    symbols = bytes(24) + b"".join(struct.pack("<IBBHQQ", 1 + i % length, 0x12, 0, 1, 0x401010, 1) for i in range(number))
    rows, image = [(0, 0, 0, 0, 0, 0, 0, 0, 0, 0)], bytes(0x1000) + bytes(0x1000)
    for name, kind, flags, body, link, entry in [(7, 2, 0, symbols, 3, 24), (15, 3, 0, texts, 0, 0), (23, 3, 0, sections, 0, 0)]:
        rows.append((name, kind, flags, 0, len(image), len(body), link, int(kind == 2), 8, entry))
        image += body + bytes(-len(body) % 8)
    rows.insert(1, (1, 1, 6, 0x401000, 0x1000, 0x1000, 0, 0, 16, 0))
    head = b"\x7fELF\2\1\1".ljust(16, b"\0") + struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, 0x401000, 64, len(image), 0, 64, 56, 1, 64, 5, 4)
    head += struct.pack("<IIQQQQQQ", 1, 5, 0x1000, 0x401000, 0x401000, 0x1000, 0x1000, 0x1000)
    path.write_bytes(head + image[len(head):] + b"".join(struct.pack("<IIQQQQIIQQ", *row) for row in rows))
    return path


@pytest.mark.skipif(SANITIZED, reason="measures time")
def test_names_that_are_parts_of_each_other(tmp_path):
    # Without a bound for a name: 80 s.
    program = program_with_symbols(tmp_path / "program", 300_000, 8 << 20)
    dump = write_dump(tmp_path / "a.heap", [[0x1, 0x401011]], f"401000-402000 r-xp 00001000 00:00 0 {program}\n")
    done = report("--sysroot=/", dump, deadline=60)
    assert done.returncode == 0 and "program+0x401010" in done.stdout, done
    program_with_symbols(program, 300_000, 1000)
    assert report("--sysroot=/", dump, deadline=60).stdout.endswith("%  a\n")


@needs_compiler
@needs_root
def test_caches_in_a_home_directory_of_another_user(tmp_path):
    """Root neither makes nor deletes files where his links in it lead, nor below it."""
    path = build_library(tmp_path)
    subprocess.run(["strip", path], check=True)
    dump = dump_of(path, tmp_path)
    tmp_path.chmod(0o755)
    home, others, made = tmp_path / "home", tmp_path / "others", tmp_path / "made"
    others.mkdir(mode=0o755)
    for number in range(2):
        (others / f"file{number}").touch()
        os.truncate(others / f"file{number}", 1 << 20)
        os.posix_fallocate(os.open(others / f"file{number}", os.O_RDWR), 0, 200 << 20)
    (home / ".cache/jescope").mkdir(parents=True)
    (home / ".cache/debuginfod_client").mkdir()
    (home / ".cache/jescope/symbols").symlink_to(others)
    (home / ".cache/debuginfod_client/cache_clean_interval_s").symlink_to(made)
    subprocess.run(["chown", "-hR", f"{NOBODY}:{NOBODY}", home], check=True)
    before = sorted(home.rglob("*"))
    for cache in ({}, {"DEBUGINFOD_CACHE_PATH": str(home / ".cache/debuginfod_client")}):
        env = {**os.environ, "HOME": str(home), "DEBUGINFOD_URLS": "http://127.0.0.1:9/", **cache}
        env.pop("XDG_CACHE_HOME", None)
        done = subprocess.run([JESCOPE, "report", "--sysroot=/", dump], env=env, check=False, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        assert len(list(others.iterdir())) == 2 and not made.exists() and sorted(home.rglob("*")) == before


@needs_compiler
@needs_root
def test_file_truncated_while_it_is_read(tmp_path):
    path = build_library(tmp_path)
    dump = dump_of(path, tmp_path)
    whole = path.read_bytes()
    os.chown(path, NOBODY, NOBODY)
    over = threading.Event()

    def truncate():
        while not over.is_set():
            with open(path, "r+b") as file:
                file.truncate(0)
                file.write(whole)
            os.utime(path, (1, 1))

    thread = threading.Thread(target=truncate)
    thread.start()
    try:
        for _ in range(150):
            assert report("--sysroot=/", dump).returncode == 0
    finally:
        over.set()
        thread.join()


def test_sparse_dump_is_refused_at_once(tmp_path):
    dump = tmp_path / "sparse.heap"
    dump.write_text(HEADER)
    os.truncate(dump, 1 << 40)
    done = report(dump, deadline=30)
    assert done.returncode == 1 and "jescope: " in done.stderr
