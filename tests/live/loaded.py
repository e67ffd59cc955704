# SPDX-License-Identifier: Apache-2.0
"""Real servers as Debian ships them, each under its own load tool and under clients that verify every reply (load.py).

All run under plain `LD_PRELOAD=libjemalloc.so.2`, but redis-server, which brings jemalloc along; nothing of jescope is in them.
"""

import contextlib
import glob
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile

import services
from load import Dns, Http

HERE = pathlib.Path(__file__).parent
JEMALLOC = "libjemalloc.so.2"
ENDING = 60

HTTP_SERVER = """
import http.server, sys
sys.path.insert(0, {here!r})
from load import Http

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        body = Http.body_of(self.path[1:])
        pieces = [body[at : at + 700] for at in range(0, len(body), 700)]
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(b"".join(pieces))

    def log_message(self, *_):
        pass

class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128

Server(("127.0.0.1", {port}), Handler).serve_forever()
"""


ONE_THREAD_SERVER = """
import asyncio, sys
sys.path.insert(0, {here!r})
from load import Http

async def serve(reader, writer):
    while (line := await reader.readline()):
        while (await reader.readline()) not in (b"\\r\\n", b""):
            pass
        body = Http.body_of(line.split()[1][1:].decode())
        pieces = [body[at : at + 700] for at in range(0, len(body), 700)]
        writer.write(b"HTTP/1.1 200 OK\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(body) + b"".join(pieces))
        await writer.drain()
    writer.close()

async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", {port})
    await server.serve_forever()

asyncio.run(main())
"""


def need(name):
    """The path of a program, or None; the system administrator's directories are not on every PATH."""
    return shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


class Server:
    """COMMAND is started, TOOL is its load tool (with the pattern of a complaint), KIND and ADDRESS are for load.py."""

    preload = JEMALLOC
    workers = 4
    tool = None
    complaint = None  # what the tool prints when something went wrong
    per_client = False  # a process serves one client, and ends with it

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def pid_of(self, process):
        return process.pid

    def environment(self):
        return {"LD_PRELOAD": self.preload} if self.preload else {}


class Redis(Server):
    name, program, kind, preload = "redis-server", "redis-check-rdb", "redis", None

    def __init__(self, folder):
        super().__init__(folder)
        path = self.folder / "redis.sock"
        self.address = f"unix:{path}"
        self.command = [services.redis_program(self.folder), "--port", "0", "--unixsocket", path, "--dir", self.folder]
        self.tool = ["redis-benchmark", "-s", path, "-l", "-q", "-c", "20", "-P", "4", "-d", "200", "-r", "100000",
                     "-t", "set,get,incr,lpush,rpop,sadd,hset,mset"]  # fmt: skip
        self.complaint = r"Error|ERR"


class Mariadb(Server):
    name, program, kind, workers = "mariadbd", "mariadbd", "mysql", 8

    def __init__(self, folder):
        super().__init__(folder)
        (self.folder / "data").mkdir()
        path = self.folder / "mysql.sock"
        self.address = f"unix:{path}"
        self.command = [need("mariadbd"), "--no-defaults", f"--datadir={self.folder / 'data'}", f"--socket={path}",
                        "--skip-networking", "--skip-grant-tables", f"--pid-file={self.folder / 'pid'}",
                        "--user=root" if services.AS_ROOT else "--console"]  # fmt: skip


class Unbound(Server):
    name, program, kind = "unbound", "unbound", "dns"

    def __init__(self, folder):
        super().__init__(folder)
        port = services.free_port()
        self.address = f"127.0.0.1:{port}"
        records = "\n".join(
            f'local-data: "host{number}.checker.test. A {Dns.address_of(number)}"' for number in range(Dns.NAMES)
        )
        configuration = self.folder / "unbound.conf"
        configuration.write_text(
            f'server:\ninterface: 127.0.0.1\nport: {port}\nnum-threads: 2\nchroot: ""\nusername: ""\npidfile: ""\n'
            f'use-syslog: no\ndirectory: "{self.folder}"\nlocal-zone: "checker.test." static\n{records}\n'
        )
        self.command = [need("unbound"), "-d", "-c", configuration]
        names = self.folder / "names"
        names.write_text("".join(f"host{number}.checker.test A\n" for number in range(Dns.NAMES)))
        self.tool = ["dnsperf", "-s", "127.0.0.1", "-p", str(port), "-d", names, "-q", "20", "-l", "100000", "-t", "30"]
        self.complaint = r"Queries lost: +[1-9]|timed out|Response codes:(?! +NOERROR [0-9]+ \(100\.00%\))"


class Kresd(Server):
    """One thread, with old words of the dynamic loader in its event loop's frame."""

    name, program, kind, preload = "kresd", "kresd", "dns", None

    def __init__(self, folder):
        super().__init__(folder)
        port = services.free_port()
        self.address = f"127.0.0.1:{port}"
        records = "\n".join(f"hints.set('host{number}.checker.test. {Dns.address_of(number)}')" for number in range(Dns.NAMES))
        configuration = self.folder / "kresd.lua"
        # What answers for test. by itself comes in between otherwise, and what asks other servers opens sockets.
        configuration.write_text(f"net.listen('127.0.0.1', {port}, {{ kind = 'dns' }})\nmodules.unload('policy')\n"
                                 f"for _, name in ipairs({{'priming', 'ta_update', 'ta_signal_query', 'detect_time_skew', 'detect_time_jump'}}) do pcall(modules.unload, name) end\n"
                                 f"modules.load('hints')\ncache.size = 10 * MB\n{records}\n")  # fmt: skip
        (self.folder / "kresd").mkdir()
        self.command = [need("kresd"), "-n", "-q", "-c", configuration, self.folder / "kresd"]
        names = self.folder / "names"
        names.write_text("".join(f"host{number}.checker.test A\n" for number in range(Dns.NAMES)))
        self.tool = ["dnsperf", "-s", "127.0.0.1", "-p", str(port), "-d", names, "-q", "20", "-l", "100000", "-t", "30"]
        self.complaint = r"Queries lost: +[1-9]|timed out|Response codes:(?! +NOERROR [0-9]+ \(100\.00%\))"


class Postgres(Server):
    """The backend of one client, beside others under pgbench. Its files belong to its user, which is not root."""

    name, program, kind, workers, per_client = "postgres", "pgbench", "postgres", 1, True

    def __init__(self, folder):
        super().__init__(folder)
        self.place = tempfile.TemporaryDirectory(dir="/tmp")
        self.folder = pathlib.Path(self.place.name)
        programs = pathlib.Path(sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1])
        user = []
        if services.AS_ROOT:
            shutil.chown(self.folder, "postgres", "postgres")
            user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        data = self.folder / "data"
        subprocess.run([*user, programs / "initdb", "-D", data, "-A", "trust", "-U", "postgres", "--no-sync"], check=True,
                       capture_output=True, cwd=self.folder)  # fmt: skip
        self.address = f"unix:{self.folder}/.s.PGSQL.5432"
        self.command = [*user, programs / "postgres", "-D", data, "-k", self.folder, "-c", "listen_addresses=", "-c", "fsync=off",
                        "-c", "jit=off"]  # fmt: skip
        bench = f"pgbench -h {self.folder} -U postgres"
        self.tool = [*user, "sh", "-c", f"cd {self.folder} && {bench} -i -q postgres && exec {bench} -n -c 2 -T 100000 postgres"]
        self.complaint = r"ERROR|FATAL|aborted"

    def environment(self):
        return {**super().environment(), "JESCOPE_SOCKET_DIR": str(self.folder / "agents")}

    def pid_under_load(self, process):
        """The first client's."""

        def backends():
            lines = {child: pathlib.Path(f"/proc/{child}/cmdline").read_bytes() for child in services.children(process.pid)}
            return sorted(child for child, line in lines.items() if b"[local]" in line)

        return services.wait_for(backends, "postgres has a backend")[0]


class Memcached(Server):
    name, program, kind, workers = "memcached", "memcached", "memcached", 6

    def __init__(self, folder):
        super().__init__(folder)
        path = self.folder / "memcached.sock"
        self.address = f"unix:{path}"
        self.command = [need("memcached"), "-s", path, *(["-u", "root"] if services.AS_ROOT else [])]


class Nginx(Server):
    name, program, kind = "nginx", "nginx", "http"

    def __init__(self, folder):
        super().__init__(folder)
        port = services.free_port()
        self.address = f"127.0.0.1:{port}"
        site = self.folder / "site"
        site.mkdir()
        for number in range(Http.NAMES):
            (site / f"file{number}").write_bytes(Http.body_of(f"file{number}"))
        configuration = self.folder / "nginx.conf"
        temporary = "\n".join(
            f"{kind}_temp_path {self.folder / kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        # gzip: otherwise sendfile() leaves little for the allocator to do.
        configuration.write_text(
            f"{'user root;' if services.AS_ROOT else ''} daemon off; worker_processes 1; pid {self.folder / 'pid'}; error_log stderr;\n"
            f"events {{}} http {{ access_log off; {temporary} keepalive_requests 1000000; gzip on; gzip_types *; gzip_min_length 1;\n"
            f"server {{ listen 127.0.0.1:{port}; root {site}; }} }}\n"
        )
        self.command = [need("nginx"), "-c", configuration, "-p", self.folder]
        self.tool = ["wrk", "-t", "1", "-c", "8", "-d", "100000", "-H", "Accept-Encoding: gzip",
                     f"http://{self.address}/file7"]  # fmt: skip
        self.complaint = r"Socket errors|Non-2xx"

    def pid_of(self, process):
        """The worker: the one that serves."""
        return services.wait_for(lambda: services.children(process.pid), "nginx has a worker")[0]


class Python(Server):
    name, program, kind, workers = "python3", "python3", "http", 3

    def __init__(self, folder):
        super().__init__(folder)
        port = services.free_port()
        self.address = f"127.0.0.1:{port}"
        self.command = [services.PYTHON, "-c", HTTP_SERVER.format(here=str(HERE), port=port)]
        self.tool = ["wrk", "-t", "1", "-c", "4", "-d", "100000", f"http://{self.address}/file7"]
        self.complaint = r"Socket errors|Non-2xx"

    def environment(self):
        return {**super().environment(), "PYTHONMALLOC": "malloc"}


class OneThread(Python):
    """An interpreter with nothing but its main thread."""

    name = "python3-asyncio"

    def __init__(self, folder):
        super().__init__(folder)
        port = self.address.rpartition(":")[2]
        self.command = [services.PYTHON, "-c", ONE_THREAD_SERVER.format(here=str(HERE), port=port)]


BUSY = [Kresd, Postgres, OneThread]  # with one thread, under full load
SERVERS = [Redis, Mariadb, Unbound, Memcached, Nginx, Python, *BUSY]


def listens(address):
    try:
        if address.startswith("unix:"):
            with socket.socket(socket.AF_UNIX) as probe:
                probe.connect(address[5:])
        else:
            host, port = address.rsplit(":", 1)
            socket.create_connection((host, int(port)), 1).close()
        return True
    except OSError:
        return False


class Running:
    def __init__(self, server, process):
        self.server, self.process = server, process
        self.pid = None if server.per_client else server.pid_of(process)

    def said_name(self):
        """Its name in jescope."""
        return pathlib.Path(f"/proc/{self.pid}/comm").read_text().rstrip("\n")

    def said(self):
        return (self.server.folder / "said").read_text(errors="replace")

    def assert_runs(self):
        assert self.process.poll() is None, f"{self.server.name} ended with {self.process.returncode}: {self.said()}"
        assert pathlib.Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZXTt"


@contextlib.contextmanager
def running(kind, folder, **variables):
    """A server of one of SERVERS that listens."""
    server = kind(folder)
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "JESCOPE_SOCKET_DIR": str(server.folder / "agents"),
                   **server.environment(), **variables}  # fmt: skip
    with open(server.folder / "said", "w", encoding="utf-8") as said:
        process = subprocess.Popen([str(word) for word in server.command], env=environment, cwd=folder,
                                   stdin=subprocess.DEVNULL, stdout=said, stderr=said)  # fmt: skip
    try:
        services.wait_for(lambda: process.poll() is not None or listens(server.address), f"{server.name} listens")
        assert process.poll() is None, (server.folder / "said").read_text()
        yield Running(server, process)
    finally:
        if process.poll() is None:
            process.terminate()
        try:
            process.wait(ENDING)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class Load:
    """The result of a load against a server: .answered counts the verified replies, .failures must be empty."""

    def __init__(self):
        self.answered, self.failures = 0, []


def interrupt(tool):
    """Its complete output. wrk may ignore the first signal."""
    for _ in range(ENDING):
        tool.send_signal(signal.SIGINT)
        try:
            return tool.communicate(timeout=1)[0]
        except subprocess.TimeoutExpired:
            continue
    tool.kill()
    return tool.communicate()[0]


def end_tool(tool, complaint, load):
    alive = tool.poll() is None
    said = interrupt(tool).decode(errors="replace")
    found = re.search(complaint, said)
    if not alive or found:
        load.failures.append(f"{tool.args[0]} {'complains' if alive else 'ended early'}: {said[-600:]}")


@contextlib.contextmanager
def under_load(server):
    """Full load while the body runs; afterwards the Load is filled in."""
    load = Load()
    script = [services.PYTHON, HERE / "load.py", server.server.kind, server.server.address, str(server.server.workers)]
    tool = None
    with services.started(script) as checker:
        assert checker.stdout.readline() == "up\n"
        if server.server.tool:
            if server.server.per_client:
                server.pid = server.server.pid_under_load(server.process)
            tool = subprocess.Popen([str(word) for word in server.server.tool],
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # fmt: skip
        try:
            yield load
        finally:
            if tool:
                end_tool(tool, server.server.complaint, load)
            said, _ = checker.communicate(timeout=ENDING)
            done = json.loads(said)
            load.answered += done["answered"]
            load.failures += done["failures"]
