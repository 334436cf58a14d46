// Counts the machine instructions in a file that multiply BF16 or FP16. A file may have such instructions without
// ever running them.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace fp32shim::cli {

/// The numbers of instructions that multiply BF16 or FP16.
struct HalfPrecisionInstructionCounts {
    std::uint64_t bf16 = 0;  ///< on x86-64 VDPBF16PS and TDPBF16PS; on aarch64 BFDOT, BFMMLA and BFMLAL
    std::uint64_t fp16 = 0;  ///< on x86-64 TDPFP16PS, VMULPH, VFMADD…PH and related ones; on aarch64 FMLA, FMUL,
                             ///< FMADD and FMLAL of FP16

    bool operator==(const HalfPrecisionInstructionCounts&) const = default;
};

/// Counts instructions in successive pieces of code. The code is not disassembled, because data between the
/// instructions cannot be recognised. Any offset (on aarch64, any word) may begin an instruction. So an instruction
/// counts only if all of its fixed bits match. An instruction of FP16 arithmetic counts only near another one,
/// because a single match is usually made of other bytes by chance.
class HalfPrecisionInstructionCounter {
  public:
    /// The number of bytes after the first byte of an instruction that count_in() examines.
    static constexpr std::size_t look_ahead = 5;

    /// `machine` is the machine number in the ELF header of the file.
    explicit HalfPrecisionInstructionCounter(std::uint16_t machine) : machine_(machine) {}

    /// Counts the instructions that begin in the first `size` bytes of `code`. Later bytes are examined only as parts
    /// of these instructions. `offset` is the offset of `code` in the file, and must grow from call to call.
    void count_in(std::span<const std::uint8_t> code, std::size_t size, std::uint64_t offset);
    const HalfPrecisionInstructionCounts& counts() const { return counts_; }

  private:
    enum class InstructionKind : std::uint8_t { other, bf16, fp16_tiles, fp16, other_fp16 };
    static InstructionKind x86_instruction_kind(const std::uint8_t* code, std::size_t left);
    static InstructionKind arm_instruction_kind(const std::uint8_t* code, std::size_t left);
    void count_instruction(InstructionKind kind, std::uint64_t at);

    std::uint16_t machine_;
    HalfPrecisionInstructionCounts counts_;
    bool has_fp16_ = false;           ///< true once an instruction of FP16 arithmetic has been found
    std::uint64_t last_fp16_ = 0;     ///< offset of the most recently found instruction of FP16 arithmetic
    bool last_is_uncounted_ = false;  ///< the instruction at last_fp16_ multiplies, but is not counted so far
                                      ///< because no neighbour has been found
};

/// Counts the instructions in all executable sections of a file or, if the file has no sections, in its executable
/// segments. The counts are 0 if the file cannot be read or is for another architecture.
HalfPrecisionInstructionCounts count_half_precision_instructions(const std::string& path);

}  // namespace fp32shim::cli
