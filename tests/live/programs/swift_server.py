#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""OpenStack Swift with its interface of S3, all in one process: swift_server.py DIRECTORY BUCKET USER KEY.

Debian has no smaller object store that checks signatures. Its servers for accounts, containers and objects have ports and data of their own.
Prints two ports: one where requests are signed for S3 (region us-east-1), one where Swift is asked without any permission."""

import array
import contextlib
import logging
import pathlib
import sys

import eventlet

eventlet.monkey_patch()

from eventlet import wsgi  # noqa: E402
from swift.account.server import AccountController  # noqa: E402
from swift.common import utils  # noqa: E402
from swift.common.middleware import tempauth  # noqa: E402
from swift.common.middleware.s3api import s3api  # noqa: E402
from swift.common.ring import RingData  # noqa: E402
from swift.common.swob import Request  # noqa: E402
from swift.container.server import ContainerController  # noqa: E402
from swift.obj.server import ObjectController  # noqa: E402
from swift.proxy.server import Application  # noqa: E402

folder, bucket, user, key = pathlib.Path(sys.argv[1]), *sys.argv[2:]
conf = {"devices": str(folder / "devices"), "swift_dir": str(folder), "mount_check": "false", "account_autocreate": "true",
        "recon_cache_path": str(folder), "fallocate_reserve": "0"}
utils.HASH_PATH_SUFFIX = b"test"
silent = logging.getLogger("silent")
silent.addHandler(logging.NullHandler())
silent.propagate = False


class Unwritten(logging.NullHandler):
    """In place of syslog."""

    LOG_LOCAL0 = 0

    def __init__(self, *_, **__):
        super().__init__()


class Cache(dict):
    """In place of memcached."""

    def __bool__(self):
        return True  # it is there, also while it is empty

    def get(self, key, **_):
        return super().get(key)

    def set(self, key, value, **_):
        self[key] = value

    def delete(self, key, **_):
        self.pop(key, None)


cache = Cache()
utils.SysLogHandler = Unwritten


def with_cache(app):
    def call(environment, start):
        environment["swift.cache"] = cache
        return app(environment, start)
    return call


def serve(app):
    """On a free port, which it returns."""
    listener = eventlet.listen(("127.0.0.1", 0))
    eventlet.spawn(wsgi.server, listener, app, silent, log_output=False)
    return listener.getsockname()[1]


(folder / "devices/disk/tmp").mkdir(parents=True)
for name, server in (("account", AccountController), ("container", ContainerController), ("object", ObjectController)):
    port = serve(server(conf, logger=utils.get_logger(conf)))
    device = {"id": 0, "region": 1, "zone": 0, "device": "disk", "ip": "127.0.0.1", "port": port, "weight": 1}
    RingData([array.array("H", [0, 0])], [device], 31).save(str(folder / f"{name}.ring.gz"))
proxy = Application(conf, logger=utils.get_logger(conf))
signed = s3api.filter_factory(conf)(tempauth.filter_factory(conf, **{f"user_{user.replace(':', '_')}": f"{key} .admin"})(proxy))
made = Request.blank(f"/v1/AUTH_{user.split(':')[0]}/{bucket}", environ={"REQUEST_METHOD": "PUT"}).get_response(with_cache(proxy))
assert made.status_int == 201, (made.status, made.body)
print(serve(with_cache(signed)), serve(with_cache(proxy)), flush=True)
with contextlib.suppress(KeyboardInterrupt):
    eventlet.hubs.get_hub().switch()
