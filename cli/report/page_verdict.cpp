// Sums up which calls ran below FP32 and where, for the first lines of a report's page.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "cli/output/json.hpp"
#include "cli/report/page_parts.hpp"
#include "cli/report/tables.hpp"
#include "cli/report/timeline.hpp"
#include "policy/words.hpp"

namespace fp32shim::cli {
namespace {

/// The sums of calls by the kind and the name of their place.
using Places = std::map<std::pair<std::string_view, std::string>, CallSum>;

/// Returns the most exact place that is known of a row's calls: a line, a scope, or the caller and the function.
Places::key_type place_of(const MergedRow& row) {
    if (row.is_overflow) return {"unknown", ""};
    if (!row.where.empty()) return {"where", row.where};
    if (!row.scope.empty()) return {"scope", row.scope};
    if (row.caller.empty()) return {"unknown", ""};
    return {"caller", std::string(row.caller) + ", in calls of " + std::string(row.function)};
}

Json sums_json(const CallSum& share) {
    return {{"calls", share.calls}, {"host_ns", share.host_ns}, {"work", share.work}};
}

/// Returns the place with the largest sum of the quantity `order`; null if `places` is empty.
Json largest_json(const Places& places, RowOrder order) {
    const auto found =
        std::ranges::max_element(places, {}, [order](const auto& place) { return place.second.sort_key(order); });
    if (found == places.end()) return {};
    Json json = sums_json(found->second);
    json["kind"] = found->first.first;
    json["text"] = found->first.second;
    return json;
}

}  // namespace

Json verdict_json(const MergedCalls& calls) {
    CallSum below;
    Places places, places_below;
    std::map<std::string_view, std::uint64_t> calls_by_format;
    std::uint64_t allowed = 0, previewed = 0, narrower = 0, rounded = 0, unknown = calls.calls_without_row();
    for (const MergedRow& row : calls.rows()) {
        const std::uint64_t count = row.counters.calls;
        if (count == 0) continue;
        places[place_of(row)].add(row, row.counters);
        if (row.is_float64() && row.how == "round_operands") rounded += count;
        const auto floor = row.is_overflow ? std::nullopt : row.floor_met();
        if (ran_below_fp32(row)) {
            below.add(row, row.counters);
            places_below[place_of(row)].add(row, row.counters);
            calls_by_format[ran_at_or_unknown(row)] += count;
            if (row.device == "cpu" && row.how != "forward" && row.how != "bf16_units") previewed += count;
            if (row.has_only_permitted_format()) allowed += count;
        } else if (!floor && (row.reason == "observed" || row.is_half())) {
            narrower += count;
        } else if (!floor && row.reason != "no_product") {
            unknown += count;
        }
    }
    if (calls.calls_without_row() > 0) places[{"unknown", ""}].calls += calls.calls_without_row();
    const CallSum total = calls.total();
    const RowOrder order = calls.calls_without_work() == 0 && total.work > 0 ? RowOrder::flops
                           : total.host_ns > 0                               ? RowOrder::time
                                                                             : RowOrder::calls;
    Json json = {{"measure", quantity_name_in_scripts(order)},
                 {"below", sums_json(below)},
                 {"narrower", narrower},
                 {"adds_in_fp16", count_half_products(calls).in_fp16},
                 {"float64", {{"calls", calls.float64_calls()}, {"rounded", rounded}}},
                 {"unknown", unknown},
                 {"busiest", largest_json(places, RowOrder::time)}};
    json["below"].update({{"allowed", allowed},
                          {"previewed", previewed},
                          {"place", largest_json(places_below, order)},
                          {"formats", Json::array()}});
    for (const auto& word : policy::applied_words)
        if (const auto found = calls_by_format.find(word.text); found != calls_by_format.end())
            json["below"]["formats"].push_back({{"format", found->first}, {"calls", found->second}});
    return json;
}

}  // namespace fp32shim::cli
