#include "cli/recordings/row_consistency.hpp"

#include <fmt/format.h>

#include <string_view>

#include "policy/words.hpp"

namespace fp32shim::cli {
namespace {

/// Returns the format of a call that ran as `requested`; empty if the program's own settings decide the format.
std::string_view format_of(const std::string& requested) {
    const auto precision = policy::parse_precision(requested);
    const auto format = precision ? policy::format_of(*precision) : std::nullopt;
    return format ? policy::to_string(*format) : std::string_view();
}

bool is_float32(const MergedRow& row) { return row.dtype == "float32" || row.dtype == "complex64"; }

}  // namespace

std::string contradiction_in(const MergedRow& row) {
    if (row.how.empty() || row.reason.empty() || row.requested.empty() || row.applied.empty())
        return "it has a code that this version does not know";
    const bool is_on_cpu = row.device == "cpu";
    const auto applied = policy::parse_word(policy::applied_words, std::string_view(row.applied));
    if (row.how == "round_operands" && applied && !policy::has_preview(*applied))
        return fmt::format("its operands were rounded (how {}), but applied is {}", row.how, row.applied);
    if (is_on_cpu ? row.how == "compute_type" || row.how == "math_mode"
                  : row.how == "round_operands" || row.how == "one_by_one")
        return fmt::format("how {} is not done on {}", row.how, row.device);
    if (!is_on_cpu && policy::is_reason_of_cpu(row.reason))
        return fmt::format("reason {} is not given on {}", row.reason, row.device);
    if (!is_float32(row) && row.applied != "unchanged")
        return fmt::format("applied is {}, but products of {} are only counted", row.applied, row.dtype);
    if (is_float32(row) && row.reason == "observed")
        return fmt::format("reason observed is not given for {}", row.dtype);
    const bool has_sizes = row.m > 0 && row.n > 0 && row.k > 0 && row.batch > 0;
    if (row.reason == "no_product" && row.applied == "unchanged" && has_sizes)
        return "it is said to have multiplied nothing, but has sizes";
    if (row.reason != "as_requested") return {};
    const std::string_view expected = format_of(row.requested);
    if (is_float32(row) && !expected.empty() && row.applied != expected)
        return fmt::format("it is said to have run as requested, but requested was {} and applied is {}",
                           row.requested, row.applied);
    return {};
}

}  // namespace fp32shim::cli
