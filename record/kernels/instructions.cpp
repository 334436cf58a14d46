// Finds tensor-core instructions in machine code. The table of the instructions is instructions.def.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <iterator>

#include "record/kernels/kinds.hpp"

namespace fp32shim::record {
namespace {

constexpr unsigned architectures[] = {
#define ARCHITECTURE(number) number,
#include "record/kernels/instructions.def"
};

enum class FormatSource : std::uint8_t { nothing, itself, field, descriptor };

struct TensorInstruction {
    unsigned bits, oldest, newest;
    FormatSource source;
    std::uint8_t value;  ///< for `itself`, the formats of the operands; for `field`, the number of the lowest bit of
                         ///< the field that tells them
};
constexpr TensorInstruction instructions[] = {
    {0, 0, 0, FormatSource::nothing, 0},
#define TENSOR(name, bits, oldest, newest, formats) {bits, oldest, newest, FormatSource::itself, formats},
#define TENSOR_FIELD(name, bits, oldest, newest, shift) {bits, oldest, newest, FormatSource::field, shift},
#define TENSOR_DESCRIPTOR(name, bits, oldest, newest) {bits, oldest, newest, FormatSource::descriptor, 0},
#include "record/kernels/instructions.def"
};

constexpr std::array<std::uint8_t, 1 << 12> instruction_of = [] {
    std::array<std::uint8_t, 1 << 12> indices = {};
    for (std::size_t i = 1; i < std::size(instructions); ++i)
        indices[instructions[i].bits] = static_cast<std::uint8_t>(i);
    return indices;
}();

/// The two 64-bit halves of an instruction's 16 bytes.
struct InstructionWords {
    std::uint64_t low, high;
    unsigned bits(unsigned shift, unsigned count) const { return low >> shift & ((1U << count) - 1); }
};

TensorFormats format_of(std::uint64_t field) {
    constexpr TensorFormats formats[] = {tensor_fp16, tensor_bf16, tensor_tf32};
    return field < std::size(formats) ? formats[field] : tensor_unknown;
}

/// Keeps track of the constants in the uniform registers of sm_100 to sm_110, as if the instructions ran in the order
/// of their addresses, without jumps.
class UniformRegisterValues {
  public:
    void run(const InstructionWords& words) {
        constexpr unsigned umov_of_constant = 0x882, always = 7;  // bits 12 to 15 select the predicate
        const unsigned target = words.bits(16, 8);
        if (words.bits(0, 12) == umov_of_constant && words.bits(12, 4) == always) {
            value_[target] = static_cast<std::uint32_t>(words.low >> 32);
            is_constant_[target] = true;
        } else {
            for (unsigned i = 0; i < written_by(words); ++i) is_constant_[(target + i) & 255] = false;
        }
    }

    /// Returns the format of the operands of a UTC*MMA instruction. The instruction itself tells its kind. An
    /// instruction of the kind UTCHMMA multiplies FP16, BF16 or TF32; a uniform register, the descriptor, tells which
    /// of these formats ("Instruction descriptor" in the PTX ISA).
    ///
    ///     bit of `low`      63      1: the kind is UTCOMMA, which multiplies FP4
    ///                       40-47   number of a uniform register; the next register holds the descriptor
    ///     bit of `high`     8-9     kind: 0 UTCHMMA, 1 UTCIMMA, 3 UTCQMMA
    ///     bit of the        4-5     type of the sum, 0 or 1
    ///       descriptor      7-9     type of A: 0 FP16, 1 BF16, 2 TF32
    ///                       10-12   type of B, numbered like the type of A
    TensorFormats format_of_utcmma(const InstructionWords& words) const {
        const std::uint64_t kind = words.high >> 8 & 3;
        if (words.low >> 63 != 0 || kind == 3) return tensor_fp8;
        if (kind != 0) return kind == 1 ? tensor_integer : tensor_unknown;
        const unsigned source = (words.bits(40, 8) + 1) & 255;
        const std::uint32_t descriptor = value_[source], type = descriptor >> 7 & 7;
        if (!is_constant_[source] || (descriptor >> 10 & 7) != type || (descriptor >> 4 & 3) > 1)
            return tensor_unknown;
        return format_of(type);
    }

  private:
    /// Returns the number of uniform registers that an instruction may write, or 0 if it writes none. The cases are
    /// all instructions for which nvdisasm prints a uniform register as the first operand. Bits 9 to 11 choose the
    /// kinds of operands, so the cases ignore these bits.
    static unsigned written_by(const InstructionWords& words) {
        switch (const unsigned name = words.bits(0, 9)) {
            case 0x097:  // UIADD3.64
            case 0x0a5:  // UIMAD.WIDE
            case 0x1b2:  // SYNCS
            case 0x1ce:  // ULEPC
                return 2;
            case 0x1ac:  // LDCU; its bits 9 to 11 in the high half are 5 in LDCU.64 and 6 in LDCU.128
                return (words.high >> 9 & 7) < 5 ? 1 : (words.high >> 9 & 7) == 5 ? 2 : 4;
            case 0x02f:  // ELECT
            case 0x1c3:  // S2UR
            case 0x1c4:  // REDUX
            case 0x1e3:  // UTCATOMSWS
                return 1;
            default:  // UMOV, UP2UR, VOTEU, USEL, UIADD3, ..., R2UR, CREDUX
                return name >= 0x082 && name <= 0x0cc ? 1 : 0;
        }
    }

    std::array<std::uint32_t, 256> value_ = {};
    std::array<bool, 256> is_constant_ = {};
};

}  // namespace

bool knows_instructions_of(unsigned architecture) {
    return std::ranges::find(architectures, architecture) != std::end(architectures);
}

TensorFormats tensor_formats_in_code(std::span<const std::byte> code, unsigned architecture) {
    const bool has_utcmma = architecture >= 100 && architecture <= 110;
    UniformRegisterValues registers;
    TensorFormats formats = 0;
    InstructionWords words;
    for (; code.size() >= sizeof words; code = code.subspan(sizeof words)) {
        std::memcpy(&words, code.data(), sizeof words);
        if (has_utcmma) registers.run(words);
        const TensorInstruction& found = instructions[instruction_of[words.bits(0, 12)]];
        if (found.source == FormatSource::nothing || architecture < found.oldest || architecture > found.newest)
            continue;
        formats |= found.source == FormatSource::itself  ? found.value
                   : found.source == FormatSource::field ? format_of(words.high >> found.value & 3)
                                                         : registers.format_of_utcmma(words);
    }
    return formats;
}

}  // namespace fp32shim::record
