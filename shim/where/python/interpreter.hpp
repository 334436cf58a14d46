// Finds the Python interpreter of this process, and examines it before its stacks are read.
#pragma once

#include "record/events.hpp"
#include "shim/where/python/frames.hpp"

namespace fp32shim::where {

/// Returns the interpreter of this process. Returns nullptr if there is none, or if its stacks cannot be read.
/// Searches at the first call and, if this search found none, again after further objects were loaded. Prints one
/// line on stderr if the interpreter's version is unknown. Thread-safe, lock-free.
const PythonReader* python_reader();

/// Returns whether Python's stacks are read, and whether they were compared with what Python itself reports.
record::PythonReaderState python_state();

/// Compares the stack that the shim reads with the stack that Python's own functions return, once per process, when
/// the calling thread holds the GIL and runs Python: for instance while Python imports an extension module. If the
/// stacks differ, no stacks are read from then on, and one line on stderr says so.
void check_stack_reader_against_python();

}  // namespace fp32shim::where
