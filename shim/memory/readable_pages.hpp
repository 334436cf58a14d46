// Checks that memory of the program is mapped before the shim reads it.
#pragma once

#include <cstdint>

namespace fp32shim {

/// Tells whether addresses can be read. Remembers the last readable page: most reads touch the same page as the read
/// before, so they need no call of `is_readable`.
class ReadablePages {
  public:
    /// `is_readable` tells whether an address can be read. If it is nullptr, all addresses can be.
    explicit ReadablePages(bool (*is_readable)(std::uintptr_t address)) : is_readable_(is_readable) {}

    bool can_read(std::uintptr_t address) {
        constexpr std::uintptr_t page_size = 4096;  // larger pages are checked in pieces of this size
        const std::uintptr_t page = address / page_size;
        if (is_readable_ == nullptr || page == last_page_) return true;
        if (!is_readable_(address)) return false;
        last_page_ = page;
        return true;
    }

  private:
    bool (*is_readable_)(std::uintptr_t);
    std::uintptr_t last_page_ = UINTPTR_MAX;
};

}  // namespace fp32shim
