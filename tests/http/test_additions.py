# SPDX-License-Identifier: Apache-2.0
"""What CONTRIBUTING.md says it takes to add a command, a format, an endpoint, a page and a dialect: one of each in a copy of the sources.
The copy is built as where esbuild is missing: without the page for browsers."""

import json
import os
import pathlib
import shutil
import subprocess

import endpoint as endpoints
import pytest
import services
import victims
from services import environment

SOURCE = pathlib.Path(os.environ["JESCOPE_SOURCE"])
BUILDS = 800  # seconds that the build may take on a busy machine; where all of it is made anew, it is half a minute of two processors
LICENCE = "/* SPDX-License-Identifier: Apache-2.0 */\n"

COMMAND = LICENCE + """#include "cli/command.h"

#include <stdio.h>

static int
run(char **operands, GError **error)
{
    puts("hello from a command");
    return STATUS_DONE;
}

static const Example examples[] = {{"jescope hello", "say hello"}, {0}};

const Command cmd_hello = {
    .name = "hello",
    .synopsis = "",
    .summary = "say hello",
    .description = "Says hello.",
    .examples = examples,
    .run = run,
};
"""
FORMAT = LICENCE + """#include "report/format.h"

gboolean
hello_write(const Report *report, Writer *writer, GError **error)
{
    writer_text(writer, "hello from a format\\n");
    return TRUE;
}
"""
ENDPOINT = LICENCE + """#include "routes/native-reply.h"
#include "routes/native.h"

static void
native_hello(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    Json json;
    native_begin(&json, reply, 200);
    json_text(&json, "hello", "from an endpoint");
    native_end(&json);
}

static const Route rows[] = {
    {ROUTE_DIALECT_NATIVE, "GET|HEAD", NATIVE_PATH "/hello", "a greeting", .answer = native_hello},
};

const RouteTable native_hello_routes = {rows, sizeof(rows) / sizeof(rows[0])};
"""
PAGE = LICENCE + """#include "site/site.h"
#include "site/table.h"

static void
answer(Site *site, Exchange *exchange)
{
    GBytes *body = g_bytes_new_static("hello from a page", sizeof("hello from a page") - 1);
    exchange_answer(exchange, answer_new(200, "text/plain", body, ANSWER_PLAIN));
}

static const Route rows[] = {{ROUTE_DIALECT_NATIVE, "GET|HEAD", "/hello-page", "a greeting", .serve = answer}};

const RouteTable hello_page_routes = {rows, G_N_ELEMENTS(rows)};
"""
DIALECT = LICENCE + """#include "routes/reply.h"
#include "routes/table.h"

static void
hello(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    reply_text(reply, 200, REPLY_TEXT, "hello from a dialect");
}

static void
unknown(const Route *route, const RouteRequest *request, RouteReply *reply)
{
    reply_text(reply, 404, REPLY_TEXT, "no hello");
}

static const Route rows[] = {{ROUTE_DIALECT_HELLO, "GET", "/hello/world", "a greeting", .answer = hello}};

const RouteTable hello_routes = {rows, sizeof(rows) / sizeof(rows[0])};

const Dialect hello_dialect = {
    .dialect = ROUTE_DIALECT_HELLO,
    .name = "hello",
    .title = "Greetings",
    .about = "Paths that greet.",
    .paths = {"/hello/"},
    .unknown = unknown,
    .wrong_method = unknown,
};
"""
# Of each: the new file, and the row in a table of the build. The third file is a document.
ADDED = {
    "src/cli/cmd-hello.c": (COMMAND, "src/cli/commands.def", "COMMAND(hello)\n"),
    "src/report/hello.c": (FORMAT, "src/routes/formats.def",
                           'FORMAT(hello, "hello", ".hello", REPLY_UTF8, ".hello.txt", REPORT_FORMAT_TEXT, "a greeting")\n'),
    "src/routes/native-hello.c": (ENDPOINT, "src/routes/endpoints.def", "ENDPOINTS(hello)\n"),
    "src/site/hello-page.c": (PAGE, "src/site/pages.def", "PAGES(hello_page)\n"),
    "src/routes/hello.c": (DIALECT, "src/routes/dialects.def", "DIALECT(hello, HELLO)\n"),
}
TARGETS = ["src/cli/jescope", "docs/jescope-hello.1", "docs/jescope", "docs/_jescope", "docs/jescope.fish"]


def run(*words, timeout=services.DEADLINE, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=timeout, **options)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The build directory of a copy with the five additions."""
    copy = tmp_path_factory.mktemp("added") / "source"
    copy.mkdir()
    for name in ("src", "include", "web", "docs", "integrations", "examples", "scripts"):
        shutil.copytree(SOURCE / name, copy / name)
    for path in [*SOURCE.glob("meson*"), *SOURCE.glob("*.md")]:
        shutil.copy(path, copy)
    for path, (text, table, row) in ADDED.items():
        (copy / path).write_text(text)
        with open(copy / table, "a") as file:
            file.write(row)
    build = copy / "build"
    said = run("meson", "setup", "-Dtests=false", "-Dpage=disabled", *configured(), build, copy, timeout=BUILDS)
    assert "jescope is built without its page" in said
    seed(build)
    run("ninja", "-C", build, *TARGETS, timeout=BUILDS)
    return build


def configured():
    """The options of the build under test that decide how a file is compiled."""
    known = json.loads(run("meson", "introspect", "--buildoptions", os.environ["JESCOPE_BUILD"]))
    compiling = ("buildtype", "werror", "warning_level", "b_sanitize", "b_lundef")
    return [f"-D{option['name']}={str(option['value']).lower()}" for option in known if option["name"] in compiling]


def seed(build):
    """Copies what the build under test has made, with ninja's records of it: ninja makes anew what the additions change, or, where
    the two were configured differently, everything."""
    made = pathlib.Path(os.environ["JESCOPE_BUILD"])
    for name in ("src", "web", "docs"):
        shutil.copytree(made / name, build / name, dirs_exist_ok=True)
    shutil.copy2(made / ".ninja_deps", build)
    records = (made / ".ninja_log").read_text().splitlines(keepends=True)
    # The record of build.ninja itself is older than what setup has written, and would have it all set up again.
    (build / ".ninja_log").write_text("".join(record for record in records if "\tbuild.ninja\t" not in record))


@pytest.fixture(scope="module")
def jescope(built):
    """jescope with them; also what `jescope serve` is here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(endpoints, "JESCOPE", built / "src/cli/jescope")
        yield built / "src/cli/jescope"


@pytest.fixture(scope="module")
def server(scratch, jescope):
    victim = victims.Victim("victim", sockets=scratch / "agents", conf="prof:true,prof_active:true,lg_prof_sample:0", cwd=scratch)
    try:
        victim.client().close()
        with endpoints.serve(scratch, victim.pid) as endpoint:
            endpoint.pid = victim.pid
            yield endpoint
    finally:
        victim.stop()


def check_layers(source):
    done = subprocess.run([source / "scripts/check-layers", source], capture_output=True, text=True, timeout=services.DEADLINE)
    return done.returncode, done.stdout


def test_the_rules_hold(built):
    assert "hello" not in check_layers(built.parent)[1]


def test_files_in_a_circle_are_refused(built):
    room = built.parent / "src/text"
    for name, other in (("one", "other"), ("other", "one")):
        (room / f"{name}.c").write_text(f"{LICENCE}void\n{name}_side(void)\n{{\n    {other}_side();\n}}\n")
    status, said = check_layers(built.parent)
    for name in ("one", "other"):
        (room / f"{name}.c").unlink()
    assert status == 1
    assert "src/text: files in a circle: one.c uses other_side of other.c, other.c uses one_side of one.c\n" in said


def test_a_command(scratch, built, jescope):
    assert run(jescope, "hello") == "hello from a command\n"
    assert "  hello     say hello\n" in run(jescope, "help")
    assert "jescope hello\n      say hello" in run(jescope, "help", "hello")
    assert "Says hello." in (built / "docs/jescope-hello.1").read_text()
    for completion in ("jescope", "_jescope", "jescope.fish"):
        assert "hello" in (built / "docs" / completion).read_text()


def test_a_format(scratch, jescope, server):
    dump = scratch / "a.heap"
    dump.write_bytes(server.get(f"/api/v1/targets/{server.pid}/dumps/now").body)
    env = environment(scratch)
    assert run(jescope, "report", "--format=hello", dump, env=env) == "hello from a format\n"
    run(jescope, "report", dump, "-o", scratch / "a.hello", env=env)
    assert (scratch / "a.hello").read_text() == "hello from a format\n"
    assert "hello: a greeting\n" in run(jescope, "help", "report")
    answer = server.get(f"/api/v1/targets/{server.pid}/dumps/now?format=hello")
    assert (answer.status, answer.type, answer.text) == (200, "text/plain; charset=utf-8", "hello from a format\n")


def test_an_endpoint(server):
    answer = server.get(f"/api/v1/targets/{server.pid}/hello")
    assert answer.status == 200 and answer.json() == {"hello": "from an endpoint"}
    assert server.post(f"/api/v1/targets/{server.pid}/hello").header("allow") == "GET, HEAD"
    described = server.get("/api/v1/openapi.json").json()["paths"]
    assert described["/api/v1/targets/{target}/hello"]["get"]["summary"] == "a greeting"
    assert "/api/v1/targets/{target}/hello" in {row["path"] for row in server.get("/api/v1").json()["paths"]}


def test_a_dialect(scratch, jescope, server):
    answer = server.get("/hello/world")
    assert (answer.status, answer.text) == (200, "hello from a dialect")
    assert server.get("/hello/moon").text == "no hello"
    assert server.get("/api/v1/openapi.json").json()["paths"]["/hello/world"]["get"]["tags"] == ["hello"]
    assert "libmtev,userver,mesos,pprof,hello," in run(jescope, "help", "serve")
    with endpoints.serve(scratch, server.pid, "--dialects=hello") as other:
        assert other.get("/hello/world").status == 200
        assert other.get("/mtev/memory.json").status == 404


def test_page(server):
    assert server.get("/hello-page").text == "hello from a page"
    assert "/hello-page" in [row["path"] for row in server.get("/api/v1").json()["paths"]]


def test_without_the_page(scratch, jescope, server):
    browser = ["--header", "Accept: text/html"]
    listed = server.get("/", *browser)
    assert (listed.status, listed.type) == (200, "text/html; charset=utf-8")
    assert f"/api/v1/targets/{server.pid}" in listed.text and "built without esbuild" in listed.text
    assert server.get("/assets/page.js", *browser).status == 404
    dump = scratch / "page.heap"
    dump.write_bytes(server.get(f"/api/v1/targets/{server.pid}/dumps/now").body)
    env = environment(scratch)
    done = subprocess.run([jescope, "report", dump, "-o", scratch / "page.html"], capture_output=True, text=True, env=env, timeout=services.DEADLINE)
    assert done.returncode == 2 and "built without esbuild" in done.stderr and not (scratch / "page.html").exists()
    assert json.loads(run(jescope, "report", dump, "--format=page", env=env))["format"] == "jescope-page"
