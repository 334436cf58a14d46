// Kinds of products. Rows that a benchmark cannot tell apart are merged into one kind.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/recordings/merged_calls.hpp"
#include "shim/table/families.hpp"

namespace fp32shim::cli {

/// Order of elements in memory. A recording does not say which order a call of CBLAS asks for. Such calls are assumed
/// to be row_major, as in most C and numpy programs.
enum class Layout : std::uint8_t { column_major, row_major };

/// Sizes of C := op(A) op(B): C is m×n, and the sum runs over `k`. Leading dimensions are not recorded.
struct GemmSizes {
    char trans_a = 'N';
    char trans_b = 'N';
    std::int64_t m = 0;
    std::int64_t n = 0;
    std::int64_t k = 0;

    bool operator==(const GemmSizes&) const = default;
};

/// Calls with the same operation, sizes, types and format.
struct ProductKind {
    std::string_view operation;         ///< `gemm`; empty if this version does not know the function
    std::vector<SharedText> functions;  ///< names of the functions that were called
    Batching batching = Batching::single;
    Layout layout = Layout::column_major;
    SharedText dtype, device, ran_at;
    GemmSizes sizes;  ///< letters are 0 where the function has none; an unknown size is -1
    std::int64_t batch = 1;
    bool is_folded = false;    ///< sizes are rounded up to powers of two
    bool is_overflow = false;  ///< the calls have no decision
    Share calls;

    /// Returns `gemm 64x32x16 NT` and the batch count.
    std::string text() const;
    /// Returns the sizes for the layout `wanted`.
    GemmSizes sizes_in(Layout wanted) const {
        // The transposed product has the same matrices in the other layout.
        return wanted == layout ? sizes : GemmSizes{sizes.trans_b, sizes.trans_a, sizes.n, sizes.m, sizes.k};
    }
    /// Returns the reason why no gemm can be run with these sizes; empty if it can.
    std::string why_no_gemm() const;
};

/// Returns the kinds of all products, sorted by `order`, largest first.
std::vector<ProductKind> product_kinds(const MergedCalls& calls, RowOrder order);

}  // namespace fp32shim::cli
