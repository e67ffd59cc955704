# SPDX-License-Identifier: Apache-2.0
"""The native API's description: an OpenAPI document that holds together, and that the server keeps."""

import os
import pathlib
import re

import pytest
from endpoint import serve
from programs import profiled  # noqa: F401

DOCS = pathlib.Path(os.environ["JESCOPE_SOURCE"]) / "docs"
METHODS = {"get", "put", "post", "delete", "options", "head", "patch", "trace"}
TYPES = {"string", "integer", "number", "boolean", "array", "object"}
# Has no end.
STREAMS = {"/api/v1/events"}


@pytest.fixture(scope="module")
def server(scratch, profiled):  # noqa: F811
    with serve(scratch, profiled.pid) as endpoint:
        endpoint.pid = profiled.pid
        yield endpoint


@pytest.fixture(scope="module")
def description(server):
    answer = server.get("/api/v1/openapi.json")
    assert (answer.status, answer.type) == (200, "application/json")
    return answer.json()


def operations(description):
    for path, item in description["paths"].items():
        for method, operation in item.items():
            yield path, method, operation


def resolve(description, reference):
    assert reference.startswith("#/"), reference
    value = description
    for word in reference[2:].split("/"):
        value = value[word]
    return value


def references(value):
    if isinstance(value, dict):
        yield from ([value["$ref"]] if "$ref" in value else [])
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from references(one)


def test_what_every_description_has(server, description):
    assert re.fullmatch(r"3\.0\.\d+", description["openapi"])
    assert description["info"]["title"] == "jescope" and description["info"]["version"]
    assert set(description) <= {"openapi", "info", "servers", "paths", "components", "security", "tags", "externalDocs"}
    for reference in references(description):
        assert resolve(description, reference)


def test_operations(description):
    names = []
    for path, method, operation in operations(description):
        assert path.startswith("/") and "*" not in path and "?" not in path
        assert method in METHODS
        assert operation["summary"] and operation["tags"]
        names.append(operation["operationId"])
        assert operation["responses"]
        for status, response in operation["responses"].items():
            assert status == "default" or re.fullmatch(r"[1-5]\d\d", status)
            assert "description" in response or "$ref" in response
    assert len(names) == len(set(names))


def test_parameters(description):
    for path, _, operation in operations(description):
        parameters = operation["parameters"]
        keys = [(row["name"], row["in"]) for row in parameters]
        assert len(keys) == len(set(keys)), path
        assert {name for name, place in keys if place == "path"} == set(re.findall(r"\{(\w+)\}", path))
        for row in parameters:
            assert row["in"] in ("path", "query")
            assert row.get("required") is True or row["in"] == "query"
            assert row["schema"]["type"] in TYPES
            assert row["schema"].get("enum", ["x"])


def test_what_the_issue_names_is_there(description):
    words = " ".join(description["paths"])
    for word in ("/api/v1/targets", "/api/v1/sd", "/api/v1/openapi.json", "/api/v1/events", "recordings", "dumps", "statistics", "profiling",
                 "/metrics", "/mtev/heap_profile", "/service/jemalloc/prof/{command}", "/memory-profiler/start", "/debug/pprof/heap",
                 "/pprof/heap"):
        assert word in words, word


def is_failure(answer):
    error = answer.json()["error"]
    return isinstance(error["code"], str) and isinstance(error["message"], str) and isinstance(error.get("hint", ""), str)


def test_every_reading_operation_answers(server, description):
    """No path of the description is unknown to the server; what a made-up number names may be."""
    asked = 0
    for path, method, operation in operations(description):
        if method != "get" or operation["x-role"] != "read" or path in STREAMS:
            continue
        made_up = "{" in path.replace("{target}", "")
        answer = server.get(re.sub(r"\{\w+\}", "1", path.replace("{target}", str(server.pid))))
        asked += 1
        assert answer.status < 500, (path, answer)
        assert answer.status not in (404, 405) or made_up, (path, answer)
        if answer.status >= 400 and path.startswith("/api/"):
            assert is_failure(answer), (path, answer)
    assert asked > 10


def test_every_changing_operation_knows_its_method(server, description):
    """Asked without the rights of its method, a path answers 405 and tells which it has."""
    for path, item in description["paths"].items():
        if not path.startswith("/api/") or "get" in item:
            continue
        answer = server.get(re.sub(r"\{\w+\}", "1", path.replace("{target}", str(server.pid))))
        assert answer.status == 405, (path, answer)
        allowed = {word.strip().lower() for word in answer.header("allow").split(",")}
        assert set(item) <= allowed | {"options"}, (path, answer)
        assert is_failure(answer)


@pytest.mark.parametrize("path", ["/api/v1/nonsense", "/api/v1/targets/1234567890", "/api/v2", "/api/v1/targets/{pid}/nonsense"])
def test_what_is_not_there(server, path):
    answer = server.get(path.replace("{pid}", str(server.pid)))
    assert (answer.status, answer.type) == (404, "application/json")
    assert is_failure(answer)


def test_the_page_about_it_lists_every_path(description):
    found = set()
    for methods, path in re.findall(r"^### `(\S+) (\S+)`$", (DOCS / "api.md").read_text(), re.M):
        found |= {(path, method.lower()) for method in methods.split("|")}
    assert found == {(path, method) for path, method, _ in operations(description)}
