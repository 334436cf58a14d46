"""Multiplies at many places, and prints the place of each product as Python's own traceback knows it."""

import multiprocessing
import os
import sys
import threading
import traceback

import numpy

a = numpy.ones((8, 8), numpy.float32)


def place():
    frame = traceback.extract_stack(limit=2)[0]
    code = sys._getframe(1).f_code
    name = getattr(code, "co_qualname", code.co_name)
    print(f"{os.path.basename(frame.filename)}:{frame.lineno} {name}", flush=True)


class Model:
    def forward(self):
        place(); return a @ a


def twice():
    place(); numpy.dot(a, a)
    place(); numpy.matmul(a, a)


def in_a_generator():
    place(); yield a @ a


def through_c():
    return list(map(lambda x: (place(), x @ x), [a]))


def in_an_exception():
    try:
        raise ValueError
    except ValueError:
        place(); a @ a


def in_made_up_code():
    for cell in range(3):
        code = compile("\n" * cell + "place(); a @ a", f"<cell {cell}>", "exec")
        exec(code, {"place": place, "a": a})
        del code


class Dying:
    def __del__(self):
        place(); a @ a


def leave_something_to_delete():
    something = Dying()
    return something is None


def deep(depth):
    if depth > 0:
        return deep(depth - 1)
    place(); a @ a


def in_a_child():
    place(); a @ a


def on_threads():
    for _ in range(2):
        thread = threading.Thread(target=twice)
        thread.start()
        thread.join()


if __name__ == "__main__":
    Model().forward()
    twice()
    list(in_a_generator())
    through_c()
    in_an_exception()
    in_made_up_code()
    leave_something_to_delete()
    sys.setrecursionlimit(20_000)
    for depth in (100, 300, 3_000):
        deep(depth)
    on_threads()
    sys.settrace(lambda frame, event, argument: None)
    twice()
    sys.settrace(None)
    child = multiprocessing.get_context("fork").Process(target=in_a_child)
    child.start()
    child.join()
