# SPDX-License-Identifier: Apache-2.0
"""A ClickHouse server of the test's own, on free ports of this machine."""

import contextlib
import json
import os
import pathlib
import shutil
import sys
import urllib.error
import urllib.parse
import urllib.request

import pytest
from services import DEADLINE, free_port, started, wait_for

CONFIG = """<?xml version="1.0"?>
<yandex>
  <logger><level>warning</level><console>1</console></logger>
  <http_port>{http}</http_port>
  <tcp_port>{tcp}</tcp_port>
  <listen_host>127.0.0.1</listen_host>
  <path>{folder}/data/</path>
  <tmp_path>{folder}/tmp/</tmp_path>
  <format_schema_path>{folder}/schemas/</format_schema_path>
  <users_config>{folder}/users.xml</users_config>
  <default_profile>default</default_profile>
  <default_database>default</default_database>
  <mark_cache_size>67108864</mark_cache_size>
  <max_concurrent_queries>32</max_concurrent_queries>
  <remote_servers>{cluster}</remote_servers>{settings}
</yandex>
"""

USERS = """<?xml version="1.0"?>
<yandex>
  <profiles><default><max_threads>2</max_threads></default></profiles>
  <users>
    <default>
      <password>{password}</password>
      <networks><ip>127.0.0.1</ip></networks>
      <profile>default</profile>
      <quota>default</quota>
    </default>
  </users>
  <quotas><default/></quotas>
</yandex>
"""


CURRENT = os.environ.get("JESCOPE_CHDB")  # libchdb.so: the engine of a current release (programs/chdb_server.py)


def program():
    """/usr/sbin is not in everyone's PATH."""
    return shutil.which("clickhouse-server", path="/usr/sbin:/usr/bin:/usr/local/bin") or pytest.skip(
        "clickhouse-server is not installed (Debian: clickhouse-server)")


class Clickhouse:
    def __init__(self, http, tcp, password=""):
        self.http, self.tcp, self.password = http, tcp, password
        self.url = f"clickhouse://127.0.0.1:{http}/jescope"

    def run(self, sql):
        """The answer to SQL as text; ClickHouse's own words where it fails."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.http}/", data=sql.encode())
        if self.password:
            request.add_header("X-ClickHouse-User", "default")
            request.add_header("X-ClickHouse-Key", self.password)
        try:
            with urllib.request.urlopen(request, timeout=DEADLINE) as answer:
                return answer.read().decode()
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{sql[:2000]}\n{error.read().decode(errors='replace')}") from None

    def rows(self, sql):
        return json.loads(self.run(sql + " FORMAT JSONCompact"))["data"]

    def is_ready(self):
        try:
            return self.run("SELECT 1") == "1\n"
        except OSError:
            return False


def shards(*ports):
    """The cluster "fleet" of servers with these ports: for each shard those of its replicas."""
    rows = "".join("<shard><internal_replication>true</internal_replication>"
                   + "".join(f"<replica><host>127.0.0.1</host><port>{port}</port></replica>" for port in replicas) + "</shard>" for replicas in ports)
    return f"<fleet>{rows}</fleet>"


def replica(zookeeper, name):
    """Settings of a server whose tables are replicated as NAME of the first shard, with the ZooKeeper at a port of this machine."""
    return (f"<zookeeper><node><host>127.0.0.1</host><port>{zookeeper}</port></node><session_timeout_ms>10000</session_timeout_ms></zookeeper>"
            f"<macros><shard>1</shard><replica>{name}</replica></macros>"
            f"<interserver_http_host>127.0.0.1</interserver_http_host><interserver_http_port>{free_port()}</interserver_http_port>")


@contextlib.contextmanager
def serving(folder, password="", ports=None, cluster="", settings="", enter=()):
    """A server with its data in FOLDER, which may be one that an earlier server left. Its command begins with the words ENTER."""
    http, tcp = ports or (free_port(), free_port())
    for name in ("data", "tmp", "schemas"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "config.xml").write_text(CONFIG.format(http=http, tcp=tcp, folder=folder, cluster=cluster, settings=settings))
    (folder / "users.xml").write_text(USERS.format(password=password))
    command = [*enter, program(), f"--config-file={folder}/config.xml"] if not CURRENT else [
        sys.executable, str(pathlib.Path(__file__).parent / "programs/chdb_server.py"), CURRENT, str(http), str(folder / "data")]
    if CURRENT and (password or cluster or enter):
        pytest.skip("the engine in a library has no users and no clusters, and is not a program of its own")
    with open(folder / "log", "ab") as log, started(command, stdout=log, stderr=log, cwd=folder) as process:
        found = Clickhouse(http, tcp, password)
        wait_for(lambda: process.poll() is not None or found.is_ready(), f"clickhouse-server answers: {folder}/log")
        assert process.poll() is None, (folder / "log").read_text()
        found.process = process
        yield found
