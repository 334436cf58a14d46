// Counts machine instructions that multiply BF16 or FP16 in the code of a file. That a file has such instructions
// does not say that they have run.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace fp32shim::cli {

/// Numbers of instructions that multiply.
struct HalfPrecisionInstructionCounts {
    std::uint64_t bf16 = 0;  ///< VDPBF16PS, TDPBF16PS; BFDOT, BFMMLA, BFMLAL
    std::uint64_t fp16 = 0;  ///< TDPFP16PS, VMULPH, VFMADD…PH and their kin; FMLA, FMUL, FMADD and FMLAL of halves

    bool operator==(const HalfPrecisionInstructionCounts&) const = default;
};

/// Counts in one piece of code after the other. Nothing is disassembled, since nothing tells where code has data
/// between instructions: each offset (on aarch64: each word) may begin one. So an instruction counts only if all of
/// its fixed bits match. An instruction of FP16 arithmetic counts only beside another one, because a single match is
/// mostly other bytes that look like one.
class HalfPrecisionInstructionCounter {
  public:
    /// Bytes after the beginning of an instruction that add() looks at.
    static constexpr std::size_t look_ahead = 5;

    /// `machine` is that of an ELF header.
    explicit HalfPrecisionInstructionCounter(std::uint16_t machine) : machine_(machine) {}

    /// Counts the instructions that begin in the first `size` bytes of `code`. Later bytes are looked at only as
    /// parts of these instructions. `offset` is that of `code` in its file; it grows from call to call.
    void count_in(std::span<const std::uint8_t> code, std::size_t size, std::uint64_t offset);
    const HalfPrecisionInstructionCounts& counts() const { return counts_; }

  private:
    enum class InstructionKind : std::uint8_t { other, bf16, fp16_tiles, fp16, other_fp16 };
    static InstructionKind x86_instruction_kind(const std::uint8_t* code, std::size_t left);
    static InstructionKind arm_instruction_kind(const std::uint8_t* code, std::size_t left);
    void count_instruction(InstructionKind kind, std::uint64_t at);

    std::uint16_t machine_;
    HalfPrecisionInstructionCounts counts_;
    bool has_fp16_ = false;           ///< an instruction of FP16 arithmetic was found
    std::uint64_t last_fp16_ = 0;     ///< offset of the last such instruction
    bool last_is_uncounted_ = false;  ///< the last instruction multiplies, and has no neighbour so far
};

/// Counts in all executable sections of a file; in a file without sections, in its executable segments. The counts
/// are 0 if the file cannot be read or is for another architecture.
HalfPrecisionInstructionCounts count_half_precision_instructions(const std::string& path);

}  // namespace fp32shim::cli
