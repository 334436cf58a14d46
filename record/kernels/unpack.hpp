// Unpacks entries of fatbins, into pages of its own.
#pragma once

#include "record/kernels/bytes.hpp"
#include "system/mapped_memory.hpp"

namespace fp32shim::record {

enum class Packing : std::uint8_t { none, lz4, zstd };

/// The unpacked bytes of an entry. They live as long as this object, or as `packed` if that was not packed.
class Unpacked {
  public:
    Unpacked(Bytes packed, Packing packing, std::uint64_t unpacked_size);

    Bytes bytes() const { return bytes_; }
    std::string_view doubt() const { return doubt_; }  ///< why there are no bytes; empty: there are

  private:
    Bytes bytes_;
    std::optional<MappedMemory> pages_;
    std::string_view doubt_;
};

}  // namespace fp32shim::record
