// The tables of audits in `fp32shim report`: which products a lower precision changes and by how much, and which
// products made the first NaN and infinity.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/output/moment.hpp"
#include "cli/report/tables.hpp"
#include "policy/policy.hpp"

namespace fp32shim::cli {
namespace {

constexpr std::uint8_t audit_detail_rank = 1;

std::string error_text(double error) { return fmt::format("{:.1e}", error); }

/// Returns remarks about the audits that yielded no error.
std::string remarks_of(const RowAudits& audits) {
    std::string text;
    const auto add = [&text](std::uint64_t count, std::string_view what) {
        if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count_text(count), what);
    };
    add(audits.bad_operands, "with NaN or infinity in the operands");
    add(audits.bad_results, "with NaN or infinity in the result only");
    add(audits.skipped, "skipped");
    add(audits.noise, "of noise");
    return text;
}

const std::vector<Table::Column> key_columns_of_audits = {{"function"},         {"size"},   {"where", false, 16},
                                                          {"scope", false, 12}, {"ran at"}, {"compared"}};

const std::vector<Table::Column> columns_of_audits = {{"audits", true},
                                                      {"calls", true},
                                                      {"beyond", true, 0, audit_detail_rank},
                                                      {"of calls, up to", true, 0, audit_detail_rank},
                                                      {"norm", true},
                                                      {"row or column", true},
                                                      {"own error", true, 0, audit_detail_rank},
                                                      {"component", true, 0, audit_detail_rank},
                                                      {"cancellation", true, 0, audit_detail_rank},
                                                      {"remarks", false, 12, audit_detail_rank}};

std::vector<std::string> keys_of(const MergedRow& row, const RowAudits& audits) {
    return {
        std::string(row.function), row.size_text(),
        std::string(row.where),    std::string(row.scope),
        std::string(row.ran_at()), fmt::format("{} with {}", to_string(audits.tested), to_string(audits.reference))};
}

/// A key that is shown only where rows would look alike without it.
struct FurtherKey {
    std::string_view title;
    std::string (*text)(const MergedRow& row);
};
constexpr FurtherKey further_keys[] = {
    {"op",
     [](const MergedRow& row) {
         return fmt::format("{}{}", row.trans_a == 0 ? ' ' : row.trans_a, row.trans_b == 0 ? ' ' : row.trans_b);
     }},
    {"caller", [](const MergedRow& row) { return std::string(row.caller); }},
    {"provider", [](const MergedRow& row) { return std::string(row.provider); }},
    {"asked for", [](const MergedRow& row) { return std::string(row.requested); }},
    {"by", [](const MergedRow& row) { return std::string(row.source); }},
    {"rule", [](const MergedRow& row) { return std::string(row.rule); }},
    {"reason", [](const MergedRow& row) { return std::string(row.reason); }},
};

std::vector<std::string> cells_of(const MergedRow& row, const RowAudits& audits) {
    const auto error = [&](double value) { return audits.compared > 0 ? error_text(value) : std::string(); };
    const std::optional<double> most_beyond = audits.most_beyond(row.counters.calls);
    return {count_text(audits.compared),
            count_text(row.counters.calls),
            audits.beyond == 0 ? "" : count_text(audits.beyond),
            most_beyond ? bound_text(*most_beyond) : "",
            error(audits.worst.norm),
            error(audits.worst.by(policy::Metric::row)),
            audits.checked > 0 ? error_text(static_cast<double>(audits.fp32_error)) : "",
            error(audits.worst.component),
            audits.cancellation > 0 ? error_text(static_cast<double>(audits.cancellation)) : "",
            remarks_of(audits)};
}

/// Adds to the keys of rows those further ones that tell apart rows that look alike. Returns their titles.
std::vector<std::string_view> tell_apart(const std::vector<const MergedRow*>& rows,
                                         std::vector<std::vector<std::string>>& keys) {
    std::vector<std::string_view> titles;
    for (const auto& [title, text] : further_keys) {
        std::map<std::vector<std::string>, std::string> first;
        bool differs = false;
        for (std::size_t i = 0; i < rows.size(); ++i)
            differs |= first.try_emplace(keys[i], text(*rows[i])).first->second != text(*rows[i]);
        if (!differs) continue;
        titles.push_back(title);
        for (std::size_t i = 0; i < rows.size(); ++i) keys[i].push_back(text(*rows[i]));
    }
    return titles;
}

/// Makes a table, leaving out the columns that are empty in all rows.
AuditTable without_empty_columns(const std::vector<Table::Column>& columns,
                                 const std::vector<std::vector<std::string>>& rows, std::size_t left_out) {
    AuditTable table{.heads = {}, .rows = std::vector<std::vector<std::string>>(rows.size()), .left_out = left_out};
    for (std::size_t i = 0; i < columns.size(); ++i) {
        if (std::ranges::all_of(rows, [i](const auto& cells) { return cells[i].empty(); })) continue;
        table.heads.push_back(columns[i]);
        for (std::size_t row = 0; row < rows.size(); ++row) table.rows[row].push_back(rows[row][i]);
    }
    return table;
}

const std::vector<Table::Column> nonfinite_columns = {{"time"},
                                                      {"process"},
                                                      {"function"},
                                                      {"size"},
                                                      {"where", false, 16},
                                                      {"scope", false, 12},
                                                      {"ran at"},
                                                      {"found"},
                                                      {"row", true},
                                                      {"column", true},
                                                      {"of the batch", true},
                                                      {"|A| below", true},
                                                      {"|B| below", true},
                                                      {"|alpha|", true},
                                                      {"|beta|", true}};

/// Returns, as text, a power of two that exceeds all numbers with these exponents.
std::string limit_text(const record::Exponents& exponents) {
    return exponents.lowest > exponents.highest ? "" : fmt::format("2^{}", exponents.highest + 1);
}

std::vector<std::string> cells_of(const MergedCalls& calls, const MergedNonfinite& nonfinite) {
    const MergedRow& row = calls.rows()[nonfinite.row];
    const record::Audit& found = nonfinite.found.audit;
    return {time_of_day(nonfinite.found.end_ns),
            fmt::format("{}", calls.processes()[nonfinite.process].facts.process.pid),
            std::string(row.function),
            row.size_text(),
            std::string(row.where),
            std::string(row.scope),
            std::string(row.ran_at()),
            std::string(nonfinite_text(found, "NaN")),
            fmt::format("{}", found.worst_row),
            fmt::format("{}", found.worst_column),
            row.batch == 1 ? "" : fmt::format("{}", found.product),
            limit_text(found.a),
            limit_text(found.b),
            found.alpha == 1 ? "" : fmt::format("{:.4g}", found.alpha),
            found.beta == 0 ? "" : fmt::format("{:.4g}", found.beta)};
}

const std::vector<Table::Column> received_columns = {
    {"time"},   {"process"},  {"function"}, {"size"},      {"where", false, 16}, {"scope", false, 12},
    {"ran at"}, {"received"}, {"in"},       {"row", true}, {"column", true},     {"of the batch", true}};

std::vector<std::string> received_cells(const MergedCalls& calls, const MergedNonfinite& received) {
    const std::vector<std::string> made = cells_of(calls, received);
    const std::string operand(record::nonfinite_operand(received.found.audit));
    const bool is_scalar = operand.size() > 1;
    std::vector<std::string> cells(made.begin(), made.begin() + 8);
    cells.push_back(operand);
    cells.push_back(is_scalar ? "" : made[8]);
    cells.push_back(is_scalar ? "" : made[9]);
    cells.push_back(made[10]);
    return cells;
}

double order_of(const RowAudits* audits) { return audits->worst.by(policy::Metric::row); }

/// Returns the number of rows to show: at most `limit`, or all if it is 0.
std::size_t rows_shown(std::size_t count, std::size_t limit) { return limit == 0 ? count : std::min(limit, count); }

std::string text_of(const AuditTable& cells, const TableLimits& limits, int stream) {
    if (cells.rows.empty()) return {};
    Table table(cells.heads);
    for (const std::vector<std::string>& row : cells.rows) table.add(row);
    return table.text(stream) +
           (cells.left_out > 0 ? fmt::format("{}; {}\n", counted(cells.left_out, "more row"), limits.how_to_see_more)
                               : "");
}

}  // namespace

AuditTable received_table(const MergedCalls& calls, std::size_t limit) {
    const std::vector<MergedNonfinite>& all = calls.received();
    std::vector<std::vector<std::string>> rows;
    for (std::size_t i = 0; i < rows_shown(all.size(), limit); ++i) rows.push_back(received_cells(calls, all[i]));
    return without_empty_columns(received_columns, rows, all.size() - rows.size());
}

AuditTable nonfinite_table(const MergedCalls& calls, std::size_t limit) {
    const std::vector<MergedNonfinite>& all = calls.nonfinite();
    std::vector<std::vector<std::string>> rows;
    for (std::size_t i = 0; i < rows_shown(all.size(), limit); ++i) rows.push_back(cells_of(calls, all[i]));
    return without_empty_columns(nonfinite_columns, rows, all.size() - rows.size());
}

AuditTable audit_table(const MergedCalls& calls, std::size_t limit) {
    std::vector<const RowAudits*> sorted;
    for (const RowAudits& row : calls.audits().all()) sorted.push_back(&row);
    std::ranges::stable_sort(sorted, std::greater<>(), order_of);
    std::vector<const MergedRow*> products;
    std::vector<std::vector<std::string>> rows;
    for (std::size_t i = 0; i < rows_shown(sorted.size(), limit); ++i) {
        products.push_back(&calls.rows()[sorted[i]->row]);
        rows.push_back(keys_of(*products.back(), *sorted[i]));
    }
    std::vector<Table::Column> columns = key_columns_of_audits;
    for (const std::string_view title : tell_apart(products, rows)) columns.push_back({std::string(title)});
    columns.insert(columns.end(), columns_of_audits.begin(), columns_of_audits.end());
    for (std::size_t i = 0; i < rows.size(); ++i)
        for (std::string& cell : cells_of(*products[i], *sorted[i])) rows[i].push_back(std::move(cell));
    return without_empty_columns(columns, rows, sorted.size() - rows.size());
}

std::string lost_audits_text(const MergedCalls& calls) {
    const std::uint64_t lost = calls.audits().lost();
    return lost == 0 ? "" : fmt::format("there was no room in the recordings for {}", counted(lost, "audit"));
}

std::string nonfinite_text(const MergedCalls& calls, const TableLimits& limits, int stream) {
    const std::string table = text_of(nonfinite_table(calls, limits.sites), limits, stream);
    if (!table.empty() || calls.searched_calls() == 0) return table;
    return fmt::format("{} searched, none found\n", counted(calls.searched_calls(), "call"));
}

std::string received_text(const MergedCalls& calls, const TableLimits& limits, int stream) {
    return text_of(received_table(calls, limits.sites), limits, stream);
}

std::string audits_text(const MergedCalls& calls, const TableLimits& limits, int stream) {
    const std::string lost = lost_audits_text(calls);
    return lost + (lost.empty() ? "" : "\n") + text_of(audit_table(calls, limits.sites), limits, stream);
}

}  // namespace fp32shim::cli
