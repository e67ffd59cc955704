# SPDX-License-Identifier: Apache-2.0
"""Servers of another user, as any user may have one where the receiver that is meant does not run."""

import contextlib
import os
import subprocess

STRANGER = 23456

LISTENER = """import http.server, socket, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_PUT(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200); self.send_header("Content-Length", "0"); self.end_headers()
        print(self.path, self.headers["Authorization"], flush=True)
    do_POST = do_PUT
    def log_message(self, *_): pass
http.server.HTTPServer.address_family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
server = http.server.HTTPServer((sys.argv[1], 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()"""


@contextlib.contextmanager
def stranger(host="127.0.0.1"):
    """Its port, and its output: the path and the authorization of each request."""
    with subprocess.Popen(["/usr/bin/python3", "-c", LISTENER, host], user=STRANGER, group=STRANGER, extra_groups=[], stdout=subprocess.PIPE,
                          text=True) as listener:
        try:
            yield int(listener.stdout.readline()), listener.stdout
        finally:
            listener.kill()


@contextlib.contextmanager
def as_stranger():
    """What this process creates meanwhile, as a socket, is the stranger's."""
    os.seteuid(STRANGER)
    try:
        yield
    finally:
        os.seteuid(0)
