#include "shim/cublas/govern/lt_search.hpp"

#include <algorithm>

#include "shim/cublas/arguments.hpp"
#include "shim/cublas/govern/govern.hpp"
#include "shim/cublas/govern/run.hpp"
#include "shim/cublas/lt_algorithms.hpp"
#include "shim/cublas/lt_arguments.hpp"
#include "shim/table/families.hpp"

namespace fp32shim::cublas {
namespace {

std::int32_t usable(const HeuristicResult* results, std::int32_t count) {
    std::int32_t i = 0;
    while (i < count && results[i].state == status_success) ++i;
    return i;
}

}  // namespace

std::int32_t AlgorithmSearch::run_search(const void* desc, const void* preference, std::int32_t wanted,
                                         HeuristicResult* results, std::int32_t* found) const {
    ArgumentFrame arguments(*site_.function, frame_);
    arguments.set(argument_desc, desc);
    arguments.set(heuristic_preference, preference);
    arguments.set(heuristic_wanted, std::int64_t{wanted});
    arguments.set(heuristic_results, static_cast<const void*>(results));
    arguments.set(heuristic_found, static_cast<const void*>(found));
    return call_as_called(site_, arguments.frame());
}

void AlgorithmSearch::remember_results(const HeuristicResult* results, std::int32_t count,
                                       std::int32_t compute_type) const {
    const Library& library = *site_.cublas.library;
    SearchConditions found;
    found.compute_type = compute_type;
    if (library.preference_get != nullptr && preference() != nullptr) {
        read(library.preference_get, preference(), preference_impl_mask, found.implementation_mask);
        read(library.preference_get, preference(), preference_reduction_scheme_mask, found.reduction_scheme_mask);
        read(library.preference_get, preference(), preference_max_waves_count, found.max_waves_count);
    }
    for (std::int32_t i = 0; i < count; ++i) {
        if (results[i].state != status_success) continue;
        SearchConditions known;
        const bool is_known = recall_search_conditions(results[i].algorithm, known);
        found.min_alignment = is_known ? known.min_alignment : min_alignment_of(library, results[i].algorithm);
        if (!is_known || !(known == found)) remember_search_conditions(results[i].algorithm, found);
    }
}

bool AlgorithmSearch::begins_from_an_algorithm() const {
    std::uint32_t mode = search_best_fit;
    return preference() != nullptr && site_.cublas.library->preference_get != nullptr &&
           read(site_.cublas.library->preference_get, preference(), preference_search_mode, mode) &&
           mode != search_best_fit;
}

std::int32_t AlgorithmSearch::search_as_called(const void* desc, std::int32_t compute_type) const {
    const std::int32_t status = run_search(desc, preference(), max_results(), results(), found_count());
    if (status == status_success && results() != nullptr && found_count() != nullptr)
        remember_results(results(), *found_count(), compute_type);
    return status;
}

std::int32_t AlgorithmSearch::search_from_algorithm(const void* desc, std::int32_t own_compute_type) const {
    SearchConditions begin;
    ChangedDescriptor changed;
    if (has_changed_searches() && results() != nullptr && recall_search_conditions(results()->algorithm, begin) &&
        begin.compute_type != own_compute_type && changed.copy_from(*site_.cublas.library, desc, begin.compute_type))
        return search_as_called(changed.address(), begin.compute_type);
    return search_as_called(desc, own_compute_type);
}

bool AlgorithmSearch::search_changed(const TypedDescriptor& own, const TypedDescriptor& changed,
                                     const policy::AlgorithmLimits& limits) const {
    if (results() == nullptr || found_count() == nullptr) return false;
    const Library& library = *site_.cublas.library;
    const auto is_beyond_limits = [&](const HeuristicResult& result) {
        return !is_within_limits(limits, library, result.algorithm);
    };
    LimitedPreference limited;
    if (limits.any() && !limited.copy_from(library, preference(), limits.allowed_reduction_schemes())) return false;
    std::int32_t count = 1;  // a program that asks for one result gets one result
    if (max_results() != 1) {
        if (run_search(own.desc, preference(), max_results(), results(), &count) != status_success || count <= 0)
            return false;
        if (own.desc == changed.desc && std::none_of(results(), results() + count, is_beyond_limits)) {
            remember_results(results(), count, own.compute_type);
            *found_count() = count;
            return true;
        }
    }
    std::int32_t first = 0;
    if (run_search(changed.desc, limits.any() ? limited.address() : preference(), count, results(), &first) !=
        status_success)
        return false;
    first = static_cast<std::int32_t>(
        std::remove_if(results(), results() + usable(results(), first), is_beyond_limits) - results());
    if (first == 0) return false;
    if (const std::int32_t missing = count - first; missing > 0) {
        std::int32_t added = 0;
        if (run_search(own.desc, preference(), missing, results() + first, &added) != status_success ||
            added != missing)
            return false;
        remember_results(results() + first, missing, own.compute_type);
    }
    remember_results(results(), first, changed.compute_type);
    *found_count() = count;
    return true;
}

}  // namespace fp32shim::cublas
