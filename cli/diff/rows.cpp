#include "cli/diff/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "cli/diff/outcome.hpp"
#include "cli/output/json.hpp"
#include "cli/output/terminal.hpp"
#include "record/fingerprint.hpp"

namespace fp32shim::cli {
namespace {

using Outcome = RowKind::Outcome;
constexpr std::string_view outcome_words[] = {"other", "not compared", "same"};
std::string_view word_of(const RowKind& kind) { return outcome_words[static_cast<std::size_t>(kind.outcome)]; }

/// The index of each kind of rows in a list of kinds. The key is the rows' type, their length and the number of
/// terms.
using KindIndices = std::map<std::tuple<std::uint32_t, std::int64_t, std::int64_t>, std::size_t>;

/// Adds the rows of a run's products to their kinds, in the order of time. Returns the products that have to be left
/// out.
RowComparison::LeftOutProducts add_rows(const DiffSide& side, RowSumsOfSide RowKind::*own,
                                        std::vector<RowKind>& kinds, KindIndices& indices) {
    RowComparison::LeftOutProducts left;
    std::vector<std::size_t> order(side.products.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](std::size_t product) { return side.products[product].end_ns; });
    for (const std::size_t product : order) {
        const MergedRow& row = side.row_of(product);
        const std::uint32_t hash = side.row_hashes[product], layout = hash & ~record::rows_sum;
        const bool are_known = !row.is_folded && std::min({row.m, row.n, row.batch}) > 0;
        left.without_hashes += layout == 0 ? 1 : 0;
        if (layout == 0) continue;
        if (layout == record::rows_none || !are_known) {
            ++left.without_rows;
            left.names.insert(fmt::format("{} {}{}{}", std::string_view(row.function), row.size_text(),
                                          row.where.empty() ? "" : " at ", std::string_view(row.where)));
            continue;
        }
        const bool are_rows = layout == record::rows_are_rows;
        const std::int64_t length = are_rows ? row.n : row.m, rows = are_rows ? row.m : row.n;
        const auto [entry, is_new] = indices.try_emplace({row.dtype.id(), length, row.k}, kinds.size());
        if (is_new) kinds.push_back({.dtype = row.dtype, .length = length, .terms = row.k});
        std::vector<RunningRowSum>& steps = (kinds[entry->second].*own).steps;
        const RunningRowSum before = steps.empty() ? RunningRowSum() : steps.back();
        steps.push_back({before.rows + static_cast<std::uint64_t>(rows) * static_cast<std::uint64_t>(row.batch),
                         (before.sum + hash) & record::rows_sum, product});
    }
    return left;
}

/// Finds the last point in time at which both runs have computed equally many rows, with equal sums of hashes.
void compare(RowKind& kind) {
    for (std::size_t i = 0, j = 0; i < kind.a.steps.size() && j < kind.b.steps.size();) {
        const RunningRowSum &a = kind.a.steps[i], &b = kind.b.steps[j];
        i += a.rows <= b.rows ? 1 : 0;
        j += b.rows <= a.rows ? 1 : 0;
        if (a.rows != b.rows || a.sum != b.sum) continue;
        kind.same = a.rows;
        kind.a.next = i;
        kind.b.next = j;
    }
    if (kind.a.row_count() == kind.b.row_count())
        kind.outcome = kind.same == kind.a.row_count() ? Outcome::same : Outcome::other;
}

}  // namespace

std::uint64_t RowComparison::count_kinds(Outcome outcome) const {
    return static_cast<std::uint64_t>(std::ranges::count(kinds, outcome, &RowKind::outcome));
}

bool RowComparison::has_equal_results() const {
    return count_kinds(Outcome::same) == kinds.size() && left_a.without_hashes + left_a.without_rows == 0 &&
           left_b.without_hashes + left_b.without_rows == 0;
}

RowComparison compare_rows(const DiffSide& a, const DiffSide& b) {
    RowComparison found;
    KindIndices indices;
    found.left_a = add_rows(a, &RowKind::a, found.kinds, indices);
    found.left_b = add_rows(b, &RowKind::b, found.kinds, indices);
    std::ranges::for_each(found.kinds, compare);
    std::ranges::stable_sort(found.kinds, {}, [&](const RowKind& kind) {
        const bool is_other = kind.outcome == Outcome::other;
        return std::pair(kind.outcome, is_other ? a.products[kind.a.steps[kind.a.next].product].end_ns : 0);
    });
    return found;
}

std::string row_headline(const DiffOutcome& outcome) {
    const RowComparison& rows = *outcome.rows;
    if (rows.compares_nothing()) return "Nothing was compared: no kind has as many rows in A as in B";
    const std::uint64_t other = rows.count_kinds(Outcome::other), same = rows.count_kinds(Outcome::same);
    const std::uint64_t left = rows.kinds.size() - other - same;
    const std::string rest = left == 0 ? "" : fmt::format("; {} not compared", counted(left, "other kind"));
    if (other > 0)
        return fmt::format("Other rows: in {} of {} with as many rows in A as in B{}", count_text(other),
                           counted(other + same, "kind"), rest);
    std::uint64_t all = 0, calls_a = 0, calls_b = 0;
    for (const RowKind& kind : rows.kinds) {
        if (kind.outcome != Outcome::same) continue;
        all += kind.same;
        calls_a += kind.a.steps.size();
        calls_b += kind.b.steps.size();
    }
    return fmt::format("Same rows: all {} of {} have the same bits, in {} of A and {} of B{}", counted(all, "row"),
                       counted(same, "kind"), counted(calls_a, "call"), count_text(calls_b), rest);
}

std::vector<std::string> row_remarks(const DiffOutcome& outcome) {
    const RowComparison& rows = *outcome.rows;
    std::vector<std::string> sentences;
    if (rows.count_kinds(Outcome::other) > 0)
        sentences.push_back("Inputs: not compared by row, so other rows may come from other inputs");
    if (const std::uint64_t kinds = rows.count_kinds(Outcome::not_compared); kinds > 0)
        sentences.push_back(fmt::format("Not compared: rows of {}, because A and B have different numbers of them",
                                        counted(kinds, "kind")));
    const auto add = [&](std::uint64_t RowComparison::LeftOutProducts::*left, const std::string& why) {
        const std::uint64_t a = rows.left_a.*left, b = rows.left_b.*left;
        if (a + b > 0)
            sentences.push_back(
                fmt::format("Not compared: {} of A and {} of B, {}", counted(a, "product"), count_text(b), why));
    };
    add(&RowComparison::LeftOutProducts::without_hashes,
        "which have no hashes of rows, because an older version of fp32shim recorded them, or the file was full; "
        "record both runs again");
    std::set<std::string> names = rows.left_a.names;
    names.insert(rows.left_b.names.begin(), rows.left_b.names.end());
    add(&RowComparison::LeftOutProducts::without_rows,
        "whose results have no rows, or whose sizes are not known: " + listed({names.begin(), names.end()}, 3));
    return sentences;
}

std::string rows_text(const DiffOutcome& outcome, std::size_t top, int stream) {
    std::string text;
    const std::vector<RowKind>& kinds = outcome.rows->kinds;
    if (!kinds.empty() && kinds[0].outcome == Outcome::other) {
        const RowSumsOfSide &a = kinds[0].a, &b = kinds[0].b;
        text = fmt::format(
            "\nRows differ in these products or in later ones of their kind; {} before them agree:\n  A: {}\n  B: "
            "{}\n",
            counted(kinds[0].same, "row"), product_line(outcome.a, a.steps[a.next].product),
            product_line(outcome.b, b.steps[b.next].product));
    }
    TextTable table({{"rows"},
                     {"in A", true},
                     {"calls", true, 0, 2},
                     {"in B", true},
                     {"calls", true, 0, 2},
                     {"agree", true},
                     {"length", true, 0, 3},
                     {"terms", true, 0, 3},
                     {"dtype", false, 0, 4},
                     {"first", false, 16, 1},
                     {"where", false, 14}});
    const std::size_t shown = top == 0 ? kinds.size() : std::min(top, kinds.size());
    for (const RowKind& kind : std::span(kinds).first(shown)) {
        const bool is_in_a = !kind.a.steps.empty();
        const MergedRow& row = (is_in_a ? outcome.a : outcome.b).row_of((is_in_a ? kind.a : kind.b).steps[0].product);
        table.add({std::string(word_of(kind)), count_text(kind.a.row_count()), count_text(kind.a.steps.size()),
                   count_text(kind.b.row_count()), count_text(kind.b.steps.size()), count_text(kind.same),
                   fmt::format("{}", kind.length), fmt::format("{}", kind.terms), std::string(kind.dtype),
                   fmt::format("{} {}", std::string_view(row.function), row.size_text()),
                   row.where.empty() ? "-" : std::string(row.where)});
    }
    text += "\nBy kind of row:\n" + table.text(stream);
    if (shown == kinds.size()) return text;
    return text + fmt::format("{}; --top 0 shows all\n", counted(kinds.size() - shown, "more kind"));
}

Json rows_json(const DiffOutcome& outcome) {
    const auto rows_of = [](const DiffSide& side, const RowSumsOfSide& rows) {
        const bool has_next = rows.next < rows.steps.size();
        return Json{{"rows", rows.row_count()},
                    {"calls", rows.steps.size()},
                    {"next", has_next ? product_json(side, rows.steps[rows.next].product) : Json()}};
    };
    const auto left_of = [](const RowComparison::LeftOutProducts& left) {
        return Json{{"without_hashes", left.without_hashes}, {"without_rows", left.without_rows}};
    };
    Json kinds = Json::array();
    for (const RowKind& kind : outcome.rows->kinds)
        kinds.push_back({{"outcome", word_of(kind)},
                         {"dtype", kind.dtype},
                         {"length", kind.length},
                         {"terms", kind.terms},
                         {"same", kind.same},
                         {"a", rows_of(outcome.a, kind.a)},
                         {"b", rows_of(outcome.b, kind.b)}});
    return {{"kinds", kinds}, {"a", left_of(outcome.rows->left_a)}, {"b", left_of(outcome.rows->left_b)}};
}

}  // namespace fp32shim::cli
