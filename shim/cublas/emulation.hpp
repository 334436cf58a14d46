// The settings by which cuBLAS emulates float64 products: the number of mantissa bits to keep, and the address to
// which cuBLAS writes how many bits a product kept.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "shim/cublas/lt_arguments.hpp"

namespace fp32shim::cublas {

/// The text that is recorded for a call if the policy's rule for it sets mantissa_bits, but the library refused that
/// number.
inline constexpr std::string_view mantissa_bits_not_set = "cuBLAS did not take the rule's mantissa_bits";

/// Sets the handle to keep exactly `bits` bits, makes a call, and then restores the program's settings. Sets `is_set`
/// to true. If the library refuses the number, makes the call under the program's settings, and sets `is_set` to
/// false. Precondition: the handle's lock is held.
template <class Call>
std::int32_t call_with_mantissa_bits(Handle handle, const Library& library, std::int32_t bits, bool& is_set,
                                     const Call& call) {
    const std::int32_t wanted[] = {0, bits, control_fixed};
    std::int32_t own[std::size(wanted)];
    std::size_t changed = 0;
    for (; changed < std::size(wanted); ++changed) {
        const auto& [get, set] = library.emulation[changed];
        if (get == nullptr || set == nullptr || get.call_keeping_errno(handle, &own[changed]) != status_success ||
            set.call_keeping_errno(handle, wanted[changed]) != status_success)
            break;
    }
    is_set = changed == std::size(wanted);
    const auto restore = [&] {
        while (changed-- > 0) library.emulation[changed].set.call_keeping_errno(handle, own[changed]);
    };
    if (!is_set) restore();
    const std::int32_t status = call();
    if (is_set) restore();
    return status;
}

/// The shim's settings for the emulation of one product.
struct EmulationRequest {
    std::int32_t bits = 0;              ///< number of bits to keep; 0: the program's setting stays
    std::int32_t* kept_bits = nullptr;  ///< device memory to which cuBLAS writes the number of bits that it kept;
                                        ///< nullptr: the program's address stays

    bool asks_anything() const { return bits != 0 || kept_bits != nullptr; }
};

/// A cublasLtEmulationDesc_t that takes the place of the program's for one product.
class EmulationDescriptor {
  public:
    /// Makes `desc`, a copy of the program's descriptor, refer to this object. This object gets the program's
    /// settings and then the settings of `request`. Returns false if the library refuses. This object must outlive
    /// the use of `desc`.
    bool attach_to(const Library& library, const EmulationRequest& request, ChangedDescriptor& desc) {
        const void* own = nullptr;
        if (library.emulation_init == nullptr || library.emulation_set == nullptr ||
            library.emulation_get == nullptr || !read(library.desc_get, desc.address(), desc_emulation, own) ||
            library.emulation_init.call_keeping_errno(words_.data(), sizeof words_) != status_success)
            return false;
        const auto set = [&](std::int32_t attribute, const auto& value) {
            return library.emulation_set.call_keeping_errno(words_.data(), attribute, &value, sizeof value) ==
                   status_success;
        };
        const auto copy = [&](std::int32_t attribute, auto value) {
            return own == nullptr || !read(library.emulation_get, own, attribute, value) || set(attribute, value);
        };
        for (std::int32_t attribute = 0; attribute < emulation_count_pointer; ++attribute)
            if (!copy(attribute, std::int32_t{})) return false;
        if (!copy(emulation_count_pointer, static_cast<std::int32_t*>(nullptr))) return false;
        if (request.bits != 0 && !(set(emulation_offset, std::int32_t{0}) && set(emulation_most_bits, request.bits) &&
                                   set(emulation_control, std::int32_t{control_fixed})))
            return false;
        if (request.kept_bits != nullptr && !set(emulation_count_pointer, request.kept_bits)) return false;
        return desc.set(library, desc_emulation, static_cast<const void*>(words_.data()));
    }

  private:
    alignas(16) std::array<std::uint64_t, 32> words_{};  // large enough for every version of the descriptor
};

/// Returns the address that the program has set in a product's descriptor, so that cuBLAS writes the number of kept
/// bits there. Returns nullptr if the program has set none.
inline std::int32_t* program_count_pointer(const Library& library, const void* desc) {
    const void* own = nullptr;
    std::int32_t* address = nullptr;
    if (library.emulation_get == nullptr || !read(library.desc_get, desc, desc_emulation, own) || own == nullptr ||
        !read(library.emulation_get, own, emulation_count_pointer, address))
        return nullptr;
    return address;
}

}  // namespace fp32shim::cublas
