// Prints the tables of `fp32shim report`. Columns without information are left out.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>

#include "cli/output/moment.hpp"
#include "cli/recordings/algorithms.hpp"
#include "cli/recordings/filter.hpp"
#include "cli/recordings/process_text.hpp"
#include "cli/report/output_file.hpp"
#include "cli/report/report_formats.hpp"
#include "cli/report/tables.hpp"
#include "policy/words.hpp"
#include "shim/blas/treat.hpp"
#include "shim/table/functions.hpp"

namespace fp32shim::cli {
namespace {

Colour colour_of_format(std::string_view format) {
    const auto met = floor_met_by_word(format);
    if (!met) return Colour::none;
    return *met >= policy::Floor::bf16x9 ? Colour::green : Colour::yellow;
}

/// Returns a number of calls, with the numbers of recordings and machines.
std::string all_calls_text(const MergedCalls& calls, std::uint64_t count) {
    return fmt::format("{} in {} on {}", counted(count, "call"), counted(calls.recording_count(), "recording"),
                       counted(calls.host_count(), "machine"));
}

/// Returns how many of all calls, and of all recordings, a filter selects.
std::string filtered_calls_text(const MergedCalls& calls) {
    const auto concerned = std::ranges::count_if(calls.processes(), [](const auto& one) { return one.calls > 0; });
    return fmt::format(
        "{} of {}, in {} of {}", count_text(calls.total().calls), counted(calls.calls_before_filter(), "call"),
        count_text(static_cast<std::uint64_t>(concerned)), counted(calls.recording_count(), "recording"));
}

/// Returns the message for `--ran-below` if no call passes the filter.
std::string none_below_text(const MergedCalls& calls) {
    return fmt::format("no call{}{} ran below {}: {}", calls.undecided_calls() > 0 ? " of known format" : "",
                       calls.filter()->has_conditions() ? " that the other options select" : "",
                       calls.filter()->ran_below(), all_calls_text(calls, calls.calls_before_filter()));
}

std::string unknown_formats_text(const MergedCalls& calls) {
    const std::uint64_t count = calls.undecided_calls();
    if (count == 0) return {};
    return fmt::format("{} {} of unknown format: no answer about {}\n", counted(count, "call"),
                       count == 1 ? "is" : "are", count == 1 ? "it" : "them");
}

std::string head_text(const MergedCalls& calls) {
    const CallSum total = calls.total();
    const bool is_filtered = calls.filter() != nullptr && !calls.filter()->is_empty();
    if (is_filtered && !calls.filter()->ran_below().empty() && total.calls == 0)
        return none_below_text(calls) + "\n" + unknown_formats_text(calls);
    std::string text =
        fmt::format("{}, {} on the host",
                    is_filtered ? filtered_calls_text(calls) : all_calls_text(calls, total.calls), total.time_text());
    if (calls.first_return_ns() != 0)
        text += fmt::format(", {:.19}Z to {:.19}Z", timestamp(calls.first_return_ns()),
                            timestamp(calls.last_return_ns()));
    return text + "\n" + unknown_formats_text(calls);
}

/// Lines of text about processes, with the number of recordings to which each line applies.
using LineCounts = std::map<std::string, std::uint64_t>;

/// Returns the first `most` lines, each after `begin` and, with `has_number`, followed by its number of recordings.
std::string lines_text(const LineCounts& lines, std::string_view begin, bool has_number, std::size_t most) {
    std::string text;
    std::size_t shown = 0;
    for (const auto& [line, count] : lines) {
        if (shown++ == most) break;
        text +=
            fmt::format("{}{}{}\n", begin, line, has_number ? fmt::format(" ({})", counted(count, "recording")) : "");
    }
    if (lines.size() > most)
        text += fmt::format("{}; --format json has all\n", counted(lines.size() - most, "more line"));
    return text;
}

/// Returns the settings at the start of the recordings, one line for each distinct set.
std::string all_settings_text(const MergedCalls& calls) {
    LineCounts settings;
    for (const MergedProcess& process : calls.processes()) {
        if (process.is_children_file()) continue;
        ++settings[printable(fmt::format("{}", fmt::join(settings_texts(process.facts), ", ")))];
    }
    return lines_text(settings,
                      calls.recording_count() == 1 ? "At its start: " : "At their start: ", settings.size() > 1,
                      settings.size());
}

/// Returns the distinct environments of the processes; empty if none is recorded.
std::string environments_text(const MergedCalls& calls) {
    LineCounts lines;
    for (const MergedProcess& process : calls.processes())
        for (const std::string& line : process.environment.text_lines()) ++lines[printable(line)];
    return lines_text(lines, "", calls.recording_count() > 1, 20);
}

std::string format_text(const MergedCalls& calls, int stream) {
    const CallSum vectors = calls.vector_products();
    const std::string of_vectors = vectors.calls == 0
                                       ? ""
                                       : fmt::format("{} with a vector, {} on the host\n",
                                                     counted(vectors.calls, "product"), vectors.time_text());
    const auto& shares = calls.by_format(false);
    if (shares.empty()) return of_vectors;
    CallSum total;
    for (const auto& [format, share] : shares) total.add(share);
    std::string text;
    text += coloured(fmt::format("{:<13} {:>15} {:>7} {:>12}", "ran at", "calls", "", "host time"), Colour::bold,
                     stream) +
            "\n";
    for (const auto& [format, share] : shares) {
        const std::string of_host_time = share.timed_calls == 0 ? "" : share_text(share.host_ns, total.host_ns);
        text += fmt::format("{} {:>15} {:>7} {:>12}{}\n",
                            coloured(fmt::format("{:<13}", format), colour_of_format(format), stream),
                            count_text(share.calls), share_text(share.calls, total.calls), share.time_text(),
                            of_host_time.empty() ? "" : fmt::format(" {:>7}", of_host_time));
    }
    return text + of_vectors;
}

std::string all_changes_text(const MergedCalls& calls) {
    std::string text;
    for (const MergedProcess& process : calls.processes()) {
        for (const record::RecordedSettingsChange& change : process.changes)
            text += fmt::format("{} process {}: {} ({}{}{})\n", timestamp(change.time_ns), process.facts.process.pid,
                                printable(settings_change_text(change)), change_origin_text(change.origin),
                                change.was_done ? "" : ", refused",
                                change.message.empty() ? "" : ": " + printable(change.message));
    }
    return text;
}

/// Returns the reason why requested lines of Python are missing or wrong; empty if there is no such reason.
std::string_view unread_python_text(record::PythonReaderState state) {
    if (state == record::PythonReaderState::unknown)
        return "lines of Python are missing, because its version or build is unknown";
    if (state == record::PythonReaderState::differs)
        return "lines of Python are missing or wrong: Python's own functions reported different lines from those "
               "read";
    return {};
}

std::string missing_text(const MergedCalls& calls) {
    std::string text;
    if (const auto count = calls.uncounted_calls(); count > 0)
        text += fmt::format("there was no room for {}: only the number is known\n", counted(count, "call"));
    if (const auto count = calls.dropped_events(); count > 0)
        text +=
            fmt::format("{} dropped: missing from the log, but not from the counts above\n", counted(count, "event"));
    if (const auto count = calls.overwritten_events(); count > 0)
        text += fmt::format("{} overwritten by later ones: missing from the log, but not from the counts above\n",
                            counted(count, "event"));
    if (const auto count = calls.lost_changes(); count > 0) text += lost_changes_text(count) + "\n";
    for (const MergedProcess& process : calls.processes()) {
        if (const std::string_view why = unread_python_text(process.facts.python); !why.empty())
            text += fmt::format("{}: {}\n", printable(process.path), why);
        if (const std::string why = early_end_text(process.facts); !why.empty())
            text += fmt::format("{}: {}\n", printable(process.path), why);
    }
    return text;
}

std::string why_without_order(const MergedRow& row) {
    if (row.is_overflow) return "only their number is known";
    if (row.device != "cpu") return "the mode is for products of a CPU";
    const FunctionIndex index = find_function(std::string(row.function).c_str());
    if (index < 0 || !allows_fixed_order(functions[index].family->treatment))
        return "the mode does not cover the function";
    if (row.reason == "as_requested" || row.reason == "cpu_mode_off" || row.how == "round_operands")
        return row.is_float64() ? "the mode was not on, or of a version that had it for float32 only"
                                : "the mode was not on";
    return fmt::format("reason {}", static_cast<std::string_view>(row.reason));
}

/// Returns a line about how many products ran in a fixed order; empty if no process asked for a fixed order.
std::string fixed_order_text(const MergedCalls& calls) {
    bool is_wanted = std::ranges::any_of(calls.processes(), [](const MergedProcess& process) {
        return process.facts.start.cpu_mode == policy::CpuMode::reproducible;
    });
    std::uint64_t all = 0, in_order = 0;
    constexpr std::size_t most = 3;
    std::size_t others = 0;
    std::uint64_t vectors = 0;
    std::string text;
    for (const MergedRow* row : sorted(calls.rows(), RowOrder::calls)) {
        const std::uint64_t count = row->counters.calls;
        all += count;
        if (row->is_vector_product() && row->how != "fixed_order") {
            vectors += count;
        } else if (row->how == "fixed_order") {
            in_order += count;
            is_wanted = true;
        } else if (count > 0 && others++ < most) {
            const std::string_view name = row->is_overflow ? "unknown functions" : std::string_view(row->function);
            text +=
                fmt::format("; not {} of {}: {}", counted(count, "call"), printable(name), why_without_order(*row));
        }
    }
    if (!is_wanted || all == 0) return {};
    if (vectors > 0) text += fmt::format("; not {} with a vector", counted(vectors, "product"));
    return fmt::format("In a fixed order: {} of {}{}{}\n", count_text(in_order), counted(all, "call"), text,
                       others > most ? "; and others" : "");
}

/// Returns a row's shortest, median or longest time as text; empty if unknown or if fewer than two calls are timed.
std::string spread_text(const MergedRow& row, std::optional<std::uint64_t> time_ns) {
    return row.counters.timed_calls < 2 || !time_ns ? "" : duration_text(static_cast<double>(*time_ns));
}

/// Returns the time of calls on the GPU, divided by `divisor`, as text; empty if no call was measured.
std::string gpu_time_text(const record::RecordedCounters& counters, std::uint64_t divisor) {
    return counters.gpu_samples == 0
               ? ""
               : duration_text(static_cast<double>(counters.gpu_ns) / static_cast<double>(divisor),
                               counters.gpu_samples < counters.gpu_calls);
}

/// The columns with which all tables begin.
const TextColumn amounts[] = {
    {{"calls", true}, [](const MergedRow& row) { return count_text(row.counters.calls); }},
    {{"host time", true},
     [](const MergedRow& row) {
         if (row.counters.timed_calls == 0) return std::string("not timed");
         return duration_text(static_cast<double>(row.counters.total_ns), row.has_estimated_time());
     }},
    {{"mean", true, 0, detail},
     [](const MergedRow& row) {
         const auto calls = static_cast<double>(std::max<std::uint64_t>(row.counters.calls, 1));
         if (row.counters.timed_calls == 0) return std::string();
         return duration_text(static_cast<double>(row.counters.total_ns) / calls, row.has_estimated_time());
     }},
    {{"min", true, 0, spread},
     [](const MergedRow& row) { return spread_text(row, row.counters.shortest_ns); },
     if_any},
    {{"median", true, 0, spread}, [](const MergedRow& row) { return spread_text(row, row.median_ns); }, if_any},
    {{"max", true, 0, spread},
     [](const MergedRow& row) { return spread_text(row, row.counters.longest_ns); },
     if_any},
    {{"GPU time", true}, [](const MergedRow& row) { return gpu_time_text(row.counters, 1); }, if_any},
    {{"mean there", true, 0, detail},
     [](const MergedRow& row) { return gpu_time_text(row.counters, row.counters.gpu_calls); },
     if_any},
    {{"measured", true, 0, spread},
     [](const MergedRow& row) { return row.counters.gpu_samples == 0 ? "" : count_text(row.counters.gpu_samples); },
     if_any},
};

std::string function_or_remark(const MergedRow& row) {
    return row.is_overflow ? "(found no room)" : row.function_text();
}

std::string format_or_unknown(const MergedRow& row) {
    return row.is_overflow ? "unknown" : std::string(row.effective_format());
}

const TextColumn of_call_sites[] = {
    {{"function", false, 16}, function_or_remark},
    {{"size"}, [](const MergedRow& row) { return row.size_text(); }},
    {{"trans", false, 0, way}, [](const MergedRow& row) { return row.transposes_text(); }, if_different},
    {{"GPU"},
     [](const MergedRow& row) { return row.device_index < 0 ? "" : fmt::format("{}", row.device_index); },
     if_different},
    {{"scope", false, 15, module}, [](const MergedRow& row) { return std::string(row.scope); }, if_any},
    {{"where", false, 17}, [](const MergedRow& row) { return std::string(row.where); }, if_any},
    {{"caller -> provider", false, 38, route},
     [](const MergedRow& row) { return row.caller_to_provider_text(); },
     ColumnCondition::always,
     true},
    {{"asked for", false, 11, why},
     [](const MergedRow& row) { return row.requested_text(); },
     ColumnCondition::always,
     true},
    {{"ran at"}, format_or_unknown},
    {{"adds in"}, [](const MergedRow& row) { return row.accumulator_text(); }, if_any},
    {{"bits", true, 0, why},
     [](const MergedRow& row) { return row.mantissa_bits == 0 ? "" : fmt::format("{}", row.mantissa_bits); },
     if_any},
    {{"algorithm", false, 0, detail}, [](const MergedRow& row) { return std::string(row.algorithm); }, if_any},
    {{"reason", false, 12, why},
     [](const MergedRow& row) { return std::string(row.reason); },
     ColumnCondition::always,
     true},
};

/// Returns the group that a row of a table of groups is.
const RowGroup& group_of(const MergedRow& row) { return static_cast<const RowGroup&>(row); }

/// Returns the name and revision of a group's policy, and the first digits of its SHA-256; empty if it has no policy.
std::string group_policy_text(const MergedRow& row) {
    const ProcessGroupKey& keys = group_of(row).process;
    if (keys.policy_name.empty() && keys.policy_sha256.empty()) return {};
    return fmt::format("{} {:.8}", policy_name_text(keys.policy_name, keys.policy_revision, keys.policy_sha256),
                       std::string_view(keys.policy_sha256));
}

const TextColumn of_groups[] = {
    {{"host", false, 12}, [](const MergedRow& row) { return std::string(group_of(row).process.host); }, if_any},
    {{"job", false, 8}, [](const MergedRow& row) { return std::string(group_of(row).process.job_id); }, if_any},
    {{"executable", false, 16},
     [](const MergedRow& row) { return std::string(group_of(row).process.executable); },
     if_any},
    {{"policy", false, 12}, group_policy_text, if_any},
    {{"function", false, 16}, function_or_remark, if_any},
    {{"where", false, 17}, [](const MergedRow& row) { return std::string(row.where); }, if_any},
    {{"scope", false, 12}, [](const MergedRow& row) { return std::string(row.scope); }, if_any},
    {{"call site", false, 16}, [](const MergedRow& row) { return std::string(group_of(row).call_site); }, if_any},
    {{"caller", false, 16}, [](const MergedRow& row) { return std::string(row.caller); }, if_any},
    {{"max of m,n,k", false, 12},
     [](const MergedRow& row) { return group_of(row).sizes.is_known() ? group_of(row).sizes.text() : ""; },
     if_any},
    {{"decisions", true, 0, detail}, [](const MergedRow& row) { return count_text(group_of(row).decisions); }},
    {{"asked for", false, 0, why},
     [](const MergedRow& row) { return std::string(row.requested); },
     ColumnCondition::always,
     true},
    {{"ran at"}, format_or_unknown},
    {{"reason", false, 12, why},
     [](const MergedRow& row) { return std::string(row.reason); },
     ColumnCondition::always,
     true},
};

TextColumns joined_columns(std::span<const TextColumn> first, std::span<const TextColumn> second) {
    TextColumns columns(first.begin(), first.end());
    columns.insert(columns.end(), second.begin(), second.end());
    return columns;
}

/// Returns the first `limit` rows, or all rows if `limit` is 0.
TableRows first_rows(TableRows rows, std::size_t limit) {
    return limit == 0 ? rows : rows.first(std::min(limit, rows.size()));
}

/// Returns true if the column may be set apart, and there are several rows, which all have the same non-empty text.
bool is_common(const TextColumn& column, TableRows rows) {
    if (!column.is_set_apart || rows.size() < 2) return false;
    const std::string first = column.text(*rows.front());
    return !first.empty() && std::all_of(rows.begin() + 1, rows.end(),
                                         [&](const MergedRow* row) { return column.text(*row) == first; });
}

/// Returns the texts that all rows have in common, in as few lines as the terminal allows; empty if there are none.
std::string common_text(const TextColumns& columns, TableRows rows, int stream) {
    std::vector<std::string> texts;
    for (const TextColumn& column : columns)
        if (is_common(column, rows))
            texts.push_back(fmt::format("{}: {}", column.head.title, printable(column.text(*rows.front()))));
    if (texts.empty()) return {};
    const std::string head = fmt::format("All {} rows below:", count_text(rows.size()));
    const std::string line = fmt::format("{} {}\n", head, fmt::join(texts, "; "));
    return wrapped(line, stream) == line ? line : fmt::format("{}\n  {}\n", head, fmt::join(texts, "\n  "));
}

/// Writes a table of all rows. If some rows did not run as requested, but not all, writes a second table of only
/// those. `noun` names the rows that a limit leaves out, `more row` or `more group`.
void write_tables(const TextColumns& columns, const std::vector<const MergedRow*>& rows, std::string_view noun,
                  const TableLimits& limits, int stream, const TextSink& put) {
    const auto write = [&](const std::vector<const MergedRow*>& some) {
        const TableRows shown = first_rows(some, limits.max_rows);
        put("\n" + common_text(columns, shown, stream));
        table_of(columns, shown, true).write(put, stream);
        if (limits.max_rows == 0 || some.size() <= limits.max_rows) return;
        put(fmt::format("{}; {}\n", counted(some.size() - limits.max_rows, noun), limits.how_to_see_more));
    };
    if (rows.empty()) return;
    write(rows);
    std::vector<const MergedRow*> refused;
    std::ranges::copy_if(rows, std::back_inserter(refused), &MergedRow::is_request_refused);
    if (refused.empty()) return;
    put("\n" + coloured("Did not run as requested", Colour::bold, stream));
    if (refused.size() == rows.size()) return put(": all of these calls\n");
    write(refused);
}

void put_section(const std::string& title, const std::string& body, int stream, const TextSink& put) {
    if (body.empty()) return;
    put(fmt::format("\n{}{}{}", coloured(title, Colour::bold, stream), title.empty() ? "" : "\n", body));
}

/// Returns a line about products of float16 and bfloat16 that may add in FP16; empty if there are none.
std::string half_text(const MergedCalls& calls) {
    const HalfProductCounts sums = count_half_products(calls);
    if (sums.in_fp16 == 0) return {};
    return fmt::format("{} of {} may add in FP16\n", count_text(sums.in_fp16), counted(sums.all, "half product"));
}

/// Writes a report for people: totals, formats, the most important call sites, refusals and omissions. If `groups`
/// are given, they replace the call sites. `stream` is 1 for stdout, 2 for stderr, -1 for a file. The report is
/// written line by line, since it may have a million lines.
void write_report(const MergedCalls& calls, const TableLimits& limits, int stream, const TextSink& put,
                  const std::optional<std::vector<RowGroup>>& groups) {
    const auto section = [&](const std::string& title, const std::string& body) {
        put_section(title, body, stream, put);
    };
    put(head_text(calls) + all_settings_text(calls));
    section("First NaN or infinity from finite operands", nonfinite_text(calls, limits, stream));
    section("First product that received NaN or infinity", first_received_text(calls, limits, stream));
    std::string wrong;
    for (const std::string& line : known_wrong_lines(calls)) wrong += printable(line) + "\n";
    section("Algorithms of cublasLt that are known to be wrong", wrong);
    section("", format_text(calls, stream) + operand_types_text(calls) + half_text(calls) + fixed_order_text(calls));
    if (groups) {
        std::vector<const MergedRow*> all;
        for (const RowGroup& group : *groups) all.push_back(&group);
        write_tables(joined_columns(amounts, of_groups), all, "more group", limits, stream, put);
    } else {
        std::vector<const MergedRow*> rows = sorted(calls.rows(), limits.order);
        if (limits.leaves_out_vectors && !std::ranges::all_of(rows, &MergedRow::is_vector_product))
            std::erase_if(rows, [](const MergedRow* row) { return row->is_vector_product(); });
        write_tables(joined_columns(amounts, of_call_sites), rows, "more row", limits, stream, put);
    }
    section("Audits: the largest errors", audits_text(calls, limits, stream));
    section("Changed while it ran", all_changes_text(calls));
    section("", unused_rules_text(calls.rules(), limits.max_rows));
    section("Not complete", missing_text(calls));
    if (calls.total().is_estimate) section("", "~: estimated, because only some of the short calls are timed\n");
}

}  // namespace

HalfProductCounts count_half_products(const MergedCalls& calls) {
    HalfProductCounts sums;
    for (const MergedRow& row : calls.rows()) {
        if (row.is_overflow || !row.is_half()) continue;
        sums.all += row.counters.calls;
        if (row.accumulator == "fp16") sums.in_fp16 += row.counters.calls;
    }
    return sums;
}

std::string operand_types_text(const MergedCalls& calls) {
    if (calls.float64_calls() == 0) return {};
    std::map<std::string_view, std::uint64_t> counts;
    for (const MergedRow& row : calls.rows())
        if (!row.is_overflow && !row.is_vector_product()) counts[row.dtype] += row.counters.calls;
    std::string text;
    for (const auto& word : policy::dtype_words)
        if (const std::uint64_t count = counts[word.text]; count > 0)
            text += fmt::format("{}{} of {}", text.empty() ? "Operands: " : ", ", counted(count, "call"), word.text);
    return text.empty() ? text : text + '\n';
}

std::span<const TextColumn> amount_columns() { return amounts; }
std::span<const TextColumn> group_text_columns() { return of_groups; }

TextTable table_of(const TextColumns& columns, TableRows rows, bool leaves_out_common) {
    TextColumns shown;
    std::vector<TextTable::Column> heads;
    for (const TextColumn& column : columns) {
        const std::string usual =
            column.shown == ColumnCondition::where_they_differ && !rows.empty() ? column.text(*rows.front()) : "";
        const auto is_usual = [&](const MergedRow* row) { return column.text(*row) == usual; };
        if (column.shown != ColumnCondition::always && std::all_of(rows.begin(), rows.end(), is_usual)) continue;
        if (leaves_out_common && is_common(column, rows)) continue;
        shown.push_back(column);
        heads.push_back(column.head);
    }
    return {std::move(heads), rows.size(), [shown = std::move(shown), rows](std::size_t row, std::size_t column) {
                return shown[column].text(*rows[row]);
            }};
}

TextTable call_site_table(const std::vector<const MergedRow*>& rows, std::size_t limit) {
    return table_of(joined_columns(amounts, of_call_sites), first_rows(rows, limit), false);
}

std::string report_table(const MergedCalls& calls, const TableLimits& limits, int stream) {
    std::string text;
    write_report(
        calls, limits, stream, [&](std::string_view piece) { text += piece; }, std::nullopt);
    return text;
}

void write_table(const ReportContents& contents, const ReportView& view, ReportOutput& output) {
    const auto put = [&](std::string_view text) { output.write(wrapped(text, view.stream)); };
    write_report(contents.calls, {.max_rows = view.top, .order = view.order}, view.stream, put,
                 contents.groups_by(view.grouping, view.order));
    put_section("What faster products could gain", possible_gain_text(contents.calls), view.stream, put);
    put_section("Environment", environments_text(contents.calls), view.stream, put);
}

}  // namespace fp32shim::cli
