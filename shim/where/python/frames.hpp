// Reads the calling thread's stack of Python frames without the GIL, since numpy and torch release the GIL before
// they multiply. Reads only objects that the thread's own running frames keep alive. Calls nothing that allocates,
// takes a lock or needs the GIL, so signal handlers may use it too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "shim/where/python/layout.hpp"

namespace fp32shim::where {

/// The frames of a thread, innermost first. Valid while their functions run.
struct PythonStack {
    static constexpr std::size_t capacity = 256;
    const char* frames[capacity];  ///< _PyInterpreterFrame or, before Python 3.11, PyFrameObject
    std::size_t count = 0;
    bool is_cut = false;  ///< true if outer frames were left out because `frames` was full
};

/// A location in a running Python function.
struct PythonLocation {
    const char* code;     ///< PyCodeObject
    std::int32_t offset;  ///< offset of the instruction, in bytes from the first instruction
};

/// Returns the address of a symbol in the process, or nullptr.
using FindSymbol = void* (*)(const char* name);

/// Returns true if these bytes can be read. May make a system call.
using IsReadable = bool (*)(const char* begin, std::size_t size);

/// Reads the stacks of the interpreter of this process.
class PythonReader {
  public:
    /// Finds the interpreter. Returns nothing if the process has none, or if its version or build is not known
    /// exactly. The reader calls `is_readable` before it reads memory to which a thread state points.
    static std::optional<PythonReader> find_interpreter(FindSymbol find_symbol, IsReadable is_readable);

    /// Results of verify_layout().
    enum class LayoutCheck : std::uint8_t {
        no_frames,    ///< the calling thread runs no Python function
        as_expected,  ///< each frame leads to a code object, and each code object to its texts and tables
        unlike,       ///< the memory does not look like the version that the interpreter claims to be
    };
    /// Examines the calling thread's stack before it is trusted. Checks that each byte can be read before reading it.
    LayoutCheck verify_layout() const;

    /// Returns a key of the calling thread's stack. Stacks at the same instructions of the same functions have equal
    /// keys; other stacks have equal keys with a chance of 2^-64. Never 0. Before Python 3.12, a function may be
    /// mistaken for a deleted function that was at its address. Both then have the same first line, and file names
    /// and line tables of equal size, beginning and end.
    std::uint64_t stack_key() const;
    static constexpr std::uint64_t key_of_no_frames = 1;  ///< stack_key() of a thread that runs no Python function
    static constexpr std::uint64_t key_at_shut_down = 2;  ///< stack_key() once the interpreter has begun to shut down

    /// Returns true once the interpreter has begun to shut down. From then on all stacks are read as empty.
    bool is_shutting_down() const { return is_shutting_down_() != 0; }

    /// Reads the stack of the calling thread. The result is empty for a thread that runs no Python function. Frames
    /// beyond the capacity are left out.
    void read_stack(PythonStack& stack) const;

    /// Returns the location that a traceback would show for a frame. Returns nothing for frames that tracebacks leave
    /// out: the interpreter's own frames, and frames whose function has not begun yet.
    std::optional<PythonLocation> location_of(const char* frame) const;

    /// Returns the line in the source file, counted from 1, or 0 if the instruction has no line.
    int line_of(const PythonLocation& location) const;

    /// Returns the path of the source file as UTF-8, stored in `buffer`. A path that does not fit ends in `…`. Bytes
    /// of a file name that are not UTF-8 stay unchanged.
    std::string_view file_of(const PythonLocation& location, std::span<char> buffer) const;

    /// Returns the function's qualified name (its plain name before Python 3.11) as UTF-8, stored in `buffer`. A name
    /// that does not fit ends in `…`.
    std::string_view function_of(const PythonLocation& location, std::span<char> buffer) const;

  private:
    const char* own_thread_state() const;
    const char* innermost_frame() const;
    bool can_read(const char* begin, std::size_t size) const;
    bool leads_to_code(const char* frame) const;
    bool belongs_to_interpreter(const char* frame) const;
    bool has_valid_text_state(const char* object) const;
    std::uint32_t string_state(const char* text) const;
    const char* copied_bytecode(const char* frame, const char* code) const;
    std::uint64_t code_stamp(const char* code) const;
    std::optional<std::int32_t> instruction_offset(const char* frame, const char* code) const;
    std::string_view read_text(const char* text, std::span<char> buffer) const;

    void* (*this_thread_)() = nullptr;     ///< PyGILState_GetThisThreadState
    int (*is_shutting_down_)() = nullptr;  ///< Py_IsFinalizing
    IsReadable is_readable_ = nullptr;
    const void* code_type_ = nullptr;
    const void* text_type_ = nullptr;
    const void* bytes_type_ = nullptr;
    std::uint64_t instruction_mask_ =
        UINT64_MAX;  ///< the mask of the instruction in the word at `frame_instruction`, an int before Python 3.11
    PythonLayout layout_{};
};

}  // namespace fp32shim::where
