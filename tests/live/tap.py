# SPDX-License-Identifier: Apache-2.0
"""A pytest plugin that speaks TAP on stdout, so that Meson counts every test of a file by itself (-p tap)."""

import signal
import sys

import pytest

_NOTED = {"passed": "ok", "failed": "not ok", "skipped": "ok"}


class Tap:
    def __init__(self):
        self.count = 0
        self.out = sys.__stdout__

    def say(self, line):
        print(line, file=self.out, flush=True)

    def pytest_collection_finish(self, session):
        self.say(f"1..{len(session.items)}")

    def pytest_runtest_logreport(self, report):
        # One line a test: its call, or the phase that kept the call from running.
        if report.when == "call" or (report.when == "setup" and report.outcome != "passed"):
            self.count += 1
            reason = ""
            if report.outcome == "skipped":
                reason = f" # SKIP {report.longrepr[2] if isinstance(report.longrepr, tuple) else ''}"
            name = report.nodeid.rsplit("/", 1)[-1].replace("#", " ")
            self.say(f"{_NOTED[report.outcome]} {self.count} - {name}{reason}")
        elif report.when == "teardown" and report.failed:
            self.say(f"Bail out! teardown of {report.nodeid} failed")
        if report.failed:
            for line in report.longreprtext.splitlines():
                self.say(f"# {line}")

    def pytest_collectreport(self, report):
        if report.failed:
            for line in report.longreprtext.splitlines():
                self.say(f"# {line}")
            self.say("Bail out! collection failed")


def stop_ignoring_signals():
    """Under nohup or in a shell's background some signals are ignored, and every program started here would inherit that."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


@pytest.hookimpl(trylast=True)  # the reporter to replace must be there
def pytest_configure(config):
    stop_ignoring_signals()
    reporter = config.pluginmanager.getplugin("terminalreporter")
    if reporter is not None:
        config.pluginmanager.unregister(reporter)
    config.pluginmanager.register(Tap(), "tap-reporter")
