# SPDX-License-Identifier: Apache-2.0
"""jescope serve, and curl to ask it."""

import contextlib
import dataclasses
import itertools
import json
import re
import subprocess

from services import DEADLINE, JESCOPE, environment, jescope, started, wait_for

_numbers = itertools.count()


@dataclasses.dataclass
class Answer:
    status: int
    reason: str
    headers: list  # of (name in lower case, value)
    body: bytes

    def header(self, name):
        """The value of a header that may come once; None: it is not there."""
        values = [value for key, value in self.headers if key == name.lower()]
        assert len(values) < 2, f"{name} came {len(values)} times"
        return values[0] if values else None

    @property
    def type(self):
        return self.header("content-type")

    @property
    def text(self):
        return self.body.decode()

    def json(self):
        return json.loads(self.body)


def parse(raw):
    head, _, body = raw.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    _, status, reason = (first.split(" ", 2) + [""])[:3]
    headers = [(name.lower(), value.strip()) for name, _, value in (line.partition(":") for line in lines)]
    return Answer(int(status), reason, headers, body)


class Endpoint:
    """One `jescope serve`. get() and post() ask with curl; a path is taken as it is."""

    def __init__(self, process, base, curl):
        self.process = process
        self.base = base
        self.curl = curl

    def command(self, method, path, *options):
        # --head alone knows that the answer to HEAD has no body.
        how = ["--head"] if method == "HEAD" else ["--request", method, "--include"]
        return ["curl", "--silent", "--show-error", "--globoff", "--path-as-is", "--max-time", str(DEADLINE), *self.curl, *how,
                *options, self.base + path]

    def ask(self, method, path, *options):
        done = subprocess.run(self.command(method, path, *options), capture_output=True, timeout=DEADLINE + 10)
        assert done.returncode == 0, f"{method} {path}: {done.stderr.decode()}"
        return parse(done.stdout)

    def get(self, path, *options):
        return self.ask("GET", path, *options)

    def post(self, path, *options):
        return self.ask("POST", path, *options)

    def ask_at_once(self, count, path):
        """The same GET, `times` times concurrently."""
        with contextlib.ExitStack() as stack:
            running = [stack.enter_context(subprocess.Popen(self.command("GET", path), stdout=subprocess.PIPE)) for _ in range(count)]
            return [parse(process.communicate(timeout=DEADLINE)[0]) for process in running]


@contextlib.contextmanager
def serve(scratch, *words, port=None, env=None, scheme="http", curl=(), preexec_fn=None, **variables):
    """`jescope serve WORDS` on a socket of its own, or on a PORT of 127.0.0.1, once it answers CURL, further options of curl."""
    if port is None:
        path = scratch / f"http-{next(_numbers)}"
        listen, base, curl = f"unix:{path}", f"{scheme}://localhost", ["--unix-socket", str(path), *curl]
    else:
        listen, base = f"127.0.0.1:{port}", f"{scheme}://127.0.0.1:{port}"
    if not any(str(word).startswith("--blackbox") for word in words):
        words = ["--blackbox=off", *words]  # root's server would watch the programs of other tests
    log = scratch / f"log-{next(_numbers)}"
    with open(log, "w") as errors:
        with started([JESCOPE, "serve", "--listen", listen, *words], env=env or environment(scratch, **variables), stdout=errors,
                     stderr=errors, cwd=scratch, preexec_fn=preexec_fn) as process:
            endpoint = Endpoint(process, base, curl)
            endpoint.log = log
            named = {str(word) for word in words if str(word).isdigit()}
            wait_for(lambda: answers(endpoint, named), f"serve answers: {log.read_text()}")
            yield endpoint
        # What a build with sanitizers found.
        assert not re.search("Sanitizer|runtime error", log.read_text()), log.read_text()


def answers(endpoint, named=frozenset()):
    """Whether it does, and has found the targets it was NAMED (which it does not tell everybody)."""
    assert endpoint.process.poll() is None, f"serve ended with {endpoint.process.returncode}: {endpoint.log.read_text()}"
    done = subprocess.run(endpoint.command("GET", "/api/v1/targets"), capture_output=True, timeout=DEADLINE)
    answer = parse(done.stdout) if done.returncode == 0 else None
    return answer is not None and (answer.status != 200 or named <= {target["id"] for target in answer.json()["targets"]})


def is_whole_dump(body):
    return bool(re.match(rb"heap_v2/\d+\n", body)) and b"\nMAPPED_LIBRARIES:\n" in body


def set_active(scratch, pid, active):
    """prof.active, past the server."""
    jescope(scratch, "enable" if active else "disable", pid)


def is_active(scratch, pid):
    return json.loads(jescope(scratch, "status", "--json", pid).stdout)["profiling"]["active"]


def make_certificate(key, pem, name, kind=("ec", "-pkeyopt", "ec_paramgen_curve:prime256v1")):
    subprocess.run(["openssl", "req", "-x509", "-newkey", *kind, "-nodes", "-keyout", key, "-out", pem,
                    "-days", "2", "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1"],
                   check=True, capture_output=True, timeout=DEADLINE)
    key.chmod(0o600)
