// One call of a BLAS function, single or batched, and the ways to make the call.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../client.h"
#include "product.hpp"

enum class Batching { single, groups, strided };

/// A call. For a single call and for a strided batch, `groups` has one product. There is one pointer per product, and
/// the products of a group are consecutive; a strided batch has only its first pointers.
struct Call {
    Batching batching = Batching::single;
    bool is_cblas = false;
    std::vector<Product> groups;
    std::vector<std::int64_t> group_sizes;  ///< number of products in each group; a strided batch has one group
    std::vector<float*> a, b, c;
    std::int64_t stride_a = 0, stride_b = 0, stride_c = 0;  ///< distances between matrices, in elements

    std::size_t product_count() const;
    /// Returns the function's name without prefix and suffix, such as "sgemm_batch".
    std::string base_name() const;
    /// Returns the name that programs use, such as "cblas_sgemm_batch" or "sgemm_batch_".
    std::string name() const { return name_of(base_name()); }
    std::string name_of(const std::string& base) const { return is_cblas ? "cblas_" + base : base + "_"; }
    /// Returns product number `index` as a single call.
    Call single(std::size_t index) const;
    std::string description() const;
};

using Function = void (*)();

/// Calls a function with the argument list that the BLAS reference and MKL's manual give for the call's operation and
/// batching.
void make(const Call& call, Function function);

/// Returns the function that the loader bound to the program's own reference to `name`; nullptr: no library has the
/// name, or this program does not reference it.
Function linked_function(const std::string& name);
