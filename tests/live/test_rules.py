# SPDX-License-Identifier: Apache-2.0
"""jescope rules: what rules would have done over recorded samples."""

import json
import os
import pathlib
import re
import subprocess

import pytest

from services import environment, service, started, wait_for
from test_documents import documented, flat
from test_series import JESCOPE, DEADLINE, log

RULES = """# of the log below: allocated is 1 MB and grows by 1000 bytes a minute
[large]
process = app
user = nobody-the-history-knows
when = allocated above 1050000 clear 1000000
for = 5m
cooldown = 1m
do = record 30s; dump; post https://alerts.example/

[leak]
when = grows(allocated, 1h) or slope(allocated, 30m) above 900/m
do = log

[other]
process = redis*
when = allocated above 1
do = log
"""


@pytest.fixture
def check(tmp_path):
    """Checks rules over ninety minutes of one target, a sample a minute from 10:00 on."""
    env = dict(os.environ, JESCOPE_HISTORY=str(tmp_path / "history.db"), TZ="UTC", LC_ALL="C.UTF-8")
    subprocess.run([JESCOPE, "import", "-", "--target", "app"], input=log(90), env=env, text=True, check=True, timeout=DEADLINE,
                   capture_output=True)

    def run(text, *options, status=0):
        file = tmp_path / "some.rules"
        file.write_text(text)
        done = subprocess.run([JESCOPE, "rules", "check", file, *options], env=env, text=True, capture_output=True, timeout=DEADLINE)
        assert done.returncode == status, done
        return done

    return run


def test_text(check):
    lines = check(RULES).stdout.splitlines()
    assert lines[0] == "large  app: fires 1 time in 90 samples"
    assert lines[1] == "  2026-11-20T10:56:00Z  allocated above 1.001 MiB: 1.007 MiB"
    assert lines[2] == ("  cost: 1 x record, 1 x dump, 1 x post; profiling on for 30 s; the history has no dump of it that would tell "
                        "their size")
    assert lines[3].startswith("  at the end: cooling, it has fired")
    assert lines[4].startswith("leak  app: fires 1 time")
    assert "slope(allocated,30m) above 15 B/s: 16.67 B/s" in lines[5]
    assert not any("other" in line for line in lines)


def test_json(check):
    document = json.loads(check(RULES, "--json").stdout)
    assert document["format"] == "jescope-rules-check"
    assert flat({"checks": document["checks"]}, whole=("held_back", "actions")) == documented("jescope-rules-check")
    large, leak = document["checks"]
    assert large["cost"]["actions"] == {"record": 1, "dump": 1, "post": 1} and large["cost"]["recorded_seconds"] == 30
    assert leak["state"] == "cooling" and leak["place"].endswith("some.rules:10")
    part = json.loads(check(RULES, "--json", "--to=2026-11-20T10:50Z").stdout)["checks"]
    assert [row["samples"] for row in part] == [50, 50] and part[0]["firings"] == []


def test_wrong_rule(check, tmp_path):
    done = check(RULES + "[wrong]\nwhen = allocatd above 1\ndo = log\n", status=3)
    assert f"{tmp_path}/some.rules:19: [wrong] when: no quantity 'allocatd'; did you mean 'allocated'?" in done.stderr
    assert done.stdout.startswith("large  app: fires 1 time")
    assert "the files have no rule that can be used" in check("[a]\n", status=1).stderr
    again = check(RULES, tmp_path / "some.rules", status=3)
    assert "[large]: the name is taken by the rule at" in again.stderr


def test_usage(check, tmp_path):
    assert "'nobody'" in check(RULES, "--target=nobody", status=1).stderr
    assert "cannot read the rules" in check(RULES, tmp_path / "none", status=1).stderr
    assert "is not before" in check(RULES, "--from=now", "--to=-1h", status=2).stderr


def test_collect_acts_by_rules(tmp_path):
    """It says what fires, and which rule is wrong."""
    rules, log = tmp_path / "rules", tmp_path / "log"
    rules.mkdir(mode=0o755)
    (rules / "a.rules").write_text("[large]\nwhen = allocated above 1\ndo = log\n[wrong]\ndo = log\n")
    (rules / "a.rules").chmod(0o644)
    with service(tmp_path) as program, open(log, "w") as errors:
        command = [JESCOPE, "collect", f"app={program.pid}", "--every=100ms", f"--rules={rules}", f"--history={tmp_path / 'history.db'}"]
        with started(command, stderr=errors, env=environment(tmp_path)):
            wait_for(lambda: "[wrong]: the key 'when' is missing" in log.read_text(), "the wrong rule is named")
            wait_for(lambda: "rule large: " in log.read_text(), "the rule fires")
    assert re.search(r"rule large: \S+ \(\d+\): allocated above 1 B: [\d.]+ [KM]iB", log.read_text())
