# SPDX-License-Identifier: Apache-2.0
"""The native API's description: an OpenAPI document that holds together, and that the server keeps."""

import os
import pathlib
import re

import jsonschema
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
            assert status in ("default", "4XX", "5XX") or re.fullmatch(r"[1-5]\d\d", status)
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
            assert row["schema"].get("type") in TYPES or {one["type"] for one in row["schema"]["oneOf"]} <= TYPES
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


def briefly(path):
    """What watches a target does so for half a minute unless it is told otherwise."""
    return path + "?for=100ms" if path.endswith("/doctor") else path


def test_every_reading_operation_answers(server, description):
    """No path of the description is unknown to the server; what a made-up number names may be."""
    asked = 0
    for path, method, operation in operations(description):
        if method != "get" or operation["x-role"] != "read" or path in STREAMS:
            continue
        made_up = "{" in path.replace("{target}", "")
        answer = server.get(briefly(re.sub(r"\{\w+\}", "1", path.replace("{target}", str(server.pid)))))
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


# ---- answers are what the description says ----


def json_schema(value):
    """OpenAPI 3.0 has "nullable" where JSON Schema has a type."""
    if isinstance(value, list):
        return [json_schema(one) for one in value]
    if not isinstance(value, dict):
        return value
    rest = {key: json_schema(one) for key, one in value.items() if key != "nullable"}
    return {"anyOf": [rest, {"type": "null"}]} if value.get("nullable") else rest


def check_answer(description, path, method, answer):
    """ANSWER has a status, a type and a content that the operation has."""
    responses = description["paths"][path][method]["responses"]
    response = responses.get(str(answer.status))
    assert response is not None, (path, method, answer.status, sorted(responses))
    response = resolve(description, response["$ref"]) if "$ref" in response else response
    media = answer.type.partition(";")[0]
    assert media in response["content"], (path, method, answer.status, media)
    if media == "application/json":
        schema = {**json_schema(response["content"][media]["schema"]), "components": json_schema(description["components"])}
        jsonschema.Draft7Validator(schema).validate(answer.json())


def test_operation_ids_are_names(description):
    names = [operation["operationId"] for _, _, operation in operations(description)]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z][A-Za-z0-9]+", name) for name in names)
    native = {operation["operationId"] for path, _, operation in operations(description) if path.startswith("/api/")}
    assert {"listTargets", "getTarget", "startRecording", "getDump", "setProfiling"} <= native
    assert not any("ApiV1" in name for name in native)


def test_every_reading_answer_is_as_described(server, description):
    checked = 0
    for path, method, operation in operations(description):
        if method != "get" or path in STREAMS or operation["tags"] not in (["service"], ["target"]):
            continue
        for made_up in ("1", "now", "version"):
            answer = server.get(briefly(re.sub(r"\{\w+\}", made_up, path.replace("{target}", str(server.pid)))))
            check_answer(description, path, "get", answer)
            checked += answer.status == 200
    assert checked > 20


@pytest.mark.parametrize("method, rest, query, status", [
    ("put", "profiling", "active=true&for=5s", 200),
    ("put", "profiling", "active=true&for=5s", 409),
    ("put", "profiling", "activ=true", 400),
    ("post", "profiling", "active=false", 200),
    ("post", "reset", "", 200),
    ("post", "purge", "", 200),
    ("put", "decay", "dirty_ms=10000", 200),
    ("post", "decay", "", 200),
    ("put", "background-thread", "enabled=false", 200),
    ("post", "dumps", "", 201),
    ("get", "dumps", "", 200),
    ("post", "recordings", "for=60s", 201),
    ("post", "recordings", "for=60s", 409),
    ("get", "recordings", "", 200),
    ("get", "", "", 200),
    ("get", "profiling", "", 200),
])
def test_every_changing_answer_is_as_described(server, description, method, rest, query, status):
    answer = server.ask(method.upper(), f"/api/v1/targets/{server.pid}/{rest}".rstrip("/") + f"?{query}")
    assert answer.status == status, answer.text
    check_answer(description, f"/api/v1/targets/{{target}}/{rest}".rstrip("/"), method, answer)


def test_other_answers_are_as_described(server, description):
    recordings = server.get(f"/api/v1/targets/{server.pid}/recordings").json()["recordings"]
    one = f"/api/v1/targets/{server.pid}/recordings/{recordings[0]['id']}"
    for method, path, where in (("get", "", one), ("post", "/stop", one + "/stop"), ("delete", "", one), ("get", "/result", one + "/result")):
        check_answer(description, "/api/v1/targets/{target}/recordings/{recording}" + path, method, server.ask(method.upper(), where))
    for value, status in (("value=true", 200), ("value=maybe", 400)):
        answer = server.ask("PUT", f"/api/v1/targets/{server.pid}/controls/prof.gdump?{value}")
        assert answer.status == status
        check_answer(description, "/api/v1/targets/{target}/controls/{control}", "put", answer)
    server.ask("PUT", f"/api/v1/targets/{server.pid}/controls/prof.gdump?value=false")
    kept = server.get(f"/api/v1/targets/{server.pid}/dumps/latest")
    again = server.get(f"/api/v1/targets/{server.pid}/dumps/latest", "--header", f"If-None-Match: {kept.header('etag')}")
    assert str(again.status) in description["paths"]["/api/v1/targets/{target}/dumps/{dump}"]["get"]["responses"]
