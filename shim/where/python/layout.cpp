#include "shim/where/python/layout.hpp"

#include <cstring>

namespace fp32shim::where {
namespace {

// Offsets in 64-bit builds, from the headers of CPython 3.9.2, 3.10.4, 3.11.2 and 3.12.3. The offsets do not change
// within a minor version.
constexpr PythonLayout python_3_9 = {.instruction_form = InstructionForm::byte_offset,
                                     .line_table_form = LineTableForm::lnotab,
                                     .thread_frame = 24,
                                     .thread_id = 176,
                                     .frame_previous = 24,
                                     .frame_code = 32,
                                     .frame_instruction = 104,
                                     .code_file = 104,
                                     .code_name = 112,
                                     .code_line_table = 120,
                                     .code_first_line = 40,
                                     .object_type = 8,
                                     .bytes_size = 16,
                                     .bytes_data = 32,
                                     .text_hash = 24,
                                     .text_length = 16,
                                     .text_state = 32,
                                     .text_ascii = 48,
                                     .text_other = 72};

constexpr PythonLayout python_3_10 = [] {
    PythonLayout layout = python_3_9;
    layout.instruction_form = InstructionForm::unit_offset;
    layout.line_table_form = LineTableForm::ranges;
    layout.frame_instruction = 96;
    return layout;
}();

constexpr PythonLayout python_3_11 = [] {
    PythonLayout layout = python_3_9;
    layout.instruction_form = InstructionForm::pointer;
    layout.line_table_form = LineTableForm::locations;
    layout.thread_frame = 56;
    layout.thread_id = 152;
    layout.cframe_frame = 8;
    layout.frame_previous = 48;
    layout.frame_instruction = 56;
    layout.frame_owner = 69;
    layout.code_file = 112;
    layout.code_name = 128;
    layout.code_line_table = 136;
    layout.code_first_line = 72;
    layout.code_bytecode = 184;
    layout.code_first_traceable = 168;
    return layout;
}();

constexpr PythonLayout python_3_12 = [] {
    PythonLayout layout = python_3_11;
    layout.thread_id = 136;
    layout.cframe_frame = 0;
    layout.frame_previous = 8;
    layout.frame_code = 0;
    layout.frame_owner = 70;
    layout.code_first_line = 68;
    layout.code_version = 92;
    layout.code_bytecode = 192;
    layout.code_first_traceable = 176;
    layout.text_ascii = 40;
    layout.text_other = 56;
    return layout;
}();

/// For each field that the shim reads, the index of the word of _Py_DebugOffsets that holds the field's offset, or
/// no_word. The beginning of _Py_DebugOffsets is the same in all versions of Python.
struct DebugOffsetWords {
    std::uint16_t thread_current_frame, thread_id;
    std::uint16_t frame_previous, frame_executable, frame_instr_ptr, frame_owner, frame_tlbc_index;
    std::uint16_t code_filename, code_qualname, code_linetable, code_firstlineno, code_co_code_adaptive, code_co_tlbc;
    std::uint16_t object_ob_type;
    std::uint16_t bytes_ob_size, bytes_ob_sval;
    std::uint16_t unicode_state, unicode_length, unicode_asciiobject_size;
};
constexpr std::size_t no_word = 0;

// Sources: Include/internal/pycore_runtime.h of CPython 3.13, pycore_debug_offsets.h of CPython 3.14.
constexpr DebugOffsetWords words_3_13 = {23, 24, 29,      30, 31, 33, no_word, 35, 37, 38,
                                         39, 43, no_word, 45, 65, 66, 68,      69, 70};
constexpr DebugOffsetWords words_3_14 = {26, 27, 32, 33, 34, 36, 38, 40, 42, 43, 44, 48, 49, 51, 75, 76, 78, 79, 80};

std::optional<PythonLayout> layout_by_debug_offsets(std::uint32_t version, const void* runtime,
                                                    const DebugOffsetWords& words) {
    constexpr char cookie[] = {'x', 'd', 'e', 'b', 'u', 'g', 'p', 'y'};
    if (runtime == nullptr || std::memcmp(runtime, cookie, sizeof cookie) != 0) return std::nullopt;
    const auto* offsets = static_cast<const std::uint64_t*>(runtime);
    constexpr std::size_t version_word = 1, free_threaded_word = 2;
    if (offsets[version_word] >> 8 != version >> 8) return std::nullopt;
    const bool is_free_threaded = offsets[free_threaded_word] != 0;
    const bool has_copies = is_free_threaded && words.code_co_tlbc != no_word;
    bool fits = true;
    const auto offset = [&](std::size_t word) {
        fits = fits && offsets[word] <= INT16_MAX;
        return static_cast<std::int16_t>(offsets[word]);
    };
    PythonLayout layout = {.instruction_form = InstructionForm::pointer,
                           .line_table_form = LineTableForm::locations,
                           .thread_frame = offset(words.thread_current_frame),
                           .thread_id = offset(words.thread_id),
                           .frame_previous = offset(words.frame_previous),
                           .frame_code = offset(words.frame_executable),
                           .frame_instruction = offset(words.frame_instr_ptr),
                           .frame_owner = offset(words.frame_owner),
                           .code_file = offset(words.code_filename),
                           .code_name = offset(words.code_qualname),
                           .code_line_table = offset(words.code_linetable),
                           .code_first_line = offset(words.code_firstlineno),
                           .code_bytecode = offset(words.code_co_code_adaptive),
                           .object_type = offset(words.object_ob_type),
                           .bytes_size = offset(words.bytes_ob_size),
                           .bytes_data = offset(words.bytes_ob_sval),
                           .text_hash = static_cast<std::int16_t>(offset(words.unicode_length) + 8),
                           .text_length = offset(words.unicode_length),
                           .text_state = offset(words.unicode_state),
                           .text_ascii = offset(words.unicode_asciiobject_size)};
    // _Py_DebugOffsets lacks some fields, but their positions are fixed. The code object's version follows six
    // numbers, of which the first is its first line. `_co_firsttraceable`, `co_extra` and, if there are copies, the
    // pointer to the copies lie in this order directly before the bytecode.
    layout.code_first_traceable =
        static_cast<std::int16_t>(layout.code_bytecode - (has_copies ? 3 : 2) * sizeof(void*));
    layout.code_version = static_cast<std::int16_t>(layout.code_first_line + 6 * sizeof(std::int32_t));
    layout.text_other = static_cast<std::int16_t>(
        layout.text_ascii + 2 * sizeof(void*));  // the length and address of the UTF-8 copy lie in between
    if (has_copies) {  // only in free-threaded Python 3.14; in 3.13 all threads still share one bytecode
        layout.frame_bytecode_index = offset(words.frame_tlbc_index);
        layout.code_bytecode_copies = offset(words.code_co_tlbc);
        layout.text_kind_bit = 8;  // `interned` is a separate byte before `kind`
    }
    return fits ? std::optional(layout) : std::nullopt;
}

using Table = std::span<const std::uint8_t>;

std::int64_t line_in_lnotab(Table table, std::int64_t line, int offset) {
    std::int64_t address = 0;
    for (std::size_t i = 0; i + 1 < table.size(); i += 2) {
        address += table[i];
        if (address > offset) break;
        line += static_cast<std::int8_t>(table[i + 1]);
    }
    return line;
}

std::int64_t line_in_ranges(Table table, std::int64_t line, int offset) {
    constexpr std::int8_t no_line = -128;
    std::int64_t end = 0;
    for (std::size_t i = 0; i + 1 < table.size(); i += 2) {
        end += table[i];
        const auto change = static_cast<std::int8_t>(table[i + 1]);
        if (change != no_line) line += change;
        if (offset < end) return change == no_line ? 0 : line;
    }
    return 0;
}

/// Reads the numbers of an entry of a table of lines in the form `locations`. Each byte has six bits of a number, the
/// lowest bits first. Bit 6 means that another byte follows.
class LineEntryReader {
  public:
    LineEntryReader(Table table, std::size_t position) : table_(table), position_(position) {}

    std::int64_t signed_number() {
        const unsigned value = number();
        const auto magnitude = std::int64_t{value >> 1};
        return (value & 1) != 0 ? -magnitude : magnitude;
    }

  private:
    unsigned number() {
        unsigned value = 0;
        for (unsigned shift = 0; shift < 32 && position_ < table_.size(); shift += 6) {
            const unsigned byte = table_[position_++];
            value |= (byte & 63) << shift;
            if ((byte & 64) == 0) break;
        }
        return value;
    }

    Table table_;
    std::size_t position_;
};

std::int64_t line_in_locations(Table table, std::int64_t line, int offset) {
    constexpr int unit_size = 2;
    constexpr unsigned one_line_0 = 10, one_line_2 = 12, no_columns = 13, with_columns = 14, no_line = 15;
    std::int64_t end = 0;
    for (std::size_t i = 0; i < table.size(); ++i) {
        if ((table[i] & 128) == 0) continue;  // not the first byte of an entry
        const unsigned code = table[i] >> 3 & 15;
        end += ((table[i] & 7) + 1) * unit_size;
        if (code >= one_line_0 && code <= one_line_2) line += code - one_line_0;
        if (code == no_columns || code == with_columns) line += LineEntryReader(table, i + 1).signed_number();
        if (offset < end) return code == no_line ? 0 : line;
    }
    return 0;
}

}  // namespace

std::optional<PythonLayout> python_layout_of(std::uint32_t version, const void* runtime) {
    static_assert(sizeof(void*) == 8);
    constexpr PythonLayout known[] = {python_3_9, python_3_10, python_3_11, python_3_12};
    constexpr std::uint32_t first = 0x0309, before_end = first + std::size(known);
    const std::uint32_t minor = version >> 16;
    if (minor >= first && minor < before_end) return known[minor - first];
    if (minor == 0x030d) return layout_by_debug_offsets(version, runtime, words_3_13);
    if (minor == 0x030e) return layout_by_debug_offsets(version, runtime, words_3_14);
    return std::nullopt;
}

int line_at(LineTableForm form, Table table, int first_line, int offset) {
    const auto find = form == LineTableForm::lnotab   ? line_in_lnotab
                      : form == LineTableForm::ranges ? line_in_ranges
                                                      : line_in_locations;
    return static_cast<int>(find(table, first_line, offset));
}

}  // namespace fp32shim::where
