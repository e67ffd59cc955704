# SPDX-License-Identifier: Apache-2.0
"""Every row of the tables of observed behaviour has its test, or a reason why it has none."""

import ast
import pathlib
import re

ROWS = {
    "libmtev": {f"b{number}" for number in range(1, 29)},
    "userver": {f"c{number}" for number in range(1, 25)},
    "mesos": {f"d{number}" for number in range(1, 48)},
}

# What cannot come about here, and why. Where there is something to be shown nevertheless, a test of the row's name does.
NOT_APPLICABLE = {
    "b19": "a dump goes to memory that jescope made; no file in /tmp is opened, so none can fail",
    "d38": "text and graph are made by jescope itself; no jeprof is run, so none can be missing",
}


def rows_with_tests(name):
    tree = ast.parse((pathlib.Path(__file__).parent / f"test_{name}.py").read_text())
    names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    return {match.group(1) for match in (re.match(r"test_([bcd]\d+)_", name) for name in names) if match}


def test_every_row_is_answered_for():
    for name, rows in ROWS.items():
        assert rows_with_tests(name) | (rows & set(NOT_APPLICABLE)) == rows


def test_reasons_are_given_for_rows_alone():
    assert set(NOT_APPLICABLE) <= set.union(*ROWS.values()) and all(NOT_APPLICABLE.values())
