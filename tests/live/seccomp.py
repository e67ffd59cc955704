# SPDX-License-Identifier: Apache-2.0
"""System calls that are refused, as an older kernel or a container refuses them."""

import ctypes
import os
import struct

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
RET_ALLOW, RET_EPERM, RET_ENOTTY = 0x7FFF0000, 0x00050001, 0x00050019
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
NUMBER, SECOND_ARGUMENT, THIRD_ARGUMENT = 0, 24, 32  # offsets in struct seccomp_data
IOCTL = {"x86_64": 16, "aarch64": 29}
PIDFD_GET_INFO = 0xC040FF0B


def install(program):
    """A filter of (code, jump if true, jump if false, operand), for this process and what it executes."""
    filters = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in program))
    head = ctypes.create_string_buffer(struct.pack("@HP", len(program), ctypes.addressof(filters)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, head, 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp")


def refuse_pidfd_info():
    """As a kernel before Linux 6.13, whose pidfds tell nothing."""
    install([(LOAD, 0, 0, NUMBER), (EQUAL, 0, 3, IOCTL[os.uname().machine]), (LOAD, 0, 0, SECOND_ARGUMENT), (EQUAL, 0, 1, PIDFD_GET_INFO),
             (RETURN, 0, 0, RET_ENOTTY), (RETURN, 0, 0, RET_ALLOW)])
