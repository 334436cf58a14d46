// The memory layout of CPython's frames, from 3.9 on: all that is needed to read the stack of the calling thread
// without the GIL.
#pragma once

#include <cstdint>
#include <optional>

namespace fp32shim::where {

/// The way in which a frame names its instruction.
enum class InstructionForm : std::uint8_t {
    byte_offset,  ///< int: bytes from the first instruction (3.9)
    unit_offset,  ///< int: units of two bytes (3.10)
    pointer,      ///< address (3.11 on)
};

/// The encoding of a code object's table of lines.
enum class LineTableForm : std::uint8_t {
    lnotab,     ///< 3.9: Objects/lnotab_notes.txt of CPython
    ranges,     ///< 3.10: the same file of that version
    locations,  ///< 3.11 on: Objects/locations.md, InternalDocs/code_objects.md
};

/// Offsets in bytes, of one version of CPython; -1: it has no such field.
struct PythonLayout {
    InstructionForm instruction_form;
    LineTableForm line_table_form;
    std::int16_t thread_frame;  ///< thread state: the current frame or, where `cframe_frame` is, the _PyCFrame
    std::int16_t thread_id;     ///< thread state: unsigned long, pthread_self() of its thread
    std::int16_t cframe_frame;  ///< _PyCFrame: the current frame
    std::int16_t frame_previous;
    std::int16_t frame_code;  ///< strong reference, whose lowest bits may be a tag
    std::int16_t frame_instruction;
    std::int16_t frame_owner;           ///< char; 1: a generator, 3 and more: the interpreter itself
    std::int16_t frame_bytecode_index;  ///< int: which copy of the bytecode; free-threaded 3.14
    std::int16_t code_file, code_name, code_line_table, code_first_line;
    std::int16_t code_version;          ///< unsigned: number that no other code object has, or 0; from 3.12 on
    std::int16_t code_bytecode;         ///< first instruction
    std::int16_t code_first_traceable;  ///< int: units from the first instruction to the first of the function's body
    std::int16_t code_bytecode_copies;  ///< array of copies, one per thread; free-threaded 3.14
    std::int16_t object_type;
    std::int16_t bytes_size, bytes_data;
    std::int16_t text_hash;                                        ///< hash of the whole text, -1: not computed yet
    std::int16_t text_length, text_state, text_ascii, text_other;  ///< str: `text_other` has the text if not ASCII
    std::int8_t text_kind_bit;  ///< lowest of the three bits of `kind` in the state; `compact` and `ascii` follow
};

/// Returns the layout of this version (PY_VERSION_HEX), or nothing if it is not known. `runtime`: address of the
/// interpreter's `_PyRuntime`, read from 3.13 on, where it begins with a description of the layout.
std::optional<PythonLayout> layout_of(std::uint32_t version, const void* runtime);

}  // namespace fp32shim::where
