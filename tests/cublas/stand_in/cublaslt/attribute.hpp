// Gets and sets attributes of cublasLt's descriptors. Each descriptor has a table with the place of each value.
#pragma once

#include <cstddef>
#include <cstring>

#include "library_handle.hpp"

namespace stand_in {

struct Attribute {
    int name;
    std::size_t offset;
    std::size_t size;
};

#define STAND_IN_ATTRIBUTE(name, type, member) \
    { name, offsetof(type, member), sizeof(type::member) }

// Gets or sets an attribute. `limit`: number of bytes of the structure that exist.
template <std::size_t count>
cublasStatus_t set_attribute(const Attribute (&table)[count], void* structure, std::size_t limit, int name,
                             const void* buffer, std::size_t size) {
    for (const Attribute& attribute : table) {
        if (attribute.name != name) continue;
        if (buffer == nullptr || size != attribute.size || attribute.offset + size > limit)
            return CUBLAS_STATUS_INVALID_VALUE;
        std::memcpy(static_cast<std::byte*>(structure) + attribute.offset, buffer, size);
        return CUBLAS_STATUS_SUCCESS;
    }
    return CUBLAS_STATUS_INVALID_VALUE;
}

inline cublasStatus_t get_bytes(const void* value, std::size_t value_size, void* buffer, std::size_t size,
                                std::size_t* written) {
    if (size == 0) {
        if (written == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    } else {
        if (buffer == nullptr || size != value_size) return CUBLAS_STATUS_INVALID_VALUE;
        std::memcpy(buffer, value, size);
    }
    if (written != nullptr) *written = value_size;
    return CUBLAS_STATUS_SUCCESS;
}

template <std::size_t count>
cublasStatus_t get_attribute(const Attribute (&table)[count], const void* structure, std::size_t limit, int name,
                             void* buffer, std::size_t size, std::size_t* written) {
    for (const Attribute& attribute : table) {
        if (attribute.name != name) continue;
        if (attribute.offset + attribute.size > limit) return CUBLAS_STATUS_INVALID_VALUE;
        return get_bytes(static_cast<const std::byte*>(structure) + attribute.offset, attribute.size, buffer, size,
                         written);
    }
    return CUBLAS_STATUS_INVALID_VALUE;
}

}  // namespace stand_in
