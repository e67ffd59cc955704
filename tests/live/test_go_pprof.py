# SPDX-License-Identifier: Apache-2.0
"""profile.proto as its readers want it: go tool pprof opens it, protoc decodes it, Parca's validator would take it."""

import gzip
import os
import re

import pytest
from profiles import DUMPS, SOURCE, VALUES, Pprof, jescope, need, run, shapes, values_of, without_files  # noqa: F401


def pprof(folder, *words):
    environment = dict(os.environ, HOME=str(folder), PPROF_TMPDIR=str(folder), PPROF_BINARY_PATH=str(folder))
    done = run(need("go"), "tool", "pprof", "-symbolize=none", *words, env=environment, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def our_total(dump, value, *words):
    text = jescope("report", "--jeprof", "--bytes", f"--value={value}", *words, dump).decode()
    found = re.match(r"Total: (-?\d+)", text)
    return int(found.group(1)) if found else 0


def write(dump, folder, *words):
    file = folder / "profile.pb.gz"
    jescope("report", dump, "-o", file, *words)
    return file


@pytest.mark.parametrize("dump", DUMPS, ids=lambda path: path.name)
def test_totals_of_every_dump(dump, tmp_path):
    file = write(without_files(dump, tmp_path), tmp_path)
    samples = len(Pprof(file.read_bytes()).samples)
    for value in values_of(dump):
        text = pprof(tmp_path, "-top", "-nodefraction=0", "-unit=B" if value.endswith("space") else "-unit=count",
                     f"-sample_index={value}", file)
        found = re.search(r"of (-?[\d.]+)(?:B)? total", text) or re.search(r"accounting for (-?[\d.]+)", text)
        # each sample was rounded on its own
        assert abs(float(found.group(1)) - our_total(dump, value)) <= samples / 2 + 1, value


def test_every_value_by_function(shapes, tmp_path):  # noqa: F811
    _, dump = shapes
    file = write(dump, tmp_path)
    for value in VALUES:
        text = pprof(tmp_path, "-top", "-unit=B" if value.endswith("space") else "-unit=count", f"-sample_index={value}", file)
        theirs = re.search(r"^\s*\S+\s+\S+\s+\S+\s+(\d+)B?\s+\S+\s+holds_many_small$", text, re.M)
        rows = jescope("report", "--jeprof", "--bytes", f"--value={value}", dump).decode()
        mine = re.search(r"^\s*\S+\s+\S+\s+\S+\s+(\d+)\s+\S+ holds_many_small$", rows, re.M)
        assert abs(int(theirs.group(1)) - int(mine.group(1))) <= 2


def test_raw_shows_mappings_with_build_ids(shapes, tmp_path):  # noqa: F811
    program, dump = shapes
    notes = run(need("readelf"), "-n", program, text=True).stdout
    build_id = re.search(r"Build ID: ([0-9a-f]+)", notes).group(1)
    raw = pprof(tmp_path, "-raw", write(dump, tmp_path))
    main = re.search(r"^1: 0x\S+ (\S+) ([0-9a-f]*) (\S*)", raw[raw.index("Mappings"):], re.M)
    assert main.groups() == (str(program), build_id, "[FN][FL][LN][IN]")
    assert "PeriodType: space bytes" in raw and "Period: 4096" in raw


def test_difference_has_negative_values(shapes, tmp_path):  # noqa: F811
    _, dump = shapes
    found = Pprof(write(dump, tmp_path, "--base", dump).read_bytes())
    assert found.totals() == [0, 0, 0, 0]
    assert min(sample["values"][3] for sample in found.samples) < 0
    assert "pprof::base" in pprof(tmp_path, "-raw", tmp_path / "profile.pb.gz")


@pytest.mark.parametrize("dump", DUMPS, ids=lambda path: path.name)
def test_passes_the_validators(dump, tmp_path):
    check(Pprof(jescope("report", "--format=pprof", dump)))


def test_passes_the_validators_with_names(shapes):  # noqa: F811
    _, dump = shapes
    found = Pprof(jescope("report", "--format=pprof", dump))
    check(found)
    names = {found.strings[function[2]] for function in found.functions}
    assert {"holds_many_small", "inlined_megabytes", "main"} <= names
    assert not any("jemalloc" in name or name == "malloc" for name in names)
    inlining = [location for location in found.locations if len(location["lines"]) == 2]
    lines = [found.strings[found.functions[line[1] - 1][2]] for line in inlining[0]["lines"]]
    assert lines == ["inlined_megabytes", "holds_eight_megabytes"]


def check(found):
    """Parca's rules (pkg/profile/validate), pprof's CheckValid, and what Pyroscope needs to recognise the type."""
    assert found.strings[0] == ""
    assert len(set(found.strings)) == len(found.strings)
    assert found.sample_types in [[(name, "count" if name.endswith("objects") else "bytes") for name in VALUES[first:]] for first in (0, 2)]
    assert found.period_type == ("space", "bytes") and found.period > 0
    assert found.default_sample_type == "inuse_space"
    assert found.time_nanos > 0
    for table in (found.mappings, found.locations, found.functions):
        assert [item[1] for item in table] == list(range(1, len(table) + 1))
    for function in found.functions:
        assert all(function.get(number, 0) < len(found.strings) for number in (2, 3, 4))
        assert found.strings[function[2]]
    for mapping in found.mappings:
        assert mapping[2] < mapping[3]
        assert re.fullmatch("[0-9a-f]*", found.strings[mapping.get(6, 0)])
    for location in found.locations:
        check_location(found, location)
    for sample in found.samples:
        check_sample(found, sample)


def check_location(found, location):
    assert location[3] > 0
    assert all(1 <= line[1] <= len(found.functions) for line in location["lines"])
    if 2 in location:
        mapping = found.mappings[location[2] - 1]
        assert mapping[2] <= location[3] < mapping[3]


def check_sample(found, sample):
    assert len(sample["values"]) == len(found.sample_types)
    assert all(1 <= index <= len(found.locations) for index in sample["locations"])
    keys = [label[1] for label in sample["labels"]]
    assert len(set(keys)) == len(keys)
    for label in sample["labels"]:
        assert found.strings[label[1]]
        assert (2 in label) != (3 in label)


def test_thread_labels(tmp_path):
    dump = next(path for path in DUMPS if path.name == "5.3.0-accum.heap.gz")
    found = Pprof(jescope("report", "--format=pprof", "--thread=0", dump))
    check(found)
    for sample in found.samples:
        labels = {found.strings[label[1]]: label for label in sample["labels"]}
        assert found.strings[labels["thread"][2]] == "0"


def test_protoc_decodes_it():
    data = gzip.decompress(jescope("report", "--format=pprof", DUMPS[-1]))
    done = run(need("protoc"), "--decode_raw", input=data)
    assert done.returncode == 0 and done.stdout.startswith(b"1 {")


SAMPLED = SOURCE / "tests/data/sampler/simulated.heap.gz"


def test_all_values_of_our_sampler(tmp_path):
    """The four types that pprof knows without prof_accum, and a fifth where it is asked for."""
    file = write(SAMPLED, tmp_path)
    assert [name for name, _ in Pprof(file.read_bytes()).sample_types] == list(VALUES)
    for value in VALUES:
        text = pprof(tmp_path, "-top", "-unit=B" if value.endswith("space") else "-unit=count", f"-sample_index={value}", file)
        shown = float(re.search(r"accounting for (-?[\d.]+)", text).group(1))
        assert abs(shown - our_total(SAMPLED, value)) <= 10, value
    churn = Pprof(jescope("report", "--format=pprof", "--value=churn", SAMPLED))
    assert churn.sample_types[-1] == ("churn", "bytes/s") and churn.default_sample_type == "churn"
