# SPDX-License-Identifier: Apache-2.0
"""Against jeprof itself: the same dump, the same numbers."""

import re

import pytest
from profiles import DUMPS, VALUES, dump_shapes, jescope, need, run, shapes, without_files  # noqa: F401

ROW = re.compile(r"\s*(-?\d+)\s+\S+\s+\S+\s+(-?\d+)\s+\S+ (.*)")
# jeprof does not know every entry point of the allocator; callees of these functions are omitted on both sides.
RETAIN = "--retain=^(holds|calls_all|main)"
NAMES = ("holds_eight_megabytes", "holds_two_megabytes_recursively", "holds_many_small", "calls_all", "main")


def table(text):
    """(total, {name: (flat, cumulative)}) of a table in jeprof's layout"""
    lines = text.splitlines()
    if not lines:
        return 0, {}
    total = int(lines[0].split()[1]) if lines[0].startswith("Total") else 0
    rows = [ROW.fullmatch(line).groups() for line in lines[1:]]
    return total, {name.rstrip(): (int(flat), int(cumulative)) for flat, cumulative, name in rows}


def jeprof(*words):
    done = run(need("jeprof"), "--text", "--show_bytes", *words, text=True)
    assert done.returncode == 0, done.stderr
    return table(done.stdout)


def ours(*words):
    return table(jescope("report", "--jeprof", "--bytes", *words).decode())


def close(left, right):
    """jeprof cuts fractions, and adds in another order."""
    return abs(left - right) <= 1


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("dump", DUMPS, ids=lambda path: path.name)
def test_every_address_of_every_dump(dump, value, tmp_path):
    plain = without_files(dump, tmp_path)
    total, theirs = jeprof("--addresses", f"--{value}", "/bin/true", plain)
    our_total, mine = ours("--by=address", "--keep-allocator", f"--value={value}", plain)
    mine = {name.split()[0]: row for name, row in mine.items()}
    theirs = {name.split()[0]: row for name, row in theirs.items()}
    assert close(total, our_total)
    assert mine.keys() == theirs.keys()
    for address, (flat, cumulative) in theirs.items():
        assert close(flat, mine[address][0]) and close(cumulative, mine[address][1]), address


@pytest.mark.parametrize("value", VALUES)
def test_every_function_of_a_known_program(shapes, value):  # noqa: F811
    program, dump = shapes
    total, theirs = jeprof(f"--{value}", RETAIN, program, dump)
    our_total, mine = ours("--no-inlines", f"--value={value}", RETAIN, dump)
    assert close(total, our_total)
    for name in NAMES:
        inlined = theirs.get("inlined_megabytes (inline)", (0, 0)) if name == "holds_eight_megabytes" else (0, 0)
        assert close(mine[name][0], theirs[name][0] + inlined[0]), name
        assert close(mine[name][1], theirs[name][1]), name


def test_inlined_calls(shapes):  # noqa: F811
    program, dump = shapes
    _, theirs = jeprof("--exclude=malloc|prof", program, dump)
    _, mine = ours(dump)
    name = "inlined_megabytes (inline)"
    assert close(mine[name][0], theirs[name][0])
    assert mine["holds_eight_megabytes"][0] == 0


@pytest.mark.parametrize("option", ["focus", "ignore", "exclude", "retain"])
def test_filters(shapes, option):  # noqa: F811
    program, dump = shapes
    pattern = "calls_all|holds_many_small" if option in ("exclude", "retain") else "holds_(eight|two)"
    total, theirs = jeprof(f"--{option}={pattern}", program, dump)
    our_total, mine = ours("--no-inlines", f"--{option}={pattern}", dump)
    assert close(total, our_total)
    for name in NAMES:
        assert (name in mine) == (name in theirs), name
        if name in mine:
            assert close(mine[name][1], theirs[name][1]), name


def test_difference(shapes, tmp_path):  # noqa: F811
    """jeprof subtracts by address, so the program must lie at the same ones in both runs."""
    program, _ = shapes
    fixed = (need("setarch"), "-R")
    if run(*fixed, "true").returncode != 0:
        pytest.skip("address space randomisation cannot be switched off here")
    dump = dump_shapes(program, tmp_path / "first.heap", prefix=fixed)
    later = dump_shapes(program, tmp_path / "later.heap", "and", "more", prefix=fixed)
    total, theirs = jeprof(RETAIN, f"--base={dump}", program, later)
    our_total, mine = ours("--no-inlines", RETAIN, f"--base={dump}", later)
    assert abs(total - our_total) <= 2
    assert abs(mine["holds_many_small"][0] - theirs["holds_many_small"][0]) <= 2


def test_several_dumps_are_added_up(shapes):  # noqa: F811
    program, dump = shapes
    total, _ = jeprof(program, dump, dump)
    our_total, _ = ours(dump, dump)
    assert close(total, our_total)


def test_jeprof_reads_our_symbolized_dump(shapes, tmp_path):  # noqa: F811
    program, dump = shapes
    symbolized = tmp_path / "shapes.symbolized"
    jescope("report", dump, "-o", symbolized)
    total, theirs = jeprof("--exclude=malloc|prof", symbolized)
    our_total, mine = ours(dump)
    assert close(total, our_total)
    for name in NAMES:
        assert close(mine[name][0], theirs[name][0]) and close(mine[name][1], theirs[name][1]), name


def test_symbolized_dump_holds_the_dump(shapes, tmp_path):  # noqa: F811
    _, dump = shapes
    symbolized = jescope("report", "--format=symbolized", dump)
    assert symbolized.endswith(b"--- heap\n" + dump.read_bytes())
