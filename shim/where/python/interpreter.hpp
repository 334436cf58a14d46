// The Python interpreter of this process, found and examined before its stacks are read.
#pragma once

#include "record/events.hpp"
#include "shim/where/python/frames.hpp"

namespace fp32shim::where {

/// Returns the interpreter of this process; nullptr: there is none, or its stacks cannot be read. Looks for one at
/// the first call, and again when objects were loaded. Says in one line on stderr if there is one that is not known.
/// Thread-safe, lock-free.
const Python* python();

/// Returns the state of the reader of Python's stacks.
record::PythonState python_state();

/// Compares the stack that is read here with the one that Python's own functions give, once. To be called where the
/// calling thread holds the GIL, as while Python imports an extension module. If they differ, no stack is read any
/// more, and one line on stderr says so.
void compare_with_python();

}  // namespace fp32shim::where
