# SPDX-License-Identifier: Apache-2.0
"""fake_agent.py SOCKET BEHAVIOUR: listens like an agent and misbehaves as told; prints "ready" when it listens."""

import os
import pathlib
import socket
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "live"))
import wire  # noqa: E402


def header_of(request):
    return wire.WireHeader.from_buffer_copy(request)


def bare(request, status):
    reply = wire.WireReply(header=header_of(request), status=status)
    reply.header.size = len(bytes(reply))
    return bytes(reply)


def hello(request):
    reply = wire.WireHelloReply(version=1, name=b"fake", jemalloc_version=b"5.3.0", agent_version=b"0", pid=os.getpid())
    reply.flags = wire.WIRE_FLAG_SERVES_MALLOC | wire.WIRE_FLAG_CONFIG_PROF | wire.WIRE_FLAG_OPT_PROF
    reply.reply.header = header_of(request)
    reply.reply.header.size = len(bytes(reply))
    return bytes(reply)


def die_on_dump(request):
    if header_of(request).op == wire.WIRE_OP_DUMP:
        os._exit(0)
    return hello(request)


BEHAVIOURS = {
    "die-on-dump": die_on_dump,
    "other-version": lambda request: bare(request, wire.WIRE_STATUS_BAD_VERSION),
    "nonsense": lambda request: b"HTTP/1.1 400 Bad Request\r\n\r\n",
}


def main():
    path, behaviour = sys.argv[1:]
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    directory = os.open(os.path.dirname(path), os.O_PATH)
    listener.bind(f"/proc/self/fd/{directory}/{os.path.basename(path)}")
    listener.listen()
    print("ready", flush=True)
    while True:
        connection, _ = listener.accept()
        while request := connection.recv(wire.WIRE_MESSAGE_MAX):
            connection.send(BEHAVIOURS[behaviour](request))


main()
