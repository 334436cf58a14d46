#include "cli/diff/outcome.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/output/json.hpp"
#include "cli/output/terminal.hpp"
#include "system/limited_text.hpp"

namespace fp32shim::cli {
namespace {

/// Truncates a command line, because its first argument may be a whole program.
std::string short_text(std::string_view command) {
    char buffer[100];
    return std::string(system::limited(command, buffer));
}

std::string or_dash(SharedText text) { return text.empty() ? "-" : std::string(text); }

/// Returns the number of a product, `3,207`, with thread and process if the side has several.
std::string number_text(const ResultsOfSide& side, const ResultPair& pair) {
    const ProcessResults& process = side.processes[pair.process_a];
    std::string text = count_text(pair.number_a);
    if (process.threads.size() > 1) text += fmt::format(" of thread {}", pair.thread_a + 1);
    if (side.processes.size() > 1) {
        text += fmt::format(" of process {}", process.pid);
        if (process.rank >= 0) text += fmt::format(", rank {}", process.rank);
    }
    return text;
}

std::string before_and_after(std::string_view a, std::string_view b) {
    return a == b ? std::string(a) : fmt::format("{} -> {}", a, b);
}

/// Returns the lines about one product.
std::string product_text(const DiffOutcome& outcome, std::size_t index) {
    const ResultPair& pair = outcome.aligned.pairs[index];
    const MergedRow &a = outcome.a.rows[pair.row_a], &b = outcome.b.rows[pair.row_b];
    std::string text = number_text(outcome.a, pair);
    if (pair.number_b != pair.number_a) text += fmt::format(" in A, {} in B", count_text(pair.number_b));
    text += "\n  " + printable(fmt::format("{} {}", before_and_after(or_dash(a.function), or_dash(b.function)),
                                           a.size_text()));
    if (!a.where.empty()) text += printable(fmt::format(" at {}", before_and_after(a.where, b.where)));
    if (!a.scope.empty()) text += printable(fmt::format(" in {}", a.scope));
    text += "\n  " + printable(fmt::format("A: {} by {}; B: {} by {}", or_dash(a.ran_at()), or_dash(a.provider),
                                           or_dash(b.ran_at()), or_dash(b.provider)));
    return text + fmt::format("\n  estimated relative difference: {}\n", difference_text(pair.difference));
}

std::string sides_text(const DiffOutcome& outcome, int stream) {
    Table table({{""},
                 {"fingerprints", true},
                 {"lost", true},
                 {"not aligned", true},
                 {"calls without fingerprint", true},
                 {"program", false, 20}});
    const auto add = [&](std::string name, const ResultsOfSide& side, std::uint64_t unaligned) {
        table.add({std::move(name), count_text(side.fingerprints), count_text(side.lost), count_text(unaligned),
                   count_text(side.without_fingerprint()), short_text(side.command)});
    };
    add("A", outcome.a, outcome.aligned.unaligned_a);
    add("B", outcome.b, outcome.aligned.unaligned_b);
    return table.text(stream);
}

std::string growth_text(const DiffOutcome& outcome, int stream) {
    Table table({{"products", true},
                 {"same bits", true},
                 {"median difference", true},
                 {"largest", true},
                 {"at"},
                 {"where", false, 16}});
    for (const GrowthStep& step : growth_of(outcome.aligned.pairs, growth_steps)) {
        const ResultPair& largest = outcome.aligned.pairs[step.largest];
        const bool has_largest = step.same_bits < step.products();
        table.add({fmt::format("{} - {}", count_text(step.first + 1), count_text(step.last + 1)),
                   count_text(step.same_bits), difference_text(step.median), difference_text(largest.difference),
                   has_largest ? number_text(outcome.a, largest) : "",
                   has_largest ? or_dash(outcome.a.rows[largest.row_a].where) : ""});
    }
    return table.text(stream);
}

std::string groups_text(const DiffOutcome& outcome, std::size_t top, int stream) {
    std::vector<const ResultGroup*> groups;
    for (const ResultGroup& group : outcome.summary.groups)
        if (group.other_bits > 0) groups.push_back(&group);
    const std::size_t shown = top == 0 ? groups.size() : std::min(top, groups.size());
    Table table({{"largest difference", true},
                 {"products", true},
                 {"with other bits", true},
                 {"first"},
                 {"function"},
                 {"size"},
                 {"ran at"},
                 {"where", false, 16}});
    for (std::size_t i = 0; i < shown; ++i) {
        const ResultGroup& group = *groups[i];
        const ResultPair& first = outcome.aligned.pairs[group.first_other];
        const MergedRow &a = outcome.a.rows[first.row_a], &b = outcome.b.rows[first.row_b];
        table.add({difference_text(outcome.aligned.pairs[group.largest].difference), count_text(group.products),
                   count_text(group.other_bits), number_text(outcome.a, first), std::string(a.function),
                   a.size_text(), before_and_after(a.ran_at(), b.ran_at()), or_dash(a.where)});
    }
    std::string text = table.text(stream);
    if (shown < groups.size())
        text += fmt::format("{}; --top 0 shows all\n", counted(groups.size() - shown, "more group"));
    return text;
}

Json side_json(const ResultsOfSide& side, std::uint64_t unaligned) {
    return {{"command", text_or_null(side.command)},
            {"recordings", side.recordings},
            {"processes", side.processes.size()},
            {"calls", side.calls},
            {"fingerprints", side.fingerprints},
            {"lost", side.lost},
            {"without_fingerprint", side.without_fingerprint()},
            {"unaligned", unaligned}};
}

Json growth_json(const DiffOutcome& outcome) {
    Json json = Json::array();
    for (const GrowthStep& step : growth_of(outcome.aligned.pairs, growth_steps))
        json.push_back({{"first", step.first + 1},
                        {"last", step.last + 1},
                        {"same_bits", step.same_bits},
                        {"median", number_or_null(step.median)},
                        {"largest", product_json(outcome, step.largest)}});
    return json;
}

Json groups_json(const DiffOutcome& outcome, std::size_t most) {
    Json json = Json::array();
    for (const ResultGroup& group : outcome.summary.groups) {
        if (json.size() == most) break;
        const bool differs = group.other_bits > 0;
        json.push_back(
            {{"products", group.products},
             {"other_bits", group.other_bits},
             {"first", product_json(outcome, group.first)},
             {"first_other_bits", product_json(outcome, differs ? std::optional(group.first_other) : std::nullopt)},
             {"largest", product_json(outcome, group.largest)}});
    }
    return json;
}

}  // namespace

std::string difference_text(double difference) {
    if (difference == 0) return "0";
    return std::isfinite(difference) ? fmt::format("{:.1e}", difference) : "inf";
}

std::string diff_text(const DiffOutcome& outcome, std::size_t top, int stream) {
    const ResultSummary& summary = outcome.summary;
    const std::uint64_t all = outcome.aligned.pairs.size();
    std::string text = sides_text(outcome, stream);
    text += fmt::format("\n{} aligned: {} with the same bits, {} with different bits, {} beyond {:g}\n",
                        counted(all, "product"), count_text(summary.same_bits), count_text(all - summary.same_bits),
                        count_text(summary.beyond), outcome.bound);
    if (!summary.first_other) return text;
    text += "\nFirst product with different bits: " + product_text(outcome, *summary.first_other);
    if (summary.first_beyond)
        text += fmt::format("\nFirst product beyond {:g}: ", outcome.bound) +
                product_text(outcome, *summary.first_beyond);
    text += "\nLargest difference: " + product_text(outcome, *summary.largest);
    text += "\nBy position:\n" + growth_text(outcome, stream);
    text += "\nBy place, function, size and precision:\n" + groups_text(outcome, top, stream);
    return text;
}

Json product_json(const DiffOutcome& outcome, std::optional<std::size_t> index) {
    if (!index) return {};
    const ResultPair& pair = outcome.aligned.pairs[*index];
    const MergedRow &a = outcome.a.rows[pair.row_a], &b = outcome.b.rows[pair.row_b];
    const ProcessResults& process = outcome.a.processes[pair.process_a];
    const auto letter = [](char text) { return text == 0 ? Json() : Json(std::string(1, text)); };
    const auto size = [](std::int64_t number) { return number < 0 ? Json() : Json(number); };
    const auto of_side = [](const MergedRow& row, std::uint64_t number) {
        return Json{{"number", number},
                    {"function", text_or_null(row.function)},
                    {"where", text_or_null(row.where)},
                    {"provider", text_or_null(row.provider)},
                    {"ran_at", text_or_null(row.ran_at())}};
    };
    return {{"position", *index + 1},
            {"recording", process.path},
            {"thread", pair.thread_a + 1},
            {"scope", text_or_null(a.scope)},
            {"trans_a", letter(a.trans_a)},
            {"trans_b", letter(a.trans_b)},
            {"m", size(a.m)},
            {"n", size(a.n)},
            {"k", size(a.k)},
            {"batch", a.batch},
            {"same_bits", pair.same_bits},
            {"difference", number_or_null(pair.difference)},
            {"a", of_side(a, pair.number_a)},
            {"b", of_side(b, pair.number_b)}};
}

Json diff_json(const DiffOutcome& outcome, std::size_t most_groups) {
    const ResultSummary& summary = outcome.summary;
    const std::uint64_t all = outcome.aligned.pairs.size();
    return {{"schema", 1},
            {"a", side_json(outcome.a, outcome.aligned.unaligned_a)},
            {"b", side_json(outcome.b, outcome.aligned.unaligned_b)},
            {"aligned", all},
            {"same_bits", summary.same_bits},
            {"other_bits", all - summary.same_bits},
            {"bound", outcome.bound},
            {"beyond_bound", summary.beyond},
            {"first_other_bits", product_json(outcome, summary.first_other)},
            {"first_beyond_bound", product_json(outcome, summary.first_beyond)},
            {"largest", product_json(outcome, summary.largest)},
            {"growth", growth_json(outcome)},
            {"groups", groups_json(outcome, most_groups)}};
}

}  // namespace fp32shim::cli
