// Kinds of products: the rows of recordings merged by all that a benchmark of a product depends on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/recordings/merged_calls.hpp"
#include "shim/table/families.hpp"

namespace fp32shim::cli {

/// The order of elements in memory. A recording does not say which of the two a call of CBLAS asks for: then it is
/// taken to be row_major, as programs in C and numpy have it.
enum class Layout : std::uint8_t { column_major, row_major };

/// The sizes of C := op(A) op(B), with C m×n and `k` summed over. Leading dimensions are not recorded.
struct GemmSizes {
    char trans_a = 'N';
    char trans_b = 'N';
    std::int64_t m = 0;
    std::int64_t n = 0;
    std::int64_t k = 0;

    bool operator==(const GemmSizes&) const = default;
};

/// Returns the same product of the same memory in the other layout: the transposed matrices.
GemmSizes in_other_layout(const GemmSizes& sizes);

/// Calls that agree in operation, sizes, types and format.
struct ProductKind {
    std::string_view operation;         ///< `gemm`; empty: the function is not known to this version
    std::vector<SharedText> functions;  ///< names of the functions that were called
    std::vector<SharedText> providers;  ///< libraries that ran them
    Batching batching = Batching::single;
    Layout layout = Layout::column_major;
    bool is_cublas = false;
    SharedText dtype, device, ran_at;
    GemmSizes sizes;  ///< letters are 0 where the function has none; sizes -1 where they are not known
    std::int64_t batch = 1;
    bool is_folded = false;    ///< sizes are rounded up to powers of two
    bool is_overflow = false;  ///< calls without a decision
    ShareWithWork calls;

    /// Returns `gemm 64x32x16 NT`, with the batch count.
    std::string text() const;
    /// Returns the sizes as a row-major or column-major product.
    GemmSizes sizes_in(Layout wanted) const { return wanted == layout ? sizes : in_other_layout(sizes); }
    /// Returns the reason why no gemm of these sizes can be run; empty if one can.
    std::string why_no_gemm() const;
};

/// Returns the kinds of all products, the largest by `order` first.
std::vector<ProductKind> product_kinds(const MergedCalls& calls, RowOrder order);

}  // namespace fp32shim::cli
