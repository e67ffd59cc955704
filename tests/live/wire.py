# SPDX-License-Identifier: Apache-2.0
"""A small client of the agent protocol.

Constants and layouts are read from src/wire/wire.h itself, so that the header stays their only definition; the header's
static asserts are checked against what was read.
"""

import ctypes
import os
import pathlib
import re
import socket
import struct

SOURCE = pathlib.Path(os.environ.get("JESCOPE_SOURCE", pathlib.Path(__file__).parents[2]))
DEADLINE = 120

_SCALARS = {
    "char": ctypes.c_char,
    "uint8_t": ctypes.c_uint8,
    "uint16_t": ctypes.c_uint16,
    "uint32_t": ctypes.c_uint32,
    "uint64_t": ctypes.c_uint64,
    "int32_t": ctypes.c_int32,
}


def _without_comments(text):
    return re.sub(r"/\*.*?\*/", "", text, flags=re.S)


def _read_constants(text):
    constants = {}
    for name, value in re.findall(r"\b(WIRE_\w+)\s*=\s*([^,}]+)", text):
        constants[name] = eval(re.sub(r"(\d)u\b", r"\1", value.strip()), {"__builtins__": {}}, constants)
    return constants


def _read_structs(text, constants):
    types = dict(_SCALARS)
    for body, name in re.findall(r"typedef struct \{(.*?)\} (\w+);", text, flags=re.S):
        fields = []
        for kind, field, count in re.findall(r"(\w+) (\w+)(?:\[(\w+)\])?;", body):
            base = types[kind]
            if count:
                base = base * int(constants.get(count, count))
            fields.append((field, base))
        types[name] = type(name, (ctypes.Structure,), {"_fields_": fields})
    for name, size in re.findall(r"sizeof\((\w+)\) == (\d+)", text):
        assert ctypes.sizeof(types[name]) == int(size), f"{name}: wire.h says {size} bytes"
    return {name: kind for name, kind in types.items() if name not in _SCALARS}


_text = _without_comments((SOURCE / "src/wire/wire.h").read_text())
_constants = _read_constants(_text)
_structs = _read_structs(_text, _constants)
globals().update(_constants)
globals().update(_structs)

STATUS_NAMES = {value: name for name, value in _constants.items() if name.startswith("WIRE_STATUS_")}

_REPLIES = {
    _constants["WIRE_OP_HELLO"]: _structs["WireHelloReply"],
    _constants["WIRE_OP_CTL"]: _structs["WireCtlReply"],
    _constants["WIRE_OP_DUMP"]: _structs["WireOutputReply"],
    _constants["WIRE_OP_STATS"]: _structs["WireOutputReply"],
    _constants["WIRE_OP_LEASE"]: _structs["WireLeaseReply"],
    _constants["WIRE_OP_SAMPLE"]: _structs["WireSampleReply"],
    _constants["WIRE_OP_LEAVE"]: _structs["WireReply"],
}

# What struct.value means for each type: (constant, width in bits, signed).
_TYPES = {
    "none": _constants["WIRE_TYPE_NONE"],
    "bool": _constants["WIRE_TYPE_BOOL"],
    "unsigned": _constants["WIRE_TYPE_UNSIGNED"],
    "size": _constants["WIRE_TYPE_SIZE"],
    "ssize": _constants["WIRE_TYPE_SSIZE"],
    "u64": _constants["WIRE_TYPE_U64"],
    "string": _constants["WIRE_TYPE_STRING"],
}


class Refused(Exception):
    """An error reply: .status and .error as the agent sent them, .reply all of it."""

    def __init__(self, reply):
        head = head_of(reply)
        super().__init__(f"{STATUS_NAMES.get(head.status, head.status)} error={head.error}")
        self.status = head.status
        self.error = head.error
        self.reply = reply


def head_of(reply):
    return reply if isinstance(reply, _structs["WireReply"]) else reply.reply


def connect(path, deadline=DEADLINE):
    """A connected socket. The path may be longer than sun_path holds: its directory's descriptor leads there."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    # Python's own timeout would make connect() fail at once while many others wait to be accepted.
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", deadline, 0))
    try:
        folder = os.open(os.path.dirname(path), os.O_PATH | os.O_DIRECTORY)
        try:
            sock.connect(f"/proc/self/fd/{folder}/{os.path.basename(path)}")
        finally:
            os.close(folder)
        sock.settimeout(deadline)
    except BaseException:
        sock.close()
        raise
    return sock


class Client:
    """One connection. Says HELLO at once unless told otherwise."""

    def __init__(self, path, hello=True, deadline=DEADLINE):
        self.sock = connect(str(path), deadline)
        self.sequence = 0
        self.version = _constants["WIRE_VERSION_MAX"]
        if hello:
            try:
                self.greeting = self.hello()
            except BaseException:
                self.sock.close()
                raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.sock.close()

    def stamp(self, message, op):
        """Fills the header of a request."""
        self.sequence += 1
        message.header.magic = _constants["WIRE_MAGIC"]
        message.header.version = self.version
        message.header.op = op
        message.header.sequence = self.sequence
        message.header.size = ctypes.sizeof(message)
        return message

    def send(self, payload, descriptors=()):
        if descriptors:
            socket.send_fds(self.sock, [bytes(payload)], list(descriptors))
        else:
            self.sock.send(bytes(payload))

    def receive(self, op):
        """One reply, whole or error; the reply's header is checked, its status is not."""
        data = self.sock.recv(4096)
        if not data:
            raise ConnectionResetError("the agent closed the connection")
        kind = _REPLIES.get(op, _structs["WireReply"])
        if len(data) == ctypes.sizeof(_structs["WireReply"]):
            kind = _structs["WireReply"]
        assert len(data) == ctypes.sizeof(kind), f"reply of {len(data)} bytes to op {op}"
        reply = kind.from_buffer_copy(data)
        header = head_of(reply).header
        assert header.magic == _constants["WIRE_MAGIC"] and header.size == len(data)
        return reply

    def call(self, message, op, descriptors=()):
        self.send(self.stamp(message, op), descriptors)
        reply = self.receive(op)
        head = head_of(reply)
        assert (head.header.op, head.header.sequence) == (op, self.sequence)
        if head.status != _constants["WIRE_STATUS_OK"]:
            raise Refused(reply)
        assert ctypes.sizeof(reply) == ctypes.sizeof(_REPLIES[op])
        return reply

    def hello(self, lowest=_constants["WIRE_VERSION_MIN"], highest=_constants["WIRE_VERSION_MAX"]):
        request = _structs["WireHelloRequest"](version_min=lowest, version_max=highest)
        reply = self.call(request, _constants["WIRE_OP_HELLO"])
        self.version = reply.version
        return reply

    def ctl(self, name, kind, flags, value=0):
        raw = name if isinstance(name, bytes) else name.encode()
        request = _structs["WireCtlRequest"](type=_TYPES.get(kind, kind), flags=flags, value=value % 2**64)
        ctypes.memmove(ctypes.addressof(request) + _structs["WireCtlRequest"].name.offset, raw, len(raw))
        return self.call(request, _constants["WIRE_OP_CTL"])

    def read(self, name, kind):
        reply = self.ctl(name, kind, _constants["WIRE_CTL_READ"])
        if kind == "string":
            return reply.text.decode()
        if kind == "ssize":
            return ctypes.c_int64(reply.value).value
        return reply.value

    def write(self, name, kind, value):
        self.ctl(name, kind, _constants["WIRE_CTL_WRITE"], value)

    def act(self, name):
        """Runs an action control such as arena.0.purge."""
        self.ctl(name, "none", _constants["WIRE_CTL_WRITE"])

    def refresh(self):
        self.write("epoch", "u64", 1)

    def output(self, message, op):
        """The bytes a DUMP or STATS wrote, with its reply."""
        descriptor = os.memfd_create("jescope-test", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            reply = self.call(message, op, [descriptor])
            size = os.fstat(descriptor).st_size
            assert size == reply.bytes
            return os.pread(descriptor, size, 0), reply
        finally:
            os.close(descriptor)

    def dump(self):
        return self.output(_structs["WireDumpRequest"](), _constants["WIRE_OP_DUMP"])[0]

    def stats(self, letters=""):
        request = _structs["WireStatsRequest"](letters=letters.encode())
        return self.output(request, _constants["WIRE_OP_STATS"])[0]

    def lease(self, action, duration_ms=0, lease_id=0, active=1, flags=0):
        request = _structs["WireLeaseRequest"](
            action=action, flags=flags, lease_id=lease_id, duration_ms=duration_ms, active=active
        )
        return self.call(request, _constants["WIRE_OP_LEASE"]).lease

    def take(self, duration_ms, active=1, flags=0):
        return self.lease(_constants["WIRE_LEASE_TAKE"], duration_ms, active=active, flags=flags)

    def leave(self):
        self.call(_structs["WireLeaveRequest"](), _constants["WIRE_OP_LEAVE"])

    def renew(self, lease_id, duration_ms):
        return self.lease(_constants["WIRE_LEASE_RENEW"], duration_ms, lease_id=lease_id)

    def release(self, lease_id):
        return self.lease(_constants["WIRE_LEASE_RELEASE"], lease_id=lease_id)
