#include "cli/report/page_verdict.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "cli/output/json.hpp"
#include "cli/report/html_page.hpp"
#include "cli/report/page_paths.hpp"
#include "cli/report/timeline.hpp"
#include "policy/words.hpp"

namespace fp32shim::cli {
namespace {

Json share_json(const ShareWithWork& share) {
    return {
        {"calls", share.calls}, {"host_ns", share.host_ns}, {"work", share.work}, {"estimated", share.is_estimate}};
}

/// Sums of calls by place. The name of a place is the best that is known: a line, a scope, or caller and function.
class Places {
  public:
    void add(const MergedRow& row) {
        sums_[name_of(row)].add(row.counters, row.flops);
        has_all_work_ = has_all_work_ && row.flops >= 0;
    }
    void add_unknown(std::uint64_t calls) {
        if (calls > 0) sums_[{"unknown", ""}].calls += calls;
        has_all_work_ = has_all_work_ && calls == 0;
    }
    /// Returns the quantity that tells best how much was multiplied: work, or host time if the work of some calls is
    /// unknown.
    RowOrder best_order() const {
        double work = 0;
        std::uint64_t host_ns = 0;
        for (const auto& [name, sum] : sums_) {
            work += sum.work;
            host_ns += sum.host_ns;
        }
        if (has_all_work_ && work > 0) return RowOrder::flops;
        return host_ns > 0 ? RowOrder::time : RowOrder::calls;
    }

    /// Returns the place with the largest sum; null if there are none.
    Json largest(RowOrder order) const {
        const auto is_less = [order](const auto& a, const auto& b) {
            return a.second.weight(order) < b.second.weight(order);
        };
        const auto found = std::max_element(sums_.begin(), sums_.end(), is_less);
        if (found == sums_.end()) return {};
        Json json = share_json(found->second);
        json["kind"] = found->first.first;
        json["text"] = truncated(found->first.second);
        return json;
    }

  private:
    using Name = std::pair<std::string_view, std::string>;

    static Name name_of(const MergedRow& row) {
        if (row.is_overflow) return {"unknown", ""};
        if (!row.where.empty()) return {"where", row.where};
        if (!row.scope.empty()) return {"scope", row.scope};
        if (row.caller.empty()) return {"unknown", ""};
        return {"caller", std::string(row.caller) + ", in calls of " + std::string(row.function)};
    }

    std::map<Name, ShareWithWork> sums_;
    bool has_all_work_ = true;
};

/// Sums of the calls that ran below FP32.
struct CallsBelow {
    ShareWithWork sum;
    std::map<std::string_view, std::uint64_t> formats;
    std::uint64_t allowed = 0, previewed = 0;
    Places places;

    void add(const MergedRow& row) {
        sum.add(row.counters, row.flops);
        formats[format_of(row)] += row.counters.calls;
        const bool is_on_cpu = row.device == "cpu";
        if (is_on_cpu && row.how != "forward") previewed += row.counters.calls;
        if (!is_on_cpu && row.actual.empty()) allowed += row.counters.calls;
        places.add(row);
    }

    Json json(RowOrder order) const {
        Json json = share_json(sum);
        json["allowed"] = allowed;
        json["previewed"] = previewed;
        json["place"] = places.largest(order);
        json["formats"] = Json::array();
        for (const auto& word : policy::applied_words)
            if (const auto found = formats.find(word.text); found != formats.end())
                json["formats"].push_back({{"format", found->first}, {"calls", found->second}});
        return json;
    }
};

}  // namespace

Json verdict_json(const MergedCalls& calls) {
    CallsBelow below;
    Places places;
    std::uint64_t narrower = 0, rounded = 0, unknown = calls.calls_without_row();
    for (const MergedRow& row : calls.rows()) {
        const std::uint64_t count = row.counters.calls;
        if (count == 0) continue;
        places.add(row);
        if (row.is_float64() && row.how == "round_operands") rounded += count;
        const auto floor = row.is_overflow ? std::nullopt : row.floor_met();
        if (floor && *floor < policy::Floor::fp32)
            below.add(row);
        else if (!floor && row.reason == "observed")
            narrower += count;
        else if (!floor && row.reason != "no_product")
            unknown += count;
    }
    places.add_unknown(calls.calls_without_row());
    const RowOrder order = places.best_order();
    return {{"measure", page_name(order)}, {"below", below.json(order)},
            {"narrower", narrower},        {"float64", {{"calls", calls.float64_calls()}, {"rounded", rounded}}},
            {"unknown", unknown},          {"busiest", places.largest(RowOrder::time)}};
}

}  // namespace fp32shim::cli
