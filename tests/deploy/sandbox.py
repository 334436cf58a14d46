"""Runs a program under what systemd's hardening asks of the kernel, since no systemd is needed for that.

    sandbox.py --deny-write-execute -- PROGRAM...            as MemoryDenyWriteExecute=yes
    sandbox.py --system-calls NAME,NAME... -- PROGRAM...     as SystemCallFilter=: all others fail with EPERM
"""

import argparse
import ctypes
import errno
import mmap
import os

ALLOW, ERRNO = 0x7FFF0000, 0x00050000
COMPARE_MASKED_EQUAL = 7


class Comparison(ctypes.Structure):
    """struct scmp_arg_cmp: the condition that an argument, masked by the first number, equals the second one."""
    _fields_ = [("argument", ctypes.c_uint), ("operator", ctypes.c_int), ("mask", ctypes.c_uint64), ("value", ctypes.c_uint64)]


seccomp = ctypes.CDLL("libseccomp.so.2", use_errno=True)
seccomp.seccomp_init.restype = ctypes.c_void_p
seccomp.seccomp_rule_add_array.argtypes = [ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int, ctypes.c_uint, ctypes.c_void_p]
seccomp.seccomp_load.argtypes = [ctypes.c_void_p]


def number_of(name):
    return seccomp.seccomp_syscall_resolve_name(name.encode())


def add(context, action, name, *comparisons):
    array = (Comparison * len(comparisons))(*comparisons)
    assert seccomp.seccomp_rule_add_array(context, action, number_of(name), len(comparisons), array) == 0, name


def allow_only(names):
    context = seccomp.seccomp_init(ERRNO | errno.EPERM)
    for name in names:
        if number_of(name) >= 0:  # other numbers belong to another architecture
            add(context, ALLOW, name)
    assert seccomp.seccomp_load(context) == 0


def deny_write_execute():
    """Adds the rules of systemd's seccomp_memory_deny_write_execute()."""
    context = seccomp.seccomp_init(ALLOW)
    both = mmap.PROT_WRITE | mmap.PROT_EXEC
    add(context, ERRNO | errno.EPERM, "mmap", Comparison(2, COMPARE_MASKED_EQUAL, both, both))
    for name in ("mprotect", "pkey_mprotect"):
        add(context, ERRNO | errno.EPERM, name, Comparison(2, COMPARE_MASKED_EQUAL, mmap.PROT_EXEC, mmap.PROT_EXEC))
    assert seccomp.seccomp_load(context) == 0


parser = argparse.ArgumentParser()
parser.add_argument("--deny-write-execute", action="store_true")
parser.add_argument("--system-calls", default="")
parser.add_argument("program", nargs="+")
options = parser.parse_args()
if options.deny_write_execute:
    deny_write_execute()
if options.system_calls:
    allow_only(options.system_calls.split(","))
os.execvp(options.program[0], options.program)
