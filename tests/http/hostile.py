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
hides    executes a program then that its user may execute, but not read
ends     ends then, or in a watch

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
WATCHED_S = 0.5
PR_SET_PDEATHSIG = 1
SPARSE_BYTES = 8 << 40
CHANGES = ("becomes", "hides", "ends")
SLEEP_S = 600
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


class Predecessor:
    """The process that a child of it answers for, until it is another one, and afterwards."""

    pid = 0
    begun = 0

    @classmethod
    def has_changed(cls):
        """Whether it is root's, or the kernel shows nobody else its memory, or it only waits for its parent."""
        text = pathlib.Path(f"/proc/{cls.pid}/status").read_text()
        return "State:\tZ" in text or pathlib.Path(f"/proc/{cls.pid}/maps").stat().st_uid == 0

    @classmethod
    def change(cls):
        os.kill(cls.pid, signal.SIGUSR1)
        until = time.monotonic() + LATE_S
        while time.monotonic() < until and not cls.has_changed():
            time.sleep(0.01)

    @classmethod
    def answer(cls, header, descriptors):
        """The change comes with a dump, or after some time of a watch."""
        cls.begun = cls.begun or time.monotonic()
        if header.op == wire.WIRE_OP_DUMP or time.monotonic() - cls.begun > WATCHED_S:
            cls.change()
        if header.op == wire.WIRE_OP_DUMP:
            return bulk(header, descriptors[0], 0)
        reply = wire.WireSampleReply(rows=1, words=(ctypes.c_uint64 * 122)(*[2**64 - 1] + [1] * 121))
        reply.reply.header = header
        reply.reply.header.size = len(bytes(reply))
        return bytes(reply)


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
    if mode in CHANGES and header.op in (wire.WIRE_OP_SAMPLE, wire.WIRE_OP_DUMP):
        return Predecessor.answer(header, descriptors)
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


def end_with(pipe):
    os.read(pipe, 1)
    os._exit(0)


def change(mode, pipe):
    """Goes on in a child of the process, which becomes another one at SIGUSR1. The child ends with the other end of PIPE."""
    Predecessor.pid = os.getpid()
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    if os.fork() == 0:
        threading.Thread(target=end_with, args=(pipe,), daemon=True).start()
        return
    signal.sigwait([signal.SIGUSR1])
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR1])
    if mode == "becomes":
        os.execv("/usr/bin/su", ["su", "root"])
    if mode == "hides":
        os.execv(pathlib.Path(__file__).resolve().parents[1] / "unreadable", ["sleep", str(SLEEP_S)])
    os._exit(0)


def act(mode, ready, pipe):
    if len(sys.argv) > 3:
        pathlib.Path("/proc/self/comm").write_text(sys.argv[3])
    listener = listen(mode)
    if len(sys.argv) > 4:
        os.seteuid(int(sys.argv[4]))
    os.write(ready, b"%d\n" % os.getpid())
    end_with_parent()
    if mode in CHANGES:
        change(mode, pipe)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=converse, args=(mode, connection), daemon=True).start()


def main():
    count, mode = int(sys.argv[1]), sys.argv[2]
    reader, writer = os.pipe()
    mine, held = os.pipe()
    for _ in range(count):
        if os.fork() == 0:
            os.close(held)
            act(mode, writer, mine)
    with os.fdopen(reader) as lines:
        for _ in range(count):
            print(lines.readline().strip(), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
