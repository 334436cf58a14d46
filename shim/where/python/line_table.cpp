#include "shim/where/python/line_table.hpp"

namespace fp32shim::where {
namespace {

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

/// Reads the numbers of an entry: six bits per byte, the lowest first. Bit 6 means that another byte follows.
class EntryReader {
  public:
    EntryReader(Table table, std::size_t position) : table_(table), position_(position) {}

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
        if (code == no_columns || code == with_columns) line += EntryReader(table, i + 1).signed_number();
        if (offset < end) return code == no_line ? 0 : line;
    }
    return 0;
}

}  // namespace

int line_at(LineTableForm form, Table table, int first_line, int offset) {
    const auto find = form == LineTableForm::lnotab   ? line_in_lnotab
                      : form == LineTableForm::ranges ? line_in_ranges
                                                      : line_in_locations;
    return static_cast<int>(find(table, first_line, offset));
}

}  // namespace fp32shim::where
