// Writes recordings as JSON lines, a format of `fp32shim report` that database engines can read.
#include <cstdint>
#include <iterator>
#include <span>
#include <string_view>

#include "cli/output/json_writer.hpp"
#include "cli/recordings/csv_and_json_columns.hpp"
#include "cli/recordings/duration_histogram.hpp"
#include "cli/recordings/filter.hpp"
#include "cli/recordings/native_locations.hpp"
#include "cli/recordings/process_text.hpp"
#include "cli/recordings/shared_text.hpp"
#include "cli/report/output_file.hpp"
#include "cli/report/report_formats.hpp"
#include "cli/report/timeline.hpp"
#include "record/read/reader.hpp"

namespace fp32shim::cli {
namespace {

constexpr std::size_t many_bytes = 65536;  ///< size of the pieces in which lines are written

/// A process with the problems found while its recording was read.
struct ProcessWithProblems {
    const MergedProcess& process;
    const std::vector<record::FileProblem>& problems;
    std::uint64_t lost_audits = 0;
};

FieldValue first_problem(const ProcessWithProblems& read) {
    return read.problems.empty() ? FieldValue() : FieldValue(std::string_view(read.problems.front().what));
}

constexpr RowColumn own_row_columns[] = {
    {"ran_at", [](const MergedRow& row) { return FieldValue::text_or_null(row.effective_format()); }},
    {"first_ns", [](const MergedRow& row) { return FieldValue(row.counters.first_ns); }},
    {"last_ns", [](const MergedRow& row) { return FieldValue(row.counters.last_ns); }},
};

constexpr Column<ProcessWithProblems> own_process_columns[] = {
    {"opened_ns", [](const ProcessWithProblems& read) { return FieldValue(read.process.facts.opened_ns); }},
    {"format_version", [](const ProcessWithProblems& read) { return FieldValue(read.process.facts.format_version); }},
    {"file_size", [](const ProcessWithProblems& read) { return FieldValue(read.process.facts.file_size); }},
    {"setting_changes",
     [](const ProcessWithProblems& read) {
         return FieldValue(read.process.changes.size() + read.process.lost_changes);
     }},
    {"lost_audits", [](const ProcessWithProblems& read) { return FieldValue(read.lost_audits); }},
    {"unseen_children",
     [](const ProcessWithProblems& read) {
         return FieldValue(std::uint64_t{read.process.children.size()} + read.process.missed_children);
     }},
    {"ended_early",
     [](const ProcessWithProblems& read) { return FieldValue(!early_end_text(read.process.facts).empty()); }},
    {"children_only", [](const ProcessWithProblems& read) { return FieldValue(read.process.is_children_file()); }},
    {"problems", [](const ProcessWithProblems& read) { return FieldValue(std::uint64_t{read.problems.size()}); }},
    {"problem", first_problem},
};

const auto row_line_columns = concatenated_columns<MergedRow>({row_columns(), own_row_columns});

/// Appends a JSON member for each column. Numbers above INT64_MAX become INT64_MAX, because database engines have
/// signed integers.
template <class Row>
JsonWriter& append(JsonWriter& json, std::span<const Column<Row>> columns, const Row& row) {
    for (const Column<Row>& column : columns) json.member(column.name, column.value(row).clamped_to_int64());
    return json;
}

/// Begins a line. `event` is its kind, `row` or `recording`.
JsonWriter& begin_line(JsonWriter& json, std::string_view event) {
    return json.open('{').member("event", FieldValue(event)).member("schema", FieldValue(std::int64_t{1}));
}

/// Writes the lines of one recording: a line for each row of `calls`, which has only the calls of this recording,
/// then a line for the recording itself.
void write_recording(JsonWriter& json, const MergedCalls& calls, const std::vector<record::FileProblem>& problems) {
    const MergedProcess& process = calls.processes().front();
    JsonWriter begin;
    const std::string facts = append(begin, process_columns(), process).take_text();
    for (const MergedRow& row : calls.rows()) {
        append<MergedRow>(begin_line(json, "row").raw(facts), row_line_columns, row).finish_line('}');
        if (!json.flush(many_bytes)) return;
    }
    append(begin_line(json, "recording").raw(facts), further_process_columns(), process);
    append<ProcessWithProblems>(json, own_process_columns, {process, problems, calls.audits().lost_audits()})
        .finish_line('}');
}

/// Writes the line of a recording that could not be read at all.
void write_unread(JsonWriter& json, const ReadingProblem& problem) {
    begin_line(json, "recording").member("recording", FieldValue(std::string_view(problem.path)));
    const auto append_nulls = [&](const auto& columns) {
        for (const auto& column : columns) json.member(column.name, FieldValue());
    };
    append_nulls(process_columns().subspan(1));
    append_nulls(further_process_columns());
    append_nulls(std::span(own_process_columns).first(std::size(own_process_columns) - 2));
    json.member("problems", FieldValue(std::int64_t{1}));
    json.member("problem", FieldValue(std::string_view(problem.text))).finish_line('}');
}

}  // namespace

JsonLinesResult write_json_lines(const std::vector<std::string>& paths, const CallFilter& filter,
                                 const std::function<void(record::RecordingReader&)>& prepare, ReportOutput& output) {
    JsonLinesResult written;
    NativeLocator locations;
    JsonWriter json({}, [&](std::string_view text) { return output.write(text); });
    written.problems = visit_recordings(paths, [&](const std::string& path, record::RecordingReader& recording) {
        prepare(recording);
        ++written.recordings;
        if (!json.flush(many_bytes)) return;
        const TemporaryTextScope texts;
        locations.locate_rows_of(recording, filter.looks_at_call_sites());
        MergedCalls calls(&filter, MergedCalls::Objects::left_out);
        calls.add(path, recording);
        DurationHistogram durations;
        add_single_calls(recording, filter, calls, durations, nullptr);
        calls.set_median_durations(durations);
        if (calls.rows().empty() && !filter.is_empty()) return;
        written.calls_with_rounded_sizes += calls.calls_with_rounded_sizes();
        write_recording(json, calls, recording.problems());
    });
    for (const ReadingProblem& problem : written.problems)
        if (problem.is_unread) write_unread(json, problem);
    written.rest = json.take_text();
    return written;
}

}  // namespace fp32shim::cli
