// One call of a BLAS function, single or batched, and the ways to make it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../client.h"
#include "product.hpp"

enum class Batching { single, groups, strided };

/// `groups` has one product for a single call and for a strided batch. Pointers are per product, those of a group in
/// a row; a strided batch has the first ones only.
struct Call {
    Batching batching = Batching::single;
    bool is_cblas = false;
    std::vector<Product> groups;
    std::vector<std::int64_t> group_sizes;  ///< a strided batch has one, its number of products
    std::vector<float*> a, b, c;
    std::int64_t stride_a = 0, stride_b = 0, stride_c = 0;  ///< in elements

    std::size_t product_count() const;
    /// The function's name without prefix and suffix, as in "sgemm_batch".
    std::string base_name() const;
    /// Returns the name that programs use: "cblas_sgemm_batch", "sgemm_batch_".
    std::string name() const { return name_of(base_name()); }
    std::string name_of(const std::string& base) const { return is_cblas ? "cblas_" + base : base + "_"; }
    /// The product number `index` as a call of its own.
    Call single(std::size_t index) const;
    std::string description() const;
};

using Function = void (*)();

/// Calls a function with the argument list that the call's operation and batching have in the BLAS reference and in
/// MKL's manual.
void make(const Call& call, Function function);

/// The program's own reference to a name, bound by the loader; nullptr where no library has it, or where this program
/// does not name it.
Function linked_function(const std::string& name);
