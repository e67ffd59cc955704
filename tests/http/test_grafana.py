# SPDX-License-Identifier: Apache-2.0
"""The dashboard: every query of it returns data from a Prometheus that scrapes us."""

import json
import os
import pathlib
import re
import time

import pytest
from endpoint import serve
from programs import fill, running_redis
from prometheus import scraping
from services import free_port

DASHBOARD = json.loads((pathlib.Path(os.environ["JESCOPE_SOURCE"]) / "integrations/grafana/jescope.json").read_text())
QUERIES = [(panel["title"], query["expr"]) for panel in DASHBOARD["panels"] for query in panel.get("targets", [])]
VARIABLES = [variable for variable in DASHBOARD["templating"]["list"] if variable["type"] == "query"]


@pytest.fixture(scope="module")
def prometheus(scratch):
    port = free_port()
    with running_redis(scratch, "one") as redis, serve(scratch, redis.pid, port=port):
        fill(redis)
        with scraping(scratch, f"127.0.0.1:{port}") as found:
            # Two scrapes, as a rate wants.
            found.await_query('count_over_time(up{job="jescope"}[1m]) >= 3')
            yield found


def as_sent(expression):
    """As Grafana sends it with all processes and targets chosen."""
    for name, value in (("$process", ".*"), ("$target", ".*"), ("$__rate_interval", "1m")):
        expression = expression.replace(name, value)
    assert "$" not in expression, expression
    return expression


@pytest.mark.parametrize("title, expression", QUERIES)
def test_query_returns_data(prometheus, title, expression):
    assert prometheus.query(as_sent(expression)), title


@pytest.mark.parametrize("title, expression", QUERIES)
def test_query_returns_data_over_time(prometheus, title, expression):
    now = time.time()
    data = prometheus.ask("query_range", query=as_sent(expression), start=now - 60, end=now, step=1)
    assert data["result"], title


@pytest.mark.parametrize("variable", VARIABLES, ids=lambda variable: variable["name"])
def test_variable_has_values(prometheus, variable):
    series, label = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["query"]["query"]).groups()
    assert {labels[label] for labels, _ in prometheus.query(as_sent(series))}


def test_every_panel_has_its_place():
    taken = set()
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        cells = {(x, y) for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])}
        assert place["x"] + place["w"] <= 24 and not cells & taken, panel["title"]
        taken |= cells
    numbers = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(numbers) == len(set(numbers))


def test_every_panel_says_what_it_shows():
    for panel in DASHBOARD["panels"]:
        assert panel["title"] and (panel["type"] == "row" or panel["targets"]), panel
        for query in panel.get("targets", []):
            assert query["datasource"]["uid"] == "${datasource}"


def test_nothing_of_the_machine_it_was_made_on():
    assert DASHBOARD["uid"] == "jescope-memory" and "id" not in DASHBOARD
    assert "__inputs" not in DASHBOARD and "127.0.0.1" not in json.dumps(DASHBOARD)
