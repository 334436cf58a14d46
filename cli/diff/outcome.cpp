#include "cli/diff/outcome.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <sstream>
#include <tuple>

#include "cli/output/json.hpp"
#include "cli/output/terminal.hpp"
#include "cli/recordings/csv_and_json_columns.hpp"
#include "cli/report/html_page.hpp"
#include "policy/algorithm.hpp"
#include "system/limited_text.hpp"

namespace fp32shim::cli {
namespace {

/// Shortens a command line to less than 100 bytes, because one of its arguments may be the text of a whole program.
std::string short_text(std::string_view command) {
    char buffer[100];
    return std::string(system::cut_to_fit(command, buffer));
}

/// Returns the first `most` elements of `all`, or all elements if `most` is 0.
template <class Element>
std::span<const Element> first_of(const std::vector<Element>& all, std::size_t most) {
    return std::span(all).first(most == 0 ? all.size() : std::min(most, all.size()));
}

/// Returns the number of elements of `all` that first_of() leaves out.
template <class Element>
std::size_t left_out(const std::vector<Element>& all, std::size_t most) {
    return all.size() - first_of(all, most).size();
}

/// Returns the text of a table, with a line that counts the rows that the table leaves out, if there are any.
std::string limited_text(const LimitedTable& limited, int stream, std::string_view noun) {
    const std::string text = limited.table.text(stream);
    if (limited.left_out == 0) return text;
    return text + fmt::format("{}; --top 0 shows all\n", counted(limited.left_out, noun));
}

std::string or_dash(SharedText text) { return text.empty() ? "-" : std::string(text); }

/// Returns the number of the product's thread within its process, counted from 1.
std::size_t thread_number(const DiffSide& side, std::size_t product) {
    const auto thread = static_cast<std::size_t>(&side.thread_of(product) - side.threads.data());
    return thread - side.process_of(product).first_thread + 1;
}

/// Returns a product's number in its thread, such as `3,207`. Names the thread and the process if there are several.
std::string number_text(const DiffSide& side, std::size_t product) {
    const ProcessResults& process = side.process_of(product);
    std::string text = count_text(side.products[product].number);
    if (process.threads > 1) text += fmt::format(" of thread {}", thread_number(side, product));
    if (side.processes.size() > 1) {
        text += fmt::format(" of process {}", process.pid);
        if (process.rank >= 0) text += fmt::format(", rank {}", process.rank);
    }
    return text;
}

std::string before_and_after(std::string_view a, std::string_view b) {
    return a == b ? std::string(a) : fmt::format("{} -> {}", a, b);
}

/// Returns true if both products have the same number in their threads, and their threads have the same number.
bool has_same_position(const DiffOutcome& outcome, const ResultPair& pair) {
    return outcome.a.products[pair.a].number == outcome.b.products[pair.b].number &&
           thread_number(outcome.a, pair.a) == thread_number(outcome.b, pair.b);
}

/// Returns a text about the library that provides BLAS, such as `libblas.so.3 (OpenBLAS 0.3.21)`, or `libblas.so.3
/// (/usr/lib/blas/libblas.so.3.11.0)` if its version is unknown.
std::string provider_text(const DiffSide& side, const MergedRow& row) {
    const std::string identity = side.environment.library_identity(row.provider);
    return or_dash(row.provider) + (identity.empty() ? "" : fmt::format(" ({})", identity));
}

constexpr std::pair<OperandBits, std::string_view> operand_names[] = {
    {operand_a, "a"}, {operand_b, "b"}, {operand_c, "c"}, {operand_scalars, "alpha or beta"}};

/// Returns `the same bits`, or a text such as `other bits in a, c`. The operands of both products must be known.
std::string operands_text(const ResultPair& pair) {
    if (pair.has_same_operands()) return "the same bits";
    std::string text;
    for (const auto& [bit, name] : operand_names)
        if ((pair.other_operands & bit) != 0) text += fmt::format("{}{}", text.empty() ? " in " : ", ", name);
    return "other bits" + text;
}

/// Returns the lines of text about the pair of products with the index `index` in PairedResults::pairs.
std::string product_text(const DiffOutcome& outcome, std::size_t index) {
    const ResultPair& pair = outcome.paired.pairs[index];
    const MergedRow &a = outcome.a.row_of(pair.a), &b = outcome.b.row_of(pair.b);
    std::string text = number_text(outcome.a, pair.a);
    if (!has_same_position(outcome, pair)) text += fmt::format(" in A, {} in B", number_text(outcome.b, pair.b));
    text += "\n  " + printable(fmt::format("{} {}", before_and_after(or_dash(a.function), or_dash(b.function)),
                                           a.size_text()));
    if (!a.where.empty()) text += printable(fmt::format(" at {}", before_and_after(a.where, b.where)));
    if (!a.scope.empty()) text += printable(fmt::format(" in {}", a.scope));
    text += "\n  " + printable(fmt::format("A: {} by {}; B: {} by {}", or_dash(a.effective_format()),
                                           provider_text(outcome.a, a), or_dash(b.effective_format()),
                                           provider_text(outcome.b, b)));
    if (const std::string other = algorithm_change_text(a, b); !other.empty()) text += "\n  " + other;
    if (pair.other_operands != operands_unknown) text += fmt::format("\n  operands: {}", operands_text(pair));
    return text + fmt::format("\n  estimated relative difference: {}\n", difference_text(pair.difference));
}

/// Returns a change with its sign and its percentage of the first value, such as `-41 ms (-42%)`. A large growth is
/// given as a factor instead of a percentage. Only what is gone has changed by -100%.
std::string change_text(std::uint64_t before, std::uint64_t after, std::string (*text)(double)) {
    const auto from = static_cast<double>(before), to = static_cast<double>(after);
    std::string result = (to < from ? "-" : "+") + text(std::abs(to - from));
    if (from > 0 && to >= 10 * from)
        result += fmt::format(" (x{:.0f})", to / from);
    else if (from > 0 && to != from)
        result += fmt::format(" ({:+.0f}%)", std::max(100 * (to - from) / from, to > 0 ? -99.0 : -100.0));
    return result;
}
std::string calls_text(double calls) { return count_text(static_cast<std::uint64_t>(calls)); }
/// Returns the change of the time that calls took; empty if not all of their kinds were timed in both runs.
std::string time_change_text(const CallTotals& a, const CallTotals& b) {
    const bool is_known =
        (a.calls == 0 || a.timed_calls > 0) && (b.calls == 0 || b.timed_calls > 0) && !a.is_part && !b.is_part;
    return is_known ? change_text(a.host_ns, b.host_ns, [](double ns) { return duration_text(ns); }) : "";
}

TextTable sides_table(const DiffOutcome& outcome) {
    TextTable table({{""}, {"calls", true}, {"host time", true}, {"ran at", false, 8}, {"program", false, 20}});
    const CallTotals a(outcome.a.calls), b(outcome.b.calls);
    for (const auto& [name, calls, side] : {std::tuple("A", &a, &outcome.a), std::tuple("B", &b, &outcome.b)})
        table.add({name, count_text(calls->calls), calls->time_text(), calls->formats_text(),
                   short_text(command_of(*side))});
    table.add({"change", change_text(a.calls, b.calls, calls_text), time_change_text(a, b), "", ""});
    return table;
}

/// Returns the formats in which a group ran in each of the two runs, such as `fp32 -> tf32` or `tf32, only in B`.
std::string ran_text(const ComparedGroup& group) {
    const std::string a = group.a.formats_text(), b = group.b.formats_text();
    if (a.empty()) return b + ", only in B";
    return b.empty() ? a + ", only in A" : before_and_after(a, b);
}

/// Returns the title of the table column that shows the grouping key `key`.
std::string title_of_key(std::string_view key) {
    if (key == "max_dim") return "max of m,n,k";
    if (key == "ran_at") return "precision";
    return key == "call_site" ? "call site" : std::string(key);
}

/// Returns a table of the calls of both runs, with one row for each group of calls.
LimitedTable changes_table(const CallComparison& changes, std::size_t top) {
    std::vector<TextTable::Column> columns = {{"calls in A", true, 0, 2},
                                              {"in B", true, 0, 2},
                                              {"time in A", true, 0, 1},
                                              {"in B", true, 0, 1},
                                              {"change", true}};
    for (const std::string_view key : changes.keys)
        columns.push_back(
            {title_of_key(key), false, 14, std::uint8_t(key == "scope" && changes.keys.size() > 1 ? 3 : 0)});
    columns.push_back({"ran at"});
    TextTable table(std::move(columns));
    for (const ComparedGroup& group : first_of(changes.groups, top)) {
        std::vector<std::string> cells = {count_text(group.a.calls), count_text(group.b.calls), group.a.time_text(),
                                          group.b.time_text(), time_change_text(group.a, group.b)};
        for (const std::string& key : group.keys) cells.push_back(key.empty() ? "-" : key);
        cells.push_back(ran_text(group));
        table.add(std::move(cells));
    }
    return {std::move(table), left_out(changes.groups, top)};
}

std::string changes_text(const CallComparison& changes, std::size_t top, int stream) {
    if (changes.groups.empty()) return {};
    return fmt::format("\nCalls, times and precisions: {} of {} ran at another precision\n{}",
                       count_text(changes.groups_at_other_formats), counted(changes.groups.size(), "group"),
                       limited_text(changes_table(changes, top), stream, "more group"));
}

/// Returns a table of the products that ran with other algorithms of cublasLt, or an empty text if there are none.
std::string algorithms_text(const DiffOutcome& outcome, std::size_t top, int stream) {
    const std::vector<AlgorithmChange>& others = outcome.changes.other_algorithms;
    if (others.empty()) return {};
    TextTable table({{"calls in A", true, 0, 1},
                     {"in B", true, 0, 1},
                     {"function"},
                     {"size"},
                     {"trans", false, 0, 2},
                     {"where", false, 14},
                     {""}});
    for (const auto& [a, b] : first_of(others, top))
        table.add({count_text(a->counters.calls), count_text(b->counters.calls), std::string(a->function),
                   a->size_text(), a->transposes_text(), or_dash(a->where), algorithm_change_text(*a, *b)});
    return "\nAlgorithms of cublasLt, where most calls had another:\n" +
           limited_text({std::move(table), left_out(others, top)}, stream, "more kind");
}

TextTable growth_table(const DiffOutcome& outcome) {
    TextTable table({{"products", true},
                     {"same bits", true},
                     {"median", true},
                     {"largest", true},
                     {"at", false, 0, 1},
                     {"where", false, 14}});
    for (const GrowthStep& step : difference_growth(outcome.paired.pairs, growth_steps)) {
        const ResultPair& largest = outcome.paired.pairs[step.largest];
        const bool has_largest = step.same_bits < step.product_count();
        table.add({fmt::format("{} - {}", count_text(step.first + 1), count_text(step.last + 1)),
                   count_text(step.same_bits), difference_text(step.median), difference_text(largest.difference),
                   has_largest ? number_text(outcome.a, largest.a) : "",
                   has_largest ? or_dash(outcome.a.row_of(largest.a).where) : ""});
    }
    return table;
}

LimitedTable groups_table(const DiffOutcome& outcome, std::size_t top) {
    std::vector<ResultGroup> groups = outcome.summary.groups;
    std::erase_if(groups, [](const ResultGroup& group) { return group.other_bits == 0; });
    TextTable table({{"largest", true},
                     {"products", true, 0, 2},
                     {"other bits", true, 0, 1},
                     {"first", false, 0, 3},
                     {"function", false, 12},
                     {"size"},
                     {"trans", false, 0, 5},
                     {"ran at"},
                     {"scope", false, 12, 4},
                     {"where", false, 14}});
    for (const ResultGroup& group : first_of(groups, top)) {
        const ResultPair& first = outcome.paired.pairs[group.first_other];
        const MergedRow &a = outcome.a.row_of(first.a), &b = outcome.b.row_of(first.b);
        table.add({difference_text(outcome.paired.pairs[group.largest].difference), count_text(group.products),
                   count_text(group.other_bits), number_text(outcome.a, first.a), std::string(a.function),
                   a.size_text(), a.transposes_text(), before_and_after(a.effective_format(), b.effective_format()),
                   or_dash(a.scope), or_dash(a.where)});
    }
    return {std::move(table), left_out(groups, top)};
}

/// Returns a table of the products without a counterpart, or an empty text if there are none.
std::string unpaired_text(const DiffOutcome& outcome, std::size_t top, int stream) {
    TextTable table({{"only in"},
                     {"products", true},
                     {"first", false, 0, 1},
                     {"function"},
                     {"size"},
                     {"trans", false, 0, 3},
                     {"scope", false, 16, 2},
                     {"where", false, 14}});
    std::size_t more = 0;
    const auto add = [&](std::string name, const DiffSide& side, const std::vector<std::size_t>& unpaired) {
        const std::vector<UnpairedProductGroup> groups = group_unpaired_products(side, unpaired);
        more += left_out(groups, top);
        for (const UnpairedProductGroup& group : first_of(groups, top)) {
            const MergedRow& row = side.row_of(group.first);
            table.add({name, count_text(group.products), number_text(side, group.first), std::string(row.function),
                       row.size_text(), row.transposes_text(), or_dash(row.scope), or_dash(row.where)});
        }
    };
    add("A", outcome.a, outcome.paired.unpaired_a);
    add("B", outcome.b, outcome.paired.unpaired_b);
    if (outcome.paired.unpaired_a.empty() && outcome.paired.unpaired_b.empty()) return {};
    return "\nNot aligned, because the other side has no product of this kind left:\n" +
           limited_text({std::move(table), more}, stream, "more group");
}

/// Returns the products that deserve attention. Each is given by a title and the index of its pair.
std::vector<std::pair<std::string, std::size_t>> notable_products(const DiffOutcome& outcome) {
    const ResultSummary& summary = outcome.summary;
    std::vector<std::pair<std::string, std::size_t>> products;
    const auto add = [&](std::string what, std::optional<std::size_t> pair) {
        if (pair) products.emplace_back(std::move(what), *pair);
    };
    add("First product with different bits", summary.first_other);
    add(fmt::format("First product beyond {:g}", outcome.bound), summary.first_beyond);
    if (summary.first_same_operands != summary.first_other)
        add("First product with different bits from the same operands", summary.first_same_operands);
    if (summary.first_other) add("Largest difference", summary.largest);
    return products;
}

/// Returns the text about the results of products, as far as fingerprints show them.
std::string results_text(const DiffOutcome& outcome, std::size_t top, int stream) {
    const ResultSummary& summary = outcome.summary;
    const std::uint64_t all = outcome.paired.pairs.size();
    std::string text = fmt::format("\n{} aligned: {} with the same bits, {} with different bits, {} beyond {:g}\n",
                                   counted(all, "product"), count_text(summary.same_bits),
                                   count_text(all - summary.same_bits), count_text(summary.beyond), outcome.bound);
    const std::string unaligned = unpaired_text(outcome, top, stream);
    if (!summary.first_other) return text + unaligned;
    for (const auto& [what, pair] : notable_products(outcome))
        text += fmt::format("\n{}: {}", what, product_text(outcome, pair));
    text += "\nBy position, with relative differences:\n" + growth_table(outcome).text(stream);
    text += "\nBy place, scope, function, size and precision, with the largest relative difference:\n" +
            limited_text(groups_table(outcome, top), stream, "more group");
    return text + unaligned;
}

/// Returns a row as a JSON object that has only the columns with the names `names`.
Json row_json(const MergedRow& row, std::initializer_list<std::string_view> names) {
    return json_object_of_row<MergedRow>(row_columns_named(names), row);
}

Json unpaired_json(const DiffSide& side, const std::vector<std::size_t>& unpaired) {
    return json_list(group_unpaired_products(side, unpaired), [&side](const UnpairedProductGroup& group) -> Json {
        Json json = {{"products", group.products},
                     {"recording", side.process_of(group.first).path},
                     {"thread", thread_number(side, group.first)},
                     {"number", side.products[group.first].number}};
        json.update(row_json(side.row_of(group.first), {"function", "where", "scope", "m", "n", "k", "batch"}));
        return json;
    });
}

Json calls_json(const CallTotals& calls) {
    return {{"calls", calls.calls},
            {"host_ns", calls.host_ns},
            {"timed_calls", calls.timed_calls},
            {"flops_total", calls.work},
            {"applied", calls.formats}};
}

Json side_json(const DiffSide& side, std::optional<std::uint64_t> unaligned) {
    Json json = calls_json(CallTotals(side.calls));
    json.update({{"command", text_or_null(command_of(side))},
                 {"recordings", side.calls.processes().size()},
                 {"processes", side.processes.size()},
                 {"environment", environment_json(side.environment)},
                 {"fingerprints", side.fingerprint_count()},
                 {"lost", side.lost},
                 {"without_fingerprint", side.calls_without_fingerprint()},
                 {"unaligned", unaligned ? Json(*unaligned) : Json()}});
    return json;
}

Json changes_json(const CallComparison& changes) {
    return json_list(changes.groups, [&changes](const ComparedGroup& group) {
        Json one = {{"a", calls_json(group.a)}, {"b", calls_json(group.b)}};
        for (std::size_t i = 0; i < changes.keys.size(); ++i)
            one[std::string(changes.keys[i])] = text_or_null(group.keys[i]);
        return one;
    });
}

Json algorithms_json(const std::vector<AlgorithmChange>& others) {
    return json_list(others, [](const AlgorithmChange& other) -> Json {
        const auto& [a, b] = other;
        Json json = row_json(*a, {"function", "where", "scope"});
        json.update({{"size", a->size_text()},
                     {"trans", a->transposes_text()},
                     {"a", text_or_null(a->algorithm)},
                     {"b", text_or_null(b->algorithm)},
                     {"difference", policy::algorithm_difference(a->algorithm, b->algorithm)}});
        return json;
    });
}

Json growth_json(const DiffOutcome& outcome) {
    return json_list(difference_growth(outcome.paired.pairs, growth_steps),
                     [&outcome](const GrowthStep& step) -> Json {
                         return {{"first", step.first + 1},
                                 {"last", step.last + 1},
                                 {"same_bits", step.same_bits},
                                 {"median", number_or_null(step.median)},
                                 {"largest", pair_json(outcome, step.largest)}};
                     });
}

Json groups_json(const DiffOutcome& outcome) {
    return json_list(outcome.summary.groups, [&outcome](const ResultGroup& group) -> Json {
        const bool differs = group.other_bits > 0;
        return {{"products", group.products},
                {"other_bits", group.other_bits},
                {"first", pair_json(outcome, group.first)},
                {"first_other_bits", pair_json(outcome, differs ? std::optional(group.first_other) : std::nullopt)},
                {"largest", pair_json(outcome, group.largest)}};
    });
}

}  // namespace

std::string diff_text(const DiffOutcome& outcome, std::size_t top, int stream) {
    std::string text = printable(headline(outcome)) + "\n";
    for (const std::string& remark : remarks(outcome)) text += printable(remark) + "\n";
    text += commands_to_record_results(outcome);
    text += "\n" + sides_table(outcome).text(stream);
    if (outcome.both_have_fingerprints())
        text += outcome.rows != nullptr ? rows_text(outcome, top, stream) : results_text(outcome, top, stream);
    return text + algorithms_text(outcome, top, stream) + changes_text(outcome.changes, top, stream);
}

Json page_tables_json(const DiffOutcome& outcome, std::size_t most) {
    Json products = json_list(notable_products(outcome), [&](const auto& product) {
        Json json = {{"title", product.first}, {"lines", Json::array()}};
        std::istringstream text(product_text(outcome, product.second));
        for (std::string line; std::getline(text, line);) json["lines"].push_back(line);
        return json;
    });
    return {{"calls", table_json({sides_table(outcome), 0})},
            {"products", std::move(products)},
            {"steps", table_json({growth_table(outcome), 0})},
            {"groups", table_json(groups_table(outcome, most))},
            {"changes", table_json(changes_table(outcome.changes, most))}};
}

std::string product_line(const DiffSide& side, std::size_t product) {
    const MergedRow& row = side.row_of(product);
    std::string text = fmt::format("{}: {} {}", number_text(side, product), or_dash(row.function), row.size_text());
    if (!row.where.empty()) text += fmt::format(" at {}", row.where);
    if (!row.scope.empty()) text += fmt::format(" in {}", row.scope);
    return printable(fmt::format("{}, {} by {}", text, or_dash(row.effective_format()), provider_text(side, row)));
}

Json product_json(const DiffSide& side, std::size_t product) {
    const MergedRow& row = side.row_of(product);
    return {{"number", side.products[product].number}, {"thread", thread_number(side, product)},
            {"function", text_or_null(row.function)},  {"where", text_or_null(row.where)},
            {"provider", text_or_null(row.provider)},  {"ran_at", text_or_null(row.effective_format())},
            {"algorithm", text_or_null(row.algorithm)}};
}

Json pair_json(const DiffOutcome& outcome, std::optional<std::size_t> index) {
    if (!index) return {};
    const ResultPair& pair = outcome.paired.pairs[*index];
    const bool is_known = pair.other_operands != operands_unknown;
    Json other_operands = Json::array();
    for (const auto& [bit, name] : operand_names)
        if ((pair.other_operands & bit) != 0) other_operands.push_back(name);
    Json json = {{"position", *index + 1},
                 {"recording", outcome.a.process_of(pair.a).path},
                 {"thread", thread_number(outcome.a, pair.a)}};
    json.update(row_json(outcome.a.row_of(pair.a), {"scope", "trans_a", "trans_b", "m", "n", "k", "batch"}));
    json.update({{"same_bits", pair.same_bits},
                 {"same_operands", is_known ? Json(pair.has_same_operands()) : Json()},
                 {"other_operands", is_known ? other_operands : Json()},
                 {"difference", number_or_null(pair.difference)},
                 {"a", product_json(outcome.a, pair.a)},
                 {"b", product_json(outcome.b, pair.b)}});
    return json;
}

Json diff_json(const DiffOutcome& outcome) {
    const ResultSummary& summary = outcome.summary;
    const std::uint64_t all = outcome.paired.pairs.size();
    if (outcome.rows != nullptr)
        return {{"schema", 1},
                {"a", side_json(outcome.a, std::nullopt)},
                {"b", side_json(outcome.b, std::nullopt)},
                {"summary", headline(outcome)},
                {"remarks", remarks(outcome)},
                {"rows", rows_json(outcome)},
                {"by", outcome.changes.keys},
                {"groups_at_other_precision", outcome.changes.groups_at_other_formats},
                {"changes", changes_json(outcome.changes)}};
    return {{"schema", 1},
            {"a", side_json(outcome.a, outcome.paired.unpaired_a.size())},
            {"b", side_json(outcome.b, outcome.paired.unpaired_b.size())},
            {"aligned", all},
            {"same_bits", summary.same_bits},
            {"other_bits", all - summary.same_bits},
            {"summary", headline(outcome)},
            {"remarks", remarks(outcome)},
            {"same_bits_elsewhere", outcome.paired.elsewhere},
            {"other_precision", summary.other_precision},
            {"paired_by_nearest", outcome.paired.nearest},
            {"uncertain", outcome.paired.doubtful},
            {"only_a", unpaired_json(outcome.a, outcome.paired.unpaired_a)},
            {"only_b", unpaired_json(outcome.b, outcome.paired.unpaired_b)},
            {"bound", outcome.bound},
            {"beyond_bound", summary.beyond},
            {"same_operands", summary.same_operands},
            {"unknown_operands", summary.unknown_operands},
            {"first_other_bits", pair_json(outcome, summary.first_other)},
            {"first_same_operands", pair_json(outcome, summary.first_same_operands)},
            {"first_beyond_bound", pair_json(outcome, summary.first_beyond)},
            {"largest", pair_json(outcome, summary.largest)},
            {"growth", growth_json(outcome)},
            {"groups", groups_json(outcome)},
            {"kinds_with_algorithms", outcome.changes.kinds_with_algorithms},
            {"other_algorithms", algorithms_json(outcome.changes.other_algorithms)},
            {"by", outcome.changes.keys},
            {"groups_at_other_precision", outcome.changes.groups_at_other_formats},
            {"changes", changes_json(outcome.changes)}};
}

}  // namespace fp32shim::cli
