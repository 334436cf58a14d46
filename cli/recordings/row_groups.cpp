#include "cli/recordings/row_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <unordered_map>

#include "cli/recordings/call_durations.hpp"
#include "cli/recordings/call_paths.hpp"
#include "cli/recordings/columns.hpp"
#include "system/hash.hpp"

namespace fp32shim::cli {
namespace {

/// Returns the key that rows of one group share. A NUL ends each of its texts, since no text contains a NUL.
std::string key_of(const MergedRow& row, const Grouping& grouping) {
    std::string key;
    const auto add = [&key](std::string_view text) { (key += text) += '\0'; };
    for (const std::string_view text : {row.requested, row.applied, row.actual, row.reason}) add(text);
    add(grouping.by_function ? std::string_view(row.function) : "");
    add(grouping.by_where ? std::string_view(row.where) : "");
    add(grouping.by_scope ? std::string_view(row.scope) : "");
    add(grouping.by_caller ? std::string_view(row.caller) : "");
    key += row.is_overflow ? '?' : '.';
    if (grouping.by_size_class) key += std::to_string(size_class_of(row).highest);
    return key;
}

RowGroup group_like(const MergedRow& row, const Grouping& grouping) {
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

/// Adds the counters of a row to a group.
void add_calls(RowGroup& group, const MergedRow& row, const record::RecordedCounters& counters) {
    add_counters(group.counters, counters);
    group.work += std::max(row.flops, 0.0) * static_cast<double>(counters.calls);
    if (row.flops < 0) group.calls_without_work += counters.calls;
}

/// Adds a row to a group, without its calls.
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

struct Grouped {
    std::vector<RowGroup> groups;
    std::vector<std::size_t> group_of;  ///< index in `groups`, by the row's index in the input
};

template <class Rows, class ToRow>
Grouped group_rows(const Rows& rows, const Grouping& grouping, const ToRow& to_row) {
    Grouped result;
    result.group_of.reserve(rows.size());
    std::unordered_map<std::string, std::size_t> indices;
    for (const auto& entry : rows) {
        const MergedRow& row = to_row(entry);
        const auto [known, is_new] = indices.emplace(key_of(row, grouping), result.groups.size());
        if (is_new) result.groups.push_back(group_like(row, grouping));
        add_decision(result.groups[known->second], row);
        add_calls(result.groups[known->second], row, row.counters);
        result.group_of.push_back(known->second);
    }
    return result;
}

void sort_groups(std::vector<RowGroup>& groups, RowOrder order) {
    std::ranges::stable_sort(groups, std::greater<>(), [order](const RowGroup& group) {
        return weight(order, group.counters.calls, group.counters.total_ns, group.work);
    });
}

/// Groups the calls of rows by their call sites.
std::vector<RowGroup> grouped_by_call_site(const MergedCalls& calls, const CallPaths& paths,
                                           const Grouping& grouping) {
    PartGroups parts(grouping);
    for (const PathCalls& part : paths.calls()) {
        const SharedText text = paths.call_site_of(part.node);
        parts.add(text.id(), part.row, calls.rows()[part.row], part.counters).first.call_site = text;
    }
    return parts.groups();
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

const auto columns_of_groups = joined<RowGroup>({own_columns, counter_columns<RowGroup>});

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

std::uint32_t PartGroups::key_number_of(std::uint32_t row_index, const MergedRow& row) {
    if (row_index >= key_number_of_row_.size()) key_number_of_row_.resize(row_index + std::size_t{1});
    std::uint32_t& number = key_number_of_row_[row_index];
    if (number == 0)
        number = key_numbers_.try_emplace(key_of(row, grouping_), static_cast<std::uint32_t>(key_numbers_.size() + 1))
                     .first->second;
    return number;
}

/// Returns true if this part has no calls of this row yet.
bool PartGroups::is_first_of(std::uint32_t part, std::uint32_t row_index) {
    const std::uint64_t pair = (std::uint64_t{part} + 1) << 32 | row_index;
    const auto hash_of = [](std::uint64_t other) { return system::Hash().add(other).value(); };
    const auto [entry, is_new] = known_.find_or_add(
        hash_of(pair), [pair](std::uint64_t other) { return other == pair; }, hash_of);
    entry = pair;
    return is_new;
}

std::pair<RowGroup&, bool> PartGroups::add(std::uint32_t part, std::uint32_t row_index, const MergedRow& row,
                                           const record::RecordedCounters& counters) {
    const std::uint64_t key = std::uint64_t{part} << 32 | key_number_of(row_index, row);
    const auto [entry, is_new] = group_of_part_.try_emplace(key, static_cast<std::uint32_t>(groups_.size()));
    if (is_new) groups_.push_back(group_like(row, grouping_));
    RowGroup& group = groups_[entry->second];
    if (is_first_of(part, row_index)) add_decision(group, row);
    add_calls(group, row, counters);
    return {group, is_new};
}

void ProcessGroups::start(const record::RecordingFacts& facts) {
    keys_ = {};
    if (grouping_.by_host) keys_.host = facts.process.host;
    if (grouping_.by_job) keys_.job_id = facts.process.job_id;
    if (grouping_.by_executable) keys_.executable = facts.process.executable;
    if (grouping_.by_policy) {
        keys_.policy_name = facts.start.policy_name;
        keys_.policy_revision = facts.start.policy_revision;
        keys_.policy_sha256 = facts.start.policy_sha256;
    }
    const std::uint32_t ids[] = {keys_.host.id(),        keys_.job_id.id(),          keys_.executable.id(),
                                 keys_.policy_name.id(), keys_.policy_revision.id(), keys_.policy_sha256.id()};
    part_ = part_of_.try_emplace(std::to_array(ids), static_cast<std::uint32_t>(part_of_.size())).first->second;
}

void ProcessGroups::add(std::uint32_t row_index, const MergedRow& row, const record::RecordedCounters& counters) {
    const auto [group, is_new] = parts_.add(part_, row_index, row, counters);
    if (is_new) group.process = keys_;
}

std::vector<RowGroup> ProcessGroups::sorted(RowOrder order) const {
    std::vector<RowGroup> groups = parts_.groups();
    sort_groups(groups, order);
    return groups;
}

std::string SizeClass::text() const {
    if (!is_known()) return "?";
    return lowest == highest ? fmt::format("{}", highest) : fmt::format("{}-{}", lowest, highest);
}

SizeClass size_class_of(const MergedRow& row) {
    const std::int64_t largest = std::max({row.m, row.n, row.k});
    if (row.is_overflow || largest < 0) return {};
    if (largest == 0) return {0, 0};
    constexpr auto most = std::int64_t{1} << 62;
    if (largest > most) return {most + 1, std::numeric_limits<std::int64_t>::max()};
    const auto highest = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(largest)));
    return {highest / 2 + 1, highest};
}

std::vector<RowGroup> grouped(const std::vector<const MergedRow*>& rows, const Grouping& grouping, RowOrder order) {
    Grouped result = group_rows(rows, grouping, [](const MergedRow* row) -> const MergedRow& { return *row; });
    sort_groups(result.groups, order);
    return std::move(result.groups);
}

std::vector<RowGroup> grouped(const MergedCalls& calls, const CallDurations& durations, const CallPaths& paths,
                              const Grouping& grouping, RowOrder order) {
    if (grouping.by_call_site) {
        std::vector<RowGroup> groups = grouped_by_call_site(calls, paths, grouping);
        sort_groups(groups, order);
        return groups;
    }
    Grouped result = group_rows(calls.rows(), grouping, [](const MergedRow& row) -> const MergedRow& { return row; });
    const auto medians = durations.medians(result.group_of, result.groups.size());
    for (std::size_t i = 0; i < medians.size(); ++i) {
        RowGroup& group = result.groups[i];
        if (medians[i]) group.median_ns = clamped_median(*medians[i], group.counters);
    }
    sort_groups(result.groups, order);
    return std::move(result.groups);
}

std::span<const GroupColumn> group_columns() { return columns_of_groups; }

}  // namespace fp32shim::cli
