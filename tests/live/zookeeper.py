# SPDX-License-Identifier: Apache-2.0
"""A ZooKeeper of the test's own, alone and on a free port of this machine: what replicated tables of ClickHouse need."""

import contextlib
import pathlib
import shutil
import socket

import pytest
from services import free_port, started, wait_for

JARS = pathlib.Path("/usr/share/java")
CLASSES = ("zookeeper", "zookeeper-jute", "slf4j-api", "slf4j-simple", "commons-io", "metrics-core", "snappy-java", "netty-all")
CONFIG = """tickTime=500
dataDir={folder}/data
clientPortAddress=127.0.0.1
clientPort={port}
admin.enableServer=false
4lw.commands.whitelist=srvr
"""


def answers(port):
    """Whether it serves, and not only listens. One that is not ready may leave a question without an answer for ever."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=2) as connection:
        connection.sendall(b"srvr")
        return b"Mode: standalone" in b"".join(iter(lambda: connection.recv(4096), b""))
    return False


@contextlib.contextmanager
def serving(folder, port=None):
    """Its process and port; FOLDER may be one that an earlier server left."""
    if not (JARS / "zookeeper.jar").exists() or shutil.which("java") is None:
        pytest.skip("ZooKeeper is not installed; run scripts/install-deps fleet")
    port = port or free_port()
    folder.mkdir(exist_ok=True)
    (folder / "zoo.cfg").write_text(CONFIG.format(folder=folder, port=port))
    command = ["java", "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", ":".join(f"{JARS}/{name}.jar" for name in CLASSES),
               "org.apache.zookeeper.server.ZooKeeperServerMain", folder / "zoo.cfg"]
    with open(folder / "log", "ab") as log, started(command, stdout=log, stderr=log, cwd=folder) as process:
        wait_for(lambda: process.poll() is not None or answers(port), f"ZooKeeper answers: {folder}/log")
        assert process.poll() is None, (folder / "log").read_text()
        process.port = port
        yield process
