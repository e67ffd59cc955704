# SPDX-License-Identifier: Apache-2.0
"""The ledger of programs that know what they hold (tests/battery/): the line of their cause has these bytes, and nothing stays unexplained.

A case of each kind; with JESCOPE_PROOF every case, prepared in every way.
"""

import os
import pathlib

import battery
import pytest

FEW = {"dirty-never", "fragment-rows", "tcache-workers", "metadata-arenas", "mmap-pool", "other-arenas", "data-bss", "shared-segment",
       "tmpfs-memfd", "kernel-streams", "stacks-deep", "fork-workers"}
PROOF = "JESCOPE_PROOF" in os.environ
CHOSEN = [(case, mode) for case in battery.cases() if case.cause in battery.LINES and (PROOF or case.name in FEW)
          for mode in (battery.MODES if PROOF else ("inactive",))]


HUGE_PAGES = pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled")


@pytest.mark.parametrize("case, mode", CHOSEN, ids=lambda value: value if isinstance(value, str) else value.name)
def test_ledger(tmp_path, case, mode):
    if case.cause == "thp-inflation" and (not HUGE_PAGES.exists() or "[never]" in HUGE_PAGES.read_text()):
        pytest.skip("transparent huge pages are switched off on this machine")
    assert battery.judge(tmp_path, case, mode, ["ledger"]) == []


def test_two_programs_for_each_cause():
    causes = [case.cause for case in battery.cases()]
    assert {cause for cause in causes if causes.count(cause) < 2} == set()
    assert set(battery.LINES) <= set(causes)
