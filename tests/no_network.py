"""Runs ``aiscore ARGUMENTS`` where using the network kills the process, in any language.

A filter of system calls (seccomp), which every thread and process below
inherits, ends a process with SIGSYS when it makes an IPv4 socket, or the
netlink socket by which the C library begins a look-up, and when it connects,
listens or sends a datagram by whatever socket. An IPv6 socket may be made:
urllib3, which Keras imports, does so to see whether it could.
"""

import ctypes
import os
import platform
import socket
import sys

# Numbers of the calls: socket, and connect, listen, sendto, sendmsg, sendmmsg.
CALLS = {"x86_64": (41, (42, 50, 44, 46, 307)), "aarch64": (198, (203, 201, 206, 211, 269))}
FAMILIES = (socket.AF_INET, socket.AF_NETLINK)
LOAD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06  # linux/bpf_common.h
NUMBER, FIRST_ARGUMENT = 0, 16  # struct seccomp_data
ALLOW, KILL_PROCESS = 0x7FFF0000, 0x80000000
NO_NEW_PRIVILEGES, SECCOMP, FILTER = 38, 22, 2  # prctl(2)


class Instruction(ctypes.Structure):
    """struct sock_filter"""

    _fields_ = (
        ("code", ctypes.c_uint16),
        ("if_true", ctypes.c_uint8),
        ("if_false", ctypes.c_uint8),
        ("value", ctypes.c_uint32),
    )


class Program(ctypes.Structure):
    """struct sock_fprog"""

    _fields_ = (("length", ctypes.c_uint16), ("instructions", ctypes.POINTER(Instruction)))


def forbid_network() -> None:
    """From here on, for this process and all that it starts; raises OSError where it cannot be."""
    make_socket, others = CALLS[platform.machine()]
    allow = len(others) + 3 + len(FAMILIES)  # where the last two steps stand
    kill = allow + 1
    steps = [(LOAD, 0, 0, NUMBER)]
    for number in others:
        steps.append((JUMP_IF_EQUAL, kill - len(steps) - 1, 0, number))
    steps.append((JUMP_IF_EQUAL, 0, allow - len(steps) - 1, make_socket))
    steps.append((LOAD, 0, 0, FIRST_ARGUMENT))
    for family in FAMILIES:
        steps.append((JUMP_IF_EQUAL, kill - len(steps) - 1, 0, family))
    steps += [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, KILL_PROCESS)]
    instructions = (Instruction * len(steps))(*(Instruction(*step) for step in steps))
    program = Program(len(steps), instructions)
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    prctl.argtypes = [ctypes.c_int, *4 * [ctypes.c_ulong]]
    filtering = (SECCOMP, FILTER, ctypes.addressof(program), 0, 0)
    for call in ((NO_NEW_PRIVILEGES, 1, 0, 0, 0), filtering):
        if prctl(*call):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))


if __name__ == "__main__":
    try:
        forbid_network()
    except (OSError, KeyError) as error:
        sys.exit(f"no filter of system calls here: {error}")
    match sys.argv[1:]:
        case ["connect"]:
            socket.create_connection(("127.0.0.1", 9))
        case ["look up"]:
            socket.getaddrinfo("example.org", 80)
        case ["connect by IPv6"]:
            socket.socket(socket.AF_INET6).connect(("::1", 9))
        case ["listen"]:
            socket.socket(socket.AF_INET6).listen()
        case ["send"]:
            socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).sendto(b"", ("::1", 9))
    from aiscore.cli.main import main

    sys.exit(main(sys.argv[1:]))
