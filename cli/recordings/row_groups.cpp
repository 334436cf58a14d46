#include "cli/recordings/row_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

#include "cli/recordings/call_paths.hpp"
#include "cli/recordings/csv_and_json_columns.hpp"
#include "cli/recordings/duration_histogram.hpp"
#include "system/hash.hpp"

namespace fp32shim::cli {
namespace {

/// Returns the size class of a row, to which the largest of m, n and k belongs.
SizeClass size_class_of(const MergedRow& row) {
    const std::int64_t largest = std::max({row.m, row.n, row.k});
    if (row.is_overflow || largest < 0) return {};
    if (largest == 0) return {0, 0};
    constexpr auto most = std::int64_t{1} << 62;
    if (largest > most) return {most + 1, std::numeric_limits<std::int64_t>::max()};
    const auto highest = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(largest)));
    return {highest / 2 + 1, highest};
}

RowGroup group_with_keys_of(const MergedRow& row, const Grouping& grouping) {
    RowGroup group;
    if (grouping.by_function) group.function = row.function;
    if (grouping.by_where) group.where = row.where;
    if (grouping.by_scope) group.scope = row.scope;
    if (grouping.by_caller) group.caller = row.caller;
    if (grouping.by_size_class) group.sizes = size_class_of(row);
    group.requested = row.requested;
    group.applied = row.applied;
    group.actual = row.actual;
    group.reason = row.reason;
    group.is_overflow = row.is_overflow;
    return group;
}

/// Adds the decision of a row to a group, without the row's calls.
void add_decision(RowGroup& group, const MergedRow& row) {
    ++group.decisions;
    double sum = 0;
    int sizes = 0;
    for (const std::int64_t size : {row.m, row.n, row.k}) {
        if (size <= 0) continue;
        sum += std::log(static_cast<double>(size));
        ++sizes;
    }
    if (sizes == 0) return;
    group.sum_of_log_sizes += sum / sizes;
    ++group.decisions_with_sizes;
}

constexpr GroupColumn own_columns[] = {
    {"host", [](const RowGroup& group) { return FieldValue::text_or_null(group.process.host); }},
    {"job_id", [](const RowGroup& group) { return FieldValue::text_or_null(group.process.job_id); }},
    {"executable", [](const RowGroup& group) { return FieldValue::text_or_null(group.process.executable); }},
    {"policy_name", [](const RowGroup& group) { return FieldValue::text_or_null(group.process.policy_name); }},
    {"policy_revision",
     [](const RowGroup& group) { return FieldValue::text_or_null(group.process.policy_revision); }},
    {"policy_sha256", [](const RowGroup& group) { return FieldValue::text_or_null(group.process.policy_sha256); }},
    {"where", [](const RowGroup& group) { return FieldValue::text_or_null(group.where); }},
    {"scope", [](const RowGroup& group) { return FieldValue::text_or_null(group.scope); }},
    {"call_site", [](const RowGroup& group) { return FieldValue::text_or_null(group.call_site); }},
    {"caller", [](const RowGroup& group) { return FieldValue::text_or_null(group.caller); }},
    {"function", [](const RowGroup& group) { return FieldValue::text_or_null(group.function); }},
    {"max_dim_from", [](const RowGroup& group) { return FieldValue::size_or_null(group.sizes.lowest); }},
    {"max_dim_to", [](const RowGroup& group) { return FieldValue::size_or_null(group.sizes.highest); }},
    {"requested", [](const RowGroup& group) { return FieldValue::text_or_null(group.requested); }},
    {"applied", [](const RowGroup& group) { return FieldValue::text_or_null(group.applied); }},
    {"actual", [](const RowGroup& group) { return FieldValue::text_or_null(group.actual); }},
    {"reason", [](const RowGroup& group) { return FieldValue::text_or_null(group.reason); }},
    {"decisions", [](const RowGroup& group) { return FieldValue(group.decisions); }},
    {"flops_total", [](const RowGroup& group) { return FieldValue(group.work); }},
    {"calls_without_flops", [](const RowGroup& group) { return FieldValue(group.calls_without_work); }},
};

const auto columns_of_groups = concatenated_columns<RowGroup>({own_columns, counter_columns<RowGroup>});

}  // namespace

std::vector<std::string_view> all_grouping_words(bool with_process_keys) {
    std::vector<std::string_view> words;
    for (const GroupingWord& known : grouping_words) words.push_back(known.word);
    if (!with_process_keys) return words;
    for (const GroupingWord& known : process_grouping_words) words.push_back(known.word);
    return words;
}

Grouping parse_grouping(const std::vector<std::string>& words) {
    Grouping grouping;
    for (const std::string& word : words) {
        for (const GroupingWord& known : grouping_words) grouping.*known.key |= word == known.word;
        for (const GroupingWord& known : process_grouping_words) grouping.*known.key |= word == known.word;
    }
    return grouping;
}

void RowGroupTable::begin_recording(const record::RecordingFacts& facts) {
    process_ = {};
    if (grouping_.by_host) process_.host = facts.process.host;
    if (grouping_.by_job) process_.job_id = facts.process.job_id;
    if (grouping_.by_executable) process_.executable = facts.process.executable;
    if (!grouping_.by_policy) return;
    process_.policy_name = facts.start.policy_name;
    process_.policy_revision = facts.start.policy_revision;
    process_.policy_sha256 = facts.start.policy_sha256;
}

std::size_t RowGroupTable::add(std::uint32_t row_index, const MergedRow& row,
                               const record::RecordedCounters& counters, SharedText call_site) {
    RowGroup like = group_with_keys_of(row, grouping_);
    like.process = process_;
    like.call_site = call_site;
    const std::uint32_t index =
        indices_.try_emplace(like.key(), static_cast<std::uint32_t>(groups_.size())).first->second;
    if (index == groups_.size()) groups_.push_back(like);
    RowGroup& group = groups_[index];
    // A row is added several times only if call sites or processes are keys. `known_` then tells whether the group
    // already counts the row as a decision.
    bool is_new = true;
    if (grouping_.by_call_site || grouping_.has_process_keys()) {
        const std::uint64_t pair = (std::uint64_t{index} + 1) << 32 | row_index;
        const auto hash_of = [](std::uint64_t other) { return system::Hash().add(other).value(); };
        const auto entry = known_.find_or_add(
            hash_of(pair), [pair](std::uint64_t other) { return other == pair; }, hash_of);
        entry.first = pair;
        is_new = entry.second;
    }
    if (is_new) add_decision(group, row);
    add_counters(group.counters, counters);
    group.work += std::max(row.flops, 0.0) * static_cast<double>(counters.calls);
    if (row.flops < 0) group.calls_without_work += counters.calls;
    return index;
}

std::vector<RowGroup> RowGroupTable::sorted(RowOrder order) const {
    std::vector<RowGroup> groups = groups_;
    std::ranges::stable_sort(groups, std::greater<>(), [order](const RowGroup& group) {
        return sort_key(order, group.counters.calls, group.counters.total_ns, group.work);
    });
    return groups;
}

std::string SizeClass::text() const {
    if (!is_known()) return "?";
    return lowest == highest ? fmt::format("{}", highest) : fmt::format("{}-{}", lowest, highest);
}

std::vector<RowGroup> grouped(const std::vector<const MergedRow*>& rows, const Grouping& grouping, RowOrder order) {
    RowGroupTable groups(grouping);
    for (const MergedRow* row : rows) groups.add(0, *row, row->counters);
    return groups.sorted(order);
}

std::vector<RowGroup> grouped(const MergedCalls& calls, const DurationHistogram& durations, const CallPathTree& paths,
                              const Grouping& grouping, RowOrder order) {
    RowGroupTable groups(grouping);
    if (grouping.by_call_site) {
        for (const CallsOfPath& part : paths.calls())
            groups.add(part.row, calls.rows()[part.row], part.counters, paths.call_site_of(part.node));
        return groups.sorted(order);
    }
    std::vector<std::size_t> group_of;  // number of the group, by the index of a row
    for (const MergedRow& row : calls.rows())
        group_of.push_back(groups.add(static_cast<std::uint32_t>(group_of.size()), row, row.counters));
    const auto medians = durations.medians(group_of, groups.groups().size());
    for (std::size_t i = 0; i < medians.size(); ++i) {
        RowGroup& group = groups.groups()[i];
        if (medians[i]) group.median_ns = clamped_median(*medians[i], group.counters);
    }
    return groups.sorted(order);
}

std::span<const GroupColumn> group_columns() { return columns_of_groups; }

}  // namespace fp32shim::cli
