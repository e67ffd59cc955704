#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hostile_agent.py MODE [DUMP]: listens where an agent would and does its worst; prints its pid when it listens."""

import array
import ctypes
import mmap
import os
import pathlib
import socket
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import wire  # noqa: E402

MODE = sys.argv[1]
SMALL = b"heap_v2/524288\n  t*: 1: 8 [0: 0]\n  t0: 1: 8 [0: 0]\n@ 0x1000 0x2000\n  t*: 1: 8 [0: 0]\n  t0: 1: 8 [0: 0]\n\nMAPPED_LIBRARIES:\n"
FORGED = SMALL + b"1000-3000 r-xp 0 fe:00 1 /usr/bin/honest\njescope_capture=1 time=4000000000 pid=1 start=7 since=3000000000\nx="
LONG = b"heap_v2/524288\n  t*: 1: 8 [0: 0]\n" + b"@ 0x1000 0x2000\n  t*: 1: 8 [0: 0]\n" * 50000 + b"\nMAPPED_LIBRARIES:\n"
STATISTICS = b"___ Begin jemalloc statistics ___\nVersion: \x1b[2J\x1b]0;owned\x07\xc2\x9b31m\n--- End jemalloc statistics ---\n"
HUGE = 1 << 40
SPIN_AT = 34  # where a stack begins in LONG
held = []
dumps = []


def reply_to(request, reply, status=wire.WIRE_STATUS_OK):
    base = reply if isinstance(reply, wire.WireReply) else reply.reply
    base.header = request
    base.header.size = len(bytes(reply))
    base.status = status
    return bytes(reply)


def hello(request):
    flags = wire.WIRE_FLAG_SERVES_MALLOC | wire.WIRE_FLAG_CONFIG_PROF | wire.WIRE_FLAG_OPT_PROF | wire.WIRE_FLAG_CONFIG_STATS
    texts = {"name": b"hostile", "jemalloc_version": b"5.3.0-0-g54eaed1d", "found_in": b"/lib/libjemalloc.so.2"}
    if MODE == "ansi":
        texts = {"name": b"\x1b[31m\n", "jemalloc_version": b"5.3.0\x1b]0;owned\x07\xc2\x9b31m", "found_in": b"/lib/x\x1b[7m\nInjected: line"}
    if MODE == "bad-utf8":
        texts = dict.fromkeys(texts, b"\xff\xfe\x80")
    reply = wire.WireHelloReply(version=1, flags=flags, pid=os.getpid(), uid=os.geteuid(), agent_version=b"0", **texts)
    if MODE == "becomes-root-early":
        os.setresuid(0, 0, 0)
    if MODE == "forges":
        reply.start_time = 7
    if MODE == "claims-root":
        reply.uid = 0
        reply.lease.id = len(dumps)  # there is none until the recording has begun
    return reply_to(request, reply)


def lease(request):
    reply = wire.WireLeaseReply()
    reply.lease.id = reply.lease.active = 1
    return reply_to(request, reply)


def last_dump(request, descriptor):
    """The first one is the file; who asks for another finds the process gone."""
    if dumps:
        os._exit(0)
    dumps.append(1)
    size = write_all(descriptor, pathlib.Path(sys.argv[2]).read_bytes())
    return reply_to(request, wire.WireOutputReply(bytes=size, duration_ns=1))


def write_all(descriptor, text):
    at = 0
    while at < len(text):
        at += os.pwrite(descriptor, text[at:], at)
    return len(text)


def move_offset(descriptor):
    def spin():
        while True:
            os.lseek(descriptor, SPIN_AT, os.SEEK_SET)

    threading.Thread(target=spin, daemon=True).start()


def output(request, descriptor):
    if MODE == "becomes-root":  # as by executing sudo, with this thread in another process
        os.setresuid(0, 0, 0)
    if MODE == "late-statistics" and request.op == wire.WIRE_OP_STATS:
        time.sleep(1000)
    if MODE == "sparse":
        os.ftruncate(descriptor, HUGE)
        size = HUGE
    elif MODE == "endless":
        block, size = bytes(1 << 20), 0
        while True:
            size += os.pwrite(descriptor, block, size)
    elif MODE == "held":
        size = write_all(descriptor, SMALL)
        held.append(mmap.mmap(descriptor, size))
    elif MODE == "ansi" and request.op == wire.WIRE_OP_STATS:
        size = write_all(descriptor, STATISTICS)
    elif len(sys.argv) > 2:
        size = write_all(descriptor, pathlib.Path(sys.argv[2]).read_bytes() * (40 if request.op == wire.WIRE_OP_STATS else 1))
    elif MODE == "forges" and request.op == wire.WIRE_OP_DUMP:
        size = write_all(descriptor, FORGED)
    elif MODE == "lseek":
        size = write_all(descriptor, LONG)
        move_offset(os.dup(descriptor))
    else:
        size = write_all(descriptor, SMALL)
    return reply_to(request, wire.WireOutputReply(bytes=size, duration_ns=1))


def sample(request, message):
    asked = wire.WireSampleRequest.from_buffer_copy(message)
    if MODE == "one-row":
        time.sleep(0.3)
    value = {"ones": 2**64 - 1, "one-row": 4096, "late-statistics": 1, "same-user": 1, "another-user": 1, "arenas": 1 << 32}.get(MODE, 1000)
    words = (wire.ctypes.c_uint64 * 122)(*[value] * 122)
    if MODE == "arenas":
        words[0] = 2**64 - 1  # all values are there
    return reply_to(request, wire.WireSampleReply(rows=1 if MODE == "one-row" else min(asked.count, 2), words=words))


def answer(request, message, descriptor):
    if MODE == "silent":
        time.sleep(1000)
    if MODE == "garbage":
        return os.urandom(1 + os.urandom(1)[0] * 16)
    if MODE == "prof-disabled":
        return reply_to(request, wire.WireReply(), wire.WIRE_STATUS_PROF_DISABLED)
    if MODE == "refuses" and request.op != wire.WIRE_OP_HELLO:
        return reply_to(request, wire.WireReply(), wire.WIRE_STATUS_PROF_DISABLED)
    if request.op == wire.WIRE_OP_HELLO:
        return hello(request)
    if request.op == wire.WIRE_OP_CTL:
        text = b"\x1b[31m" + b"x" * 200 if MODE == "ansi" else b"5.3.0"
        return reply_to(request, wire.WireCtlReply(type=wire.WireCtlRequest.from_buffer_copy(message).type, value=1, text=text))
    if request.op == wire.WIRE_OP_SAMPLE:
        return sample(request, message)
    if request.op == wire.WIRE_OP_LEASE and MODE == "claims-root":
        return lease(request)
    if descriptor is not None:
        return last_dump(request, descriptor) if MODE == "claims-root" else output(request, descriptor)
    return reply_to(request, wire.WireReply(), wire.WIRE_STATUS_UNKNOWN_OP)


def serve(connection):
    try:
        while True:
            message, extras, _, _ = connection.recvmsg(2048, socket.CMSG_SPACE(4))
            if not message:
                return
            descriptors = [n for _, kind, data in extras if kind == socket.SCM_RIGHTS for n in array.array("i", data[:4])]
            request = wire.WireHeader.from_buffer_copy(message)
            try:
                connection.send(answer(request, message, descriptors[0] if descriptors else None))
            finally:
                for descriptor in descriptors:
                    os.close(descriptor)
    except OSError:
        return  # the client has had enough, or seals were set


def main():
    ctypes.CDLL(None).prctl(15, b"hostile", 0, 0, 0)
    stat = pathlib.Path("/proc/self/stat").read_text()
    start_time = stat.rpartition(")")[2].split()[19]
    folder = pathlib.Path(os.environ.get("JESCOPE_SOCKET_DIR") or f"/tmp/.jescope-{os.geteuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(str(folder / f"{os.getpid()}.{start_time}.sock"))
    listener.listen(64)
    if MODE.startswith("becomes-root"):
        os.setresuid(65534, 65534, 0)
    if MODE in ("claims-root", "another-user"):
        os.setresuid(65534, 65534, 65534)
    print(os.getpid(), flush=True)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve, args=(connection,), daemon=True).start()


main()
