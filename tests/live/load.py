# SPDX-License-Identifier: Apache-2.0
"""load.py KIND ADDRESS [WORKERS]: clients of a real server that verify every reply, until stdin ends.

Prints "up" after the first good round of every worker, and at the end one line of JSON: how many requests were answered as they must
be, and what went wrong. A reply that does not come within DEADLINE seconds, a connection that ends and an answer with one wrong byte
all count as failed.
"""

import hashlib
import json
import random
import socket
import struct
import sys
import threading
import zlib

DEADLINE = 90


class Wrong(Exception):
    """An answer other than it must be."""


def expect(got, wanted, what):
    if got != wanted:
        raise Wrong(f"{what}: {got!r:.200} instead of {wanted!r:.200}")


def connect(address):
    """unix:PATH or HOST:PORT."""
    if address.startswith("unix:"):
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(DEADLINE)
        connection.connect(address[5:])
    else:
        host, port = address.rsplit(":", 1)
        connection = socket.create_connection((host, int(port)), DEADLINE)
    return connection


def text_of(rng, longest):
    """Bytes that say where they begin, so that half an answer or another one's is noticed."""
    size = rng.randrange(1, longest)
    seed = rng.randbytes(8).hex().encode()
    return (seed * (size // len(seed) + 1))[:size]


class Redis:
    def __init__(self, address, number, rng):
        self.rng, self.number = rng, number
        self.connection = connect(address)
        self.stream = self.connection.makefile("rb")
        self.counter = 0
        self.values = {}
        self.list = []
        self.talk([((b"DEL", self.key("counter"), self.key("list")), None)])

    def key(self, name):
        return f"checker:{self.number}:{name}".encode()

    def read(self):
        line = self.stream.readline()
        if not line.endswith(b"\r\n"):
            raise Wrong("the connection ended")
        kind, rest = line[:1], line[1:-2]
        if kind in b"+-":
            return line[:-2]
        if kind == b":":
            return int(rest)
        if kind == b"*":
            return [self.read() for _ in range(int(rest))]
        data = self.stream.read(int(rest) + 2)
        return data[:-2]

    def talk(self, exchanges):
        """Pipelined: all questions at once, then all answers."""
        self.connection.sendall(b"".join(
            b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)
            for words, _ in exchanges))  # fmt: skip
        for words, wanted in exchanges:
            got = self.read()
            if wanted is not None:
                expect(got, wanted, words[0].decode())
        return len(exchanges)

    def round(self):
        rng, exchanges = self.rng, []
        for _ in range(10):
            name = self.key(rng.randrange(500))
            if name in self.values and rng.random() < 0.5:
                exchanges.append(((b"GET", name), self.values[name]))
            else:
                self.values[name] = text_of(rng, 5000)
                exchanges.append(((b"SET", name, self.values[name]), b"+OK"))
        self.counter += 1
        exchanges.append(((b"INCR", self.key("counter")), self.counter))
        item = text_of(rng, 100)
        self.list = [*self.list, item][-20:]
        exchanges.append(((b"RPUSH", self.key("list"), item), None))
        exchanges.append(((b"LTRIM", self.key("list"), b"-20", b"-1"), b"+OK"))
        exchanges.append(((b"LRANGE", self.key("list"), b"0", b"-1"), list(self.list)))
        return self.talk(exchanges)


class Mysql:
    """The client side of MySQL's protocol as far as COM_QUERY with text results needs it."""

    CAPABILITIES = 0x200 | 0x8000 | 0x80000  # PROTOCOL_41, SECURE_CONNECTION, PLUGIN_AUTH

    def __init__(self, address, number, rng):
        self.rng, self.rows = rng, {}
        self.connection = connect(address)
        self.stream = self.connection.makefile("rb")
        self.packet()
        self.send(1, struct.pack("<IIB23x", self.CAPABILITIES, 1 << 24, 33) + b"root\0" + b"\0" + b"mysql_native_password\0")
        expect(self.packet()[:1], b"\0", "login")
        self.table = f"checker.t{number}"
        self.query("CREATE DATABASE IF NOT EXISTS checker")
        self.query(f"CREATE OR REPLACE TABLE {self.table} (id INT PRIMARY KEY, text LONGBLOB) ENGINE=InnoDB")

    def send(self, sequence, payload):
        self.connection.sendall(struct.pack("<I", len(payload))[:3] + bytes([sequence]) + payload)

    def packet(self):
        head = self.stream.read(4)
        if len(head) < 4:
            raise Wrong("the connection ended")
        payload = self.stream.read(int.from_bytes(head[:3], "little"))
        if payload[:1] == b"\xff":
            raise Wrong(payload[9:].decode(errors="replace"))
        return payload

    @staticmethod
    def fields(payload):
        at, found = 0, []
        while at < len(payload):
            first = payload[at]
            width = {0xFC: 2, 0xFD: 3, 0xFE: 8}.get(first, 0)
            size = int.from_bytes(payload[at + 1 : at + 1 + width], "little") if width else first
            at += 1 + width
            found.append(None if first == 0xFB else payload[at : at + size])
            at += 0 if first == 0xFB else size
        return found

    def query(self, text):
        """Rows of bytes."""
        self.send(0, b"\x03" + (text if isinstance(text, bytes) else text.encode()))
        if self.packet()[0] == 0:
            return []
        while (payload := self.packet())[0] != 0xFE or len(payload) > 5:
            pass
        rows = []
        while (payload := self.packet())[0] != 0xFE or len(payload) > 5:
            rows.append(self.fields(payload))
        return rows

    def round(self):
        number = self.rng.randrange(300)
        value = text_of(self.rng, 3000)
        self.rows[number] = value
        self.query(b"REPLACE INTO %s VALUES (%d, '%s')" % (self.table.encode(), number, value))
        other = self.rng.choice(list(self.rows))
        expect(self.query(f"SELECT text FROM {self.table} WHERE id = {other}"), [[self.rows[other]]], "SELECT")
        total = sum(map(len, self.rows.values()))
        expect(
            self.query(f"SELECT COUNT(*), SUM(LENGTH(text)) FROM (SELECT * FROM {self.table} ORDER BY text) AS sorted"),
            [[b"%d" % len(self.rows), b"%d" % total]],
            "a sum over a sorted subquery",
        )
        return 3


class Postgres:
    """The client side of PostgreSQL's protocol 3.0 as far as simple queries need it."""

    def __init__(self, address, number, rng):
        self.rng, self.rows = rng, {}
        self.connection = connect(address)
        self.stream = self.connection.makefile("rb")
        words = b"user\0postgres\0database\0postgres\0\0"
        self.connection.sendall(struct.pack(">II", 8 + len(words), 3 << 16) + words)
        self.until_ready()
        self.table = f"checker{number}"
        self.query(f"DROP TABLE IF EXISTS {self.table}")
        self.query(f"CREATE TABLE {self.table} (id INT PRIMARY KEY, text TEXT)")

    def message(self):
        head = self.stream.read(5)
        if len(head) < 5:
            raise Wrong("the connection ended")
        kind, size = struct.unpack(">cI", head)
        payload = self.stream.read(size - 4)
        if kind == b"E":
            raise Wrong(payload.decode(errors="replace"))
        return kind, payload

    @staticmethod
    def fields(payload):
        at, found = 2, []
        for _ in range(struct.unpack_from(">H", payload)[0]):
            (size,) = struct.unpack_from(">i", payload, at)
            found.append(payload[at + 4 : at + 4 + max(size, 0)])
            at += 4 + max(size, 0)
        return found

    def until_ready(self):
        rows = []
        while (message := self.message())[0] != b"Z":
            if message[0] == b"D":
                rows.append(self.fields(message[1]))
        return rows

    def query(self, text):
        """Rows of bytes."""
        text = (text if isinstance(text, bytes) else text.encode()) + b"\0"
        self.connection.sendall(b"Q" + struct.pack(">I", 4 + len(text)) + text)
        return self.until_ready()

    def round(self):
        number = self.rng.randrange(300)
        value = text_of(self.rng, 3000)
        self.rows[number] = value
        self.query(b"INSERT INTO %s VALUES (%d, '%s') ON CONFLICT (id) DO UPDATE SET text = excluded.text"
                   % (self.table.encode(), number, value))  # fmt: skip
        other = self.rng.choice(list(self.rows))
        expect(self.query(f"SELECT text FROM {self.table} WHERE id = {other}"), [[self.rows[other]]], "SELECT")
        total = sum(map(len, self.rows.values()))
        expect(
            self.query(f"SELECT COUNT(*), SUM(LENGTH(text)) FROM (SELECT * FROM {self.table} ORDER BY text) AS sorted"),
            [[b"%d" % len(self.rows), b"%d" % total]],
            "a sum over a sorted subquery",
        )
        return 3


class Memcached:
    def __init__(self, address, number, rng):
        self.rng, self.number, self.values, self.counter = rng, number, {}, 0
        self.connection = connect(address)
        self.stream = self.connection.makefile("rb")
        self.talk(b"set count:%d 0 0 1\r\n0\r\n" % number, b"STORED\r\n")

    def talk(self, question, wanted):
        self.connection.sendall(question)
        expect(self.stream.read(len(wanted)), wanted, question[:40].decode())

    def round(self):
        key = b"k%d:%d" % (self.number, self.rng.randrange(500))
        self.values[key] = value = text_of(self.rng, 8000)
        self.talk(b"set %s 0 0 %d\r\n%s\r\n" % (key, len(value), value), b"STORED\r\n")
        key = self.rng.choice(list(self.values))
        value = self.values[key]
        self.talk(b"get %s\r\n" % key, b"VALUE %s 0 %d\r\n%s\r\nEND\r\n" % (key, len(value), value))
        self.counter += 1
        self.talk(b"incr count:%d 1\r\n" % self.number, b"%d\r\n" % self.counter)
        return 3


class Dns:
    """hostN.checker.test has the address that address_of(N) says; services.py writes the same into the zone."""

    NAMES = 256

    @staticmethod
    def address_of(number):
        return f"10.{number % 7}.{number // 256}.{number % 256}"

    def __init__(self, address, number, rng):
        self.rng = rng
        host, port = address.rsplit(":", 1)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.settimeout(DEADLINE)
        self.socket.connect((host, int(port)))

    def round(self):
        number = self.rng.randrange(self.NAMES)
        identity = self.rng.randrange(1 << 16)
        name = b"".join(bytes([len(part)]) + part for part in (b"host%d" % number, b"checker", b"test")) + b"\0"
        question = name + struct.pack(">HH", 1, 1)
        self.socket.send(struct.pack(">HHHHHH", identity, 0x100, 1, 0, 0, 0) + question)
        answer = self.socket.recv(4096)
        got, flags, questions, answers, _, _ = struct.unpack_from(">HHHHHH", answer)
        expect((got, flags & 0x800F, questions, answers), (identity, 0x8000, 1, 1), f"host{number}")
        expect(answer[12 : 12 + len(question)], question, "the question back")
        expect(socket.inet_ntoa(answer[-4:] if len(answer) < 12 + len(question) + 17 else answer[12 + len(question) + 12 :][:4]),
               self.address_of(number), f"host{number}")  # fmt: skip
        return 1


class Http:
    """GET /NAME answers with body_of(NAME); the connection is kept."""

    NAMES = 50

    @staticmethod
    def body_of(name):
        size = 100 + zlib.crc32(name.encode()) % 60000
        block = hashlib.sha256(name.encode()).hexdigest().encode()
        return (block * (size // len(block) + 1))[:size]

    def __init__(self, address, number, rng):
        self.rng = rng
        self.connection = connect(address)
        self.stream = self.connection.makefile("rb")

    def round(self):
        name = f"file{self.rng.randrange(self.NAMES)}"
        self.connection.sendall(f"GET /{name} HTTP/1.1\r\nHost: checker\r\n\r\n".encode())
        status = self.stream.readline()
        expect(status.split()[1:2], [b"200"], "the status")
        length = None
        while (line := self.stream.readline()) not in (b"\r\n", b""):
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        wanted = self.body_of(name)
        expect(length, len(wanted), f"the length of {name}")
        expect(self.stream.read(length), wanted, name)
        return 1


KINDS = {"redis": Redis, "mysql": Mysql, "postgres": Postgres, "memcached": Memcached, "dns": Dns, "http": Http}


class Tally:
    def __init__(self):
        self.lock, self.answered, self.failures = threading.Lock(), 0, []

    def add(self, answered):
        with self.lock:
            self.answered += answered

    def fail(self, failure):
        with self.lock:
            self.failures.append(failure)


def work(kind, address, number, tally, ready, done):
    try:
        client = KINDS[kind](address, number, random.Random(number))
        tally.add(client.round())
        ready.wait(DEADLINE)
        while not done.is_set():
            tally.add(client.round())
    except (Wrong, OSError, ValueError, struct.error, threading.BrokenBarrierError) as error:
        tally.fail(f"worker {number}: {type(error).__name__}: {error}")
        ready.abort()


def main():
    kind, address = sys.argv[1:3]
    workers = int(sys.argv[3]) if len(sys.argv) > 3 else 4
    tally, done = Tally(), threading.Event()
    ready = threading.Barrier(workers + 1)
    threads = [threading.Thread(target=work, args=(kind, address, number, tally, ready, done)) for number in range(workers)]
    for thread in threads:
        thread.start()
    try:
        ready.wait(DEADLINE)
    except threading.BrokenBarrierError:
        pass
    print("up", flush=True)
    sys.stdin.read()
    done.set()
    for thread in threads:
        thread.join()
    print(json.dumps({"answered": tally.answered, "failures": tally.failures}), flush=True)


if __name__ == "__main__":
    main()
