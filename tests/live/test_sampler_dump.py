# SPDX-License-Identifier: Apache-2.0
"""Dumps of jescope's sampler, as other readers see them."""

import gzip
import json
import os
import re

import pytest
from profiles import SOURCE, jescope, need, run

DUMP = SOURCE / "tests/data/sampler/simulated.heap.gz"


@pytest.fixture
def plain(tmp_path):
    path = tmp_path / "simulated.heap"
    path.write_bytes(gzip.decompress(DUMP.read_bytes()))
    return path


def truth(column):
    rows = [line.split("\t") for line in (SOURCE / "tests/data/sampler/simulated.tsv").read_text().splitlines()]
    return {row[0]: int(row[column]) for row in rows}


@pytest.mark.parametrize("value, column", [("alloc_space", 2), ("inuse_objects", 3)])
def test_jeprof_reads_it(plain, value, column):
    done = run(need("jeprof"), "--text", "--show_bytes", "--addresses", f"--{value}", "/bin/true", plain, text=True)
    assert done.returncode == 0, done.stderr
    rows = {name: int(flat) for flat, name in re.findall(r"^\s*(\d+)\s+\S+\s+\S+\s+\d+\s+\S+ 0*(\S+)", done.stdout, re.M)}
    space = truth(column + column % 2)
    for address, expected in truth(column).items():
        if space[address] > 100 * 4096:  # more than a hundred samples
            assert rows[address] == pytest.approx(expected, rel=0.15), address


def test_comments_change_nothing_for_jeprof(plain, tmp_path):
    without = tmp_path / "without.heap"
    without.write_text("".join(line for line in plain.read_text().splitlines(True) if not line.startswith("#")))
    outputs = [run(need("jeprof"), "--text", "--show_bytes", "--alloc_space", "/bin/true", path, text=True).stdout
               for path in (plain, without)]
    assert outputs[0] == outputs[1] and "Total" in outputs[0]


def test_the_generator_wrote_it(tmp_path):
    copy = tmp_path / "simulate"
    copy.write_bytes((SOURCE / "tests/data/sampler/simulate").read_bytes())
    assert run("python3", copy, env=dict(os.environ)).returncode == 0
    assert gzip.decompress((tmp_path / "simulated.heap.gz").read_bytes()) == gzip.decompress(DUMP.read_bytes())
    assert (tmp_path / "simulated.tsv").read_text() == (SOURCE / "tests/data/sampler/simulated.tsv").read_text()


FORMATS = ("text", "stacks", "tree", "folded", "flamegraph", "callgraph", "speedscope", "pprof", "source", "json", "page")


@pytest.mark.parametrize("value", ["churn", "lifetime"])
def test_every_format_takes_it(value):
    for name in FORMATS:
        assert len(jescope("report", f"--format={name}", f"--value={value}", DUMP)) > 100, name
    for name in ("text", "json", "flamegraph"):
        jescope("diff", f"--format={name}", f"--value={value}", DUMP, DUMP)


def test_json_has_the_truth():
    """Means by row, with an error that covers the truth."""
    found = json.loads(jescope("report", "--format=json", "--by=address", DUMP))
    assert found["source"]["sampler"] == {"name": "jescope", "since": 1763779195, "dropped": 2, "dropped_bytes": 8192, "thinned": 1,
                                          "window": 30}
    lines = [line.split("\t") for line in (SOURCE / "tests/data/sampler/simulated.tsv").read_text().splitlines()]
    rows = {row["name"].split()[0].lstrip("0x"): row["flat"] for row in found["rows"]}
    for address, *numbers in lines:
        for value, number in zip(("age", "lifetime"), numbers[-2:]):
            if float(number):
                weight = rows[address][value]
                assert abs(weight["estimate"] - float(number)) <= 3.5 * weight["error"] + 0.001, (address, value)
            else:
                assert value not in rows[address]
        assert rows[address]["churn"]["estimate"] == pytest.approx(rows[address]["freed_space"]["estimate"] / 30, abs=1)
