# SPDX-License-Identifier: Apache-2.0
"""A TLS server with an RSA key of 336 000 bits, whose signature a client verifies for an hour, in one call of its library."""

import os
import socket
import threading

BYTES = 42000


def _element(tag, *parts):
    body = b"".join(parts)
    length = len(body).to_bytes((len(body).bit_length() + 7) // 8, "big")
    return bytes([tag]) + (bytes([len(body)]) if len(body) < 128 else bytes([0x80 | len(length)]) + length) + body


def _integer(value):
    return _element(2, (b"\0" if value[0] & 0x80 else b"") + value)


def _algorithm(text):
    return _element(0x30, _element(6, bytes.fromhex(text)), _element(5))


def _certificate():
    """It need not be signed: the handshake's signature is verified first."""
    name = _element(0x30, _element(0x31, _element(0x30, _element(6, bytes.fromhex("550403")), _element(12, b"localhost"))))
    times = _element(0x30, _element(23, b"250101000000Z"), _element(23, b"350101000000Z"))
    modulus, exponent = b"\xff" + os.urandom(BYTES - 2) + b"\xff", b"\x7f" + os.urandom(BYTES - 2) + b"\xff"
    key = _element(0x30, _algorithm("2a864886f70d010101"), _element(3, b"\0", _element(0x30, _integer(modulus), _integer(exponent))))
    signed_with = _algorithm("2a864886f70d01010b")
    content = _element(0x30, _element(0xa0, _integer(b"\x02")), _integer(b"\x01"), signed_with, name, times, name, key)
    return _element(0x30, content, signed_with, _element(3, b"\0", os.urandom(256)))


def _sized(body, width):
    return len(body).to_bytes(width, "big") + body


def _handshake(kind, body):
    """A message of TLS 1.2 in records."""
    message = bytes([kind]) + _sized(body, 3)
    return b"".join(b"\x16\x03\x03" + _sized(message[i:i + 16384], 2) for i in range(0, len(message), 16384))


def _hello():
    """ECDHE with RSA and AES-128-GCM, secure renegotiation, uncompressed points, the extended master secret."""
    extensions = bytes.fromhex("ff01000100" "000b00020100" "00170000")
    return b"\x03\x03" + os.urandom(32) + b"\0\xc0\x2f\0" + _sized(extensions, 2)


class LargeKey:
    """With a port; ASKED is set once a client has all of the server's messages."""

    def __init__(self):
        self.asked = threading.Event()
        self.held = []
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.socket.getsockname()[1]
        certificate = _sized(_sized(_certificate(), 3), 3)
        exchange = b"\x03\x00\x1d\x20" + bytes([9]) + bytes(31) + b"\x04\x01" + _sized(b"\x7f" + os.urandom(BYTES - 1), 2)
        self.messages = (_handshake(2, _hello()) + _handshake(11, certificate) + _handshake(12, exchange) + _handshake(14, b""))
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                client, _ = self.socket.accept()
                self.held.append(client)
                client.recv(16384)
                client.sendall(self.messages)
                self.asked.set()
            except OSError:
                if self.socket.fileno() < 0:
                    return

    def stop(self):
        # Without shutdown(), the thread would stay in accept().
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        for client in self.held:
            client.close()
