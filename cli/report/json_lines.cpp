#include "cli/report/json_lines.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <string_view>

#include "cli/output/json_text.hpp"
#include "cli/recordings/call_durations.hpp"
#include "cli/recordings/columns.hpp"
#include "cli/recordings/filter.hpp"
#include "cli/recordings/merged_calls.hpp"
#include "cli/recordings/native_locations.hpp"
#include "cli/recordings/process_text.hpp"
#include "cli/recordings/recordings.hpp"
#include "cli/recordings/shared_text.hpp"
#include "cli/report/output_file.hpp"
#include "cli/report/timeline.hpp"
#include "record/read/reader.hpp"

namespace fp32shim::cli {
namespace {

/// A process with the problems found while its recording was read.
struct ReadProcess {
    const MergedProcess& process;
    const std::vector<record::Problem>& problems;
    std::uint64_t lost_audits = 0;
};

/// Limits a count to 63 bits, since database engines read signed integers of 64 bits. Only a damaged recording
/// exceeds that.
std::uint64_t limited(std::uint64_t count) {
    return std::min<std::uint64_t>(count, std::numeric_limits<std::int64_t>::max());
}

FieldValue first_problem(const ReadProcess& read) {
    return read.problems.empty() ? FieldValue() : FieldValue(std::string_view(read.problems.front().what));
}

constexpr RowColumn own_row_columns[] = {
    {"ran_at", [](const MergedRow& row) { return FieldValue::text_or_null(row.ran_at()); }},
    {"first_ns", [](const MergedRow& row) { return FieldValue(row.counters.first_ns); }},
    {"last_ns", [](const MergedRow& row) { return FieldValue(row.counters.last_ns); }},
};

constexpr Column<ReadProcess> own_process_columns[] = {
    {"opened_ns", [](const ReadProcess& read) { return FieldValue(read.process.facts.opened_ns); }},
    {"format_version", [](const ReadProcess& read) { return FieldValue(read.process.facts.format_version); }},
    {"file_size", [](const ReadProcess& read) { return FieldValue(limited(read.process.facts.file_size)); }},
    {"setting_changes",
     [](const ReadProcess& read) {
         return FieldValue(limited(read.process.changes.size() + read.process.lost_changes));
     }},
    {"lost_audits", [](const ReadProcess& read) { return FieldValue(limited(read.lost_audits)); }},
    {"unseen_children",
     [](const ReadProcess& read) {
         return FieldValue(std::uint64_t{read.process.children.size()} + read.process.missed_children);
     }},
    {"ended_early", [](const ReadProcess& read) { return FieldValue(!early_end_text(read.process.facts).empty()); }},
    {"children_only", [](const ReadProcess& read) { return FieldValue(read.process.is_children_only()); }},
    {"problems", [](const ReadProcess& read) { return FieldValue(std::uint64_t{read.problems.size()}); }},
    {"problem", first_problem},
};

const auto row_line_columns = joined<MergedRow>({row_columns(), own_row_columns});

/// Begins a line. `event` is its kind, `row` or `recording`.
JsonText& begin_line(JsonText& json, std::string_view event) {
    return json.open('{').member("event", FieldValue(event)).member("schema", FieldValue(std::int64_t{1}));
}

/// Appends members with the value null.
template <class Row>
void append_null_members(JsonText& json, std::span<const Column<Row>> columns) {
    for (const Column<Row>& column : columns) json.member(column.name, FieldValue());
}

MergedRow with_limited_counts(MergedRow row) {
    record::RecordedCounters& counters = row.counters;
    for (auto* count :
         {&counters.calls, &counters.total_ns, &counters.shortest_ns, &counters.longest_ns, &counters.timed_calls})
        *count = limited(*count);
    return row;
}

MergedProcess with_limited_counts(MergedProcess process) {
    for (auto* count : {&process.uncounted_calls, &process.dropped_events, &process.overwritten_events})
        *count = limited(*count);
    return process;
}

}  // namespace

void JsonLines::write(const std::string& path, record::RecordingReader& recording) {
    ++recordings_;
    if (!is_open_) return;
    const TextsForAWhile texts;
    locations_.name_rows_of(recording, filter_.looks_at_call_sites());
    MergedCalls calls(&filter_, MergedCalls::Objects::left_out);
    calls.add(path, recording);
    CallDurations durations;
    add_single_calls(recording, filter_, calls, durations, nullptr);
    calls.set_medians(durations);
    if (calls.rows().empty() && !filter_.is_empty()) return;

    const MergedProcess process = with_limited_counts(calls.processes().front());
    std::string begin;
    JsonText begin_json(begin);
    begin_line(begin_json, "row").members(process_columns(), process);
    for (const MergedRow& row : calls.rows()) {
        JsonText(text_).raw(begin).members<MergedRow>(row_line_columns, with_limited_counts(row));
        text_ += "}\n";
        put(false);
        if (row.is_folded) calls_with_rounded_sizes_ += row.counters.calls;
    }
    JsonText json(text_);
    begin_line(json, "recording").members(process_columns(), process);
    json.members(further_process_columns(), process);
    json.members<ReadProcess>(own_process_columns, {process, recording.problems(), calls.audits().lost()});
    json.close('}');
    text_ += '\n';
    put(false);
}

void JsonLines::write_unread(const std::vector<ReadingProblem>& problems) {
    for (const ReadingProblem& problem : problems) {
        if (!problem.is_unread) continue;
        JsonText json(text_);
        begin_line(json, "recording").member("recording", FieldValue(std::string_view(problem.path)));
        append_null_members(json, process_columns().subspan(1));
        append_null_members(json, further_process_columns());
        append_null_members(json, std::span(own_process_columns).first(std::size(own_process_columns) - 2));
        json.member("problems", FieldValue(std::int64_t{1}));
        json.member("problem", FieldValue(std::string_view(problem.text))).close('}');
        text_ += '\n';
        put(false);
    }
    put(true);
}

/// Writes the collected lines if there are many, or if `is_last`.
void JsonLines::put(bool is_last) {
    constexpr std::size_t enough = 65536;
    if (text_.size() < enough && !is_last) return;
    is_open_ = output_.put(text_) && is_open_;
    text_.clear();
}

}  // namespace fp32shim::cli
