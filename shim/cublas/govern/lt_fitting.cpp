#include "shim/cublas/govern/lt_fitting.hpp"

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <span>

#include "system/hash.hpp"

namespace fp32shim::cublas {
namespace {

/// Returns the largest power of two that divides all addresses, but at most 256.
std::uint64_t alignment_of(const std::array<std::int64_t, 4>& addresses) {
    std::uint64_t bits = 256;
    for (std::int64_t address : addresses) bits |= static_cast<std::uint64_t>(address);
    return bits & (~bits + 1);
}

std::uint64_t implementations_below(Format format) {
    constexpr std::uint64_t below_bf16 = impl_input_16f, below_tf32 = below_bf16 | impl_input_16bf,
                            below_fp32 = below_tf32 | impl_input_tf32;
    constexpr std::uint64_t below[] = {0, below_bf16, below_tf32, 0, below_fp32};  // indexed by format; BF16x9 is
                                                                                   // computed by BF16 products, so
                                                                                   // its entry excludes none
    return is_of_float64(format) ? 0 : below[static_cast<std::size_t>(format)];
}

struct SearchResult {
    ReplacementAlgorithm replacement;
    bool is_final = false;  ///< true if the library would give the same answer again
};

/// Searches for an algorithm for a product whose descriptor was changed. The algorithm must need at most
/// `workspace_size` bytes of workspace, round to no lower format than `wanted.format`, be within `wanted.limits`, and
/// keep the limits of the program's own search (`original`).
SearchResult search(const FittingRequest& wanted, const SearchConditions& original,
                    const std::array<std::int64_t, 4>& matrices, std::uint64_t workspace_size) {
    const Library& library = wanted.library;
    const MatmulDescription& parts = wanted.parts;
    SearchResult answer;
    alignas(16) Preference preference{};
    if (library.heuristic == nullptr || library.preference_init == nullptr || library.preference_set == nullptr ||
        library.preference_init(preference.data(), sizeof preference) != status_success)
        return answer;
    const auto set = [&](std::int32_t attribute, const auto& value) {
        return library.preference_set(preference.data(), attribute, &value, sizeof value) == status_success;
    };
    bool is_set = set(preference_max_workspace_bytes, workspace_size);
    for (std::int32_t attribute = preference_min_alignment_a_bytes; const std::int64_t matrix : matrices)
        is_set = set(attribute++, static_cast<std::uint32_t>(alignment_of({matrix, 0, 0, 0}))) && is_set;
    const std::uint32_t reduction_schemes =
        original.reduction_scheme_mask & wanted.limits.allowed_reduction_schemes();
    if (!is_set || !set(preference_reduction_scheme_mask, reduction_schemes) ||
        !set(preference_impl_mask, original.implementation_mask & ~implementations_below(wanted.format)) ||
        !set(preference_max_waves_count, original.max_waves_count))
        return answer;
    // No preference can exclude the algorithms that are known to be wrong. If they must be avoided, the library is
    // asked for several algorithms.
    HeuristicResult results[8]{};
    std::int32_t found = 0;
    const std::int32_t status =
        library.heuristic(parts.handle, parts.desc, parts.a_layout, parts.b_layout, parts.c_layout, parts.d_layout,
                          preference.data(), wanted.limits.avoids_known_wrong ? 8 : 1, results, &found);
    answer.is_final = status == status_success || status == status_not_supported;
    if (status != status_success) return answer;
    for (const HeuristicResult& result : std::span(results).first(static_cast<std::size_t>(std::clamp(found, 0, 8))))
        if (result.state == status_success && is_within_limits(wanted.limits, library, result.algorithm)) {
            answer.replacement = {true, result.algorithm};
            break;
        }
    return answer;
}

/// Adds all facts of a layout to a key. Returns false if the layout cannot be read.
bool add_shape(const Library& library, const void* layout, system::Hash& key) {
    if (layout == nullptr) return true;
    const auto add = [&](std::initializer_list<LayoutAttribute> attributes, auto value) {
        return std::ranges::all_of(attributes, [&](LayoutAttribute attribute) {
            if (!read(library.layout_get, layout, attribute, value)) return false;
            key.add(static_cast<std::uint64_t>(value));
            return true;
        });
    };
    if (!add({layout_type, layout_order, layout_batch_count}, std::int32_t{}) ||
        !add({layout_rows, layout_cols, layout_ld, layout_batch_stride, layout_plane_offset}, std::int64_t{}))
        return false;
    std::uint32_t batch_mode = batch_strided;  // older libraries have only this batch mode
    read(library.layout_get, layout, layout_batch_mode, batch_mode);
    key.add(batch_mode);
    return batch_mode != batch_grouped ||
           (add({layout_rows_array, layout_cols_array, layout_ld_array}, std::int64_t{}) &&
            add({layout_rows_cols_width, layout_ld_width}, std::int32_t{}));
}

/// Returns true if the library accepts `algorithm`, the program's own, for the product `parts`, whose descriptor was
/// changed. The algorithm must also need no more than `workspace_size` bytes of workspace, and no larger alignment
/// than `alignment`.
bool algorithm_fits(const Library& library, const MatmulDescription& parts, const Algorithm64& algorithm,
                    std::uint64_t alignment, std::uint64_t workspace_size) {
    if (library.algo_check == nullptr) return false;
    HeuristicResult check{};
    return library.algo_check(parts.handle, parts.desc, parts.a_layout, parts.b_layout, parts.c_layout,
                              parts.d_layout, algorithm.data(), &check) == status_success &&
           check.workspace_size <= workspace_size && min_alignment_of(library, algorithm) <= alignment;
}

}  // namespace

Algorithm64 algorithm_at(const void* address) {
    Algorithm64 algorithm{};
    std::memcpy(algorithm.data(), address, sizeof algorithm);
    return algorithm;
}

std::optional<Format> format_of_algorithm(const Library& library, const void* algorithm, std::int32_t compute_type) {
    std::uint64_t flags = 0;
    if (library.algo_capability == nullptr || algorithm == nullptr ||
        !read(library.algo_capability, algorithm, capability_numerical_impl_flags, flags))
        return std::nullopt;
    if ((flags & impl_input_16f) != 0) return Format::fp16;
    std::int32_t emulates = 0;
    const bool is_float64 = compute_type == compute_64f || compute_type == compute_64f_pedantic;
    if (is_float64 && read(library.algo_capability, algorithm, capability_emulates, emulates) && emulates != 0)
        return Format::fp64_emulated;
    const bool permits_no_bf16 = compute_type == compute_32f || compute_type == compute_32f_emulated_16bfx9;
    if ((flags & impl_input_16bf) != 0) return permits_no_bf16 ? Format::bf16x9 : Format::bf16;
    if ((flags & impl_input_tf32) != 0) return Format::tf32;
    if ((flags & impl_input_32f) != 0) return Format::fp32;
    return std::nullopt;
}

bool find_fitting_algorithm(const FittingRequest& wanted, const void* own, Algorithm64& algorithm) {
    const Library& library = wanted.library;
    const Frame& frame = wanted.frame;
    const std::array matrices{frame.word(argument_a), frame.word(argument_b), frame.word(argument_c),
                              frame.word(argument_d)};
    const std::uint64_t alignment = alignment_of(matrices);
    // If the program chose no algorithm for a product, it may pass a null workspace with a size that is not 0.
    const bool has_workspace = own != nullptr || frame.word(argument_workspace) != 0;
    const auto workspace_size = has_workspace ? static_cast<std::uint64_t>(frame.word(argument_workspace_size)) : 0;
    const Format of_algorithm = format_of_algorithm(library, own, wanted.compute_type).value_or(wanted.format);
    const bool is_precise_enough = of_algorithm >= wanted.format || wanted.format == Format::bf16x9;
    SearchConditions original;
    algorithm = own == nullptr ? Algorithm64{} : algorithm_at(own);
    const bool is_known = own != nullptr && recall_search_conditions(algorithm, original);
    const bool may_stay = own != nullptr && is_precise_enough && is_within_limits(wanted.limits, library, algorithm);
    if (may_stay && is_known && wanted.mantissa_bits == 0 && original.compute_type == wanted.compute_type &&
        original.min_alignment <= alignment)
        return true;

    system::Hash key;
    key.add_all(algorithm);
    key.add_all(wanted.desc.words());
    bool is_whole = true;  // false if a layout cannot be read, so that no algorithm is remembered for the product's
                           // shape
    for (const void* layout :
         {wanted.parts.a_layout, wanted.parts.b_layout, wanted.parts.c_layout, wanted.parts.d_layout})
        is_whole = add_shape(library, layout, key) && is_whole;
    for (std::int64_t matrix : matrices) key.add(alignment_of({matrix, 0, 0, 0}));
    key.add(workspace_size);
    key.add(static_cast<std::uint64_t>(wanted.device_index));
    key.add(static_cast<std::uint64_t>(wanted.format) << 32 | wanted.limits.allowed_reduction_schemes() << 1 |
            static_cast<unsigned>(wanted.limits.avoids_known_wrong));
    key.add(static_cast<std::uint64_t>(wanted.mantissa_bits));
    key.add_all(__builtin_bit_cast(std::array<std::uint64_t, 3>, original));
    ReplacementAlgorithm replacement;
    if (!is_whole || !recall_replacement(key.value(), replacement)) {
        SearchResult answer{.replacement = {true, algorithm}};
        if (!may_stay || !algorithm_fits(library, wanted.parts, algorithm, alignment, workspace_size))
            answer = search(wanted, original, matrices, workspace_size);
        replacement = answer.replacement;
        if (is_whole && (replacement.exists || answer.is_final)) remember_replacement(key.value(), replacement);
    }
    algorithm = replacement.algorithm;
    return replacement.exists != 0;
}

}  // namespace fp32shim::cublas
