// The memory layout of CPython's frames and of its tables of lines, from 3.9 on, by which the calling thread's stack
// is read without the GIL.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace fp32shim::where {

/// The form in which a frame stores its current instruction.
enum class InstructionForm : std::uint8_t {
    byte_offset,  ///< int: bytes from the first instruction (3.9)
    unit_offset,  ///< int: units of two bytes (3.10)
    pointer,      ///< address (3.11 on)
};

/// The encoding of a code object's table of lines.
enum class LineTableForm : std::uint8_t {
    lnotab,     ///< 3.9: Objects/lnotab_notes.txt of CPython
    ranges,     ///< 3.10: Objects/lnotab_notes.txt of that version
    locations,  ///< 3.11 on: Objects/locations.md, InternalDocs/code_objects.md
};

/// Offsets in bytes in one version of CPython. -1, where it is the initial value: the version has no such field.
struct PythonLayout {
    InstructionForm instruction_form;
    LineTableForm line_table_form;
    std::int16_t thread_frame;       ///< thread state: the current frame; with `cframe_frame`, the _PyCFrame
    std::int16_t thread_id;          ///< thread state: unsigned long, the pthread_self() of its thread
    std::int16_t cframe_frame = -1;  ///< _PyCFrame: the current frame
    std::int16_t frame_previous;
    std::int16_t frame_code;  ///< strong reference, whose lowest bits may hold a tag
    std::int16_t frame_instruction;
    std::int16_t frame_owner = -1;           ///< char; 1: a generator, 3 or more: the interpreter itself
    std::int16_t frame_bytecode_index = -1;  ///< int: number of the copy of the bytecode; free-threaded 3.14
    std::int16_t code_file, code_name, code_line_table, code_first_line;
    std::int16_t code_version = -1;   ///< unsigned: a number that no other code object has, or 0; from 3.12 on
    std::int16_t code_bytecode = -1;  ///< first instruction
    std::int16_t code_first_traceable =
        -1;  ///< int: units from the first instruction to the first of the function's body
    std::int16_t code_bytecode_copies = -1;  ///< array of copies, one per thread; free-threaded 3.14
    std::int16_t object_type;
    std::int16_t bytes_size, bytes_data;
    std::int16_t text_hash;  ///< hash of the whole text; -1: not computed yet
    std::int16_t text_length, text_state, text_ascii,
        text_other = -1;  ///< str: `text_other` has the text if not ASCII
    std::int8_t text_kind_bit =
        2;  ///< lowest of the three bits of `kind` in the state; `compact` and `ascii` follow it
};

/// Returns the layout of a version (PY_VERSION_HEX), or nothing if it is unknown. `runtime` is the address of the
/// interpreter's `_PyRuntime`. From 3.13 on, it begins with a description of the layout, which is read.
std::optional<PythonLayout> python_layout_of(std::uint32_t version, const void* runtime);

/// Returns the line of the instruction at this offset in bytes, or 0 if it has none. `first_line` is co_firstlineno.
/// Never reads outside `table`, whatever it contains.
int line_at(LineTableForm form, std::span<const std::uint8_t> table, int first_line, int offset);

}  // namespace fp32shim::where
