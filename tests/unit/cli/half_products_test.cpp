// Tests the search for instructions that multiply BF16 or FP16. The bytes are those of GNU as 2.40.
#include "cli/binaries/half_products.hpp"

#include <elf.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace fp32shim::cli {
namespace {

using Bytes = std::vector<std::uint8_t>;

HalfPrecisionInstructionCounts counts_in(const Bytes& code, std::uint16_t machine = EM_X86_64) {
    HalfPrecisionInstructionCounter counter(machine);
    counter.count_in(code, code.size(), 0);
    return counter.counts();
}

Bytes joined(const std::vector<Bytes>& parts) {
    Bytes all;
    for (const Bytes& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
}

Bytes words(const std::vector<std::uint32_t>& all) {
    Bytes bytes;
    for (const std::uint32_t word : all)
        for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<std::uint8_t>(word >> shift));
    return bytes;
}

const Bytes dot_registers = {0x62, 0xf2, 0x76, 0x48, 0x52, 0xc2};    // vdpbf16ps zmm0, zmm1, zmm2
const Bytes dot_masked = {0x62, 0xf2, 0x76, 0xaa, 0x52, 0x00};       // vdpbf16ps ymm0{k2}{z}, ymm1, [rax]
const Bytes dot_of_one = {0x62, 0x62, 0x56, 0x50, 0x52, 0x08};       // vdpbf16ps zmm25, zmm21, dword [rax]{1to16}
const Bytes tiles_bf16 = {0xc4, 0xe2, 0x6a, 0x5c, 0xc1, 0x90};       // tdpbf16ps tmm0, tmm1, tmm2; nop
const Bytes tiles_fp16 = {0xc4, 0xe2, 0x6b, 0x5c, 0xc1, 0x90};       // tdpfp16ps tmm0, tmm1, tmm2; nop
const Bytes fma = {0x62, 0xf6, 0x75, 0x48, 0xb8, 0xc2};              // vfmadd231ph zmm0, zmm1, zmm2
const Bytes product_rounded = {0x62, 0xf5, 0x74, 0x18, 0x59, 0xc2};  // vmulph zmm0, zmm1, zmm2, {rn-sae}
const Bytes fma_scalar = {0x62, 0xf6, 0x75, 0x08, 0xb9, 0x00};       // vfmadd231sh xmm0, xmm1, [rax]
const Bytes move_word = {0x62, 0xf5, 0x7d, 0x08, 0x6e, 0x00};        // vmovw xmm0, [rax]

const Bytes to_half = {0x62, 0xf5, 0x6c, 0x08, 0x1d, 0x14};    // vcvtss2sh xmm2, xmm2, [rdi + rax]
const Bytes to_single = {0x62, 0xf6, 0x7c, 0x08, 0x13, 0xc0};  // vcvtsh2ss xmm0, xmm0, xmm0

TEST(HalfProducts, CountsProductsOfBf16AndOfTilesEachByItself) {
    EXPECT_EQ(counts_in(joined({dot_registers, Bytes(100, 0x90), dot_masked, Bytes(100, 0x90), dot_of_one})),
              (HalfPrecisionInstructionCounts{3, 0}));
    EXPECT_EQ(counts_in(tiles_bf16), (HalfPrecisionInstructionCounts{1, 0}));
    EXPECT_EQ(counts_in(tiles_fp16), (HalfPrecisionInstructionCounts{0, 1}));
}

TEST(HalfProducts, CountsArithmeticOfFp16OnlyBesideMoreOfIt) {
    EXPECT_EQ(counts_in(fma), HalfPrecisionInstructionCounts());
    EXPECT_EQ(counts_in(joined({fma, Bytes(64, 0x90), fma_scalar})), HalfPrecisionInstructionCounts());
    EXPECT_EQ(counts_in(joined({fma, Bytes(40, 0x90), fma_scalar, product_rounded})),
              (HalfPrecisionInstructionCounts{0, 3}));
    EXPECT_EQ(counts_in(joined({move_word, fma_scalar})), (HalfPrecisionInstructionCounts{0, 1}));
    EXPECT_EQ(counts_in(joined({fma_scalar, move_word})), (HalfPrecisionInstructionCounts{0, 1}));
    EXPECT_EQ(counts_in(joined({to_half, fma_scalar})), (HalfPrecisionInstructionCounts{0, 1}));
    EXPECT_EQ(counts_in(joined({fma_scalar, to_single})), (HalfPrecisionInstructionCounts{0, 1}));
    EXPECT_EQ(counts_in(joined({move_word, to_half, to_single, move_word})), HalfPrecisionInstructionCounts());
}

/// Each of these differs in one byte from an instruction that counts.
TEST(HalfProducts, CountsNoBytesThatAreNoSuchInstruction) {
    for (const Bytes& bytes : {Bytes{0x62, 0xfa, 0x76, 0x48, 0x52, 0xc2},   // a reserved bit
                               Bytes{0x62, 0xf2, 0x72, 0x48, 0x52, 0xc2},   // a fixed bit
                               Bytes{0x62, 0xf2, 0xf6, 0x48, 0x52, 0xc2},   // W
                               Bytes{0x62, 0xf2, 0x76, 0x68, 0x52, 0xc2},   // a length that does not exist
                               Bytes{0x62, 0xf2, 0x76, 0xc8, 0x52, 0xc2},   // zeroing without a mask
                               Bytes{0x62, 0xf2, 0x76, 0x58, 0x52, 0xc2},   // broadcast of a register
                               Bytes{0x62, 0xf2, 0x75, 0x48, 0x52, 0xc2},   // vpdpwssd, of integers
                               Bytes{0xc4, 0xe2, 0x6a, 0x5c, 0x01, 0x90},   // a tile in memory
                               Bytes{0xc4, 0xe2, 0x6a, 0x5c, 0xc2, 0x90},   // one tile twice
                               Bytes{0xc4, 0xe2, 0x6a, 0x5e, 0xc1, 0x90}})  // tdpbsud, of integers
        EXPECT_EQ(counts_in(bytes), HalfPrecisionInstructionCounts()) << testing::PrintToString(bytes);
}

TEST(HalfProducts, CountsAnInstructionOnceWhereverPiecesEnd) {
    const Bytes code = joined({Bytes(20, 0x90), dot_registers, fma, fma_scalar, Bytes(20, 0x90)});
    for (std::size_t first = 1; first < code.size(); ++first) {
        HalfPrecisionInstructionCounter counter(EM_X86_64);
        const std::size_t end = std::min(first + HalfPrecisionInstructionCounter::look_ahead, code.size());
        counter.count_in({code.data(), end}, first, 0);
        counter.count_in({code.data() + first, code.size() - first}, code.size() - first, first);
        EXPECT_EQ(counter.counts(), (HalfPrecisionInstructionCounts{1, 2})) << first;
    }
    for (std::size_t size = 0; size < dot_registers.size(); ++size)
        EXPECT_EQ(counts_in(Bytes(dot_registers.begin(), dot_registers.begin() + static_cast<std::ptrdiff_t>(size))),
                  HalfPrecisionInstructionCounts());
}

TEST(HalfProducts, KnowsThoseOfAarch64) {
    for (const std::uint32_t word : {0x6e42fc20U,   // bfdot v0.4s, v1.8h, v2.8h
                                     0x0f42f020U,   // bfdot v0.2s, v1.4h, v2.2h[0]
                                     0x6e42ec20U,   // bfmmla v0.4s, v1.8h, v2.8h
                                     0x2ec2fc20U,   // bfmlalb v0.4s, v1.8h, v2.8h
                                     0x4fc2f020U})  // bfmlalt v0.4s, v1.8h, v2.h[0]
        EXPECT_EQ(counts_in(words({word}), EM_AARCH64), (HalfPrecisionInstructionCounts{1, 0})) << std::hex << word;
    for (const std::uint32_t word : {0x4e420c20U,     // fmla v0.8h, v1.8h, v2.8h
                                     0x0f021020U,     // fmla v0.4h, v1.4h, v2.h[0]
                                     0x6e421c20U,     // fmul v0.8h, v1.8h, v2.8h
                                     0x1fc20c20U,     // fmadd h0, h1, h2, h3
                                     0x1ee20820U,     // fmul h0, h1, h2
                                     0x4e22ec20U}) {  // fmlal v0.4s, v1.4h, v2.4h
        EXPECT_EQ(counts_in(words({word}), EM_AARCH64), HalfPrecisionInstructionCounts()) << std::hex << word;
        EXPECT_EQ(counts_in(words({word, 0x7d400001}), EM_AARCH64), (HalfPrecisionInstructionCounts{0, 1}))
            << std::hex << word;
    }
    for (const std::uint32_t word :
         {0x4e22cc20U, 0x1f020c20U, 0x1f420c20U, 0x6e22dc20U, 0xd503201fU})  // float32, float64, nop
        EXPECT_EQ(counts_in(words({word, word}), EM_AARCH64), HalfPrecisionInstructionCounts()) << std::hex << word;
}

}  // namespace
}  // namespace fp32shim::cli
