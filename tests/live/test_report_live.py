# SPDX-License-Identifier: Apache-2.0
"""Reports of a process that runs."""

import json
import re

from services import jescope, service


def test_says_coverage_and_since_when(tmp_path):
    with service(tmp_path, "--sample", "64K", "--active") as target:
        for _ in range(8):
            target.allocate(16384)
        text = jescope(tmp_path, "report", target.pid).stdout
        title, coverage, since = text.splitlines()[:3]
        assert title.startswith(f"python3 ({target.pid}): ") and "one sample per 64.0 KiB" in title
        share = re.fullmatch(r"explains ([\d.]+)% of stats.allocated \([\d.]+ [KM]iB\)", coverage)
        assert 50 < float(share.group(1)) < 200
        assert since == "sampling on since the process started"


def test_says_what_it_cannot_have_seen(tmp_path):
    with service(tmp_path, "--sample", "64K") as target:
        jescope(tmp_path, "enable", target.pid)
        target.allocate(65536)
        assert "sampling on since 20" in jescope(tmp_path, "report", target.pid).stdout
        jescope(tmp_path, "disable", target.pid)
        assert "sampling is off now" in jescope(tmp_path, "report", target.pid).stdout


def test_names_functions(tmp_path):
    with service(tmp_path, "--sample", "64K", "--active") as target:
        for _ in range(8):
            target.allocate(65536)
        found = json.loads(jescope(tmp_path, "report", "--format=json", target.pid).stdout)
        assert any(row["name"] == "Py_BytesMain" for row in found["rows"])
        assert not any("jemalloc" in row.get("object", "") for row in found["rows"])
        assert found["notes"]


def test_difference_of_a_file_and_the_process(tmp_path):
    with service(tmp_path, "--sample", "64K", "--active") as target:
        jescope(tmp_path, "dump", target.pid, "-o", "before.heap")
        for _ in range(8):
            target.allocate(65536)
        text = jescope(tmp_path, "diff", "before.heap", target.pid).stdout
        assert re.search(r"^ *\+1\d\d\.\d MiB", text, re.M), text


def test_no_profiling(tmp_path):
    with service(tmp_path, MALLOC_CONF="prof:false") as target:
        done = jescope(tmp_path, "report", target.pid, check=False)
        assert done.returncode == 1 and "prof" in done.stderr
