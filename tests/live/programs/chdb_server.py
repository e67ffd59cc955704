#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""ClickHouse's engine of today behind its HTTP interface: chdb_server.py LIBCHDB PORT DIRECTORY.

Debian has ClickHouse 18.16 alone. LIBCHDB is libchdb.so of the npm package @chdb/lib-linux-x64-gnu, which is the engine of a current release
in a library. With JESCOPE_CHDB=LIBCHDB the tests of clickhouse.py run with it. One query at a time."""

import ctypes
import http.server
import sys
import threading
import urllib.parse

library, port, directory = sys.argv[1], int(sys.argv[2]), sys.argv[3]
chdb = ctypes.CDLL(library)
SIZE = ctypes.c_size_t
chdb.chdb_connect.restype = ctypes.POINTER(ctypes.c_void_p)
chdb.chdb_connect.argtypes = [ctypes.c_int, ctypes.POINTER(ctypes.c_char_p)]
chdb.chdb_query_n.restype = ctypes.c_void_p
chdb.chdb_query_n.argtypes = [ctypes.c_void_p, ctypes.c_char_p, SIZE, ctypes.c_char_p, SIZE]
for name, result in (("buffer", ctypes.c_void_p), ("length", SIZE), ("error", ctypes.c_char_p)):
    function = getattr(chdb, f"chdb_result_{name}")
    function.restype, function.argtypes = result, [ctypes.c_void_p]
chdb.chdb_destroy_query_result.argtypes = [ctypes.c_void_p]
words = [b"clickhouse", f"--path={directory}".encode()]
connection = chdb.chdb_connect(len(words), (ctypes.c_char_p * len(words))(*words))
lock = threading.Lock()


def run(query):
    """Status and body."""
    with lock:
        result = chdb.chdb_query_n(connection[0], query, len(query), b"TabSeparated", 12)
        error = chdb.chdb_result_error(result)
        length = chdb.chdb_result_length(result)
        body = ctypes.string_at(chdb.chdb_result_buffer(result), length) if length and not error else b""
        chdb.chdb_destroy_query_result(result)
    return (400, error) if error else (200, body)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query).get("query", [""])[0].encode()
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        status, answer = run(query + b"\n" + body if query else body)
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *args):
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
