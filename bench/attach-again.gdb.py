# SPDX-License-Identifier: Apache-2.0
"""The same in one gdb that stays, which reads symbols but once: gdb -batch -ex 'python ARGUMENTS = (pid, what, count)' -x THIS."""

import time

import gdb

PID, WHAT, COUNT = ARGUMENTS  # noqa: F821
MALLCTL = "((int (*)(const char *, void *, unsigned long *, void *, unsigned long)) mallctl)"


def call(words):
    if int(gdb.parse_and_eval(f"{MALLCTL}({words})")) != 0:
        raise gdb.GdbError(f"mallctl({words}) failed")


def status():
    for number in range(13):
        gdb.execute("set var held_size = 8" if number not in (1, 2, 3, 4) else "set var held_size = 1")
        call(f"held_status[{number}], held_value, &held_size, 0, 0")


OPERATIONS = {
    "nothing": lambda: None,
    "status": status,
    "enable": lambda: call("held_active, 0, 0, &held_on, 1"),
    "dump": lambda: call("held_dump, 0, 0, &held_file, 8"),
}

for setting in ("pagination off", "confirm off", "debuginfod enabled off", "print inferior-events off", "print thread-events off"):
    gdb.execute(f"set {setting}")
for _ in range(COUNT):
    begin = time.monotonic_ns()
    gdb.execute(f"attach {PID}", to_string=True)
    OPERATIONS[WHAT]()
    gdb.execute("detach", to_string=True)
    print("times", begin, time.monotonic_ns(), flush=True)
