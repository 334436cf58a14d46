// The memory layout of CPython's frames and of its tables of lines, from 3.9 on, by which the calling thread's stack
// is read without the GIL.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace fp32shim::where {

/// The form in which a frame stores its current instruction.
enum class InstructionForm : std::uint8_t {
    byte_offset,  ///< an int, the number of bytes from the first instruction (Python 3.9)
    unit_offset,  ///< an int, the number of units of two bytes from the first instruction (Python 3.10)
    pointer,      ///< the instruction's address (from Python 3.11 on)
};

/// The encoding of a code object's table of lines.
enum class LineTableForm : std::uint8_t {
    lnotab,     ///< the form of Python 3.9, described in CPython's Objects/lnotab_notes.txt
    ranges,     ///< the form of Python 3.10, described in that version's Objects/lnotab_notes.txt
    locations,  ///< the form since Python 3.11, described in Objects/locations.md and later in
                ///< InternalDocs/code_objects.md
};

/// The offsets of fields in one version of CPython, in bytes. The value -1 means that this version has no such field.
struct PythonLayout {
    InstructionForm instruction_form;
    LineTableForm line_table_form;
    std::int16_t thread_frame;  ///< in the thread state: points to the current frame or, if there is `cframe_frame`,
                                ///< to the _PyCFrame
    std::int16_t thread_id;     ///< in the thread state: an unsigned long, the pthread_self() of the state's thread
    std::int16_t cframe_frame = -1;  ///< in the _PyCFrame: points to the current frame
    std::int16_t frame_previous;
    std::int16_t frame_code;  ///< a strong reference, whose lowest bits may hold a tag
    std::int16_t frame_instruction;
    std::int16_t frame_owner = -1;  ///< a char; 1 means a generator, 3 or more the interpreter itself
    /// An int, the number of the frame's copy of the bytecode. Only free-threaded Python 3.14 has it.
    std::int16_t frame_bytecode_index = -1;
    std::int16_t code_file, code_name, code_line_table, code_first_line;
    std::int16_t code_version = -1;   ///< an unsigned number that no other code object has, or 0; from Python 3.12 on
    std::int16_t code_bytecode = -1;  ///< where the first instruction is stored
    std::int16_t code_first_traceable =
        -1;  ///< an int, the number of units from the first instruction to the function's body
    /// The pointer to an array of copies of the bytecode, one per thread. Only free-threaded Python 3.14 has it.
    std::int16_t code_bytecode_copies = -1;
    std::int16_t object_type;
    std::int16_t bytes_size, bytes_data;
    std::int16_t text_hash;  ///< the hash of the whole text, or -1 if it was not computed yet
    /// `text_ascii` is where the text of an ASCII str begins, and `text_other` is where the text of any other str
    /// begins.
    std::int16_t text_length, text_state, text_ascii, text_other = -1;
    std::int8_t text_kind_bit =
        2;  ///< the lowest of the three bits of `kind` in the state word; the bits `compact` and `ascii` follow
};

/// Returns the layout of a version (PY_VERSION_HEX), or nothing if the version is unknown. `runtime` is the address
/// of the interpreter's `_PyRuntime`. From Python 3.13 on, the layout is read from the description at the beginning
/// of `_PyRuntime`.
std::optional<PythonLayout> python_layout_of(std::uint32_t version, const void* runtime);

/// Returns the line of the instruction at this offset in bytes, or 0 if the instruction has no line. `first_line` is
/// co_firstlineno. Never reads outside `table`, whatever the table contains.
int line_at(LineTableForm form, std::span<const std::uint8_t> table, int first_line, int offset);

}  // namespace fp32shim::where
