# SPDX-License-Identifier: Apache-2.0
"""Common parts of the report tests: running jescope, a program of known shape and its dumps, reading profile.proto."""

import gzip
import os
import pathlib
import re
import shutil
import subprocess

import pytest

SOURCE = pathlib.Path(os.environ["JESCOPE_SOURCE"])
JESCOPE = pathlib.Path(os.environ["JESCOPE_BUILD"]) / "src/cli/jescope"
DUMPS = sorted((SOURCE / "tests/data/profile").glob("*.heap.gz"))
VALUES = ("alloc_objects", "alloc_space", "inuse_objects", "inuse_space")
DEADLINE = 240


def run(*words, **options):
    options.setdefault("timeout", DEADLINE)
    options.setdefault("capture_output", True)
    return subprocess.run([str(word) for word in words], **options)


def jescope(*words, status=0, **options):
    """stdout of jescope, as bytes. A value that the dump does not have is an answer, too: 3."""
    options["env"] = dict(os.environ, LC_ALL="C.UTF-8", **options.get("env", {}))
    done = run(JESCOPE, *words, **options)
    lacking = b"prof_accum:true" in done.stderr
    assert done.returncode == (3 if lacking and status == 0 else status), done.stderr.decode()
    return done.stdout


def values_of(dump):
    """What the dump carries: without prof_accum:true, only what is in use."""
    data = pathlib.Path(dump).read_bytes()
    text = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    return VALUES if re.search(rb"\[ *[1-9]", text) else VALUES[2:]


def stacks(dump):
    """[(frames, live objects, live bytes, all objects, all bytes)] of the text of a dump."""
    rows = re.findall(rb"^@((?: 0x[0-9a-f]+)*)\n  t\*: (\d+): (\d+) \[(\d+): (\d+)\]$", dump, re.M)
    return [(tuple(int(frame, 16) for frame in frames.split()), *map(int, numbers)) for frames, *numbers in rows]


def allocator_frames(dump):
    """A function that says whether an address is in libjemalloc, by the mappings of a dump's text."""
    lines = re.findall(rb"^([0-9a-f]+)-([0-9a-f]+) r.xp .*/libjemalloc", dump, re.M)
    ranges = [(int(begin, 16), int(end, 16)) for begin, end in lines]
    return lambda address: any(begin <= address < end for begin, end in ranges)


def need(program):
    path = shutil.which(program)
    if not path:
        pytest.skip(f"{program} is not installed")
    return path


def without_files(dump, folder):
    """A plain copy of a dump whose objects lie where no file is: neither side finds symbols."""
    head, maps = gzip.decompress(dump.read_bytes()).decode().split("MAPPED_LIBRARIES:\n")
    plain = folder / dump.name.removesuffix(".gz")
    plain.write_text(head + "MAPPED_LIBRARIES:\n" + maps.replace(" /", " /nonexistent/"))
    return plain


def build_shapes(folder):
    """The program of programs/shapes.c with jemalloc in it, symbols and all."""
    archive = subprocess.run(["cc", "-print-file-name=libjemalloc.a"], capture_output=True, text=True).stdout.strip()
    if not os.path.isabs(archive):
        pytest.skip("libjemalloc.a is not installed")
    program = folder / "shapes"
    subprocess.run(["cc", "-O2", "-g", "-fno-optimize-sibling-calls", "-o", program, SOURCE / "tests/live/programs/shapes.c",
                    archive, "-lpthread", "-lm", "-ldl", "-lstdc++"], check=True, timeout=DEADLINE)
    return program


def dump_shapes(program, dump, *arguments, prefix=()):
    environment = dict(os.environ, MALLOC_CONF="prof:true,prof_accum:true,lg_prof_sample:12")
    subprocess.run([*prefix, program, dump, *arguments], env=environment, check=True, timeout=DEADLINE)
    return dump


@pytest.fixture(scope="module")
def shapes(tmp_path_factory):
    """(program, dump)"""
    folder = tmp_path_factory.mktemp("shapes")
    program = build_shapes(folder)
    return program, dump_shapes(program, folder / "shapes.heap")


def fields(message):
    """Yields (field number, value) of one protobuf message: integers and bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        tag = varint()
        if tag & 7 == 0:
            yield tag >> 3, varint()
        else:
            assert tag & 7 == 2, f"wire type {tag & 7}"
            size = varint()
            yield tag >> 3, message[at:at + size]
            at += size


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def packed(data):
    """The integers of a packed field."""
    return [signed(value) for _, value in fields(b"".join(b"\x08" + chunk for chunk in split_varints(data)))]


def split_varints(data):
    start = 0
    for at, byte in enumerate(data):
        if byte < 0x80:
            yield data[start:at + 1]
            start = at + 1


class Pprof:
    """profile.proto, as far as the tests look: https://github.com/google/pprof/blob/main/proto/profile.proto"""

    def __init__(self, data):
        lists = {number: [] for number in range(1, 16)}
        for number, value in fields(gzip.decompress(data)):
            lists[number].append(value)
        self.strings = [value.decode() for value in lists[6]]
        self.sample_types = [self.value_type(value) for value in lists[1]]
        self.samples = [self.sample(value) for value in lists[2]]
        self.mappings = [dict(fields(value)) for value in lists[3]]
        self.locations = [self.location(value) for value in lists[4]]
        self.functions = [dict(fields(value)) for value in lists[5]]
        self.time_nanos = lists[9][0] if lists[9] else 0
        self.period_type = self.value_type(lists[11][0])
        self.period = lists[12][0]
        self.comments = [self.strings[index] for index in lists[13]]
        self.default_sample_type = self.strings[lists[14][0]]

    def value_type(self, data):
        found = dict(fields(data))
        return self.strings[found[1]], self.strings[found[2]]

    def sample(self, data):
        found = list(fields(data))
        return {
            "locations": [index for number, value in found if number == 1 for index in packed(value)],
            "values": [item for number, value in found if number == 2 for item in packed(value)],
            "labels": [dict(fields(value)) for number, value in found if number == 3],
        }

    @staticmethod
    def location(data):
        found = list(fields(data))
        location = {number: value for number, value in found if number != 4}
        location["lines"] = [dict(fields(value)) for number, value in found if number == 4]
        return location

    def totals(self):
        return [sum(column) for column in zip(*(sample["values"] for sample in self.samples))] or [0] * 4
