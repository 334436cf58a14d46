// The calling thread's stack of Python frames, read without the GIL: products run where numpy and torch have released
// it. Only objects that the thread's own running frames keep alive are read. Nothing is called that allocates, takes
// a lock or needs the GIL, so a signal handler may read too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "shim/where/python/layout.hpp"

namespace fp32shim::where {

/// A running Python function and the place in it. Valid while the function runs.
struct PythonFrame {
    const char* code;     ///< its PyCodeObject
    std::int32_t offset;  ///< of its instruction, in bytes from the first

    bool operator==(const PythonFrame&) const = default;
};

/// Returns the address of a symbol in the process, or nullptr.
using FindSymbol = void* (*)(const char* name);

/// The interpreter of this process.
class Python {
  public:
    /// Finds the interpreter. Returns nothing if the process has none, or one of a version or build that is not
    /// known exactly.
    static std::optional<Python> find(FindSymbol find_symbol);

    /// Reads the innermost frames of the calling thread, innermost first, and returns their number: 0 for a thread
    /// that runs no Python function. Frames beyond the end of `frames` are left out.
    std::size_t read_frames(std::span<PythonFrame> frames) const;

    /// Returns the line in the source file, counted from 1; 0 if the instruction has none.
    int line_of(const PythonFrame& frame) const;

    /// Returns the path of the source file as UTF-8, in `buffer`; shortened at its end if that is too small.
    std::string_view file_of(const PythonFrame& frame, std::span<char> buffer) const;

    /// Returns the function's qualified name (before 3.11 its name) as UTF-8, in `buffer`; shortened likewise.
    std::string_view function_of(const PythonFrame& frame, std::span<char> buffer) const;

  private:
    bool is_code(const char* object) const;
    std::optional<std::int32_t> offset_of(const char* frame, const char* code) const;
    bool is_complete(const char* frame, const char* code, std::int32_t offset) const;
    std::string_view text_of(const char* text, std::span<char> buffer) const;

    void* (*this_thread_)() = nullptr;  ///< PyGILState_GetThisThreadState
    const void* code_type_ = nullptr;
    const void* text_type_ = nullptr;
    const void* bytes_type_ = nullptr;
    PythonLayout layout_{};
};

}  // namespace fp32shim::where
