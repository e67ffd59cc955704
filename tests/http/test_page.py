# SPDX-License-Identifier: Apache-2.0
"""The page for browsers: what the server sends of it, and to whom."""

import gzip
import re
import urllib.parse

import pytest
from endpoint import serve, set_active
from programs import fill, profiled, running_redis  # noqa: F401
from services import free_port

BROWSER = ["--header", "Accept: text/html,application/xhtml+xml,*/*;q=0.8"]
CONTROL = "control-0123456789abcdef"


@pytest.fixture(scope="module")
def server(scratch, profiled):  # noqa: F811
    """With a token for every client."""
    tokens = scratch / "tokens"
    tokens.write_text(f"control {CONTROL} alice\n")
    tokens.chmod(0o600)
    with serve(scratch, profiled.pid, "--require-token", "--token-file", tokens, port=free_port()) as endpoint:
        endpoint.pid = profiled.pid
        endpoint.program = profiled
        yield endpoint


@pytest.fixture(scope="module")
def document(server):
    answer = server.get("/", *BROWSER)
    if answer.status == 401:
        pytest.skip("jescope was built without the page: esbuild is not installed")
    return answer


def assets(document):
    return re.findall(r'(?:href|src)="(/assets/[^"]+)"', document.text)


def test_document_runs_only_its_own_script(document):
    assert (document.status, document.type, document.header("cache-control")) == (200, "text/html; charset=utf-8", "no-cache")
    policy = document.header("content-security-policy")
    assert "default-src 'none'" in policy and "script-src 'self';" in policy and "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert not re.search(r"<style|<script[^>]*>[^<]|\son\w+=|https?:", document.text), "nothing inline, nothing from elsewhere"


def test_assets_are_kept_for_ever(server, document):
    names = assets(document)
    assert sorted(re.sub("-[0-9a-f]{16}", "", name) for name in names) == ["/assets/page.css", "/assets/page.js"]
    for name in names:
        answer = server.get(name)
        assert (answer.status, answer.header("cache-control")) == (200, "public, max-age=31536000, immutable")
        assert server.get(name, "--header", f"If-None-Match: {answer.header('etag')}").status == 304
        assert server.get(name, "--compressed").body == answer.body
    assert server.get("/", *BROWSER, "--header", f"If-None-Match: {document.header('etag')}").status == 304


def test_the_page_is_light(server, document):
    """All that a browser loads before it asks for data; the goal of bench/page is 100 KB."""
    parts = [document.body, *(server.get(name).body for name in assets(document))]
    assert sum(len(gzip.compress(part, 6)) for part in parts) <= 40 * 1024


@pytest.mark.parametrize("name", ["page.js", "page-0123456789abcdef.js", "%2e%2e", "page-*.js"])
def test_no_other_asset(server, document, name):
    assert server.get(f"/assets/{name}").status == 404


def test_only_the_page_needs_no_token(server, document):
    for path in ("/", "/api/v1/targets", "/metrics", "/memory-profiler/state", "/nowhere"):
        assert server.get(path).status == 401, "a client that is no browser"
        if path != "/":
            assert server.get(path, *BROWSER).status == 401
    assert server.get("/", *BROWSER, "--header", "Authorization: Bearer wrong-0123456789abcdef").status == 401
    assert server.get("/", *BROWSER, "--header", "Host: evil.example").status == 403
    bearer = ["--header", f"Authorization: Bearer {CONTROL}"]
    assert server.get("/", *BROWSER, *bearer).body == document.body
    assert f"({server.pid})" in server.get("/", *bearer).text, "a list of links"


# ---- profiles ----

BEARER = ["--header", f"Authorization: Bearer {CONTROL}"]


@pytest.fixture(scope="module")
def dumps(server):
    """Two kept dumps, with something new in the second: paths of the API."""
    program = f"/api/v1/targets/{server.pid}"
    assert server.ask("PUT", f"{program}/profiling?active=true", *BEARER).status == 200
    paths = []
    for _ in range(2):
        fill(server.program, count=400)
        taken = server.post(f"{program}/dumps", *BEARER)
        assert taken.status == 201, taken.text
        paths.append(f"{program}/dumps/{taken.json()['id']}")
    return paths


def key(names):
    """As docs/formats.md has it."""
    basis, prime = 0xcbf29ce484222325, 0x100000001b3
    key = basis
    for name in names:
        of_name = basis
        for byte in name.encode():
            of_name = (of_name ^ byte) * prime % 2**64
        key = (key ^ of_name) * prime % 2**64
    return f"{key:016x}"


def ask_page(server, path, query=""):
    answer = server.get(f"{path}?format=page{query}", *BEARER)
    assert (answer.status, answer.type) == (200, "application/json"), answer.text
    return answer.json()


def names_of(page, graph, rows):
    return [page["frames"]["name"][graph["frame"][row]] if graph["frame"][row] >= 0 else "all" for row in rows]


def test_page_of_a_dump(server, dumps):
    page = ask_page(server, dumps[1])
    graph = page["graph"]
    assert page["format"] == "jescope-page" and page["source"]["whole"]["inuse_space"]["total"] >= graph["total"][0] > 0
    assert len({len(graph[column]) for column in ("parent", "level", "frame", "total", "self", "error", "other")}) == 1
    whole = ask_page(server, dumps[1], "&by=line&callers=true&part=graph")
    assert whole["inverted"] and "table" not in whole
    heaviest = ask_page(server, dumps[1], "&part=stacks&count=3")["stacks"]
    assert heaviest["total"] == sorted(heaviest["total"], reverse=True) and len(heaviest["frames"]) == 3


def test_zoom_is_the_same_frame_of_another_dump(server, dumps):
    page = ask_page(server, dumps[0])
    graph = page["graph"]
    row = next(row for row, level in enumerate(graph["level"]) if level == 3)
    path = [row]
    while graph["parent"][path[0]] >= 0:
        path.insert(0, graph["parent"][path[0]])
    wanted = names_of(page, graph, path)
    for dump in dumps:
        zoomed = ask_page(server, dump, f"&part=graph&zoom={key(wanted[1:])}")
        assert zoomed["graph"]["found"] and names_of(zoomed, zoomed["graph"], range(4)) == wanted
    assert ask_page(server, dumps[0], "&zoom=0123456789abcdef")["graph"]["found"] is False


def test_pages_of_one_tree(server, dumps):
    """The second width, zoom and part are cut from what the first one has left; filters are another tree."""
    whole = ask_page(server, dumps[1], "&part=whole")
    narrow = ask_page(server, dumps[1], "&part=graph&width=50&depth=3")
    assert narrow["source"] == whole["source"] and "table" not in narrow
    assert max(narrow["graph"]["level"]) <= 3 < max(whole["graph"]["level"])
    assert narrow["graph"]["total"][0] == whole["graph"]["total"][0]
    assert ask_page(server, dumps[1], "&part=table")["table"]["cum"] == whole["table"]["cum"]
    focused = ask_page(server, dumps[1], "&focus=no_such_function")
    assert focused["empty"] and focused["graph"]["total"] == [0]
    inverted = ask_page(server, dumps[1], "&callers=true&value=inuse_objects")
    assert inverted["inverted"] and inverted["unit"] == "objects" and inverted["graph"]["total"][0] == whole["graph"]["other"][0]


def test_a_dump_that_is_gone(server, dumps):
    gone = dumps[1].rpartition("/")[0] + "/999999"
    for path in (gone, f"{dumps[1]}?base=999999"):
        answer = server.get(f"{path}{'&' if '?' in path else '?'}format=page", *BEARER)
        assert (answer.status, answer.json()["error"]["code"]) == (404, "not_found")
        assert "no such dump: 999999" in answer.json()["error"]["message"] and "dumps" in answer.json()["error"]["hint"]


def test_callers_and_callees(server, dumps):
    name = ask_page(server, dumps[1])["frames"]["name"][-1]
    page = ask_page(server, dumps[1], "&function=" + urllib.parse.quote(name))
    assert page["known"] and page["callers"]["total"][0] == page["callees"]["total"][0]
    assert ask_page(server, dumps[1], "&function=%3Cscript%3E")["known"] is False


def test_difference_has_its_significance(server, dumps):
    page = ask_page(server, dumps[1], f"&base={dumps[0].rpartition('/')[2]}")
    graph = page["graph"]
    assert graph["significance"][0] > page["noise"], "6 MiB more"
    assert graph["total"][0] - graph["base"][0] > 0
    same = ask_page(server, dumps[1], f"&base={dumps[1].rpartition('/')[2]}")
    assert set(same["graph"]["significance"]) == {0}


def test_difference_to_another_target(scratch, profiled):  # noqa: F811
    """Of the same user: by the id of the dump, in every format that shows differences."""
    with running_redis(scratch, "another", "--sample", "4KiB") as other, serve(scratch, profiled.pid, other.pid) as both:
        set_active(scratch, other.pid, True)
        fill(other, 500)
        paths = {pid: f"/api/v1/targets/{pid}/dumps" for pid in (profiled.pid, other.pid)}
        ids = {pid: both.post(path).json()["id"] for pid, path in paths.items()}
        path = f"{paths[other.pid]}/{ids[other.pid]}?base={ids[profiled.pid]}"
        page = both.get(f"{path}&format=page").json()
        totals = {pid: both.get(f"{paths[pid]}/{ids[pid]}?format=page").json()["graph"]["total"][0] for pid in ids}
        assert totals[other.pid] > 4 << 20
        assert (page["graph"]["total"][0], page["graph"]["base"][0]) == (totals[other.pid], totals[profiled.pid])
        assert both.get(f"{path}&format=page").json()["base"] == page["base"]
        assert both.get(f"{path}&format=text").status == 200
        assert both.get(f"{paths[other.pid]}/{ids[profiled.pid]}?format=page").status == 404, "it is a base alone"


def test_page_is_packed_and_tagged(server, dumps):
    path = f"{dumps[0]}?format=page"
    answer = server.get(path, *BEARER, "--compressed")
    assert answer.header("content-encoding") == "gzip"
    assert server.get(path, *BEARER, "--header", f"If-None-Match: {answer.header('etag')}").status == 304
    live = server.get(f"/api/v1/targets/{server.pid}/dumps/now?format=page&part=table", *BEARER)
    assert live.status == 200 and live.json()["table"]["frame"]


# ---- growth ----


def growth_path(server, query=""):
    return f"/api/v1/targets/{server.pid}/growth{query}"


def test_growth_over_all_kept_dumps(server, dumps):
    """The API answers for them what `jescope growth` says of the files; names are the ids of the dumps."""
    few = server.get(growth_path(server), *BEARER)
    assert (few.status, few.json()["error"]["code"]) == (409, "too_few_dumps") and "2 are kept" in few.text
    for _ in range(2):
        fill(server.program, count=2000)
        assert server.post(dumps[0].rpartition("/")[0], *BEARER).status == 201
    kept = [str(dump["id"]) for dump in server.get(dumps[0].rpartition("/")[0], *BEARER).json()["dumps"]]
    answer = server.get(growth_path(server, "?count=0"), *BEARER)
    assert (answer.status, answer.type) == (200, "application/json"), answer.text
    growth = answer.json()
    assert growth["format"] == "jescope-growth" and [dump["name"] for dump in growth["dumps"]] == kept[::-1]
    assert [dump["time"] for dump in growth["dumps"]] == sorted(dump["time"] for dump in growth["dumps"])
    assert growth["total"]["last"] > growth["total"]["first"] and growth["total"]["slope_error"] > 0
    grown = [row for row in growth["functions"] if row["verdict"] != "within error"]
    assert grown and all(len(row["series"]) == len(kept) for row in grown)
    some = server.get(growth_path(server, "?value=inuse_objects&by=object&count=1"), *BEARER).json()
    assert (some["value"], some["by"], len(some["functions"]), len(some["stacks"])) == ("inuse_objects", "object", 1, 1)


def test_growth_of_nothing(server, dumps):
    nothing = server.get(growth_path(server, "?focus=no_such_function"), *BEARER)
    assert nothing.status == 200, nothing.text
    assert nothing.json()["functions"] == [] and any("filters match nothing" in note for note in nothing.json()["notes"])


@pytest.mark.parametrize("query", ["?focus=(", "?value=age", "?value=nonsense", "?by=moon", "?count=x", "?output=/tmp/x", "?width=100", "?base=1"])
def test_growth_asked_for_wrongly(server, dumps, query):
    answer = server.get(growth_path(server, query), *BEARER)
    assert answer.status == 400 and answer.json()["error"]["message"], (query, answer.text)


@pytest.mark.parametrize("query", [
    "width=49", "width=8193", "width=1e3", "width=-1", "width=99999999999999999999", "depth=0", "depth=4097", "zoom=1", "zoom=0x00000000000000",
    "zoom=%00", "part=everything", "focus=(", "focus=%FF(", "count=-1", "function=%0a%1b[31m&part=none", "base=7",
])
def test_what_is_asked_for_wrongly(server, dumps, query):
    answer = server.get(f"{dumps[0]}?format=page&{query}", *BEARER)
    assert 400 <= answer.status < 500 and answer.json()["error"]["message"], (query, answer.text)
