# SPDX-License-Identifier: Apache-2.0
"""Receivers of what `jescope push` sends: HTTP servers on loopback that keep what they get and can be told to fail."""

import hashlib
import hmac
import http.server
import socket
import ssl
import threading
import urllib.parse


class Request:
    def __init__(self, method, path, headers, body):
        self.method, self.path, self.headers, self.body = method, path, headers, body


class Receiver:
    """Answers 200, or what `answers` holds: (status, headers) in turn, a callable of the request, or "cut" to hang up
    in the middle. It refuses connections until listen() if it is not `listening`. `stored` are the bodies of requests that were answered with 2xx, by path."""

    def __init__(self, check=None, tls=None, listening=True, address=("127.0.0.1", 0)):
        self.requests, self.stored, self.answers, self.check = [], {}, [], check
        self.lock = threading.Lock()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                request = Request(self.command, self.path, self.headers, body)
                status, headers = receiver.take(request)
                if status == "cut":
                    self.close_connection = True
                    self.connection.close()
                    return
                text = headers.pop("body", "").encode()
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_PUT = do_POST = do_GET = answer

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET

            def handle_error(self, *_):
                pass

        self.server = Server(address, Handler, bind_and_activate=False)
        self.server.server_bind()
        self.thread = None
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(tls["cert"], tls["key"])
            if tls.get("clients"):
                context.load_verify_locations(tls["clients"])
                context.verify_mode = ssl.CERT_REQUIRED
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_address[1]
        if listening:
            self.listen()

    def listen(self):
        self.server.server_activate()
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self.thread.start()

    def take(self, request):
        with self.lock:
            self.requests.append(request)
            answer = self.answers.pop(0) if self.answers else (200, {})
            if callable(answer):
                answer = answer(request)
            if answer[0] == 200 and self.check:
                answer = self.check(request)
            if answer[0] != "cut" and answer[0] < 300:
                self.stored[request.path] = request.body
        return answer[0], dict(answer[1])

    def stop(self):
        if self.thread:
            self.server.shutdown()
            self.thread.join()
        self.server.server_close()


def is_signed(request, key_id, secret):
    """Whether the AWS Signature Version 4 of a request is right (docs.aws.amazon.com, "Signature Version 4 signing process")."""
    words = request.headers.get("Authorization", "").split(None, 1)
    if len(words) != 2 or words[0] != "AWS4-HMAC-SHA256":
        return False
    fields = dict(field.strip().split("=", 1) for field in words[1].split(","))
    user, scope = fields["Credential"].split("/", 1)
    names = fields["SignedHeaders"].split(";")
    url = urllib.parse.urlsplit(request.path)
    digest = hashlib.sha256(request.body).hexdigest()
    needed = {"host", "x-amz-content-sha256", "x-amz-date"}
    if request.headers.get("x-amz-content-sha256") != digest or not needed <= set(names) or user != key_id:
        return False
    canonical = "\n".join([request.method, url.path, url.query, *(f"{name}:{request.headers[name].strip()}" for name in names), "",
                           ";".join(names), digest])
    text = "\n".join(["AWS4-HMAC-SHA256", request.headers["x-amz-date"], scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = ("AWS4" + secret).encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return hmac.compare_digest(hmac.new(key, text.encode(), hashlib.sha256).hexdigest(), fields["Signature"])
