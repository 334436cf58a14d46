// The tables of audits in `fp32shim report`: which products a lower precision changes and by how much, and which
// products made the first NaN and infinity.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
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
    return text;
}

const std::vector<Table::Column> columns_of_audits = {{"function"},
                                                      {"size"},
                                                      {"where", false, 16},
                                                      {"scope", false, 12},
                                                      {"ran at"},
                                                      {"compared"},
                                                      {"audits", true},
                                                      {"beyond", true, 0, audit_detail_rank},
                                                      {"norm", true},
                                                      {"row or column", true},
                                                      {"component", true, 0, audit_detail_rank},
                                                      {"remarks", false, 12, audit_detail_rank}};

std::vector<std::string> cells_of(const MergedRow& row, const RowAudits& audits) {
    const auto error = [&](double value) { return audits.compared > 0 ? error_text(value) : std::string(); };
    return {std::string(row.function),
            row.size_text(),
            std::string(row.where),
            std::string(row.scope),
            std::string(row.ran_at()),
            fmt::format("{} with {}", to_string(audits.tested), to_string(audits.reference)),
            count_text(audits.compared),
            audits.beyond == 0 ? "" : count_text(audits.beyond),
            error(audits.worst.norm),
            error(audits.worst.by(policy::Metric::row)),
            error(audits.worst.component),
            remarks_of(audits)};
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
    std::vector<std::vector<std::string>> rows;
    for (std::size_t i = 0; i < rows_shown(sorted.size(), limit); ++i)
        rows.push_back(cells_of(calls.rows()[sorted[i]->row], *sorted[i]));
    return without_empty_columns(columns_of_audits, rows, sorted.size() - rows.size());
}

std::string lost_audits_text(const MergedCalls& calls) {
    const std::uint64_t lost = calls.audits().lost();
    return lost == 0 ? "" : fmt::format("there was no room in the recordings for {}", counted(lost, "audit"));
}

std::string nonfinite_text(const MergedCalls& calls, const TableLimits& limits, int stream) {
    return text_of(nonfinite_table(calls, limits.sites), limits, stream);
}

std::string audits_text(const MergedCalls& calls, const TableLimits& limits, int stream) {
    const std::string lost = lost_audits_text(calls);
    return lost + (lost.empty() ? "" : "\n") + text_of(audit_table(calls, limits.sites), limits, stream);
}

}  // namespace fp32shim::cli
