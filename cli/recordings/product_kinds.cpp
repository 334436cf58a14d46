#include "cli/recordings/product_kinds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

#include "policy/words.hpp"
#include "record/kernels/judge.hpp"
#include "record/onednn/line.hpp"
#include "shim/table/functions.hpp"

namespace fp32shim::cli {
namespace {

using blas::Operation;

constexpr policy::Word<Operation> operation_words[] = {
    {"gemm", Operation::gemm},   {"gemmt", Operation::gemmt},   {"symm", Operation::symm},
    {"hemm", Operation::hemm},   {"syrk", Operation::syrk},     {"herk", Operation::herk},
    {"syr2k", Operation::syr2k}, {"her2k", Operation::her2k},   {"trmm", Operation::trmm},
    {"trsm", Operation::trsm},   {"gemv", Operation::gemv},     {"symv", Operation::symv},
    {"hemv", Operation::hemv},   {"ger", Operation::ger},       {"gerc", Operation::gerc},
    {"trmv", Operation::trmv},   {"trsv", Operation::trsv},     {"dot", Operation::dot},
    {"dotc", Operation::dotc},   {"sdsdot", Operation::sdsdot}, {"nrm2", Operation::nrm2},
    {"asum", Operation::asum},   {"dsdot", Operation::dsdot},   {"syr", Operation::syr},
    {"her", Operation::her},     {"syr2", Operation::syr2},     {"her2", Operation::her2},
    {"axpy", Operation::axpy},   {"rot", Operation::rot},
};

/// Makes the kind of a row's calls, without counts.
ProductKind kind_of(const MergedRow& row) {
    ProductKind kind;
    kind.is_overflow = row.is_overflow;
    if (row.is_overflow) return kind;
    kind.dtype = row.dtype;
    kind.device = row.device;
    kind.ran_at = row.ran_at();
    kind.sizes = {row.trans_a, row.trans_b, row.m, row.n, row.k};
    kind.batch = row.batch;
    kind.is_folded = row.is_folded;
    const FunctionIndex index = find_function(std::string(row.function).c_str());
    if (index < 0 || !functions[index].multiplies()) return kind;
    const Function& function = functions[index];
    kind.operation = policy::name_of(operation_words, function.product().operation);
    kind.batching = function.product().batching;
    if (function.convention == Convention::cblas) kind.layout = Layout::row_major;
    return kind;
}

auto key_of(const ProductKind& kind, const MergedRow& row) {
    // An unknown function has no operation, so its name is part of the key.
    const std::uint32_t function = kind.operation.empty() ? row.function.id() : 0;
    return std::tuple(kind.operation, function, kind.batching, kind.layout, kind.dtype.id(), kind.device.id(),
                      kind.ran_at.id(), kind.sizes.trans_a, kind.sizes.trans_b, kind.sizes.m, kind.sizes.n,
                      kind.sizes.k, kind.batch, kind.is_folded, kind.is_overflow);
}

}  // namespace

std::string ProductKind::text() const {
    if (is_overflow) return "(found no room)";
    const auto size = [](std::int64_t value) { return value < 0 ? "?" : fmt::format("{}", value); };
    std::string text = fmt::format(
        "{} {}{}x{}x{}", operation.empty() && !functions.empty() ? std::string_view(functions.front()) : operation,
        is_folded ? "<=" : "", size(sizes.m), size(sizes.n), size(sizes.k));
    if (sizes.trans_a != 0) text += fmt::format(" {}", sizes.trans_a);
    if (sizes.trans_b != 0) text += sizes.trans_b;
    if (batch != 1) text += fmt::format(" batch {}", batch);
    return text;
}

std::string ProductKind::why_no_gemm() const {
    if (is_overflow) return "only the number of these calls is known";
    if (!functions.empty() && std::string_view(functions.front()).starts_with(record::onednn_prefix))
        return "oneDNN ran it itself, and no function of a BLAS";
    if (!functions.empty() && std::string_view(functions.front()).starts_with(record::xla_prefix))
        return "XLA compiled it, and no function of a BLAS runs it";
    if (!functions.empty() && std::string_view(functions.front()).starts_with(record::kernel_prefix))
        return "it is a kernel on a GPU, and no function of a BLAS";
    if (operation.empty()) return "this version does not know the function";
    if (operation != "gemm") return fmt::format("{} is not a gemm", operation);
    if (is_folded) return "the recording has its sizes rounded up to powers of two";
    constexpr std::string_view letters = "NTCR";
    const bool has_letters =
        letters.find(sizes.trans_a) != letters.npos && letters.find(sizes.trans_b) != letters.npos;
    if (sizes.m < 0 || sizes.n < 0 || sizes.k < 0 || batch < 0 || !has_letters)
        return "its sizes or transpositions are not known";
    if (sizes.m == 0 || sizes.n == 0 || sizes.k == 0 || batch == 0) return "it multiplies nothing";
    return {};
}

std::vector<ProductKind> product_kinds(const MergedCalls& calls, RowOrder order) {
    std::vector<ProductKind> kinds;
    std::map<decltype(key_of(std::declval<ProductKind>(), std::declval<MergedRow>())), std::size_t> indices;
    for (const MergedRow& row : calls.rows()) {
        ProductKind kind = kind_of(row);
        const auto [found, is_new] = indices.try_emplace(key_of(kind, row), kinds.size());
        if (is_new) kinds.push_back(std::move(kind));
        ProductKind& merged = kinds[found->second];
        if (!row.function.empty() && std::ranges::find(merged.functions, row.function) == merged.functions.end())
            merged.functions.push_back(row.function);
        merged.calls.add(row.counters, row.flops);
    }
    if (const std::uint64_t count = calls.calls_without_row(); count > 0) {
        kinds.emplace_back().is_overflow = true;
        kinds.back().calls.calls = count;
    }
    std::ranges::stable_sort(kinds, std::greater<>(),
                             [order](const ProductKind& kind) { return kind.calls.weight(order); });
    return kinds;
}

}  // namespace fp32shim::cli
