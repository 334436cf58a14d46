#include "cli/report/diff/comparison.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "cli/output/terminal.hpp"
#include "cli/recordings/location_text.hpp"
#include "cli/report/timeline.hpp"
#include "system/inline_text.hpp"

namespace fp32shim::cli {
namespace {

/// Returns true if a file exists on this machine and was last changed before `time_ns`, in nanoseconds since 1970.
bool is_older(const std::string& file, std::int64_t time_ns) {
    struct stat status {};
    if (stat(file.c_str(), &status) != 0) return false;
    return status.st_mtim.tv_sec * std::int64_t{1'000'000'000} + status.st_mtim.tv_nsec < time_ns;
}

/// Lines (or return addresses) from which a function makes calls, for each side.
using LinesOfSides = std::array<std::set<std::uint32_t>, 2>;

std::uint32_t position_in_file(const PathFrame& frame) { return frame.line != 0 ? frame.line : frame.offset; }

std::string key_of(const ComparedGroup& group) {
    std::string text;
    for (const ComparedKey& key : compared_keys) text += std::to_string((group.*key.text).id()) + ' ';
    return text;
}

constexpr ComparedColumn columns_of_comparison[] = {
    {"where", [](const ComparedGroup& group) { return FieldValue::text_or_null(group.where); }},
    {"scope", [](const ComparedGroup& group) { return FieldValue::text_or_null(group.scope); }},
    {"call_site", [](const ComparedGroup& group) { return FieldValue::text_or_null(group.call_site); }},
    {"caller", [](const ComparedGroup& group) { return FieldValue::text_or_null(group.caller); }},
    {"function", [](const ComparedGroup& group) { return FieldValue::text_or_null(group.function); }},
    {"max_dim", [](const ComparedGroup& group) { return FieldValue::text_or_null(group.size); }},
    {"ran_at", [](const ComparedGroup& group) { return FieldValue::text_or_null(group.format); }},
    {"calls_before", [](const ComparedGroup& group) { return FieldValue(group.before.calls); }},
    {"calls_after", [](const ComparedGroup& group) { return FieldValue(group.after.calls); }},
    {"host_ns_before", [](const ComparedGroup& group) { return FieldValue(group.before.host_ns); }},
    {"host_ns_after", [](const ComparedGroup& group) { return FieldValue(group.after.host_ns); }},
    {"timed_calls_before", [](const ComparedGroup& group) { return FieldValue(group.before.timed_calls); }},
    {"timed_calls_after", [](const ComparedGroup& group) { return FieldValue(group.after.timed_calls); }},
    {"flops_before", [](const ComparedGroup& group) { return FieldValue(group.before.work); }},
    {"flops_after", [](const ComparedGroup& group) { return FieldValue(group.after.work); }},
};

}  // namespace

void ComparedCalls::add(const MergedRow& row, const record::RecordedCounters& counters) {
    ShareWithWork::add(counters, row.flops);
    formats[std::string(format_of(row))] += counters.calls;
}

std::vector<std::pair<std::string, std::uint64_t>> ComparedCalls::formats_by_calls() const {
    std::vector<std::pair<std::string, std::uint64_t>> sorted(formats.begin(), formats.end());
    std::ranges::stable_sort(sorted, std::greater<>(), [](const auto& entry) { return entry.second; });
    return sorted;
}

std::string ComparedCalls::formats_text() const {
    if (formats.size() == 1) return formats.begin()->first;
    std::string text;
    for (const auto& [format, count] : formats_by_calls())
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", format, share_text(count, calls));
    return text;
}

bool ComparedGroup::ran_differently() const {
    return before.calls > 0 && after.calls > 0 && before.formats_text() != after.formats_text();
}

std::span<const ComparedColumn> compared_columns() { return columns_of_comparison; }

Comparison::Comparison(const ComparedSide& before, const ComparedSide& after, Grouping grouping, RowOrder order)
    : sides_{before, after}, grouping_(grouping), order_(order) {
    find_changed_files();
    join_paths();
    if (grouping_.is_empty()) {
        const auto any_has = [&](SharedText MergedRow::*text) {
            const auto has = [text](const MergedRow& row) { return !(row.*text).empty(); };
            return std::ranges::any_of(before.calls.rows(), has) || std::ranges::any_of(after.calls.rows(), has);
        };
        grouping_.by_function = true;
        grouping_.by_scope = any_has(&MergedRow::scope);
        (any_has(&MergedRow::where) ? grouping_.by_where : grouping_.by_call_site) = true;
    }
    group();
    sort_groups();
}

const MergedRow& Comparison::row_of(const PathCalls& part) const {
    const auto& before = sides_[0].calls.rows();
    return is_after(part) ? sides_[1].calls.rows()[part.row - before.size()] : before[part.row];
}

void Comparison::find_changed_files() {
    std::map<std::pair<std::uint32_t, std::uint32_t>, LinesOfSides> functions;  // lines by file and function
    std::unordered_map<std::uint32_t, SharedText> files;
    for (const int side : {0, 1}) {
        for (const PathNode& node : sides_[side].paths.nodes()) {
            if (node.file.empty() || position_in_file(node) == 0) continue;
            functions[{node.file.id(), node.function.id()}][side].insert(position_in_file(node));
            files[node.file.id()] = node.file;
        }
    }
    const std::int64_t begin_ns = std::min(sides_[0].calls.first_ns(), sides_[1].calls.first_ns());
    for (const auto& [key, lines] : functions) {
        if (lines[0].empty() || lines[1].empty() || lines[0] == lines[1]) continue;
        const std::string file = files[key.first];
        if (is_older(file, begin_ns)) continue;
        changed_files_.insert(file);
        changed_names_.insert(std::string(system::base_name(file)));
    }
}

/// Removes the line or the offset of a frame in a changed file. If a frame has a line, its offset is always removed,
/// since it depends on the whole program.
PathFrame Comparison::without_changed_location(PathFrame frame) const {
    const bool is_changed = changed_files_.contains(std::string(frame.file));
    if (frame.line == 0 && !is_changed) return frame;
    frame.offset = 0;
    frame.call_site = without_offset(frame.call_site);
    if (is_changed) frame.line = 0;
    return frame;
}

SharedText Comparison::without_changed_location(SharedText where) const {
    if (const CutLocation cut = split_location(where); !cut.file.empty()) {
        if (!changed_names_.contains(std::string(cut.file))) return where;
        return SharedText(std::string(cut.file).append(cut.rest));
    }
    const std::string_view text = where, function = without_offset(text);
    const std::string_view object = function.substr(0, std::min(function.find('!'), function.size()));
    return function != text && changed_names_.contains(std::string(object)) ? SharedText(function) : where;
}

void Comparison::join_paths() {
    for (const int side : {0, 1}) {
        const CallPaths& paths = sides_[side].paths;
        std::vector<std::uint32_t> joined(paths.nodes().size());
        for (std::size_t i = 1; i < joined.size(); ++i)
            joined[i] = paths_.child(joined[paths.nodes()[i].parent], without_changed_location(paths.nodes()[i]));
        const auto first_row = static_cast<std::uint32_t>(side == 0 ? 0 : sides_[0].calls.rows().size());
        for (const PathCalls& part : paths.calls())
            paths_.add(joined[part.node], first_row + part.row, part.counters);
    }
    paths_.finish();
}

void Comparison::group() {
    std::unordered_map<std::string, std::size_t> indices;
    group_of_.reserve(paths_.calls().size());
    for (const PathCalls& part : paths_.calls()) {
        const MergedRow& row = row_of(part);
        ComparedGroup group;
        if (grouping_.by_where) group.where = without_changed_location(row.where);
        if (grouping_.by_scope) group.scope = row.scope;
        if (grouping_.by_call_site) group.call_site = paths_.call_site_of(part.node);
        if (grouping_.by_caller) group.caller = row.caller;
        if (grouping_.by_function) group.function = row.function;
        if (const SizeClass sizes = size_class_of(row); grouping_.by_size_class && sizes.is_known())
            group.size = sizes.text();
        if (grouping_.by_precision) group.format = format_of(row);
        const auto [entry, is_new] = indices.emplace(key_of(group), groups_.size());
        if (is_new) groups_.push_back(group);
        ComparedGroup& found = groups_[entry->second];
        (is_after(part) ? found.after : found.before).add(row, part.counters);
        group_of_.push_back(entry->second);
    }
}

void Comparison::sort_groups() {
    std::vector<std::size_t> order(groups_.size()), new_index(groups_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::greater<>(), [this](std::size_t index) {
        return std::abs(groups_[index].after.weight(order_) - groups_[index].before.weight(order_));
    });
    std::vector<ComparedGroup> sorted;
    sorted.reserve(order.size());
    for (const std::size_t index : order) {
        new_index[index] = sorted.size();
        sorted.push_back(std::move(groups_[index]));
    }
    groups_ = std::move(sorted);
    for (std::size_t& group : group_of_) group = new_index[group];
}

}  // namespace fp32shim::cli
