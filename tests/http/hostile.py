# SPDX-License-Identifier: Apache-2.0
"""hostile.py COUNT MODE [NAME [EUID]]: COUNT hostile processes that listen like agents; prints their pids and waits for its stdin.

silent   answers nothing
flip     answers HELLO, and nothing else
late     answers everything, shortly before the deadline
garbage  answers with random bytes
bulk     gives statistics and dumps of 48 MiB
small    gives those of 1 MiB
huge     gives those of 1000 MiB
sparse   says that statistics and dumps are 8 TiB, all holes
becomes  executes su(1) when it is asked for a dump, which a child of it then gives
ends     ends then

With EUID they are root's and have taken on this user, as a file server does for a moment.
"""

import ctypes
import os
import pathlib
import random
import signal
import socket
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "live"))
import wire  # noqa: E402

LATE_S = 4
PR_SET_PDEATHSIG = 1
SPARSE_BYTES = 8 << 40
CHANGES = ("becomes", "ends")
BULK_MIB = {"bulk": 48, "small": 1, "huge": 1000}


def start_time():
    return int(pathlib.Path("/proc/self/stat").read_bytes().rpartition(b")")[2].split()[19])


def hello(header):
    reply = wire.WireHelloReply(version=1, name=b"hostile", jemalloc_version=b"5.3.0", agent_version=b"0", pid=os.getpid(),
                                uid=os.geteuid(), start_time=start_time())
    reply.flags = wire.WIRE_FLAG_SERVES_MALLOC | wire.WIRE_FLAG_CONFIG_PROF | wire.WIRE_FLAG_OPT_PROF | wire.WIRE_FLAG_CONFIG_STATS
    reply.reply.header = header
    reply.reply.header.size = len(bytes(reply))
    return bytes(reply)


def output(header, descriptor):
    os.ftruncate(descriptor, SPARSE_BYTES)
    os.close(descriptor)
    reply = wire.WireOutputReply(bytes=SPARSE_BYTES)
    reply.reply.header = header
    reply.reply.header.size = len(bytes(reply))
    return bytes(reply)


def bulk(header, descriptor, mebibytes):
    for _ in range(mebibytes):
        os.write(descriptor, bytes(1 << 20))
    os.pwrite(descriptor, b"heap_v2/1\n", 0)
    os.close(descriptor)
    reply = wire.WireOutputReply(bytes=max(mebibytes << 20, len(b"heap_v2/1\n")))
    reply.reply.header = header
    reply.reply.header.size = len(bytes(reply))
    return bytes(reply)


def has_changed(status):
    """Whether the process is root's, or only waits for its parent."""
    text = status.read_text()
    return "State:\tZ" in text or text.partition("Uid:")[2].split()[1] == "0"


def late_dump(header, descriptor):
    """Given by the child of the process that the dump is asked of, when that has become another."""
    status = pathlib.Path(f"/proc/{os.getppid()}/status")
    os.kill(os.getppid(), signal.SIGUSR1)
    until = time.monotonic() + LATE_S
    while time.monotonic() < until and not has_changed(status):
        time.sleep(0.01)
    return bulk(header, descriptor, 0)


def refusal(header):
    reply = wire.WireReply(header=header, status=wire.WIRE_STATUS_CONTROL_FAILED, error=2)
    reply.header.size = len(bytes(reply))
    return bytes(reply)


def answer(mode, request, descriptors):
    """None: it stays silent."""
    header = wire.WireHeader.from_buffer_copy(request)
    if mode == "silent" or (mode == "flip" and header.op != wire.WIRE_OP_HELLO):
        return None
    if mode == "garbage":
        return os.urandom(random.randrange(1, 2000))
    if mode == "late":
        time.sleep(LATE_S)
    if header.op == wire.WIRE_OP_HELLO:
        return hello(header)
    if mode == "sparse" and descriptors and header.op in (wire.WIRE_OP_STATS, wire.WIRE_OP_DUMP):
        return output(header, descriptors[0])
    if mode in CHANGES and header.op == wire.WIRE_OP_DUMP:
        return late_dump(header, descriptors[0])
    if mode in BULK_MIB and descriptors and header.op in (wire.WIRE_OP_STATS, wire.WIRE_OP_DUMP):
        return bulk(header, descriptors[0], BULK_MIB[mode])
    return refusal(header)


def converse(mode, connection):
    try:
        while True:
            request, descriptors, _, _ = socket.recv_fds(connection, wire.WIRE_MESSAGE_MAX, 4)
            if not request:
                return
            reply = answer(mode, request, descriptors)
            if reply is not None:
                connection.send(reply)
    except OSError:
        pass


def listen(mode):
    directory = os.open(os.environ["JESCOPE_SOCKET_DIR"], os.O_PATH)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(f"/proc/self/fd/{directory}/{os.getpid()}.{start_time()}.sock")
    listener.listen(64)
    return listener


def end_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # a change of users would undo it


def change(mode):
    """Goes on in a child of the process, which becomes another one at SIGUSR1."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    if os.fork() == 0:
        return
    signal.sigwait([signal.SIGUSR1])
    if mode == "becomes":
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR1])
        os.execv("/usr/bin/su", ["su", "root"])
    os._exit(0)


def act(mode, ready):
    if len(sys.argv) > 3:
        pathlib.Path("/proc/self/comm").write_text(sys.argv[3])
    listener = listen(mode)
    if len(sys.argv) > 4:
        os.seteuid(int(sys.argv[4]))
    os.write(ready, b"%d\n" % os.getpid())
    if mode in CHANGES:
        end_with_parent()
        change(mode)
    end_with_parent()
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=converse, args=(mode, connection), daemon=True).start()


def main():
    count, mode = int(sys.argv[1]), sys.argv[2]
    reader, writer = os.pipe()
    for _ in range(count):
        if os.fork() == 0:
            act(mode, writer)
    with os.fdopen(reader) as lines:
        for _ in range(count):
            print(lines.readline().strip(), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
