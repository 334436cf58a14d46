#include "shim/where/python/frames.hpp"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <type_traits>

#include "system/hash.hpp"
#include "system/limited_text.hpp"

namespace fp32shim::where {
namespace {

constexpr int unit_size = 2;  ///< the number of bytes in one unit of bytecode
constexpr std::int32_t unknown_offset = -1;
constexpr std::uintptr_t tag_bits = 7;
constexpr std::uintptr_t frame_alignment_bits = 3;
/// The range of addresses that a frame can have.
constexpr std::uintptr_t lowest_frame = 0x1'0000, frame_space = std::uintptr_t{1} << 56;
/// Values of `frame_owner`; 3 or more means the interpreter itself.
constexpr char owner_generator = 1, owner_interpreter = 3;

// The fields of the state word of a str, after it was shifted so that the lowest bit of `kind` is bit 0.
constexpr std::uint32_t kind_mask = 7;  ///< the number of bytes per character
constexpr std::uint32_t is_compact = 8, is_ascii = 16;

constexpr std::uint64_t random_factors[] = {system::golden_ratio, 0xd1342543de82ef95, 0x62bba1b9f2757641};

// The number of bytes that an object of each kind has at least, in all versions of Python.
constexpr std::size_t state_size = 192, cframe_size = 2 * sizeof(void*), frame_size = 80, object_size = 16;

constexpr std::int64_t no_hash = -1;  ///< the stored hash of a text whose hash was not computed yet

/// Reads a field of an object of the interpreter.
template <class Value>
Value field(const char* object, std::int16_t offset) {
    Value value;
    std::memcpy(&value, object + offset, sizeof value);
    return value;
}

const char* pointer(const char* object, std::int16_t offset) { return field<const char*>(object, offset); }

/// Returns false for nullptr, and for numbers that cannot be the address of a frame. Debug builds leave such numbers
/// in freed memory. The rotation moves the low bits, which an aligned address does not have, to the top, so one
/// comparison checks the alignment and both ends of the range.
bool may_be_frame(const char* frame) {
    const std::uintptr_t above = reinterpret_cast<std::uintptr_t>(frame) - lowest_frame;
    return std::rotr(above, frame_alignment_bits) < frame_space >> frame_alignment_bits;
}

/// Returns a number computed from the size of a piece of memory and from its first and last eight bytes.
std::uint64_t stamp_of_bytes(const char* data, std::int64_t size) {
    std::uint64_t first = 0, last = 0;
    constexpr std::int64_t part = sizeof first;
    if (size >= part) {
        std::memcpy(&first, data, part);
        std::memcpy(&last, data + size - part, part);
    } else {
        for (std::int64_t i = 0; i < size; ++i) first = first << 8 | static_cast<unsigned char>(data[i]);
    }
    return ((first ^ static_cast<std::uint64_t>(size)) * random_factors[1]) ^ std::rotl(last, 29);
}

/// Appends a character as UTF-8. A character that stands for a byte of a file name that is not UTF-8 (PEP 383)
/// becomes that byte. Returns false if there is no room.
bool append_character(std::uint32_t character, std::span<char> buffer, std::size_t& size) {
    constexpr std::uint32_t first_escaped = 0xdc80, last_escaped = 0xdcff;
    if (character < first_escaped || character > last_escaped) return system::append_utf8(character, buffer, size);
    if (size == buffer.size()) return false;
    buffer[size++] = static_cast<char>(character);
    return true;
}

/// Returns the version at the beginning of a text such as "3.11.2 (main, …)", in the form of PY_VERSION_HEX with the
/// last byte 0. Returns 0 if there is none.
std::uint32_t version_in(const char* text) {
    std::uint32_t parts[3] = {};
    for (std::uint32_t& part : parts) {
        if (*text < '0' || *text > '9') return 0;
        while (*text >= '0' && *text <= '9' && part < 256)
            part = part * 10 + static_cast<std::uint32_t>(*text++ - '0');
        if (*text == '.') ++text;
    }
    return parts[0] << 24 | parts[1] << 16 | parts[2] << 8;
}

}  // namespace

std::optional<PythonReader> PythonReader::find_interpreter(FindSymbol find_symbol, IsReadable is_readable) {
    PythonReader python;
    python.is_readable_ = is_readable;
    const auto get_version = reinterpret_cast<const char* (*)()>(find_symbol("Py_GetVersion"));
    python.is_shutting_down_ = reinterpret_cast<int (*)()>(find_symbol("Py_IsFinalizing"));
    if (python.is_shutting_down_ == nullptr)  // the name before Python 3.13 has an underscore
        python.is_shutting_down_ = reinterpret_cast<int (*)()>(find_symbol("_Py_IsFinalizing"));
    python.this_thread_ = reinterpret_cast<void* (*)()>(find_symbol("PyGILState_GetThisThreadState"));
    python.code_type_ = find_symbol("PyCode_Type");
    python.text_type_ = find_symbol("PyUnicode_Type");
    python.bytes_type_ = find_symbol("PyBytes_Type");
    if (get_version == nullptr || python.is_shutting_down_ == nullptr || python.this_thread_ == nullptr ||
        python.code_type_ == nullptr || python.text_type_ == nullptr || python.bytes_type_ == nullptr)
        return std::nullopt;
    const std::optional<PythonLayout> layout = python_layout_of(version_in(get_version()), find_symbol("_PyRuntime"));
    if (!layout) return std::nullopt;
    python.layout_ = *layout;
    if (layout->instruction_form != InstructionForm::pointer) python.instruction_mask_ = UINT32_MAX;
    return python;
}

/// Returns the first instruction of the copy of the bytecode that a frame runs, or nullptr if it is unknown. Each
/// thread has its own copies, in an array that is preceded by their number. Another thread may replace the array by a
/// longer one, and free the old one, while this function reads it.
const char* PythonReader::copied_bytecode(const char* frame, const char* code) const {
    const auto index = field<std::int32_t>(frame, layout_.frame_bytecode_index);
    for (int attempt = 0; attempt < 4; ++attempt) {
        const char* copies = pointer(code, layout_.code_bytecode_copies);
        std::atomic_thread_fence(std::memory_order_acquire);
        if (copies == nullptr || index < 0 || index >= field<std::int64_t>(copies, 0)) return nullptr;
        const char* bytecode = pointer(copies + static_cast<std::ptrdiff_t>(sizeof(void*)) * (index + 1), 0);
        std::atomic_thread_fence(std::memory_order_acquire);
        if (pointer(code, layout_.code_bytecode_copies) == copies) return bytecode;
    }
    return nullptr;
}

std::optional<std::int32_t> PythonReader::instruction_offset(const char* frame, const char* code) const {
    if (layout_.instruction_form != InstructionForm::pointer) {
        const auto index = field<std::int32_t>(frame, layout_.frame_instruction);
        return layout_.instruction_form == InstructionForm::unit_offset ? index * unit_size : index;
    }
    const char* bytecode = code + layout_.code_bytecode;
    if (layout_.code_bytecode_copies >= 0) bytecode = copied_bytecode(frame, code);
    if (bytecode == nullptr) return std::nullopt;
    const std::ptrdiff_t offset = pointer(frame, layout_.frame_instruction) - bytecode;
    if (offset < -unit_size || offset > INT32_MAX) return std::nullopt;
    return static_cast<std::int32_t>(offset);
}

/// Returns true if the memory can be read. Remembers the pages that were found readable, for all threads.
[[gnu::always_inline]] inline bool PythonReader::can_read(const char* begin, std::size_t size) const {
    constexpr std::uintptr_t page_size = 4096;  // larger pages are checked in pieces of this size
    static constinit std::array<std::atomic<std::uintptr_t>, 1024> readable_pages{};
    const auto first = reinterpret_cast<std::uintptr_t>(begin) / page_size;
    const auto last = (reinterpret_cast<std::uintptr_t>(begin) + size - 1) / page_size;
    for (std::uintptr_t page = first; page <= last; ++page) {
        std::atomic<std::uintptr_t>& known = readable_pages[page % readable_pages.size()];
        if (known.load(std::memory_order_relaxed) == page) [[likely]]
            continue;
        if (!is_readable_(reinterpret_cast<const char*>(page * page_size), 1)) return false;
        known.store(page, std::memory_order_relaxed);
    }
    return true;
}

/// Returns the calling thread's state, or nullptr if it has none. If another thread deleted this thread's state,
/// Python still returns the pointer, but its memory may by now hold another thread's state or anything else.
[[gnu::always_inline]] inline const char* PythonReader::own_thread_state() const {
    const auto* thread = static_cast<const char*>(this_thread_());
    if (thread == nullptr || !can_read(thread, state_size)) return nullptr;
    return field<unsigned long>(thread, layout_.thread_id) == pthread_self() ? thread : nullptr;
}

/// Returns true if a frame and its code object can be read and look valid. Only the innermost frame needs this check,
/// because the interpreter keeps the frames of the innermost function's callers valid.
[[gnu::always_inline]] inline bool PythonReader::leads_to_code(const char* frame) const {
    if (!can_read(frame, frame_size)) return false;
    if (belongs_to_interpreter(frame)) return true;
    const auto* code = reinterpret_cast<const char*>(field<std::uintptr_t>(frame, layout_.frame_code) & ~tag_bits);
    return can_read(code, object_size) && pointer(code, layout_.object_type) == code_type_;
}

const char* PythonReader::innermost_frame() const {
    // Python frees the states and frames of other threads while it shuts down, so no frame is read then.
    if (is_shutting_down()) return nullptr;
    const char* const thread = own_thread_state();
    if (thread == nullptr) return nullptr;
    const char* frame = pointer(thread, layout_.thread_frame);
    if (layout_.cframe_frame >= 0 && may_be_frame(frame)) {
        if (!can_read(frame, cframe_size)) return nullptr;
        frame = pointer(frame, layout_.cframe_frame);
    }
    return may_be_frame(frame) && leads_to_code(frame) ? frame : nullptr;
}

void PythonReader::read_stack(PythonStack& stack) const {
    const char* frame = innermost_frame();
    for (stack.count = 0; may_be_frame(frame) && stack.count < PythonStack::capacity; ++stack.count) {
        stack.frames[stack.count] = frame;
        frame = pointer(frame, layout_.frame_previous);
    }
    stack.is_cut = may_be_frame(frame);
}

/// Returns a number that differs between a code object and one that is later at the same address.
[[gnu::always_inline]] inline std::uint64_t PythonReader::code_stamp(const char* code) const {
    if (layout_.code_version >= 0)
        if (const auto version = field<std::uint32_t>(code, layout_.code_version); version != 0) return version;
    std::uint64_t stamp = field<std::uint32_t>(code, layout_.code_first_line);
    if (const char* file = pointer(code, layout_.code_file); pointer(file, layout_.object_type) == text_type_) {
        const auto hash = field<std::int64_t>(file, layout_.text_hash);
        const std::uint32_t state = string_state(file);
        if (hash != no_hash)
            stamp ^= static_cast<std::uint64_t>(hash);
        else if ((state & is_compact) != 0)
            stamp ^= stamp_of_bytes(file + ((state & is_ascii) != 0 ? layout_.text_ascii : layout_.text_other),
                                    field<std::int64_t>(file, layout_.text_length) * (state & kind_mask));
    }
    if (const char* table = pointer(code, layout_.code_line_table);
        pointer(table, layout_.object_type) == bytes_type_)
        stamp = stamp * random_factors[0] +
                stamp_of_bytes(table + layout_.bytes_data, field<std::int64_t>(table, layout_.bytes_size));
    return stamp;
}

std::uint64_t PythonReader::stack_key() const {
    const char* const innermost = innermost_frame();
    if (innermost == nullptr) return is_shutting_down() ? key_at_shut_down : key_of_no_frames;
    // The loop is compiled twice, so that the loop for interpreters without copies of the bytecode, which nearly all
    // programs use, is short.
    const auto key_of = [&](auto has_copies) {
        std::uint64_t key = key_of_no_frames;
        const char* frame = innermost;
        for (std::size_t count = 0; may_be_frame(frame) && count < PythonStack::capacity; ++count) {
            const auto code = field<std::uintptr_t>(frame, layout_.frame_code) & ~tag_bits;
            auto instruction = field<std::uint64_t>(frame, layout_.frame_instruction) & instruction_mask_;
            const bool is_function = !belongs_to_interpreter(frame);
            // The memory of one copy of the bytecode may later hold another copy, so the key contains the
            // instruction's offset in the copy instead of its address.
            if (has_copies && is_function)
                instruction = static_cast<std::uint64_t>(
                    instruction_offset(frame, reinterpret_cast<const char*>(code)).value_or(unknown_offset));
            key = (std::rotl(key, 23) ^ code ^ instruction * random_factors[0]) * random_factors[1];
            if (is_function) key += code_stamp(reinterpret_cast<const char*>(code)) * random_factors[2];
            frame = pointer(frame, layout_.frame_previous);
        }
        return key > key_at_shut_down ? key : key + key_at_shut_down + 1;
    };
    return layout_.code_bytecode_copies >= 0 ? key_of(std::true_type()) : key_of(std::false_type());
}

/// Returns true for a frame of the interpreter itself, which runs no function.
bool PythonReader::belongs_to_interpreter(const char* frame) const {
    return layout_.frame_owner >= 0 && field<char>(frame, layout_.frame_owner) >= owner_interpreter;
}

/// Returns false for a str whose state word has an unexpected form. Returns true for objects of all other types,
/// including subclasses of str.
bool PythonReader::has_valid_text_state(const char* object) const {
    if (pointer(object, layout_.object_type) != text_type_) return true;
    const std::uint32_t kind = string_state(object) & kind_mask;
    return (kind == 1 || kind == 2 || kind == 4) && field<std::int64_t>(object, layout_.text_length) >= 0;
}

std::uint32_t PythonReader::string_state(const char* text) const {
    return field<std::uint32_t>(text, layout_.text_state) >> layout_.text_kind_bit;
}

PythonReader::LayoutCheck PythonReader::verify_layout() const {
    constexpr std::size_t code_size = 160, text_size = 56, most = 64;
    if (is_shutting_down()) return LayoutCheck::no_frames;
    const auto* thread = static_cast<const char*>(this_thread_());
    if (thread == nullptr) return LayoutCheck::no_frames;
    if (!is_readable_(thread, state_size)) return LayoutCheck::unlike;
    if (own_thread_state() == nullptr) return LayoutCheck::no_frames;
    const char* frame = pointer(thread, layout_.thread_frame);
    if (layout_.cframe_frame >= 0 && frame != nullptr) {
        if (!is_readable_(frame, cframe_size)) return LayoutCheck::unlike;
        frame = pointer(frame, layout_.cframe_frame);
    }
    const auto is_object = [&](const char* object, std::size_t size, const void* type) {
        return object != nullptr && is_readable_(object, size) && pointer(object, layout_.object_type) == type;
    };
    bool has_location = false;
    for (std::size_t count = 0; frame != nullptr && count < most; ++count) {
        if (!is_readable_(frame, frame_size)) return LayoutCheck::unlike;
        if (!belongs_to_interpreter(frame)) {
            const auto* code =
                reinterpret_cast<const char*>(field<std::uintptr_t>(frame, layout_.frame_code) & ~tag_bits);
            if (!is_object(code, code_size, code_type_)) return LayoutCheck::unlike;
            const char* table = pointer(code, layout_.code_line_table);
            if (!is_object(table, static_cast<std::size_t>(layout_.bytes_data), bytes_type_))
                return LayoutCheck::unlike;
            const auto size = field<std::int64_t>(table, layout_.bytes_size);
            if (size < 0 || size > INT32_MAX || !is_readable_(table + layout_.bytes_data + size, 1))
                return LayoutCheck::unlike;
            for (const std::int16_t text : {layout_.code_file, layout_.code_name}) {
                const char* object = pointer(code, text);
                if (object == nullptr || !is_readable_(object, text_size) || !has_valid_text_state(object))
                    return LayoutCheck::unlike;
            }
            has_location = has_location || location_of(frame).has_value();
        }
        frame = pointer(frame, layout_.frame_previous);
    }
    return has_location ? LayoutCheck::as_expected : LayoutCheck::no_frames;
}

std::optional<PythonLocation> PythonReader::location_of(const char* frame) const {
    const auto* code = reinterpret_cast<const char*>(field<std::uintptr_t>(frame, layout_.frame_code) & ~tag_bits);
    if (code == nullptr || pointer(code, layout_.object_type) != code_type_) return std::nullopt;
    const std::optional<std::int32_t> offset = instruction_offset(frame, code);
    if (!offset) return std::nullopt;
    if (layout_.frame_owner >= 0) {
        const auto owner = field<char>(frame, layout_.frame_owner);
        const std::int32_t body = field<std::int32_t>(code, layout_.code_first_traceable) * unit_size;
        if (owner >= owner_interpreter || (owner != owner_generator && *offset < body)) return std::nullopt;
    }
    return PythonLocation{code, *offset};
}

int PythonReader::line_of(const PythonLocation& location) const {
    const char* table = pointer(location.code, layout_.code_line_table);
    if (table == nullptr || pointer(table, layout_.object_type) != bytes_type_) return 0;
    const auto size = field<std::int64_t>(table, layout_.bytes_size);
    const auto* data = reinterpret_cast<const std::uint8_t*>(table + layout_.bytes_data);
    return where::line_at(layout_.line_table_form, {data, static_cast<std::size_t>(size)},
                          field<std::int32_t>(location.code, layout_.code_first_line), location.offset);
}

std::string_view PythonReader::file_of(const PythonLocation& location, std::span<char> buffer) const {
    return read_text(pointer(location.code, layout_.code_file), buffer);
}

std::string_view PythonReader::function_of(const PythonLocation& location, std::span<char> buffer) const {
    return read_text(pointer(location.code, layout_.code_name), buffer);
}

std::string_view PythonReader::read_text(const char* text, std::span<char> buffer) const {
    // A subclass of str has another layout, so its text is not read.
    if (text == nullptr || pointer(text, layout_.object_type) != text_type_) return {};
    const std::uint32_t state = string_state(text);
    const std::uint32_t bytes_per_character = state & kind_mask;
    if ((state & is_compact) == 0) return {};
    const auto length = field<std::int64_t>(text, layout_.text_length);
    const char* data = text + ((state & is_ascii) != 0 ? layout_.text_ascii : layout_.text_other);
    std::size_t size = 0;
    if ((state & is_ascii) != 0) {
        size = std::min(static_cast<std::size_t>(length), buffer.size());
        std::memcpy(buffer.data(), data, size);
        if (size < static_cast<std::size_t>(length)) return system::with_ellipsis(buffer, size);
        return {buffer.data(), size};
    }
    for (std::int64_t i = 0; i < length; ++i) {
        std::uint32_t character = 0;
        std::memcpy(&character, data + i * bytes_per_character, bytes_per_character < 4 ? bytes_per_character : 4);
        if (!append_character(character, buffer, size)) return system::with_ellipsis(buffer, size);
    }
    return {buffer.data(), size};
}

}  // namespace fp32shim::where
