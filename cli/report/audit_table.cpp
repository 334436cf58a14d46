// The tables of audits in `fp32shim report`: which products a lower precision changes and by how much, and which
// products made the first NaN and infinity.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/output/moment.hpp"
#include "cli/recordings/filter.hpp"
#include "cli/report/tables.hpp"
#include "policy/policy.hpp"

namespace fp32shim::cli {
namespace {

/// The columns that say which product a row is about.
const TextColumn products[] = {
    {{"function"}, [](const MergedRow& row) { return std::string(row.function); }},
    {{"size"}, [](const MergedRow& row) { return row.size_text(); }},
    {{"where", false, 17}, [](const MergedRow& row) { return std::string(row.where); }, if_any},
    {{"scope", false, 15, module}, [](const MergedRow& row) { return std::string(row.scope); }, if_any},
    {{"ran at"}, [](const MergedRow& row) { return std::string(row.effective_format()); }, if_any},
};

// --- Audits

/// A row of the table of audits.
struct AuditedRow : MergedRow {
    const AuditSummary* audits = nullptr;
};
const AuditSummary& audits_of(const MergedRow& row) { return *static_cast<const AuditedRow&>(row).audits; }

std::string error_text(bool is_known, double error) { return is_known ? fmt::format("{:.1e}", error) : ""; }

/// Returns as text the largest error that the audits of a row measured by the metric `error`; empty if none of these
/// audits measured errors.
template <double record::AuditErrors::*error>
std::string worst_text(const MergedRow& row) {
    return error_text(audits_of(row).compared > 0, audits_of(row).worst.*error);
}

/// Returns a text with the numbers of a row's audits that measured no error, by the reason, and of those whose result
/// is noise; empty if all of these numbers are 0.
std::string remarks_on(const MergedRow& row) {
    std::string text;
    const auto add = [&text](std::uint64_t count, std::string_view what) {
        if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count_text(count), what);
    };
    const AuditSummary& audits = audits_of(row);
    add(audits.bad_operands, "with NaN or infinity in the operands");
    add(audits.bad_results, "with NaN or infinity in the result only");
    add(audits.skipped, "skipped");
    add(audits.noise, "of noise");
    return text;
}

const TextColumn audit_columns[] = {
    {{"compared", false, 0, way},
     [](const MergedRow& row) {
         return fmt::format("{} with {}", to_string(audits_of(row).tested), to_string(audits_of(row).reference));
     }},
    {{"op", false, 0, way}, [](const MergedRow& row) { return row.transposes_text(); }, if_different},
    {{"caller", false, 16, way}, [](const MergedRow& row) { return std::string(row.caller); }, if_different},
    {{"provider", false, 16, way}, [](const MergedRow& row) { return std::string(row.provider); }, if_different},
    {{"asked for", false, 0, way}, [](const MergedRow& row) { return row.requested_text(); }, if_different},
    {{"reason", false, 12, way}, [](const MergedRow& row) { return std::string(row.reason); }, if_different},
    {{"audits", true, 0, way}, [](const MergedRow& row) { return count_text(audits_of(row).compared); }},
    {{"calls", true, 0, way}, [](const MergedRow& row) { return count_text(row.counters.calls); }},
    {{"beyond", true, 0, detail},
     [](const MergedRow& row) { return audits_of(row).beyond == 0 ? "" : count_text(audits_of(row).beyond); },
     if_any},
    {{"of calls, up to", true, 0, detail},
     [](const MergedRow& row) {
         const std::optional<double> most = audits_of(row).largest_share_beyond_tolerance(row.counters.calls);
         return most ? share_bound_text(*most) : "";
     },
     if_any},
    {{"norm", true, 0, way}, worst_text<&record::AuditErrors::norm>, if_any},
    {{"row or column", true},
     [](const MergedRow& row) {
         return error_text(audits_of(row).compared > 0, audits_of(row).worst.error_by(policy::ErrorMetric::row));
     },
     if_any},
    {{"own error", true, 0, detail},
     [](const MergedRow& row) {
         return error_text(audits_of(row).checked > 0, static_cast<double>(audits_of(row).fp32_error));
     },
     if_any},
    {{"component", true, 0, detail}, worst_text<&record::AuditErrors::component>, if_any},
    {{"cancellation", true, 0, detail},
     [](const MergedRow& row) {
         return error_text(audits_of(row).cancellation > 0, static_cast<double>(audits_of(row).cancellation));
     },
     if_any},
    {{"remarks", false, 12, detail}, remarks_on, if_any},
};

// --- The first NaN or infinity

/// A row of the tables of products that made or received the first NaN or infinity.
struct NonfiniteRow : MergedRow {
    const MergedProcess* process = nullptr;
    const record::RecordedAudit* found = nullptr;  ///< the audit that found the NaN or infinity
};
const NonfiniteRow& nonfinite_of(const MergedRow& row) { return static_cast<const NonfiniteRow&>(row); }
const record::Audit& audit_of(const MergedRow& row) { return nonfinite_of(row).found->audit; }
std::string found_text(const MergedRow& row) { return std::string(nonfinite_text(audit_of(row), "NaN")); }

/// Returns the number of the matrix row or matrix column in which the NaN or infinity was found. The member `place`
/// selects row or column. Returns an empty text if it was found in alpha or beta, which are no matrices.
template <std::uint32_t record::Audit::*place>
std::string place_text(const MergedRow& row) {
    const bool is_received = (audit_of(row).flags & record::audit_received) != 0;
    const bool is_scalar = is_received && record::nonfinite_operand_name(audit_of(row)).size() > 1;
    return is_scalar ? "" : fmt::format("{}", audit_of(row).*place);
}

/// Returns a power of two that exceeds the magnitudes of all numbers of an operand: `2^14`; empty if they are not
/// known.
template <record::ExponentRange record::Audit::*operand>
std::string limit_text(const MergedRow& row) {
    const record::ExponentRange& exponents = audit_of(row).*operand;
    return exponents.lowest > exponents.highest ? "" : fmt::format("2^{}", exponents.highest + 1);
}

const TextColumn occasions[] = {
    {{"time"}, [](const MergedRow& row) { return time_of_day(nonfinite_of(row).found->end_ns); }},
    {{"process", false, 0, module},
     [](const MergedRow& row) { return fmt::format("{}", nonfinite_of(row).process->facts.process.pid); }}};

const TextColumn places[] = {
    {{"row", true}, place_text<&record::Audit::worst_row>, if_any},
    {{"column", true}, place_text<&record::Audit::worst_column>, if_any},
    {{"of the batch", true, 0, module},
     [](const MergedRow& row) { return row.batch == 1 ? "" : fmt::format("{}", audit_of(row).product); },
     if_any}};

const TextColumn found_columns[] = {{{"found"}, found_text}};
const TextColumn factors[] = {
    {{"|A| below", true, 0, way}, limit_text<&record::Audit::a>, if_any},
    {{"|B| below", true, 0, way}, limit_text<&record::Audit::b>, if_any},
    {{"|alpha|", true, 0, detail},
     [](const MergedRow& row) { return audit_of(row).alpha == 1 ? "" : fmt::format("{:.4g}", audit_of(row).alpha); },
     if_any},
    {{"|beta|", true, 0, detail},
     [](const MergedRow& row) { return audit_of(row).beta == 0 ? "" : fmt::format("{:.4g}", audit_of(row).beta); },
     if_any}};
const TextColumn received_columns[] = {
    {{"received"}, found_text},
    {{"in"}, [](const MergedRow& row) { return std::string(record::nonfinite_operand_name(audit_of(row))); }}};

/// Returns a table of the first `limit` rows, or of all rows if `limit` is 0. The table has all columns in `lists`,
/// list after list.
template <class Row>
LimitedTable limited_table(std::initializer_list<std::span<const TextColumn>> lists, const std::vector<Row>& rows,
                           std::size_t limit) {
    TextColumns columns;
    for (const auto& list : lists) columns.insert(columns.end(), list.begin(), list.end());
    std::vector<const MergedRow*> shown;
    for (const Row& row : rows)
        if (limit == 0 || shown.size() < limit) shown.push_back(&row);
    return {table_of(columns, shown).with_stored_cells(), rows.size() - shown.size()};
}

std::vector<NonfiniteRow> rows_of(const MergedCalls& calls, const std::vector<FirstNonfiniteProduct>& all) {
    std::vector<NonfiniteRow> rows;
    for (const FirstNonfiniteProduct& one : all)
        rows.push_back({calls.rows()[one.row], &calls.processes()[one.process], &one.found});
    return rows;
}

std::string text_of(const LimitedTable& limited, const TableLimits& limits, int stream) {
    if (limited.table.empty()) return {};
    const std::string more = fmt::format("{}; {}\n", counted(limited.left_out, "more row"), limits.how_to_see_more);
    return limited.table.text(stream) + (limited.left_out > 0 ? more : "");
}

}  // namespace

LimitedTable first_received_table(const MergedCalls& calls, std::size_t limit) {
    return limited_table({occasions, products, received_columns, places},
                         rows_of(calls, calls.first_receiving_products()), limit);
}

LimitedTable first_nonfinite_table(const MergedCalls& calls, std::size_t limit) {
    return limited_table({occasions, products, found_columns, places, factors},
                         rows_of(calls, calls.first_nonfinite_products()), limit);
}

LimitedTable audit_table(const MergedCalls& calls, std::size_t limit) {
    std::vector<AuditedRow> rows;
    for (const AuditSummary& audits : calls.audits().all()) rows.push_back({calls.rows()[audits.row], &audits});
    std::ranges::stable_sort(rows, std::greater<>(), [](const AuditedRow& row) {
        return row.audits->worst.error_by(policy::ErrorMetric::row);
    });
    return limited_table({products, audit_columns}, rows, limit);
}

std::string lost_audits_text(const MergedCalls& calls) {
    const std::uint64_t lost = calls.audits().lost_audits();
    return lost == 0 ? "" : fmt::format("there was no room in the recordings for {}", counted(lost, "audit"));
}

std::string nonfinite_text(const MergedCalls& calls, const TableLimits& limits, int stream) {
    const std::string table = text_of(first_nonfinite_table(calls, limits.max_rows), limits, stream);
    const bool sees_all =
        (calls.filter() == nullptr || calls.filter()->is_empty()) && lost_audits_text(calls).empty();
    if (!table.empty() || calls.calls_searched_for_nonfinite() == 0 || !sees_all) return table;
    return fmt::format("{} searched, none found\n", counted(calls.calls_searched_for_nonfinite(), "call"));
}

std::string first_received_text(const MergedCalls& calls, const TableLimits& limits, int stream) {
    return text_of(first_received_table(calls, limits.max_rows), limits, stream);
}

std::string audits_text(const MergedCalls& calls, const TableLimits& limits, int stream) {
    const std::string lost = lost_audits_text(calls);
    return lost + (lost.empty() ? "" : "\n") + text_of(audit_table(calls, limits.max_rows), limits, stream);
}

}  // namespace fp32shim::cli
