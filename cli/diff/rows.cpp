#include "cli/diff/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "cli/diff/outcome.hpp"
#include "cli/output/json.hpp"
#include "cli/output/terminal.hpp"
#include "record/fingerprint.hpp"

namespace fp32shim::cli {
namespace {

using Outcome = RowKind::Outcome;
constexpr std::string_view outcome_words[] = {"other", "not compared", "same"};
std::string_view word_of(const RowKind& kind) { return outcome_words[static_cast<std::size_t>(kind.outcome())]; }

class Comparison {
  public:
    void add(const ResultsOfSide& side, std::vector<RowStep> RowKind::*steps, RowComparison::Left& left) {
        std::vector<std::size_t> order(side.products.size());
        std::iota(order.begin(), order.end(), 0);
        std::ranges::stable_sort(order, {}, [&](std::size_t product) { return side.products[product].end_ns; });
        for (const std::size_t product : order) {
            const MergedRow& row = side.row_of(product);
            const std::uint32_t hash = side.row_hashes[product], layout = hash & ~record::rows_sum;
            if (layout == 0) {
                ++left.unknown;
                continue;
            }
            if (layout == record::rows_none || row.is_folded || std::min({row.m, row.n, row.batch}) < 1) {
                ++left.no_rows;
                continue;
            }
            const bool are_rows = layout == record::rows_are_rows;
            RowKind& kind = kind_of(row.dtype, are_rows ? row.n : row.m, row.k);
            const RowStep before = (kind.*steps).empty() ? RowStep() : (kind.*steps).back();
            const auto rows = static_cast<std::uint64_t>(are_rows ? row.m : row.n);
            (kind.*steps)
                .push_back({before.rows + rows * static_cast<std::uint64_t>(row.batch),
                            (before.sum + hash) & record::rows_sum, product});
        }
    }

    RowComparison finish(const ResultsOfSide& a) {
        for (RowKind& kind : found.kinds) find_last_agreement(kind);
        std::ranges::stable_sort(found.kinds, {}, [&](const RowKind& kind) {
            const bool is_other = kind.outcome() == Outcome::other;
            return std::pair(kind.outcome(), is_other ? a.products[kind.a[kind.next_a].product].end_ns : 0);
        });
        return std::move(found);
    }

    RowComparison found;

  private:
    RowKind& kind_of(SharedText dtype, std::int64_t length, std::int64_t terms) {
        const auto [entry, is_new] = indices_.try_emplace({dtype.id(), length, terms}, found.kinds.size());
        if (is_new) found.kinds.push_back({.dtype = dtype, .length = length, .terms = terms});
        return found.kinds[entry->second];
    }

    static void find_last_agreement(RowKind& kind) {
        for (std::size_t i = 0, j = 0; i < kind.a.size() && j < kind.b.size();) {
            const RowStep &a = kind.a[i], &b = kind.b[j];
            i += a.rows <= b.rows ? 1 : 0;
            j += b.rows <= a.rows ? 1 : 0;
            if (a.rows != b.rows || a.sum != b.sum) continue;
            kind.same = a.rows;
            kind.next_a = i;
            kind.next_b = j;
        }
    }

    std::map<std::tuple<std::uint32_t, std::int64_t, std::int64_t>, std::size_t> indices_;
};

/// Returns the numbers of rows and of calls in A and B, of the kinds with an outcome.
std::array<std::uint64_t, 3> totals_of(const RowComparison& rows, Outcome outcome) {
    std::array<std::uint64_t, 3> totals = {};
    for (const RowKind& kind : rows.kinds)
        if (kind.outcome() == outcome)
            totals = {totals[0] + kind.rows_a(), totals[1] + kind.a.size(), totals[2] + kind.b.size()};
    return totals;
}

}  // namespace

std::uint64_t RowComparison::count(Outcome outcome) const {
    return static_cast<std::uint64_t>(std::ranges::count(kinds, outcome, &RowKind::outcome));
}

RowComparison compare_rows(const ResultsOfSide& a, const ResultsOfSide& b) {
    Comparison comparison;
    comparison.add(a, &RowKind::a, comparison.found.left_a);
    comparison.add(b, &RowKind::b, comparison.found.left_b);
    return comparison.finish(a);
}

std::string row_headline(const DiffOutcome& outcome) {
    const RowComparison& rows = *outcome.rows;
    if (rows.compared() == 0) return "Nothing was compared: no kind has as many rows in A as in B";
    const std::uint64_t other = rows.count(Outcome::other), same = rows.count(Outcome::same);
    const std::uint64_t left = rows.count(Outcome::not_compared);
    const std::string rest = left == 0 ? "" : fmt::format("; {} not compared", counted(left, "other kind"));
    if (other > 0)
        return fmt::format("Other rows: in {} of {} with as many rows in A as in B{}", count_text(other),
                           counted(rows.compared(), "kind"), rest);
    const auto [all, calls_a, calls_b] = totals_of(rows, Outcome::same);
    return fmt::format("Same rows: all {} of {} have the same bits, in {} of A and {} of B{}", counted(all, "row"),
                       counted(same, "kind"), counted(calls_a, "call"), count_text(calls_b), rest);
}

std::vector<std::string> row_remarks(const DiffOutcome& outcome) {
    const RowComparison& rows = *outcome.rows;
    std::vector<std::string> sentences;
    if (rows.count(Outcome::other) > 0)
        sentences.push_back("Inputs: not compared by row, so other rows may come from other inputs");
    if (const std::uint64_t kinds = rows.count(Outcome::not_compared); kinds > 0)
        sentences.push_back(
            fmt::format("Not compared: rows of {}, of which A and B have different numbers", counted(kinds, "kind")));
    const auto add = [&](std::uint64_t a, std::uint64_t b, std::string_view why) {
        if (a + b > 0)
            sentences.push_back(
                fmt::format("Not compared: {} of A and {} of B, {}", counted(a, "product"), count_text(b), why));
    };
    add(rows.left_a.unknown, rows.left_b.unknown,
        "which have no hashes of rows, because an older version of fp32shim recorded them, or the file was full; "
        "record both runs again");
    add(rows.left_a.no_rows, rows.left_b.no_rows, "whose results have no rows, or whose sizes are not known");
    return sentences;
}

std::string rows_text(const DiffOutcome& outcome, std::size_t top, int stream) {
    std::string text;
    const std::vector<RowKind>& kinds = outcome.rows->kinds;
    if (!kinds.empty() && kinds[0].outcome() == Outcome::other) {
        const RowKind& first = kinds[0];
        text = fmt::format("\nRows differ in these products or in later ones of their kind; {} before them agree:\n",
                           counted(first.same, "row"));
        text += "  A: " + product_line(outcome.a, first.a[first.next_a].product) + "\n";
        text += "  B: " + product_line(outcome.b, first.b[first.next_b].product) + "\n";
    }
    Table table({{"rows"},
                 {"in A", true},
                 {"calls", true},
                 {"in B", true},
                 {"calls", true},
                 {"agree", true},
                 {"length", true},
                 {"terms", true},
                 {"dtype"},
                 {"first"},
                 {"where", false, 16}});
    const std::size_t shown = top == 0 ? kinds.size() : std::min(top, kinds.size());
    for (const RowKind& kind : std::span(kinds).first(shown)) {
        const MergedRow& row =
            kind.a.empty() ? outcome.b.row_of(kind.b[0].product) : outcome.a.row_of(kind.a[0].product);
        table.add({std::string(word_of(kind)), count_text(kind.rows_a()), count_text(kind.a.size()),
                   count_text(kind.rows_b()), count_text(kind.b.size()), count_text(kind.same),
                   fmt::format("{}", kind.length), fmt::format("{}", kind.terms), std::string(kind.dtype),
                   fmt::format("{} {}", std::string_view(row.function), row.size_text()),
                   row.where.empty() ? "-" : std::string(row.where)});
    }
    text += "\nBy kind of row:\n" + table.text(stream);
    if (shown < kinds.size())
        text += fmt::format("{}; --top 0 shows all\n", counted(kinds.size() - shown, "more kind"));
    return text;
}

Json rows_json(const DiffOutcome& outcome) {
    const RowComparison& rows = *outcome.rows;
    Json kinds = Json::array();
    for (const RowKind& kind : rows.kinds) {
        const auto first = [&](const ResultsOfSide& side, const std::vector<RowStep>& steps, std::size_t next) {
            return next < steps.size() ? product_of_side(side, steps[next].product) : Json();
        };
        kinds.push_back(
            {{"outcome", word_of(kind)},
             {"dtype", kind.dtype},
             {"length", kind.length},
             {"terms", kind.terms},
             {"same", kind.same},
             {"a",
              {{"rows", kind.rows_a()}, {"calls", kind.a.size()}, {"next", first(outcome.a, kind.a, kind.next_a)}}},
             {"b",
              {{"rows", kind.rows_b()}, {"calls", kind.b.size()}, {"next", first(outcome.b, kind.b, kind.next_b)}}}});
    }
    const auto left = [](const RowComparison::Left& side) {
        return Json{{"without_hashes", side.unknown}, {"without_rows", side.no_rows}};
    };
    return {{"kinds", kinds}, {"a", left(rows.left_a)}, {"b", left(rows.left_b)}};
}

}  // namespace fp32shim::cli
