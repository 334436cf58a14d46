// The shim's reader of Python stacks, as a library for a script: clients/scripts/python_stacks.py compares its
// answers with Python's own.
#include <dlfcn.h>

#include <cstdio>

#include "shim/where/python/frames.hpp"

using namespace fp32shim::where;

namespace {

const std::optional<PythonReader>& interpreter() {
    static const std::optional<PythonReader> python =
        PythonReader::find_interpreter([](const char* name) -> void* { return dlsym(RTLD_DEFAULT, name); },
                                       [](const char*, std::size_t) { return true; });
    return python;
}

}  // namespace

/// Returns the key of the calling thread's stack; 0: this version of Python is unknown.
extern "C" unsigned long long python_stack_key() { return interpreter() ? interpreter()->stack_key() : 0; }

/// Writes the calling thread's frames, innermost first, as lines `file:line:function`. Returns their number, negative
/// if outer frames were left out; 0: there are no frames, or this version of Python is unknown.
extern "C" int python_stack(char* out, int size) {
    const std::optional<PythonReader>& python = interpreter();
    if (!python || python->verify_layout() != PythonReader::LayoutCheck::as_expected) return 0;
    PythonStack stack;
    python->read_stack(stack);
    int used = 0, shown = 0;
    for (std::size_t i = 0; i < stack.count && used < size; ++i) {
        const std::optional<PythonLocation> location = python->location_of(stack.frames[i]);
        if (!location) continue;
        char file[1024], function[512];
        const std::string_view path = python->file_of(*location, file),
                               name = python->function_of(*location, function);
        used += std::snprintf(out + used, static_cast<std::size_t>(size - used), "%.*s:%d:%.*s\n",
                              static_cast<int>(path.size()), path.data(), python->line_of(*location),
                              static_cast<int>(name.size()), name.data());
        ++shown;
    }
    return stack.is_cut ? -shown : shown;
}
