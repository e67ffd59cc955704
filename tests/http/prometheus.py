# SPDX-License-Identifier: Apache-2.0
"""A Prometheus of the test's own, on a free port of this machine."""

import contextlib
import json
import shutil
import urllib.parse
import urllib.request

import pytest
from services import DEADLINE, free_port, started, wait_for

CONFIG = """
global:
  scrape_interval: 1s
  scrape_timeout: 1s
  evaluation_interval: 1s
rule_files: [{rules}]
scrape_configs:
  - job_name: jescope
    static_configs: [{{targets: ["{address}"]}}]
  - job_name: jescope-targets
    http_sd_configs: [{{url: "http://{discovery}/api/v1/sd", refresh_interval: 1s}}]
"""


def need(program):
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed (Debian: prometheus)")
    return program


class Prometheus:
    def __init__(self, port):
        self.base = f"http://127.0.0.1:{port}/api/v1/"

    def ask(self, path, **query):
        with urllib.request.urlopen(self.base + path + "?" + urllib.parse.urlencode(query), timeout=DEADLINE) as answer:
            found = json.load(answer)
        assert found["status"] == "success", found
        return found["data"]

    def query(self, expression):
        """An instant vector: (labels, value) each."""
        data = self.ask("query", query=expression)
        assert data["resultType"] == "vector", data
        return [(row["metric"], float(row["value"][1])) for row in data["result"]]

    def await_query(self, expression):
        return wait_for(lambda: self.query(expression), f"a value of {expression}")

    def is_ready(self):
        try:
            return self.ask("targets")
        except OSError:
            return False


@contextlib.contextmanager
def scraping(scratch, address, discovery=None, rules=""):
    """A Prometheus that scrapes the jescope at ADDRESS, and what the one at DISCOVERY (or the same) tells it of."""
    folder = scratch / "prometheus"
    folder.mkdir()
    config = folder / "prometheus.yml"
    config.write_text(CONFIG.format(address=address, discovery=discovery or address, rules=f'"{rules}"' if rules else ""))
    port = free_port()
    command = [need("prometheus"), f"--config.file={config}", f"--storage.tsdb.path={folder}/data",
               f"--web.listen-address=127.0.0.1:{port}", "--log.level=warn"]
    with open(folder / "log", "w") as log, started(command, stdout=log, stderr=log, cwd=folder) as process:
        found = Prometheus(port)
        wait_for(lambda: process.poll() is not None or found.is_ready(), f"prometheus answers: {folder}/log")
        assert process.poll() is None, (folder / "log").read_text()
        yield found
