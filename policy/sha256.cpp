#include "policy/sha256.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <utility>

namespace fp32shim::policy {
namespace {

// Constants from FIPS 180-4, section 4.2.2.
constexpr std::array<std::uint32_t, 64> round_constants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

std::uint32_t big_endian_word(std::string_view bytes) {
    std::uint32_t word = 0;
    for (const char byte : bytes) word = word << 8 | static_cast<unsigned char>(byte);
    return word;
}

}  // namespace

/// Processes one block by FIPS 180-4, section 6.2.2. The variables have the standard's names.
void Sha256::add_block(State& state, std::string_view block) {
    std::array<std::uint32_t, 64> w;
    for (std::size_t t = 0; t < 16; ++t) w[t] = big_endian_word(block.substr(4 * t, 4));
    for (std::size_t t = 16; t < 64; ++t) {
        const std::uint32_t s0 = std::rotr(w[t - 15], 7) ^ std::rotr(w[t - 15], 18) ^ w[t - 15] >> 3;
        const std::uint32_t s1 = std::rotr(w[t - 2], 17) ^ std::rotr(w[t - 2], 19) ^ w[t - 2] >> 10;
        w[t] = s1 + w[t - 7] + s0 + w[t - 16];
    }
    auto [a, b, c, d, e, f, g, h] = state;
    for (std::size_t t = 0; t < 64; ++t) {
        const std::uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
        const std::uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + round_constants[t] + w[t];
        const std::uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
        const std::uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
        h = g;
        g = f;
        f = e;
        e = d + t1;
        d = c;
        c = b;
        b = a;
        a = t1 + t2;
    }
    const State sum = {a, b, c, d, e, f, g, h};
    for (std::size_t i = 0; i < state.size(); ++i) state[i] += sum[i];
}

void Sha256::add(std::string_view bytes) {
    size_ += bytes.size();
    if (!rest_.empty()) {
        const std::size_t taken = std::min(block_size - rest_.size(), bytes.size());
        rest_ += bytes.substr(0, taken);
        bytes.remove_prefix(taken);
        if (rest_.size() < block_size) return;
        add_block(state_, rest_);
    }
    for (; bytes.size() >= block_size; bytes.remove_prefix(block_size))
        add_block(state_, bytes.substr(0, block_size));
    rest_ = bytes;
}

std::string Sha256::hex_digest() {
    // The padding of FIPS 180-4, section 5.1.1, is a one bit, zeros, and the length in bits as the last eight bytes
    // of a block.
    std::string tail = std::move(rest_);
    tail += '\x80';
    while (tail.size() % block_size != block_size - 8) tail += '\0';
    for (int shift = 56; shift >= 0; shift -= 8) tail += static_cast<char>(size_ * 8 >> shift & 0xff);
    for (std::string_view last = tail; !last.empty(); last.remove_prefix(block_size))
        add_block(state_, last.substr(0, block_size));

    std::string hex;
    for (const std::uint32_t word : state_)
        for (int shift = 28; shift >= 0; shift -= 4) hex += "0123456789abcdef"[word >> shift & 0xf];
    return hex;
}

std::string sha256(std::string_view bytes) {
    Sha256 sum;
    sum.add(bytes);
    return sum.hex_digest();
}

}  // namespace fp32shim::policy
