#include "cli/binaries/half_products.hpp"

#include <elf.h>

#include <algorithm>
#include <cstring>

#include "cli/binaries/elf_file.hpp"
#include "system/elf.hpp"

namespace fp32shim::cli {
namespace {

/// An instruction of FP16 arithmetic is counted only if another one begins less than this number of bytes away.
constexpr std::uint64_t neighbour_distance = 64;

/// An x86-64 instruction with the EVEX prefix (0x62), whose bytes are `62 P0 P1 P2 opcode ModRM`.
struct EvexInstruction {
    int map, mandatory, opcode,
        length;  ///< `mandatory` stands for the mandatory prefix: 0 for none, 1 for 66, 2 for F3, 3 for F2
    bool is_register, has_b, has_free_register;

    /// Reads the instruction at `code` into `read`. Returns false if its bits contradict the format (Intel's manual,
    /// volume 2, section 2.7).
    static bool read(const std::uint8_t* code, EvexInstruction& read) {
        const std::uint8_t p0 = code[1], p1 = code[2], p2 = code[3];
        const bool has_fixed_bits = (p0 & 0x08) == 0 && (p1 & 0x04) != 0;
        const bool zeroes = (p2 & 0x80) != 0, is_masked = (p2 & 0x07) != 0;
        read = {p0 & 7,
                p1 & 3,
                code[4],
                p2 >> 5 & 3,
                code[5] >> 6 == 3,
                (p2 & 0x10) != 0,
                (p1 & 0x78) == 0x78 && (p2 & 0x08) != 0};
        const bool rounds = read.is_register && read.has_b;  // if this is true, the length bits are a rounding mode
        return has_fixed_bits && (is_masked || !zeroes) && (rounds || read.length != 3) &&
               (p1 & 0x80) == 0;  // the bit W is 0 in all instructions that this code looks for
    }
};

bool is_bf16_product(const EvexInstruction& at) {
    return at.map == 2 && at.mandatory == 2 && at.opcode == 0x52 && !(at.is_register && at.has_b);  // VDPBF16PS
}

bool is_fp16_product(const EvexInstruction& at) {
    if (at.map == 5) return at.opcode == 0x59 && (at.mandatory == 0 || at.mandatory == 2);  // VMULPH, VMULSH
    if (at.map != 6) return false;
    const bool is_fma = at.mandatory == 1 && at.opcode >= 0x96 && at.opcode <= 0xbf && (at.opcode & 15) >= 6;
    const bool is_complex = at.mandatory >= 2 && (at.opcode == 0x56 || at.opcode == 0xd6);
    return is_fma || is_complex;
}

/// Returns true for VADD, VSUB, VDIV and VMOV of FP16, and for conversions between FP16 and float32.
bool is_other_fp16_instruction(const EvexInstruction& at) {
    const bool converts = at.mandatory <= 1 && (at.map == 5 ? at.opcode == 0x1d : at.map == 6 && at.opcode == 0x13);
    if (converts || at.map != 5) return converts;
    if (at.opcode == 0x6e || at.opcode == 0x7e)
        return at.mandatory == 1 && at.length == 0 && !at.has_b && at.has_free_register;
    const bool is_move = at.opcode == 0x10 || at.opcode == 0x11;
    const bool is_sum = at.opcode == 0x58 || at.opcode == 0x5c || at.opcode == 0x5e;
    return (is_move && at.mandatory == 2) || (is_sum && (at.mandatory == 0 || at.mandatory == 2));
}

/// Returns 2 for the AMX instruction that multiplies tiles of BF16 (TDPBF16PS) and 3 for that of FP16 (TDPFP16PS).
/// These numbers encode the mandatory prefix. Returns a smaller number for other bytes, and 0 if the three tiles of
/// the instruction are not all different, which AMX requires.
int tile_product(const std::uint8_t* code) {
    if (code[0] != 0xc4 || code[1] != 0xe2 || (code[2] & 0xc4) != 0x40 || code[3] != 0x5c || code[4] >> 6 != 3)
        return 0;
    const int a = ~(code[2] >> 3) & 7, b = code[4] >> 3 & 7, c = code[4] & 7;
    return a == b || a == c || b == c ? 0 : code[2] & 3;
}

/// A pattern of instructions of aarch64: the bits that `mask` selects from an instruction word are equal to `bits`.
struct ArmInstructionPattern {
    std::uint32_t mask, bits;
};
constexpr ArmInstructionPattern arm_bf16[] = {
    {0xbfe0fc00, 0x2e40fc00}, {0xbfc0f400, 0x0f40f000},  // BFDOT of vectors; BFDOT by an element
    {0xffe0fc00, 0x6e40ec00},                            // BFMMLA
    {0xbfe0fc00, 0x2ec0fc00}, {0xbfc0f400, 0x0fc0f000},  // BFMLALB and BFMLALT of vectors; both by an element
};
constexpr ArmInstructionPattern arm_fp16[] = {
    {0xbfe0fc00, 0x0e400c00}, {0xbfc0f400, 0x0f001000},  // FMLA of vectors; FMLA by an element
    {0xbfe0fc00, 0x2e401c00}, {0xbfc0f400, 0x0f009000},  // FMUL of vectors; FMUL by an element
    {0xffe00000, 0x1fc00000}, {0xffe0fc00, 0x1ee00800},  // FMADD and FMSUB; FMUL of scalars
    {0xbfe0fc00, 0x0e20ec00},                            // FMLAL
};
constexpr ArmInstructionPattern arm_other_fp16[] = {
    {0xffc00000, 0x7d400000},
    {0xffe00c00, 0x7c600800},  // LDR of a scalar at an offset; LDR of a scalar with an index
    {0xffe0fc00, 0x1ee02800},
    {0xbfe0fc00, 0x0e401400},  // FADD of scalars; FADD of vectors
};

template <std::size_t count>
bool is_among(const ArmInstructionPattern (&codes)[count], std::uint32_t word) {
    return std::ranges::any_of(codes,
                               [&](const ArmInstructionPattern& code) { return (word & code.mask) == code.bits; });
}

}  // namespace

HalfPrecisionInstructionCounter::InstructionKind HalfPrecisionInstructionCounter::x86_instruction_kind(
    const std::uint8_t* code, std::size_t left) {
    if (left <= look_ahead) return InstructionKind::other;
    if (const int tiles = tile_product(code); tiles >= 2)
        return tiles == 2 ? InstructionKind::bf16 : InstructionKind::fp16_tiles;
    EvexInstruction at{};
    if (code[0] != 0x62 || !EvexInstruction::read(code, at)) return InstructionKind::other;
    if (is_bf16_product(at)) return InstructionKind::bf16;
    if (is_fp16_product(at)) return InstructionKind::fp16;
    return is_other_fp16_instruction(at) ? InstructionKind::other_fp16 : InstructionKind::other;
}

HalfPrecisionInstructionCounter::InstructionKind HalfPrecisionInstructionCounter::arm_instruction_kind(
    const std::uint8_t* code, std::size_t left) {
    std::uint32_t word = 0;
    if (left < sizeof word) return InstructionKind::other;
    std::memcpy(&word, code, sizeof word);
    if (is_among(arm_bf16, word)) return InstructionKind::bf16;
    if (is_among(arm_fp16, word)) return InstructionKind::fp16;
    return is_among(arm_other_fp16, word) ? InstructionKind::other_fp16 : InstructionKind::other;
}

void HalfPrecisionInstructionCounter::count_instruction(InstructionKind kind, std::uint64_t at) {
    if (kind == InstructionKind::bf16) ++counts_.bf16;
    if (kind == InstructionKind::fp16_tiles) ++counts_.fp16;
    if (kind != InstructionKind::fp16 && kind != InstructionKind::other_fp16) return;
    const bool has_neighbour = has_fp16_ && at - last_fp16_ < neighbour_distance;
    if (has_neighbour) counts_.fp16 += (kind == InstructionKind::fp16 ? 1 : 0) + (last_is_uncounted_ ? 1 : 0);
    has_fp16_ = true;
    last_fp16_ = at;
    last_is_uncounted_ = kind == InstructionKind::fp16 && !has_neighbour;
}

void HalfPrecisionInstructionCounter::count_in(std::span<const std::uint8_t> code, std::size_t size,
                                               std::uint64_t offset) {
    const bool is_arm = machine_ == EM_AARCH64;
    const std::size_t step = is_arm ? sizeof(std::uint32_t) : 1;
    for (std::size_t i = 0; i < std::min(size, code.size()); i += step) {
        const std::uint8_t* const at = code.data() + i;
        if (is_arm)
            count_instruction(arm_instruction_kind(at, code.size() - i), offset + i);
        else if (*at == 0x62 || *at == 0xc4)
            count_instruction(x86_instruction_kind(at, code.size() - i), offset + i);
    }
}

HalfPrecisionInstructionCounts count_half_precision_instructions(const std::string& path) {
    HalfPrecisionInstructionCounter counter(system::own_machine);
    visit_machine_code(path, HalfPrecisionInstructionCounter::look_ahead,
                       [&](std::span<const std::uint8_t> code, std::size_t size, std::uint64_t offset) {
                           counter.count_in(code, size, offset);
                       });
    return counter.counts();
}

}  // namespace fp32shim::cli
