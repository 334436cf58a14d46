#include "shim/cublas/govern/lt_search.hpp"

#include <algorithm>

#include "shim/cublas/govern/govern.hpp"
#include "shim/cublas/govern/run.hpp"
#include "shim/cublas/lt_algorithms.hpp"
#include "shim/cublas/lt_arguments.hpp"
#include "shim/cublas/own_frame.hpp"
#include "shim/table/families.hpp"

namespace fp32shim::cublas {
namespace {

std::int32_t usable(const HeuristicResult* results, std::int32_t count) {
    std::int32_t i = 0;
    while (i < count && results[i].state == status_success) ++i;
    return i;
}

}  // namespace

std::int32_t Search::ask(const void* desc, const void* preference, std::int32_t wanted, HeuristicResult* results,
                         std::int32_t* found) const {
    OwnFrame arguments(*site_.function, frame_);
    arguments.put(argument_desc, desc);
    arguments.put(heuristic_preference, preference);
    arguments.put(heuristic_wanted, std::int64_t{wanted});
    arguments.put(heuristic_results, static_cast<const void*>(results));
    arguments.put(heuristic_found, static_cast<const void*>(found));
    return call_as_called(site_, arguments.frame());
}

void Search::remember(const HeuristicResult* results, std::int32_t count, std::int32_t compute_type) const {
    const Library& library = *site_.cublas.library;
    FoundAlgorithm found;
    found.compute_type = compute_type;
    if (library.preference_get != nullptr && preference() != nullptr) {
        read(library.preference_get, preference(), preference_impl_mask, found.implementation_mask);
        read(library.preference_get, preference(), preference_reduction_scheme_mask, found.reduction_scheme_mask);
        read(library.preference_get, preference(), preference_max_waves_count, found.max_waves_count);
    }
    for (std::int32_t i = 0; i < count; ++i) {
        if (results[i].state != status_success) continue;
        FoundAlgorithm known;
        const bool is_known = recall_algorithm(results[i].algorithm, known);
        found.min_alignment = is_known ? known.min_alignment : min_alignment_of(library, results[i].algorithm);
        if (!is_known || !(known == found)) remember_algorithm(results[i].algorithm, found);
    }
}

bool Search::begins_from_an_algorithm() const {
    std::uint32_t mode = search_best_fit;
    return preference() != nullptr && site_.cublas.library->preference_get != nullptr &&
           read(site_.cublas.library->preference_get, preference(), preference_search_mode, mode) &&
           mode != search_best_fit;
}

std::int32_t Search::search_as_called(const void* desc, std::int32_t compute_type) const {
    const std::int32_t status = ask(desc, preference(), max_results(), results(), found());
    if (status == status_success && results() != nullptr && found() != nullptr)
        remember(results(), *found(), compute_type);
    return status;
}

std::int32_t Search::search_from_algorithm(const void* desc, std::int32_t own_compute_type) const {
    FoundAlgorithm begin;
    ChangedDesc changed;
    if (has_changed_searches() && results() != nullptr && recall_algorithm(results()->algorithm, begin) &&
        begin.compute_type != own_compute_type && changed.copy(*site_.cublas.library, desc, begin.compute_type))
        return search_as_called(changed.address(), begin.compute_type);
    return search_as_called(desc, own_compute_type);
}

bool Search::search_changed(const Form& own, const Form& changed, const policy::AlgorithmLimits& limits) const {
    if (results() == nullptr || found() == nullptr) return false;
    const Library& library = *site_.cublas.library;
    const auto is_beyond = [&](const HeuristicResult& result) {
        return !is_within(limits, library, result.algorithm);
    };
    LimitedPreference limited;
    if (limits.any() && !limited.copy(library, preference(), limits.allowed_reduction_schemes())) return false;
    std::int32_t count = 1;  // a program that asks for one result gets one
    if (max_results() != 1) {
        if (ask(own.desc, preference(), max_results(), results(), &count) != status_success || count <= 0)
            return false;
        if (own.desc == changed.desc && std::none_of(results(), results() + count, is_beyond)) {
            remember(results(), count, own.compute_type);
            *found() = count;
            return true;
        }
    }
    std::int32_t first = 0;
    if (ask(changed.desc, limits.any() ? limited.address() : preference(), count, results(), &first) !=
        status_success)
        return false;
    first = static_cast<std::int32_t>(std::remove_if(results(), results() + usable(results(), first), is_beyond) -
                                      results());
    if (first == 0) return false;
    if (const std::int32_t missing = count - first; missing > 0) {
        std::int32_t added = 0;
        if (ask(own.desc, preference(), missing, results() + first, &added) != status_success || added != missing)
            return false;
        remember(results() + first, missing, own.compute_type);
    }
    remember(results(), first, changed.compute_type);
    *found() = count;
    return true;
}

}  // namespace fp32shim::cublas
