# SPDX-License-Identifier: Apache-2.0
"""The plugin in a real Traffic Server under traffic: every message of the original, and what happens where jemalloc lacks."""

import os
import pathlib
import pwd
import re
import shutil
import tempfile

import pytest
from services import AS_ROOT, jescope, profiling, wait_for
from traffic_server import CONFIGURATION, PLUGIN, traffic_server
from wire import SOURCE

pytestmark = [
    pytest.mark.skipif(shutil.which("traffic_manager") is None or not CONFIGURATION.exists(),
                       reason="trafficserver is not installed"),
    pytest.mark.skipif(not PLUGIN.exists(), reason="the plugin is built where trafficserver-dev is installed"),
]

README = pathlib.Path(SOURCE) / "integrations/trafficserver/README.md"
PRELOADED = {"LD_PRELOAD": "libjemalloc.so.2"}


@pytest.fixture
def root():
    """A directory for the server, which is another user when we are root."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="jescope-test-"))
    os.chmod(folder, 0o755)
    yield folder
    shutil.rmtree(folder)


def conf(root, *more):
    return dict(PRELOADED, MALLOC_CONF=",".join([*more, f"prof_prefix:{root}/dumps/je"]))


@pytest.fixture
def server(root):
    with traffic_server(root, **conf(root, "prof:true", "prof_active:false", "lg_prof_sample:12")) as found:
        yield found


def test_every_message_under_traffic(root, server):
    # Dumps without samples are dumps.
    server.message("memory_profile", "dump")
    first = f"je.{server.pid}.0.m0.heap"
    wait_for(lambda: server.heaps() == [first], "the dump is there")
    server.message("memory_profile", "activate")
    server.traffic.crowd()
    server.message("memory_profile", "dump")
    second = f"je.{server.pid}.1.m1.heap"
    wait_for(lambda: f"dump is in {root}/dumps/{second}\n" in server.log("traffic.out"), "the dump's name is logged")
    assert server.heaps() == [first, second]
    server.message("memory_profile", "deactivate")
    server.message("memory_profile", "stats")
    wait_for(lambda: "--- End jemalloc statistics ---" in server.log("traffic.out"), "the statistics are in traffic.out")
    assert "opt.prof_active: false (prof.active: false)" in server.log("traffic.out")
    assert server.errors() == []
    report = jescope(root, "report", "-n", "0", "--cum", root / "dumps" / second).stdout
    assert "HttpSM::" in report and "EThread::execute" in report


def test_activate_switches_sampling_on(server):
    server.message("memory_profile", "activate")
    server.message("memory_profile", "stats")
    wait_for(lambda: "opt.prof_active: false (prof.active: true)" in server.log("traffic.out"), "it is active")
    server.message("memory_profile", "deactivate")
    server.message("memory_profile", "stats")
    wait_for(lambda: "opt.prof_active: false (prof.active: false)" in server.log("traffic.out"), "it is not active")


def test_what_is_no_message_of_ours(server):
    server.message("Memory_profile", "dump")
    server.message("other", "dump")
    server.message("memory_profile")
    server.message("memory_profile", "")
    for wrong in ("act", "dumpx", "DUMP", "a\nb", "x" * 100):
        server.message("memory_profile", wrong)
    known = "known: dump activate deactivate stats"
    wait_for(lambda: len(server.errors()) == 5, "all five are complained of")
    assert server.errors() == [f"Unexpected msg {shown}; {known}" for shown in ("act", "dumpx", "DUMP", "a?b", "x" * 80 + "...")]
    assert server.heaps() == []
    server.message("memory_profile", "dump", "more", "words")
    wait_for(lambda: len(server.heaps()) == 1, "what follows the command is ignored")


def test_a_dump_that_cannot_be_written(server):
    server.dumps.rename(server.root / "elsewhere")
    server.message("memory_profile", "dump")
    wait_for(server.errors, "it is complained of")
    assert re.fullmatch(r"mallctl\(prof\.dump\) failed retval=14 errno=\d+", server.errors()[0])


def test_started_without_profiling(root):
    with traffic_server(root, **conf(root)) as server:
        for word in ("dump", "activate", "deactivate"):
            server.message("memory_profile", word)
        wait_for(lambda: len(server.errors()) == 2, "both are complained of")
        assert [re.sub(r"errno=\d+", "errno=N", line) for line in server.errors()] == [
            "mallctl(prof.dump) failed retval=2 errno=N", "mallctl(prof.active) on failed retval=2 errno=N"]
        assert server.heaps() == []


def test_a_variable_that_jemalloc_does_not_read(root):
    """The one that Traffic Server's documentation names."""
    with traffic_server(root, **PRELOADED, JEMALLOC_CONF="prof:true") as server:
        wait_for(server.errors, "it is complained of")
        assert server.errors() == ["jemalloc does not read JEMALLOC_CONF, which is set; the variable is MALLOC_CONF"]


def test_without_jemalloc(root):
    with traffic_server(root) as server:
        for words in (["dump"], ["nonsense"], []):
            server.message("memory_profile", *words)
        server.message("other", "dump")
        wait_for(lambda: len(server.errors()) == 3, "each is complained of")
        assert set(server.errors()) == {
            "Not built with jemalloc and none is preloaded; start Traffic Server with LD_PRELOAD=libjemalloc.so.2 and "
            "MALLOC_CONF=prof:true,prof_active:false,prof_prefix:DIRECTORY/NAME"}


def packaged_user():
    try:
        return pwd.getpwnam("trafficserver").pw_uid
    except KeyError:
        pytest.skip("the package's user trafficserver is not there")


def packaged(root):
    """As the package has it: user_id is set, and traffic_manager gives its privileges up if it has any."""
    return {"user": packaged_user(), "user_id": "trafficserver", **conf(root, "prof:true", "prof_active:false")}


@pytest.mark.skipif(not AS_ROOT, reason="needs root")
def test_started_as_root_by_the_packaged_unit(root):
    """The loader ignores LD_PRELOAD there: the plugin says why, and what to change."""
    with traffic_server(root, become=[], **packaged(root)) as server:
        server.message("memory_profile", "dump")
        wait_for(server.errors, "it is complained of")
        (said,) = server.errors()
        assert "LD_PRELOAD is ignored because traffic_manager was started as root" in said and "User=trafficserver" in said
        assert server.heaps() == []


@pytest.mark.skipif(not AS_ROOT, reason="needs root")
def test_started_by_the_packaged_unit_with_the_drop_in(root):
    """User= and AmbientCapabilities= of the drop-in in the README, by other means."""
    words = dict(line.split("=", 1) for line in README.read_text().splitlines() if re.match(r" *(User|AmbientCapabilities)=", line))
    words = {key.strip(): value for key, value in words.items()}
    assert words == {"User": "trafficserver", "AmbientCapabilities": "CAP_NET_BIND_SERVICE"}
    become = ["setpriv", f"--reuid={packaged_user()}", f"--regid={pwd.getpwnam('trafficserver').pw_gid}", "--init-groups",
              "--inh-caps=+net_bind_service", "--ambient-caps=+net_bind_service"]
    with traffic_server(root, become=become, **packaged(root)) as server:
        server.message("memory_profile", "activate")
        server.traffic.crowd()
        server.message("memory_profile", "dump")
        wait_for(lambda: server.heaps() == [f"je.{server.pid}.0.m0.heap"], "the dump is there")
        assert server.errors() == []


def test_a_dump_follows_no_link(root, server):
    (root / "precious").write_text("precious")
    (server.dumps / f"je.{server.pid}.0.m0.heap").symlink_to(root / "precious")
    server.message("memory_profile", "dump")
    wait_for(lambda: (server.dumps / f"je.{server.pid}.1.m1.heap").exists(), "the dump is there")
    assert (root / "precious").read_text() == "precious" and server.errors() == []


def test_agent(root):
    """The argument starts the agent: jescope reaches the server, beside the messages."""
    variables = conf(root, "prof:true", "prof_active:false", "lg_prof_sample:12")
    with traffic_server(root, "memory_profile.so agent", **variables) as server:
        wait_for(lambda: list((root / "agents").glob(f"{server.pid}.*.sock")), "the agent listens")
        assert not profiling(root, server.pid)["active"]
        server.message("memory_profile", "activate")
        wait_for(lambda: profiling(root, server.pid)["active"], "one sees what the other did")
        server.traffic.crowd()
        report = jescope(root, "report", "-n", "0", "--cum", server.pid).stdout
        assert "HttpSM::" in report
        jescope(root, "disable", server.pid)
        server.traffic.goes_on()
        assert server.errors() == []


def test_agent_without_jemalloc(root):
    with traffic_server(root, "memory_profile.so agent") as server:
        assert len(server.errors()) == 1 and server.errors()[0].startswith("No agent: ")


def test_unknown_argument(root):
    with traffic_server(root, "memory_profile.so agnet", **conf(root)) as server:
        assert server.errors() == ["Unknown argument 'agnet' in plugin.config; known: agent"]
        server.message("memory_profile", "activate")
