#include "shim/where/native/unwind_rules.hpp"

#include <climits>
#include <cstring>

#include "shim/memory/readable_pages.hpp"

namespace fp32shim::where {
namespace {

// Encodings of pointers (DW_EH_PE_…). The low four bits give the size, the next three the base that is added.
constexpr std::uint8_t pointer_omitted = 0xff, pointer_size_mask = 0x0f, pointer_base_mask = 0xf0;
constexpr std::uint8_t base_none = 0x00, base_here = 0x10;
constexpr std::uint8_t sorted_table = 0x3b;  ///< pairs of signed 4-byte offsets from the start of .eh_frame_hdr

/// Copies a value from a table. Returns false if one of its pages cannot be read.
template <class Value>
bool copy(const std::uint8_t* from, Value& value, ReadablePages& pages) {
    const auto address = reinterpret_cast<std::uintptr_t>(from);
    if (!pages.can_read(address) || !pages.can_read(address + sizeof value - 1)) return false;
    std::memcpy(&value, from, sizeof value);
    return true;
}

/// Reads the bytes of a table from front to back. After the end or a wrong value, all further reads return 0.
class TableReader {
  public:
    TableReader() = default;
    TableReader(std::span<const std::uint8_t> bytes, ReadablePages& pages)
        : at_(bytes.data()), end_(bytes.data() + bytes.size()), pages_(&pages) {}

    bool is_good() const { return is_good_; }
    bool is_at_end() const { return !is_good_ || at_ == end_; }
    std::uintptr_t address() const { return reinterpret_cast<std::uintptr_t>(at_); }
    void fail() { is_good_ = false; }

    template <class Value>
    Value read() {
        Value value{};
        const std::uint8_t* from = consume(sizeof value);
        if (from != nullptr && !copy(from, value, *pages_)) is_good_ = false;
        return value;
    }
    std::uint64_t read_uleb() { return read_leb(false); }
    std::int64_t read_sleb() { return static_cast<std::int64_t>(read_leb(true)); }
    /// Returns a reader of the next `size` bytes, and skips these bytes.
    TableReader next_part(std::uint64_t size) {
        const std::uint8_t* from = consume(size);
        return from == nullptr ? TableReader() : TableReader(std::span(from, size), *pages_);
    }
    std::uintptr_t read_pointer(std::uint8_t encoding) {
        const std::uintptr_t here = address();
        std::uint64_t value = 0;
        switch (encoding & pointer_size_mask) {
            case 0x0:
            case 0x4:
            case 0xc:
                value = read<std::uint64_t>();
                break;
            case 0x2:
                value = read<std::uint16_t>();
                break;
            case 0x3:
                value = read<std::uint32_t>();
                break;
            case 0xa:
                value = static_cast<std::uint64_t>(read<std::int16_t>());
                break;
            case 0xb:
                value = static_cast<std::uint64_t>(read<std::int32_t>());
                break;
            default:
                is_good_ = false;
        }
        if ((encoding & pointer_base_mask) == base_here) return value + here;
        if ((encoding & pointer_base_mask) != base_none) is_good_ = false;
        return value;
    }

  private:
    /// Reads a number in DWARF's LEB128 form: seven bits per byte, the lowest first.
    std::uint64_t read_leb(bool is_signed) {
        std::uint64_t value = 0;
        for (unsigned shift = 0; shift < 64; shift += 7) {
            const auto byte = read<std::uint8_t>();
            value |= std::uint64_t{byte & 0x7fU} << shift;
            if ((byte & 0x80) != 0) continue;
            if (is_signed && (byte & 0x40) != 0 && shift + 7 < 64) value |= ~std::uint64_t{0} << (shift + 7);
            return value;
        }
        is_good_ = false;
        return 0;
    }
    const std::uint8_t* consume(std::uint64_t size) {
        if (!is_good_ || size > static_cast<std::uint64_t>(end_ - at_)) {
            is_good_ = false;
            return nullptr;
        }
        const std::uint8_t* from = at_;
        at_ += size;
        return from;
    }

    const std::uint8_t* at_ = nullptr;
    const std::uint8_t* end_ = nullptr;
    ReadablePages* pages_ = nullptr;
    bool is_good_ = true;
};

/// Returns a reader of the bytes from `address` to the end of the segment. The reader is empty if the address is
/// outside the segment.
TableReader bytes_from_address(std::span<const std::uint8_t> segment, ReadablePages& pages, std::uintptr_t address) {
    const std::uintptr_t distance = address - reinterpret_cast<std::uintptr_t>(segment.data());
    return distance < segment.size() ? TableReader(segment.subspan(distance), pages) : TableReader();
}

/// Returns a reader of the .eh_frame entry at `address`, without the entry's size field. If there is no valid entry,
/// the reader is empty.
TableReader entry_at(std::span<const std::uint8_t> segment, ReadablePages& pages, std::uintptr_t address) {
    constexpr std::uint32_t size_is_long = 0xffffffff;
    TableReader bytes = bytes_from_address(segment, pages, address);
    const auto size = bytes.read<std::uint32_t>();
    if (size == 0 || size == size_is_long) bytes.fail();
    return bytes.is_good() ? bytes.next_part(size) : TableReader();
}

/// Searches the table of .eh_frame_hdr. Returns the address of the .eh_frame entry for an instruction, or 0 if there
/// is none.
std::uintptr_t find_entry(const UnwindTables& tables, ReadablePages& pages, std::uintptr_t instruction) {
    struct TablePair {
        std::int32_t begin, entry;
    };
    TableReader header(tables.header, pages);
    const auto version = header.read<std::uint8_t>();
    const auto frames_encoding = header.read<std::uint8_t>();
    const auto count_encoding = header.read<std::uint8_t>();
    const auto table_encoding = header.read<std::uint8_t>();
    if (version != 1 || table_encoding != sorted_table) return 0;
    if (frames_encoding != pointer_omitted) header.read_pointer(frames_encoding);
    const std::uintptr_t count = header.read_pointer(count_encoding);
    const auto base = reinterpret_cast<std::uintptr_t>(tables.header.data());
    const std::size_t room = tables.header.size() - (header.address() - base);
    if (!header.is_good() || count == 0 || count > room / sizeof(TablePair)) return 0;
    const auto* pairs = reinterpret_cast<const std::uint8_t*>(header.address());
    bool is_good = true;
    const auto pair_at = [&](std::size_t index) {
        TablePair pair{};
        is_good = copy(pairs + index * sizeof pair, pair, pages) && is_good;
        return pair;
    };
    const auto distance = static_cast<std::int64_t>(instruction - base);
    std::size_t first = 0, beyond = count;  // the last pair that begins at or before `instruction` is in this range
    while (beyond - first > 1) {
        const std::size_t middle = first + (beyond - first) / 2;
        (pair_at(middle).begin <= distance ? first : beyond) = middle;
    }
    const TablePair found = pair_at(first);
    return is_good && found.begin <= distance ? base + static_cast<std::uintptr_t>(std::int64_t{found.entry}) : 0;
}

/// The entry of .eh_frame that many functions share (CIE).
struct CommonEntry {
    std::uint64_t code_step = 0;
    std::int64_t data_step = 0;
    std::uint8_t pointer_encoding = 0;
    bool has_sizes = false;  ///< the entries of functions contain the size of their exception data
    bool is_signal = false;
    TableReader program;
};

/// Reads the data that the augmentation `letters` of a CIE announce. Returns false if a letter is unknown.
bool read_augmentation(const char* letters, TableReader& bytes, CommonEntry& common) {
    if (*letters == 0) return true;
    if (*letters++ != 'z') return false;
    common.has_sizes = true;
    TableReader data = bytes.next_part(bytes.read_uleb());
    for (; *letters != 0; ++letters) {
        switch (*letters) {
            case 'R':
                common.pointer_encoding = data.read<std::uint8_t>();
                break;
            case 'L':
                data.read<std::uint8_t>();
                break;
            case 'P': {
                constexpr std::uint8_t indirect = 0x80;
                data.read_pointer(static_cast<std::uint8_t>(data.read<std::uint8_t>() & ~indirect));
                break;
            }
            case 'S':
                common.is_signal = true;
                break;
            case 'B':
                break;  // aarch64: return addresses are signed with key B, not A, which does not matter here
            default:
                return false;
        }
    }
    return data.is_good();
}

bool read_common_entry(std::span<const std::uint8_t> segment, ReadablePages& pages, std::uintptr_t address,
                       CommonEntry& common) {
    constexpr std::size_t most_letters = 8;
    TableReader bytes = entry_at(segment, pages, address);
    if (bytes.read<std::uint32_t>() != 0) return false;
    const auto version = bytes.read<std::uint8_t>();
    if (version != 1 && version != 3) return false;
    char letters[most_letters + 1] = {};
    std::size_t count = 0;
    while (const auto letter = bytes.read<char>()) {
        if (count == most_letters) return false;
        letters[count++] = letter;
    }
    common.code_step = bytes.read_uleb();
    common.data_step = bytes.read_sleb();
    const std::uint64_t return_address = version == 1 ? bytes.read<std::uint8_t>() : bytes.read_uleb();
    if (!read_augmentation(letters, bytes, common)) return false;
    common.program = bytes;
    return bytes.is_good() && return_address == followed_registers[return_address_index];
}

/// A rule that is being computed.
struct UnwindState {
    FrameRule rule;
    bool is_outermost = false;
};

/// Executes the instructions of the tables (DW_CFA_…) up to an address.
class CfaInterpreter {
  public:
    CfaInterpreter(const CommonEntry& common, std::uint64_t distance) : common_(common), distance_(distance) {}

    UnwindState state;

    /// Executes a program until its end, or until it has passed the address at `distance` from the function's begin.
    /// Returns false if an instruction is unknown, or if an offset is too large.
    bool run(TableReader program) {
        while (!program.is_at_end() && !is_reached_) step(program);
        return program.is_good() && offsets_fit_;
    }
    /// Takes the current state as the initial one, to which later instructions may restore registers.
    void begin_function() { initial_ = state; }

  private:
    static constexpr std::size_t max_remembered = 8;

    static std::uint8_t index_of(std::uint64_t number) {
        if (number == stack_pointer_number) return stack_pointer_index;
        for (std::uint8_t index = 0; index < followed_count; ++index)
            if (followed_registers[index] == number) return index;
        return UINT8_MAX;
    }
    static bool is_followed(std::uint8_t index) { return index < followed_count; }
    static std::uint8_t bit(std::uint8_t index) { return static_cast<std::uint8_t>(1U << index); }

    std::int32_t offset(std::int64_t value) {
        if (value < INT32_MIN || value > INT32_MAX) offsets_fit_ = false;
        return static_cast<std::int32_t>(value);
    }
    /// Multiplies `factor` by the data alignment factor of the CIE. Wraps around if a damaged table has too large
    /// numbers.
    std::int64_t times_step(std::uint64_t factor) const {
        return static_cast<std::int64_t>(factor * static_cast<std::uint64_t>(common_.data_step));
    }
    void advance(std::uint64_t steps) {
        location_ += steps * common_.code_step;
        is_reached_ = location_ > distance_;
    }
    /// Forgets the rule for a register. Returns the register's index, or UINT8_MAX if the register is not followed.
    std::uint8_t forget(std::uint64_t number) {
        const std::uint8_t index = index_of(number);
        if (!is_followed(index)) return UINT8_MAX;
        const auto others = static_cast<std::uint8_t>(~bit(index));
        state.rule.saved &= others;
        state.rule.from_register &= others;
        state.rule.lost &= others;
        if (index == return_address_index) state.is_outermost = false;
        return index;
    }
    void set_saved(std::uint64_t number, std::int64_t from_frame) {
        const std::uint8_t index = forget(number);
        if (!is_followed(index)) return;
        state.rule.saved |= bit(index);
        state.rule.offsets[index] = offset(from_frame);
    }
    void set_lost(std::uint64_t number) {
        if (const std::uint8_t index = forget(number); is_followed(index)) state.rule.lost |= bit(index);
    }
    void set_initial(std::uint64_t number) {
        const std::uint8_t index = forget(number);
        if (!is_followed(index)) return;
        state.rule.saved |= initial_.rule.saved & bit(index);
        state.rule.lost |= initial_.rule.lost & bit(index);
        state.rule.offsets[index] = initial_.rule.offsets[index];
    }
    void set_frame(std::uint64_t number, std::int64_t from_register) {
        state.rule.frame_register = index_of(number);
        state.rule.frame_is_loaded = false;
        state.rule.frame_offset = offset(from_register);
    }
    /// Reads an expression `register plus offset`, optionally followed by a load from there. Stores the offset in
    /// `from_register`, and stores true in `is_dereferenced` if there is a load. Returns the register's number, or
    /// UINT64_MAX for any other expression.
    std::uint64_t read_expression(TableReader bytes, std::int64_t& from_register, bool& is_dereferenced) {
        constexpr std::uint8_t load = 0x06, first_register = 0x70, last_register = 0x8f;
        const auto code = bytes.read<std::uint8_t>();
        from_register = bytes.read_sleb();
        is_dereferenced = !bytes.is_at_end();
        if (code < first_register || code > last_register ||
            (is_dereferenced && bytes.read<std::uint8_t>() != load) || !bytes.is_at_end() || !bytes.is_good())
            return UINT64_MAX;
        return code - first_register;
    }
    void set_frame_by_expression(TableReader& program) {
        std::int64_t from_register = 0;
        bool is_dereferenced = false;
        const std::uint64_t number =
            read_expression(program.next_part(program.read_uleb()), from_register, is_dereferenced);
        set_frame(number, from_register);
        state.rule.frame_is_loaded = is_dereferenced;
    }
    void set_saved_by_expression(std::uint64_t number, TableReader& program) {
        std::int64_t from_register = 0;
        bool is_dereferenced = false;
        const std::uint64_t base =
            read_expression(program.next_part(program.read_uleb()), from_register, is_dereferenced);
        const std::uint8_t index = forget(number), base_index = index_of(base);
        if (!is_followed(index)) return;
        // A function that aligns its stack saves all registers relative to one and the same register. If a table
        // names a second one, the saved register counts as lost.
        const bool is_first = state.rule.from_register == 0;
        if (is_dereferenced || base_index > stack_pointer_index ||
            (!is_first && base_index != state.rule.base_register))
            return set_lost(number);
        set_saved(number, from_register);
        state.rule.from_register |= bit(index);
        state.rule.base_register = base_index;
    }
    void step(TableReader& program);
    void step_extended(std::uint8_t code, TableReader& program);
    void step_register(std::uint8_t code, std::uint64_t number, TableReader& program);

    const CommonEntry& common_;
    const std::uint64_t distance_;  ///< the distance from the beginning of the function to the address
    std::uint64_t location_ = 0;
    bool is_reached_ = false;
    bool offsets_fit_ = true;
    UnwindState initial_;
    UnwindState remembered_states_[max_remembered];
    std::size_t remembered_count_ = 0;
};

void CfaInterpreter::step(TableReader& program) {
    constexpr std::uint8_t low_bits = 0x3f;
    const auto code = program.read<std::uint8_t>();
    const auto low = static_cast<std::uint8_t>(code & low_bits);
    switch (code >> 6) {
        case 1:
            return advance(low);
        case 2:
            return set_saved(low, times_step(program.read_uleb()));
        case 3:
            return set_initial(low);
        default:
            return step_extended(low, program);
    }
}

void CfaInterpreter::step_extended(std::uint8_t code, TableReader& program) {
    switch (code) {
        case 0x00:  // DW_CFA_nop
        case 0x2d:  // DW_CFA_AARCH64_negate_ra_state: signatures are removed in any case
            return;
        case 0x02:
            return advance(program.read<std::uint8_t>());
        case 0x03:
            return advance(program.read<std::uint16_t>());
        case 0x04:
            return advance(program.read<std::uint32_t>());
        case 0x0a:  // DW_CFA_remember_state
            if (remembered_count_ == max_remembered) return program.fail();
            remembered_states_[remembered_count_++] = state;
            return;
        case 0x0b:  // DW_CFA_restore_state
            if (remembered_count_ == 0) return program.fail();
            state = remembered_states_[--remembered_count_];
            return;
        case 0x0d:  // DW_CFA_def_cfa_register
            state.rule.frame_register = index_of(program.read_uleb());
            return;
        case 0x0e:  // DW_CFA_def_cfa_offset
            state.rule.frame_offset = offset(static_cast<std::int64_t>(program.read_uleb()));
            return;
        case 0x0f:  // DW_CFA_def_cfa_expression
            return set_frame_by_expression(program);
        case 0x13:  // DW_CFA_def_cfa_offset_sf
            state.rule.frame_offset = offset(times_step(static_cast<std::uint64_t>(program.read_sleb())));
            return;
        case 0x2e:  // DW_CFA_GNU_args_size
            program.read_uleb();
            return;
        default:
            return step_register(code, program.read_uleb(), program);
    }
}

/// Executes an instruction whose first operand is a register.
void CfaInterpreter::step_register(std::uint8_t code, std::uint64_t number, TableReader& program) {
    switch (code) {
        case 0x05:  // DW_CFA_offset_extended
            return set_saved(number, times_step(program.read_uleb()));
        case 0x06:  // DW_CFA_restore_extended
            return set_initial(number);
        case 0x07:  // DW_CFA_undefined
            set_lost(number);
            if (index_of(number) == return_address_index) state.is_outermost = true;
            return;
        case 0x08:  // DW_CFA_same_value
            forget(number);
            return;
        case 0x0c:  // DW_CFA_def_cfa
            return set_frame(number, static_cast<std::int64_t>(program.read_uleb()));
        case 0x10:  // DW_CFA_expression
            return set_saved_by_expression(number, program);
        case 0x11:  // DW_CFA_offset_extended_sf
            return set_saved(number, times_step(static_cast<std::uint64_t>(program.read_sleb())));
        case 0x12:  // DW_CFA_def_cfa_sf
            return set_frame(number, times_step(static_cast<std::uint64_t>(program.read_sleb())));
        case 0x2f:  // DW_CFA_GNU_negative_offset_extended
            return set_saved(number, times_step(0 - program.read_uleb()));
        case 0x09:  // DW_CFA_register
        case 0x14:  // DW_CFA_val_offset
        case 0x15:  // DW_CFA_val_offset_sf
            program.read_uleb();
            return set_lost(number);
        case 0x16:  // DW_CFA_val_expression
            program.next_part(program.read_uleb());
            return set_lost(number);
        default:
            return program.fail();
    }
}

/// Returns true if the rule leads to the caller: the frame's address and the return address can be found.
bool leads_to_caller(const UnwindState& state) {
    constexpr auto return_address = static_cast<std::uint8_t>(1U << return_address_index);
    return state.rule.frame_register <= stack_pointer_index && (state.rule.lost & return_address) == 0;
}

}  // namespace

FrameRule find_frame_rule(const UnwindTables& tables, std::uintptr_t instruction) {
    ReadablePages pages(tables.is_readable);
    const std::uintptr_t address = find_entry(tables, pages, instruction);
    if (address == 0) return {};
    TableReader entry = entry_at(tables.segment, pages, address);
    const std::uintptr_t here = entry.address();
    const auto to_common = entry.read<std::uint32_t>();
    CommonEntry common;
    if (to_common == 0 || !entry.is_good() || !read_common_entry(tables.segment, pages, here - to_common, common))
        return {};
    const std::uintptr_t begin = entry.read_pointer(common.pointer_encoding);
    const std::uintptr_t size = entry.read_pointer(common.pointer_encoding & pointer_size_mask);
    if (common.has_sizes) entry.next_part(entry.read_uleb());
    if (!entry.is_good() || instruction - begin >= size) return {};
    FrameRule rule;
    if (common.is_signal) {
        rule.kind = FrameRule::FrameKind::signal;
        return rule;
    }
    CfaInterpreter interpreter(common, instruction - begin);
    if (!interpreter.run(common.program)) return {};
    interpreter.begin_function();
    if (!interpreter.run(entry)) return {};
    if (interpreter.state.is_outermost) {
        rule.kind = FrameRule::FrameKind::outermost;
        return rule;
    }
    if (!leads_to_caller(interpreter.state)) return {};
    rule = interpreter.state.rule;
    rule.kind = FrameRule::FrameKind::call;
    return rule;
}

}  // namespace fp32shim::where
