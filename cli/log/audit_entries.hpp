// Entries of `fp32shim log` for audits, and for the first NaN or infinity.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cli/output/field_value.hpp"
#include "record/read/reader.hpp"

namespace fp32shim::cli {

/// Returns the name of the event in docs/log-format.md: `audit`, `nonfinite` or `received`.
std::string_view event_of(const record::RecordedAudit& audit);

/// Returns the keys of the event, except those that every event or every decision has.
std::span<const Column<record::RecordedAudit>> columns_of(const record::RecordedAudit& audit);

/// Returns the result of an audit as text: `tf32 with fp32: norm 1.2e-04, row or column 3.0e-04, component 2.2e-05`.
/// `row` is the row of the audited call.
std::string words_of(const record::RecordedRow& row, const record::RecordedAudit& audit);

}  // namespace fp32shim::cli
