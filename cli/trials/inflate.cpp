#include "cli/trials/inflate.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace fp32shim::cli {
namespace {

constexpr std::size_t longest_code = 15;

/// The data are damaged.
struct Damaged {};

/// Reads bits, the lowest of each byte first.
class Bits {
  public:
    explicit Bits(std::string_view bytes) : bytes_(bytes) {}

    unsigned take(unsigned count) {
        while (held_ < count) {
            if (next_ == bytes_.size()) throw Damaged{};
            word_ |= std::uint64_t{static_cast<unsigned char>(bytes_[next_++])} << held_;
            held_ += 8;
        }
        const auto bits = static_cast<unsigned>(word_ & ((std::uint64_t{1} << count) - 1));
        word_ >>= count;
        held_ -= count;
        return bits;
    }

    /// Returns the next bytes, from the begin of a byte.
    std::string_view take_bytes(std::size_t count) {
        next_ -= held_ / 8;
        word_ = held_ = 0;
        if (count > bytes_.size() - next_) throw Damaged{};
        next_ += count;
        return bytes_.substr(next_ - count, count);
    }

  private:
    std::string_view bytes_;
    std::size_t next_ = 0;
    std::uint64_t word_ = 0;
    unsigned held_ = 0;
};

/// A prefix code, given by the length of each symbol's code. Codes of one length are successive numbers.
class Code {
  public:
    explicit Code(const std::vector<std::uint8_t>& lengths) {
        for (const std::uint8_t length : lengths) ++count_[length];
        count_[0] = 0;
        std::array<unsigned, longest_code + 2> begin{};
        for (std::size_t length = 1; length <= longest_code; ++length)
            begin[length + 1] = begin[length] + count_[length];
        symbols_.resize(lengths.size());
        for (unsigned symbol = 0; symbol < lengths.size(); ++symbol)
            if (lengths[symbol] > 0) symbols_[begin[lengths[symbol]]++] = symbol;
    }

    unsigned take(Bits& bits) const {
        unsigned code = 0, first = 0, index = 0;
        for (std::size_t length = 1; length <= longest_code; ++length) {
            code |= bits.take(1);
            if (code < first) throw Damaged{};
            if (code < first + count_[length]) return symbols_[index + code - first];
            index += count_[length];
            first = (first + count_[length]) << 1;
            code <<= 1;
        }
        throw Damaged{};
    }

  private:
    std::array<unsigned, longest_code + 1> count_{};  ///< symbols by the length of their code
    std::vector<unsigned> symbols_;                   ///< by length and code
};

/// The codes of a block: of bytes and lengths, and of distances.
struct Codes {
    Code symbols, distances;
};

Codes fixed_codes() {
    std::vector<std::uint8_t> lengths(288, 8);
    std::fill(lengths.begin() + 144, lengths.begin() + 256, std::uint8_t{9});
    std::fill(lengths.begin() + 256, lengths.begin() + 280, std::uint8_t{7});
    return {Code(lengths), Code(std::vector<std::uint8_t>(30, 5))};
}

Codes read_codes(Bits& bits) {
    constexpr std::array<std::uint8_t, 19> order = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    const std::size_t symbols = bits.take(5) + 257, distances = bits.take(5) + 1, given = bits.take(4) + 4;
    std::vector<std::uint8_t> of_lengths(order.size());
    for (std::size_t i = 0; i < given; ++i) of_lengths[order[i]] = static_cast<std::uint8_t>(bits.take(3));
    const Code code(of_lengths);
    std::vector<std::uint8_t> lengths;
    while (lengths.size() < symbols + distances) {
        const unsigned symbol = code.take(bits);
        if (symbol < 16) {
            lengths.push_back(static_cast<std::uint8_t>(symbol));
            continue;
        }
        if (symbol == 16 && lengths.empty()) throw Damaged{};
        const std::uint8_t repeated = symbol == 16 ? lengths.back() : std::uint8_t{0};
        const unsigned times = symbol == 16 ? 3 + bits.take(2) : symbol == 17 ? 3 + bits.take(3) : 11 + bits.take(7);
        lengths.insert(lengths.end(), times, repeated);
    }
    if (lengths.size() > symbols + distances) throw Damaged{};
    const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(symbols);
    return {Code({lengths.begin(), middle}), Code({middle, lengths.end()})};
}

/// Returns the smallest value of a symbol whose values are told apart by further bits, and takes these bits.
unsigned with_more_bits(Bits& bits, unsigned symbol, unsigned without, unsigned per_count) {
    if (symbol < without) return symbol;
    const unsigned count = symbol / per_count - 1;
    return ((per_count + symbol % per_count) << count) + bits.take(count);
}

void inflate_block(Bits& bits, const Codes& codes, std::size_t size, std::string& text) {
    for (;;) {
        const unsigned symbol = codes.symbols.take(bits);
        if (symbol == 256) return;
        if (symbol < 256) {
            if (text.size() == size) throw Damaged{};
            text.push_back(static_cast<char>(symbol));
            continue;
        }
        if (symbol > 285) throw Damaged{};
        const std::size_t length = symbol == 285 ? 258 : 3 + with_more_bits(bits, symbol - 257, 8, 4);
        const unsigned code = codes.distances.take(bits);
        if (code > 29) throw Damaged{};
        const std::size_t distance = 1 + with_more_bits(bits, code, 4, 2);
        if (distance > text.size() || length > size - text.size()) throw Damaged{};
        for (std::size_t i = 0; i < length; ++i) text.push_back(text[text.size() - distance]);
    }
}

void inflate_stored(Bits& bits, std::size_t size, std::string& text) {
    const std::string_view head = bits.take_bytes(4);
    const auto byte = [head](std::size_t at) { return static_cast<unsigned>(static_cast<unsigned char>(head[at])); };
    const unsigned count = byte(0) | byte(1) << 8;
    if ((count ^ 0xffff) != (byte(2) | byte(3) << 8) || count > size - text.size()) throw Damaged{};
    text += bits.take_bytes(count);
}

}  // namespace

std::optional<std::string> inflate(std::string_view packed, std::size_t size) {
    constexpr std::size_t largest_ratio = 1032;  // of this method
    if (size / largest_ratio > packed.size()) return std::nullopt;
    std::string text;
    text.reserve(size);
    try {
        Bits bits(packed);
        for (bool is_last = false; !is_last;) {
            is_last = bits.take(1) == 1;
            const unsigned kind = bits.take(2);
            if (kind == 3) return std::nullopt;
            if (kind == 0)
                inflate_stored(bits, size, text);
            else
                inflate_block(bits, kind == 1 ? fixed_codes() : read_codes(bits), size, text);
        }
    } catch (const Damaged&) {
        return std::nullopt;
    }
    return text.size() == size ? std::optional(std::move(text)) : std::nullopt;
}

std::uint32_t crc32_of(std::string_view bytes) {
    static const auto table = [] {
        std::array<std::uint32_t, 256> rests{};
        for (std::uint32_t i = 0; i < rests.size(); ++i) {
            rests[i] = i;
            for (int bit = 0; bit < 8; ++bit) rests[i] = rests[i] >> 1 ^ (rests[i] & 1) * 0xedb88320U;
        }
        return rests;
    }();
    std::uint32_t rest = 0xffffffff;
    for (const char byte : bytes) rest = table[(rest ^ static_cast<unsigned char>(byte)) & 0xff] ^ rest >> 8;
    return ~rest;
}

}  // namespace fp32shim::cli
