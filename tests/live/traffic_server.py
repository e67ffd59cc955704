# SPDX-License-Identifier: Apache-2.0
"""A private Apache Traffic Server with our plugin in it, before an origin on loopback, both gone after the test."""

import contextlib
import http.client
import http.server
import os
import pathlib
import re
import shutil
import subprocess
import threading

from services import BUILD, DEADLINE, environment, reserved_port, started, wait_for

PLUGIN = BUILD / "integrations/trafficserver/memory_profile.so"
CONFIGURATION = pathlib.Path("/etc/trafficserver")
USER = 65534 if os.geteuid() == 0 else os.geteuid()  # Traffic Server does not serve as root
BODY = bytes(range(256)) * 80

RECORDS = """
CONFIG proxy.config.http.server_ports STRING {port}:ip-in=127.0.0.1
CONFIG proxy.config.admin.user_id STRING {user_id}
CONFIG proxy.config.exec_thread.autoconfig INT 0
CONFIG proxy.config.exec_thread.limit INT 2
CONFIG proxy.config.http.cache.http INT 0
CONFIG proxy.config.http.wait_for_cache INT 0
CONFIG proxy.config.diags.debug.enabled INT 1
CONFIG proxy.config.diags.debug.tags STRING memory_profile
"""


class Origin(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one segment: none waits for an acknowledgement

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        self.wfile.write(BODY)

    def log_message(self, *_):
        pass


class OriginServer(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512  # a crowd may come at once


@contextlib.contextmanager
def origin():
    """Its port."""
    server = OriginServer(("127.0.0.1", 0), Origin)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class Traffic:
    """Clients of the proxy, each request checked."""

    def __init__(self, port):
        self.port = port
        self.served = 0
        self.failures = []
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def ask(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE)
        connection.request("GET", f"/{self.served}", headers={"Host": "origin.test"})
        return connection

    @staticmethod
    def answer(connection):
        with contextlib.closing(connection):
            answer = connection.getresponse()
            return answer.status, answer.read()

    def get(self):
        return self.answer(self.ask())

    def crowd(self, count=200):
        """Requests under way together: the server's pools, which it never shrinks, have to grow for them."""
        for connection in [self.ask() for _ in range(count)]:
            assert self.answer(connection) == (200, BODY)

    def run(self):
        while not self.ended.is_set():
            try:
                answer = self.get()
            except (OSError, http.client.HTTPException) as error:
                answer = error
            if answer == (200, BODY):
                self.served += 1
            else:
                self.failures.append(answer)

    def goes_on(self):
        """Waits until another 20 requests are served; none may have failed."""
        goal = self.served + 20
        wait_for(lambda: self.failures or self.served >= goal, "requests are served")
        assert not self.failures

    def end(self):
        self.ended.set()
        self.thread.join(DEADLINE)


class TrafficServer:
    def __init__(self, root, port):
        self.root = root
        self.port = port
        self.runroot = root / "runroot.yaml"
        self.dumps = root / "dumps"
        self.pid = None
        self.traffic = Traffic(port)

    def log(self, name):
        """The content of a log; traffic.out is the server's standard error."""
        path = self.root / "log" / name
        return path.read_text(errors="replace") if path.exists() else ""

    def ctl(self, *words):
        """traffic_ctl; its output without its note on the layout."""
        done = subprocess.run(["traffic_ctl", f"--run-root={self.runroot}", *words], env=environment(self.root), text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=DEADLINE, check=False)
        said = done.stdout + done.stderr
        return done.returncode, said.replace("NOTE: using command line path as RUNROOT\n", "")

    def message(self, *words):
        """`plugin msg`, which says nothing, then waits until the plugin got it: 9.2 delivers it later."""
        marker = "Message to "
        before = self.log("traffic.out").count(marker)
        assert self.ctl("plugin", "msg", *words) == (0, "")
        wait_for(lambda: self.log("traffic.out").count(marker) > before, "the message arrives")
        self.traffic.goes_on()

    def errors(self):
        """The plugin's errors so far, without time and thread."""
        return re.findall(r" ERROR: \[memory_profile\] (.*)", self.log("diags.log"))

    def heaps(self):
        return sorted(path.name for path in self.dumps.iterdir())


def write_configuration(root, port, origin_port, plugin_line, user, user_id):
    """An ordinary layout in one directory; other settings are Debian's."""
    for name in ("log", "run", "cache", "plugins", "dumps", "agents"):
        (root / name).mkdir(mode=0o700)
    shutil.copytree(CONFIGURATION, root / "etc")
    shutil.copy(PLUGIN, root / "plugins")
    (root / "etc/records.config").write_text(RECORDS.format(port=port, user_id=user_id))
    (root / "etc/remap.config").write_text(f"map / http://127.0.0.1:{origin_port}/\n")
    (root / "etc/storage.config").write_text("")
    (root / "etc/plugin.config").write_text(plugin_line + "\n")
    places = {"prefix": root, "exec_prefix": root, "bindir": "/usr/bin", "sbindir": "/usr/bin", "sysconfdir": root / "etc",
              "datadir": root / "cache", "includedir": "/usr/include", "libdir": "/usr/lib/trafficserver",
              "libexecdir": root / "plugins", "localstatedir": root / "run", "runtimedir": root / "run",
              "logdir": root / "log", "mandir": "/usr/share/man", "infodir": "/usr/share/info", "cachedir": root / "cache"}
    (root / "runroot.yaml").write_text("".join(f"{name}: {path}\n" for name, path in places.items()))
    if user != os.geteuid():
        subprocess.run(["chown", "-R", str(user), root], check=True)


def server_pid(manager):
    """traffic_server, whose parent is the manager."""
    done = subprocess.run(["pgrep", "-P", str(manager), "-x", "traffic_server|\\[TS_MAIN\\]"], capture_output=True,
                          text=True, check=False)
    return int(done.stdout) if done.stdout.strip().isdigit() else None


@contextlib.contextmanager
def traffic_server(root, plugin_line="memory_profile.so", become=None, user=USER, user_id="#-1", **variables):
    """Serves traffic as long as it lasts; ROOT is a directory that USER can enter. BECOME is what starts the manager."""
    with origin() as origin_port, reserved_port() as port:
        write_configuration(root, port, origin_port, plugin_line, user, user_id)
        server = TrafficServer(root, port)
        if become is None:
            become = [] if user == os.geteuid() else ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
        out = root / "log/traffic.out"
        command = [*become, "traffic_manager", f"--run-root={server.runroot}", "--nosyslog", "--bind_stdout", out,
                   "--bind_stderr", out]
        with started(command, env=environment(root, **variables), cwd=root, stdout=subprocess.DEVNULL,
                     stderr=subprocess.DEVNULL) as manager:
            wait_for(lambda: "traffic server running" in server.log("diags.log"), "traffic_server runs")
            server.pid = wait_for(lambda: server_pid(manager.pid), "the manager has a traffic_server")
            wait_for(lambda: server.traffic.get() == (200, BODY), "the proxy answers")
            server.traffic.thread.start()
            try:
                yield server
            finally:
                server.traffic.end()
        assert not server.traffic.failures and server.traffic.served > 0
