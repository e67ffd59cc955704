# SPDX-License-Identifier: Apache-2.0
"""Every other format, in the hands of the programs it is for."""

import json
import os
import re
import xml.etree.ElementTree

import pytest
from profiles import DUMPS, JESCOPE, VALUES, build_shapes, dump_shapes, jescope, need, run, shapes, values_of  # noqa: F401

SVG = "{http://www.w3.org/2000/svg}"


def well_formed(svg):
    done = run(need("xmllint"), "--noout", "--nonet", "-", input=svg)
    assert done.returncode == 0, done.stderr.decode()
    return xml.etree.ElementTree.fromstring(svg)


def total(dump, value="inuse_space"):
    return json.loads(jescope("report", "--format=json", dump))["source"]["shown"][value]["estimate"]


@pytest.mark.parametrize("dump", DUMPS, ids=lambda path: path.name)
def test_speedscope(dump):
    """The rules of its schema (file-format-schema.json), for `sampled` profiles."""
    found = json.loads(jescope("report", "--format=speedscope", dump))
    assert found["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    assert re.fullmatch(r"jescope@\d+\.\d+\.\d+", found["exporter"])
    frames = found["shared"]["frames"]
    assert all(isinstance(frame["name"], str) and frame["name"] for frame in frames)
    assert [profile["name"] for profile in found["profiles"]] == list(values_of(dump))
    assert found["profiles"][found["activeProfileIndex"]]["name"] == "inuse_space"
    for profile in found["profiles"]:
        assert profile["type"] == "sampled" and profile["startValue"] == 0
        assert profile["unit"] == ("bytes" if profile["name"].endswith("space") else "none")
        assert len(profile["samples"]) == len(profile["weights"])
        assert profile["endValue"] == sum(profile["weights"])
        assert all(weight > 0 for weight in profile["weights"])
        assert all(0 <= frame < len(frames) for sample in profile["samples"] for frame in sample)
        assert abs(profile["endValue"] - total(dump, profile["name"])) <= len(profile["samples"])


@pytest.mark.parametrize("dump", DUMPS, ids=lambda path: path.name)
def test_folded(dump):
    lines = jescope("report", "--format=folded", dump).decode().splitlines()
    counts = [int(re.fullmatch(r"[^;]+(?:;[^;]+)* (\d+)", line).group(1)) for line in lines]
    assert len({line.rsplit(" ", 1)[0] for line in lines}) == len(lines)
    assert abs(sum(counts) - total(dump)) <= len(counts)


def test_dot(shapes):  # noqa: F811
    _, dump = shapes
    graph = jescope("report", "--format=callgraph", dump)
    done = run(need("dot"), "-Tsvg", input=graph)
    assert done.returncode == 0 and not done.stderr, done.stderr.decode()
    assert "holds_many_small" in [text.text for text in well_formed(done.stdout).iter(SVG + "text")]


def test_callgraph_drawn(shapes, tmp_path):  # noqa: F811
    _, dump = shapes
    file = tmp_path / "graph.svg"
    jescope("report", dump, "--format=callgraph", "-o", file)
    root = well_formed(file.read_bytes())
    titles = [title.text for title in root.iter(SVG + "title")]
    assert len([title for title in titles if "->" in title]) >= 3


def test_callgraph_script(shapes, tmp_path):  # noqa: F811
    """Its script, driven by what a browser would do: the wheel zooms where it points, dragging moves, 0 shows all again."""
    picture = tmp_path / "graph.svg"
    jescope("report", shapes[1], "--format=callgraph", "-o", picture)
    done = run(need("node"), os.path.join(os.path.dirname(__file__), "programs/callgraph-dom.js"), picture)
    assert done.returncode == 0, done.stderr.decode()
    seen = json.loads(done.stdout)
    near = lambda ours, theirs: all(abs(a - b) < 0.05 for a, b in zip(ours, theirs, strict=True))
    assert seen["size"] == ["100%", "100%"] and seen["stopped"] and not seen["other_key"]
    assert seen["zoomed"][2] < seen["whole"][2] and near(seen["before"], seen["after"])
    assert near(*seen["dragged"]) and near(seen["let_go"], seen["dragged"][1])
    assert seen["far"] == seen["whole"] == seen["reset"]
    assert abs(seen["near"][2] - seen["whole"][2] / 40) < 0.05
    assert not re.search(rb'(href|src)="http', picture.read_bytes())


def test_callgraph_limits(shapes):  # noqa: F811
    _, dump = shapes
    graph = jescope("report", "--format=callgraph", "-n", 2, dump).decode()
    assert len(re.findall(r"^  n\d+ \[label=", graph, re.M)) == 2
    no_edges = jescope("report", "--format=callgraph", "--edge-fraction=1", "--min-fraction=90%", dump).decode()
    assert "holds_many_small" not in no_edges


@pytest.mark.parametrize("dump", DUMPS, ids=lambda path: path.name)
def test_flamegraph(dump):
    root = well_formed(jescope("report", "--format=flamegraph", dump))
    frames = [group for group in root.iter(SVG + "g") if group.get("class", "").startswith("f ")]
    if total(dump) == 0:
        assert not frames
        return
    check_widths(frames)
    assert abs(float(root.get("data-total")) - total(dump)) <= 1
    assert root.find(f".//{SVG}script") is not None
    assert not re.search(rb'(href|src)="http', jescope("report", "--format=flamegraph", dump)), "not self-contained"


def check_widths(frames):
    """Children lie inside their parents, side by side."""
    path = []
    for frame in frames:
        rect = frame.find(SVG + "rect")
        left = float(rect.get("x").rstrip("%"))
        right = left + float(rect.get("width").rstrip("%"))
        depth = int(frame.get("data-d"))
        del path[depth:]
        if depth:
            assert path[-1][0] - 1e-3 <= left and right <= path[-1][1] + 1e-3
        path.append((left, right))


def test_flamegraph_of_a_difference(shapes, tmp_path):  # noqa: F811
    program, dump = shapes
    later = dump_shapes(program, tmp_path / "later.heap", "and", "more")
    root = well_formed(jescope("report", "--format=flamegraph", "--base", dump, later))
    classes = {group.find(SVG + "title").text.split("\n")[0]: group.get("class") for group in root.iter(SVG + "g")
               if group.get("class", "").startswith("f ")}
    assert re.fullmatch(r"f g\d", classes["holds_many_small"])
    assert classes["holds_two_megabytes_recursively"] == "f n"


def test_source(shapes):  # noqa: F811
    _, dump = shapes
    text = jescope("report", "--format=source", "--focus=inlined_megabytes", dump).decode()
    assert re.search(r"^\s+[89]\.\d MiB\s+[89]\.\d MiB\s+\d+  .*the inlined line", text, re.M)
    assert "programs/shapes.c" in text


def test_source_without_files(shapes, tmp_path):  # noqa: F811
    _, dump = shapes
    symbolized = tmp_path / "shapes.symbolized"
    jescope("report", dump, "-o", symbolized)
    # As other programs write this form: names without lines.
    symbolized.write_bytes(re.sub(rb"(?m)^@ [^\n]*:\d+:\d+\n", b"", symbolized.read_bytes()))
    assert b"no line numbers" in jescope("report", "--format=source", symbolized)


def test_flamegraph_script(shapes, tmp_path):  # noqa: F811
    """Its script, driven by what a browser would do: click, hover, the browser's way back, an address with a zoom."""
    picture = tmp_path / "flame.svg"
    jescope("report", "-o", picture, shapes[1])
    driver = os.path.join(os.path.dirname(__file__), "programs/flamegraph-dom.js")
    done = run(need("node"), driver, picture)
    assert done.returncode == 0, done.stderr.decode()
    seen = json.loads(done.stdout)
    assert seen["at_start"] == "Click/Enter: zoom \u00b7 arrows: move \u00b7 /: search \u00b7 Esc: reset"
    assert seen["hash_of_zoom"] == f"#frame={seen['main']}"
    assert re.search(r"shapes\.c:\d+ in .*   \d+\.\d% of main$", seen["hovered"])
    assert seen["zoomed_after_reset"] is False and seen["zoomed_by_address"] is True
    labels = seen["labels"]
    assert "..resize(unsigned long)" in labels and "\u65e5\u672c.." in labels


def test_json_adds_up(shapes):  # noqa: F811
    _, dump = shapes
    found = json.loads(jescope("report", "--format=json", dump))
    names = {row["id"]: row["name"] for row in found["rows"]}
    for value in VALUES:
        whole = found["source"]["shown"][value]["estimate"]
        assert abs(sum(row["flat"][value]["estimate"] for row in found["rows"]) - whole) <= len(names)
        assert abs(sum(stack["weight"][value]["estimate"] for stack in found["stacks"]) - whole) <= len(found["stacks"])
    assert any([names[frame] for frame in stack["frames"]][:2] == ["inlined_megabytes", "holds_eight_megabytes"]
               for stack in found["stacks"])


def test_recursion_counts_once(shapes):  # noqa: F811
    _, dump = shapes
    rows = {row["name"]: row for row in json.loads(jescope("report", "--format=json", dump))["rows"]}
    recursive = rows["holds_two_megabytes_recursively"]
    assert recursive["flat"] == recursive["cum"]


@pytest.mark.parametrize("by, name", [("file", "shapes.c"), ("object", "shapes"), ("line", "shapes.c:"), ("address", "0x0")])
def test_granularity(shapes, by, name):  # noqa: F811
    _, dump = shapes
    rows = json.loads(jescope("report", "--format=json", "--by", by, dump))["rows"]
    assert name in rows[0]["name"]


def test_standard_input(shapes):  # noqa: F811
    _, dump = shapes
    with dump.open("rb") as pipe:
        whole = jescope("report", "--format=folded", "-", stdin=pipe)
    assert whole == jescope("report", "--format=folded", dump)


def test_output_never_overwrites(shapes, tmp_path):  # noqa: F811
    _, dump = shapes
    file = tmp_path / "there.txt"
    file.write_text("precious")
    jescope("report", dump, "-o", file, status=1)
    assert file.read_text() == "precious"


def test_growth(shapes, tmp_path):  # noqa: F811
    program, _ = shapes
    dumps = [dump_shapes(program, tmp_path / f"{n}.heap", "and", *["more"] * n) for n in range(5)]
    built = program.stat().st_mtime
    for n, dump in enumerate(dumps):
        os.utime(dump, (built + 3600 * n, built + 3600 * n))
    found = json.loads(jescope("growth", "--json", *dumps))
    growing = [stack for stack in found["stacks"] if stack["verdict"] == "still growing"]
    assert growing[0]["frames"][:2] == ["holds_many_small", "main"]
    # Each dump is of a process of its own, with other samples: one time in twenty those of a stack that does not grow rise by chance.
    assert all(stack["slope"] < growing[0]["slope"] / 20 for stack in growing[1:])
    assert len(growing[0]["series"]) == 5
    assert growing[0]["slope"] * 3600 == pytest.approx(5e6 * 1.12, rel=0.2)
    assert "still growing" in jescope("growth", *dumps).decode()


def test_a_program_built_after_the_dump_is_not_asked_for_names(tmp_path):
    program = build_shapes(tmp_path)
    dump = dump_shapes(program, tmp_path / "shapes.heap")
    assert b"[shapes+0x" not in jescope("report", dump)
    written = dump.stat().st_mtime
    os.utime(program, (written + 60, written + 60))
    later = run(JESCOPE, "report", dump)
    assert b"[shapes+0x" in later.stdout and b" main\n" not in later.stdout
    assert f"{program} was changed after the dump was taken" in later.stderr.decode()
    assert b"[shapes+0x" not in jescope("report", dump, "--sysroot=/")
