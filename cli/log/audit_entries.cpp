// Makes the entries of `fp32shim log` for audits, which measure the error of a call's result, and for the first NaN
// or infinity of a process.
#include <fmt/format.h>

#include <cmath>

#include "cli/log/writers.hpp"
#include "cli/recordings/row_audits.hpp"
#include "policy/policy.hpp"

namespace fp32shim::cli {
namespace {

using record::RecordedAudit;

bool is_nonfinite(const RecordedAudit& audit) { return (audit.audit.flags & record::audit_nonfinite) != 0; }
bool has_flag(const RecordedAudit& audit, std::uint8_t flag) { return (audit.audit.flags & flag) != 0; }
bool is_received(const RecordedAudit& audit) { return has_flag(audit, record::audit_received); }
bool has_note(const RecordedAudit& audit, std::uint8_t note) { return (audit.audit.notes & note) != 0; }

/// Returns true if the audit measured errors.
bool is_compared(const RecordedAudit& audit) {
    return !has_flag(audit, record::audit_skipped | record::audit_bad_operand);
}

std::string_view outcome_of(const RecordedAudit& audit) {
    if (has_flag(audit, record::audit_skipped)) return "skipped";
    if (has_flag(audit, record::audit_bad_operand)) return "bad_operand";
    return has_flag(audit, record::audit_bad_result) ? "bad_result" : "compared";
}

template <double record::AuditErrors::*error>
FieldValue error_of(const RecordedAudit& audit) {
    const double value = audit.audit.errors.*error;
    return is_compared(audit) && std::isfinite(value) ? FieldValue(value) : FieldValue();
}

template <record::ExponentRange record::Audit::*operand, std::int16_t record::ExponentRange::*bound>
FieldValue exponent_of(const RecordedAudit& audit) {
    const record::ExponentRange& exponents = audit.audit.*operand;
    return exponents.lowest > exponents.highest ? FieldValue() : FieldValue(std::int64_t{exponents.*bound});
}

template <std::uint32_t record::Audit::*index>
FieldValue element_index(const RecordedAudit& audit) {
    return is_nonfinite(audit) || is_compared(audit) ? FieldValue(audit.audit.*index) : FieldValue();
}

template <float record::Audit::*number, std::uint8_t note>
FieldValue value_if_noted(const RecordedAudit& audit) {
    const auto value = static_cast<double>(audit.audit.*number);
    return has_note(audit, note) && std::isfinite(value) ? FieldValue(value) : FieldValue();
}

template <std::uint32_t record::Audit::*index>
FieldValue operand_index(const RecordedAudit& audit) {
    return nonfinite_operand_name(audit.audit).size() > 1 ? FieldValue() : FieldValue(audit.audit.*index);
}

template <float record::Audit::*factor>
FieldValue factor_of(const RecordedAudit& audit) {
    const auto value = static_cast<double>(audit.audit.*factor);
    return std::isfinite(value) ? FieldValue(value) : FieldValue();
}

using ExponentRange = record::ExponentRange;
using record::Audit;
using record::AuditErrors;

constexpr Column<RecordedAudit> audit_columns[] = {
    {"tested", [](const RecordedAudit& audit) { return FieldValue(to_string(audit.audit.tested)); }},
    {"reference", [](const RecordedAudit& audit) { return FieldValue(to_string(audit.audit.reference)); }},
    {"outcome", [](const RecordedAudit& audit) { return FieldValue(outcome_of(audit)); }},
    {"beyond",
     [](const RecordedAudit& audit) { return FieldValue(has_flag(audit, record::audit_exceeds_tolerance)); }},
#define METRIC(name) {#name, error_of<&AuditErrors::name>},
#define FURTHER_ERROR METRIC
#include "policy/metrics.def"
    {"worst_row", element_index<&Audit::worst_row>},
    {"worst_column", element_index<&Audit::worst_column>},
    {"a_lowest", exponent_of<&Audit::a, &ExponentRange::lowest>},
    {"a_highest", exponent_of<&Audit::a, &ExponentRange::highest>},
    {"b_lowest", exponent_of<&Audit::b, &ExponentRange::lowest>},
    {"b_highest", exponent_of<&Audit::b, &ExponentRange::highest>},
    {"c_lowest", exponent_of<&Audit::c, &ExponentRange::lowest>},
    {"c_highest", exponent_of<&Audit::c, &ExponentRange::highest>},
    {"early",
     [](const RecordedAudit& audit) {
         return has_note(audit, record::audit_noted) ? FieldValue(has_flag(audit, record::audit_early))
                                                     : FieldValue();
     }},
    {"cancellation", value_if_noted<&Audit::cancellation, record::audit_has_cancellation>},
    {"fp32_error", value_if_noted<&Audit::fp32_error, record::audit_has_float64_errors>},
    {"tested_error", value_if_noted<&Audit::tested_error, record::audit_has_float64_errors>},
    {"noise",
     [](const RecordedAudit& audit) {
         return has_note(audit, record::audit_has_float64_errors) ? FieldValue(has_note(audit, record::audit_noise))
                                                                  : FieldValue();
     }},
};

constexpr Column<RecordedAudit> received_columns[] = {
    {"found", [](const RecordedAudit& audit) { return FieldValue(nonfinite_text(audit.audit, "nan")); }},
    {"operand",
     [](const RecordedAudit& audit) {
         const std::string_view operand = nonfinite_operand_name(audit.audit);
         return operand == "?" ? FieldValue() : FieldValue(operand);
     }},
    {"operand_row", operand_index<&Audit::worst_row>},
    {"operand_column", operand_index<&Audit::worst_column>},
    {"product", [](const RecordedAudit& audit) { return FieldValue(audit.audit.product); }},
};

constexpr Column<RecordedAudit> nonfinite_columns[] = {
    {"found", [](const RecordedAudit& audit) { return FieldValue(nonfinite_text(audit.audit, "nan")); }},
    {"result_row", element_index<&Audit::worst_row>},
    {"result_column", element_index<&Audit::worst_column>},
    {"product", element_index<&Audit::product>},
    {"alpha", factor_of<&Audit::alpha>},
    {"beta", factor_of<&Audit::beta>},
    {"a_lowest", exponent_of<&Audit::a, &ExponentRange::lowest>},
    {"a_highest", exponent_of<&Audit::a, &ExponentRange::highest>},
    {"b_lowest", exponent_of<&Audit::b, &ExponentRange::lowest>},
    {"b_highest", exponent_of<&Audit::b, &ExponentRange::highest>},
};

}  // namespace

std::string_view event_name_of(const RecordedAudit& audit) {
    return is_received(audit) ? "received" : is_nonfinite(audit) ? "nonfinite" : "audit";
}

std::span<const Column<RecordedAudit>> audit_event_columns(const RecordedAudit& audit) {
    if (is_received(audit)) return received_columns;
    if (is_nonfinite(audit)) return nonfinite_columns;
    return audit_columns;
}

std::string audit_event_text(const record::RecordedRow& row, const RecordedAudit& entry) {
    const record::Audit& audit = entry.audit;
    if (is_received(entry)) {
        const std::string_view operand = nonfinite_operand_name(audit);
        return fmt::format(
            "first product that received NaN or infinity: {} in {}{}", nonfinite_text(audit, "NaN"), operand,
            operand.size() > 1 ? "" : fmt::format(", row {}, column {}", audit.worst_row, audit.worst_column));
    }
    if (is_nonfinite(entry))
        return fmt::format("first NaN or infinity from finite operands: {} in row {}, column {}{}",
                           nonfinite_text(audit, "NaN"), audit.worst_row, audit.worst_column,
                           row.decision.call.batch == 1 ? "" : fmt::format(" of product {}", audit.product));
    const std::string formats = fmt::format("{} with {}: ", to_string(audit.tested), to_string(audit.reference));
    if (has_flag(entry, record::audit_skipped)) return formats + "skipped";
    if (has_flag(entry, record::audit_bad_operand)) return formats + "NaN or infinity in the operands";
    return fmt::format("{}norm {:.1e}, row or column {:.1e}, component {:.1e}{}{}{}", formats, audit.errors.norm,
                       audit.errors.error_by(policy::ErrorMetric::row), audit.errors.component,
                       has_flag(entry, record::audit_exceeds_tolerance) ? "; beyond the tolerance" : "",
                       has_flag(entry, record::audit_bad_result) ? "; NaN or infinity in the result only" : "",
                       !has_note(entry, record::audit_noise)          ? ""
                       : audit.reference == policy::AuditFormat::fp64 ? "; the FP64 result is noise"
                                                                      : "; the FP32 result is noise");
}

}  // namespace fp32shim::cli
