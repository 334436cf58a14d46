"""Builds random trees of calls, and at their ends compares the stack that the shim's reader finds with Python's own.

    python_stacks.py LIBRARY SEED TREES
"""

import contextlib
import ctypes
import functools
import gc
import itertools
import random
import signal
import sys
import threading
import weakref

lib = ctypes.CDLL(sys.argv[1])
lib.python_stack_key.restype = ctypes.c_ulonglong
stacks = {}
local = threading.local()
checks = []
def bytes_of(text):
    """Returns the bytes that the shim stores for a name: UTF-8, or the original bytes of a file name that is not UTF-8."""
    try: return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError: return text.encode("utf-8", "surrogatepass")
def probe():
    buffers = local.__dict__.setdefault("buffers", [])  # the garbage collector may make Python call probe() within
                                                        # probe()
    buffer = buffers.pop() if buffers else ctypes.create_string_buffer(1 << 20)
    frame = sys._getframe()
    size = lib.python_stack(buffer, len(buffer))
    assert size != 0
    own = []
    while frame:
        code = frame.f_code
        own.append((bytes_of(code.co_filename), frame.f_lineno, bytes_of(getattr(code, "co_qualname", code.co_name))))
        frame = frame.f_back
    lines = [line.rsplit(b":", 2) for line in buffer.value.split(b"\n")[:-1]]
    read = [(file, int(line), name) for file, line, name in lines]
    buffers.append(buffer)
    if size < 0:  # more frames than the reader keeps
        own = own[:-size]
    # Equal keys must mean equal stacks, even if code was deleted and other code took its memory.
    key = lib.python_stack_key()
    assert key != 0 and stacks.setdefault(key, hash(tuple(own[1:]))) == hash(tuple(own[1:])), own
    # The innermost frame is this function, but at another line, so it is not compared.
    differing = [pair for pair in itertools.zip_longest(read[1:], own[1:]) if pair[0] != pair[1]]
    assert not differing, differing[:5]
    assert read[0][0] == own[0][0] and read[0][2] == own[0][2]
    checks.append(None)
rng = random.Random(int(sys.argv[2]))
def go(d):
    if d <= 0: return probe()
    rng.choice(ways)(d - 1)
def plain(d):
    x = 1
    go(d)
    return x
def lam(d): (lambda: go(d))()
def comp(d): [go(d) for _ in range(1)]
def gen(d):
    def g():
        yield 1
        go(d)
        yield 2
    list(g())
def genexp(d): list(go(d) for _ in range(1))
def yf(d):
    def a():
        yield from b()
    def b():
        yield
        go(d)
    for _ in a(): pass
def coro(d):
    async def c():
        await e()
    async def e(): go(d)
    try: c().send(None)
    except StopIteration: pass
def agen(d):
    async def ag():
        yield 1
        go(d)
        yield 2
    async def run():
        async for _ in ag(): pass
    try: run().send(None)
    except StopIteration: pass
def exc(d):
    try: raise ValueError
    except ValueError:
        try: go(d)
        finally: pass
def fin(d):
    try:
        pass
    finally:
        go(d)
def ctx(d):
    with contextlib.ExitStack() as s:
        s.callback(go, d)
@contextlib.contextmanager
def cm(d):
    go(d)
    yield
def ctx2(d):
    with cm(d): pass
def ccall(d): sorted([1], key=lambda _: go(d) or 0)
def cmap(d): list(map(lambda _: go(d), [1]))
def red(d): functools.reduce(lambda a, b: go(d), [1, 2])
class K:
    def __init__(self, d): go(d)
    @property
    def p(self): return go(self.d)
    def __eq__(self, o): go(o); return True
    def __add__(self, o): return go(o)
    def __getattr__(self, n):
        if n == "zz": return go(self.d)
        raise AttributeError(n)
def cls(d): K(d)
def prop(d):
    k = object.__new__(K); k.d = d
    k.p
def eq(d): object.__new__(K) == d
def add(d): object.__new__(K) + d
def ga(d):
    k = object.__new__(K); k.d = d
    k.zz
def ev(d): eval(compile("go(d)", "eingabe_ü.py", "eval"), {"go": go, "d": d})
def ex(d):
    ns = {"go": go, "d": d}
    exec(compile("\n" * rng.randrange(3000) + "def 関数(d):\n   x = (1,\n\n   go(\n d))\n関数(d)\n", "模块/𝔵.py", "exec"), ns)
def longf(d):
    ns = {"go": go, "d": d}
    body = "".join(f"  x{i} = {i}\n" for i in range(rng.randrange(600)))
    exec(compile("def f(d):\n" + body + "  go(d)\n" + "f(d)\n", "lang.py", "exec"), ns)
def clsbody(d):
    class Inner:
        go(d)
def multi(d):
    y = [1,
         2,
         go(
             d
         )]
def loop(d):
    for i in range(2):
        if i == 1: go(d)
def whl(d):
    n = 0
    while n < 1:
        n += 1
        go(d)
def th(d):
    err = []
    def run():
        try: go(d)
        except BaseException as e: err.append(e)
    t = threading.Thread(target=run); t.start(); t.join()
    if err: raise err[0]
def tracer(d):
    if sys.gettrace(): return go(d)
    sys.settrace(lambda f, e, a: None)
    try: go(d)
    finally: sys.settrace(None)
def prof(d):
    if sys.getprofile(): return go(d)
    sys.setprofile(lambda f, e, a: None)
    try: go(d)
    finally: sys.setprofile(None)
def renamed(d):
    code = compile("go(d)", rng.choice(["/\udcff\udc80/latin1.py", "\ud800.py", "ÿ.py", "文.py", "x" * 1000]), "exec")
    exec(code.replace(co_filename=code.co_filename + "?"), {"go": go, "d": d})
class Deleted:
    def __init__(self, d): self.d = d
    def __del__(self):
        try: go(self.d)
        except BaseException as e: failures.append(e)
def delete(d): Deleted(d)
def delete_local(d):
    keeps = Deleted(d)
    return 1
def collect(d):
    if threading.active_count() > 1: return go(d)  # without a GIL, the call waits for all threads to stop
    keeps = Deleted(d)
    keeps.cycle = keeps
    del keeps
    gc.collect()
def close(d):
    def g():
        try: yield 1
        finally: go(d)
    generator = g()
    next(generator)
    generator.close() if d % 2 else generator.throw(KeyError) if d % 3 else None
def closed(d):
    with contextlib.suppress(KeyError): close(d)
def weak(d):
    something = set()
    reference = weakref.ref(something, lambda _: Deleted(d))
    del something
def in_signal(d):
    if threading.current_thread() is not threading.main_thread(): return go(d)
    signal.signal(signal.SIGUSR1, lambda number, frame: go(d))
    signal.raise_signal(signal.SIGUSR1)
def match_(d): return dict(a=1, b=[go(d), 2])
def starcall(d):
    f = functools.partial(go)
    f(*[d], **{})
ways = [plain, lam, comp, gen, genexp, yf, coro, agen, exc, fin, ctx, ctx2, ccall, cmap, red, cls, prop, eq, add, ga, ev, ex, longf, clsbody, multi, loop, whl, th, tracer, prof, match_, starcall,
        renamed, delete, delete_local, collect, closed, weak, in_signal]
failures = []


def trees(count):
    try:
        for _ in range(count):
            go(rng.randrange(1, 12))
    except BaseException as error:
        failures.append(error)
        raise


# Half of the calls run on several threads at once, in parallel if Python has no GIL.
count = int(sys.argv[3])
sys.setswitchinterval(1e-4)
threads = [threading.Thread(target=trees, args=(count // 8,)) for _ in range(4)]
for thread in threads:
    thread.start()
trees(count - 4 * (count // 8))
for thread in threads:
    thread.join()
assert not failures, failures[0]


def deep(n):
    if n:
        deep(n - 1)
    else:
        probe()


sys.setrecursionlimit(20_000)
for depth in (10, 900, 3_000):
    deep(depth)
print(len(checks))
