"""Multiplies in functions and files of odd names, and prints each place, as JSON, if UTF-8 has it."""

import json
import os

import numpy

a = numpy.ones((4, 4), numpy.float32)
ODD = ["ÿ.py", "文/文.py", "𝔵.py", "line\nfeed.py", "nul\0.py", "tab\t\x1b[31m.py", "\u202eyp.py", "</script><b>&.py",
       '"quote\\.py', "latin1-\udcff.py", "lone-\ud800.py", "long" * 300, "文" * 400, "", "/"]

for name in ODD:
    variables = {}
    exec(compile("def f(a): return a @ a", "made_up.py", "exec"), variables)
    function = variables["f"]
    code = function.__code__
    names = dict(co_filename=name, co_name=name)
    if hasattr(code, "co_qualname"):
        names["co_qualname"] = name
    function.__code__ = code.replace(**names)
    function(a)
    print(json.dumps(f"{os.path.basename(name)}:1 {name}"))
