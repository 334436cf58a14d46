// The arguments of cublasLtMatmul. Reads descriptors of cublasLt, and makes changed copies of them.
#pragma once

#include <cstring>

#include "shim/cublas/library.hpp"

namespace fp32shim::cublas {

/// Indices, from 0, of the arguments of cublasLtMatmul.
enum Argument {
    argument_handle = 0,
    argument_desc = 1,
    argument_alpha = 2,
    argument_a = 3,
    argument_a_layout = 4,
    argument_b = 5,
    argument_b_layout = 6,
    argument_beta = 7,
    argument_c = 8,
    argument_c_layout = 9,
    argument_d = 10,
    argument_d_layout = 11,
    argument_algorithm = 12,
    argument_workspace = 13,
    argument_workspace_size = 14,
    argument_stream = 15,
};

/// The handle, descriptor and layouts of a product. All of them are the program's own, except for a descriptor that
/// the shim has copied.
struct MatmulDescription {
    Handle handle;
    const void* desc;
    const void* a_layout;
    const void* b_layout;
    const void* c_layout;
    const void* d_layout;
};

/// Reads an attribute of a descriptor, layout, preference or algorithm by `get`, the library's function for this kind
/// of object. Returns false if the library refuses. The function is inlined, since each product of cublasLt reads a
/// dozen attributes.
template <class Value>
[[gnu::always_inline]] inline bool read(const GetAttributeOf& get, const void* object, std::int32_t attribute,
                                        Value& value) {
    std::size_t written = 0;
    return get.call_keeping_errno(object, attribute, &value, sizeof value, &written) == status_success;
}

/// A copy of the program's descriptor with another compute type. If the new compute type is one of float32, and the
/// descriptor says that alpha and beta are float16, the copy says that they are float32.
class ChangedDescriptor {
  public:
    /// Copies a descriptor. Returns false if this library does not make descriptors of the descriptor's version.
    bool copy_from(const Library& library, const void* desc, std::int32_t compute_type) {
        std::int32_t version = 0;
        std::memcpy(&version, desc, sizeof version);
        const std::size_t size = descriptor_size(library, version);
        if (size == 0) return false;
        std::memcpy(words_.data(), desc, size);
        std::int32_t scale_type = type_r_32f;
        const bool is_single = compute_type == compute_32f || compute_type == compute_32f_pedantic;
        changes_scale_type_ =
            is_single && read(library.desc_get, desc, desc_scale_type, scale_type) && scale_type == type_r_16f;
        return set(library, desc_compute_type, compute_type) &&
               (!changes_scale_type_ || set(library, desc_scale_type, std::int32_t{type_r_32f}));
    }
    /// Returns true if alpha and beta of the program's call have another type than this descriptor says.
    bool changes_scale_type() const { return changes_scale_type_; }
    /// Sets an attribute of the copy. Returns false if the library refuses.
    template <class Value>
    bool set(const Library& library, std::int32_t attribute, const Value& value) {
        return library.desc_set.call_keeping_errno(words_.data(), attribute, &value, sizeof value) == status_success;
    }
    const void* address() const { return words_.data(); }
    const auto& words() const { return words_; }

  private:
    alignas(16) std::array<std::uint64_t, max_descriptor_size / sizeof(std::uint64_t)> words_{};
    bool changes_scale_type_ = false;
};

/// Memory for a cublasLtMatmulPreference_t, which is opaque and smaller than this array in every version.
using Preference = std::array<std::uint64_t, 32>;

/// A copy of the program's preference that allows fewer reduction schemes.
class LimitedPreference {
  public:
    /// Copies a preference, but allows only `reduction_schemes`. The attributes are copied one by one, since programs
    /// that were built with older headers have smaller preferences. Returns false if the library refuses.
    bool copy_from(const Library& library, const void* preference, std::uint32_t reduction_schemes) {
        if (library.preference_init == nullptr || library.preference_set == nullptr ||
            library.preference_get == nullptr ||
            library.preference_init(words_.data(), sizeof words_) != status_success)
            return false;
        constexpr std::int32_t attributes = 32;  // the shim tries this many attributes; cuBLAS 13.4 has 16
        for (std::int32_t i = 0; i < attributes && preference != nullptr; ++i) {
            std::uint64_t value[4];
            std::size_t size = 0;
            const auto& get = library.preference_get;
            if (get.call_keeping_errno(preference, i, nullptr, 0, &size) != status_success || size > sizeof value)
                continue;
            if (get.call_keeping_errno(preference, i, value, size, &size) != status_success ||
                library.preference_set.call_keeping_errno(words_.data(), i, value, size) != status_success)
                return false;
        }
        std::uint32_t mask = ~std::uint32_t{0};
        read(library.preference_get, words_.data(), preference_reduction_scheme_mask, mask);
        mask &= reduction_schemes;
        return library.preference_set.call_keeping_errno(words_.data(), preference_reduction_scheme_mask, &mask,
                                                         sizeof mask) == status_success;
    }
    const void* address() const { return words_.data(); }

  private:
    alignas(16) Preference words_{};
};

}  // namespace fp32shim::cublas
