// Computes SHA-256, by which policy files and recordings are told apart.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace fp32shim::policy {

/// Computes the SHA-256 (FIPS 180-4) of bytes that arrive in pieces.
class Sha256 {
  public:
    void add(std::string_view bytes);
    /// Returns the SHA-256 of all bytes added, as 64 lower-case hexadecimal digits. After this call, no function of
    /// the object may be called.
    std::string hex_digest();

  private:
    static constexpr std::size_t block_size = 64;
    using State = std::array<std::uint32_t, 8>;
    static void add_block(State& state, std::string_view block);

    State state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    std::uint64_t size_ = 0;
    std::string rest_;  ///< bytes that do not yet fill a block
};

std::string sha256(std::string_view bytes);

}  // namespace fp32shim::policy
