#include "shim/blas/audit/nonfinite.hpp"

#include <algorithm>

#include "shim/audit/errors.hpp"
#include "shim/blas/emulate/arguments.hpp"
#include "shim/level3/finite.hpp"
#include "shim/level3/numbers.hpp"
#include "shim/level3/roles.hpp"

namespace fp32shim::blas {
namespace {

/// Returns the elements that the product writes or updates.
MatrixRegion written_elements(const Level3& single) { return {result_of(single), written_part(single)}; }

using record::NonfiniteOperand;

/// An operand that has NaN or infinity, and the position of its first element with NaN or infinity.
struct OperandFinding {
    NonfiniteOperand operand;
    NonfiniteElement position{};
};

std::optional<OperandFinding> bad_scalar(const Level3& single, bool is_beta) {
    if (has_finite_scalar(single, is_beta)) return std::nullopt;
    const bool is_nan = any_part_of_scalar(single, is_beta, [](StoredNumber number) { return number.is_nan(); });
    return OperandFinding{is_beta ? NonfiniteOperand::beta : NonfiniteOperand::alpha, {0, 0, is_nan}};
}

std::optional<OperandFinding> bad_matrix(const MatrixRegion& elements, NonfiniteOperand operand) {
    const std::optional<NonfiniteElement> position = first_nonfinite(elements);
    return position ? std::optional(OperandFinding{operand, *position}) : std::nullopt;
}

/// Returns the first operand with NaN or infinity among the operands that the product has read, except for the
/// previous contents of its result. Returns nullopt if all operands are finite.
std::optional<OperandFinding> bad_operand(const Level3& single) {
    if (auto bad = bad_scalar(single, false)) return bad;
    if (auto bad = bad_scalar(single, true)) return bad;
    if (auto bad = bad_matrix({operand_a(single), part_of_a(single), has_unit_diagonal(single)}, NonfiniteOperand::a))
        return bad;
    return is_in_place(single) ? std::nullopt : bad_matrix({operand_b(single)}, NonfiniteOperand::b);
}

/// Returns an audit of the product with the index `number` in its call. `position` is an element with NaN or infinity
/// in the product's result or operand. The audit gets `flags`, and the flag audit_nan if the element is NaN.
record::Audit nonfinite_audit(const NonfiniteElement& position, std::int64_t number, const Plan& plan, int flags) {
    record::Audit audit;
    audit.tested = audit.reference = audit_format_of(plan);
    audit.flags = static_cast<decltype(audit.flags)>(flags | (position.is_nan ? record::audit_nan : 0));
    audit.worst_row = static_cast<std::uint32_t>(position.row);
    audit.worst_column = static_cast<std::uint32_t>(position.column);
    audit.product = static_cast<std::uint32_t>(number);
    return audit;
}

record::Audit received_by(const OperandFinding& bad, std::int64_t number, const Plan& plan) {
    record::Audit audit = nonfinite_audit(bad.position, number, plan, record::audit_received | record::audit_skipped);
    audit.notes = static_cast<std::uint8_t>(bad.operand);
    return audit;
}

/// Returns the magnitude of alpha, or of beta if `is_beta` is true. Returns 0 if the routine does not have the
/// scalar. For a complex scalar, returns the larger magnitude of its two parts.
float scalar_magnitude(const Level3& single, bool is_beta) {
    float largest = 0;
    any_part_of_scalar(single, is_beta, [&largest](StoredNumber number) {
        largest = std::max(largest, number.magnitude());
        return false;
    });
    return largest;
}

record::Audit origin_audit(const Level3& single, const NonfiniteElement& position, std::int64_t number,
                           const Plan& plan) {
    record::Audit audit = nonfinite_audit(position, number, plan, record::audit_nonfinite);
    audit.alpha = scalar_magnitude(single, false);
    audit.beta = scalar_magnitude(single, true);
    widen_exponents(operand_a(single), part_of_a(single), audit.a, has_unit_diagonal(single));
    if (const Matrix b = operand_b(single); !is_in_place(single) && b.data != nullptr)
        widen_exponents(b, Part::whole, audit.b);
    return audit;
}

}  // namespace

NonfiniteSearch::NonfiniteSearch(const Site& site, const Frame& frame, const Product& product)
    : site_(site), frame_(frame), product_(product) {
    for_each_product(site, frame, product, [this](const Level3& single) { return check_old_result(single); });
}

bool NonfiniteSearch::check_old_result(const Level3& single) {
    const bool is_bad = multiplies(single) && reads_old_result(single) && first_nonfinite(written_elements(single));
    const bool goes_on = !is_bad || mark_nonfinite_start();
    ++number_;
    return goes_on;
}

/// Notes that the result of the product with the index number_ contained NaN or infinity before the call. Returns
/// false if there is no memory in which to note that.
bool NonfiniteSearch::mark_nonfinite_start() {
    if (!bad_starts_) {
        std::size_t count = 0;
        for_each_product(site_, frame_, product_, [&](const Level3&) { ++count; });
        bad_starts_.emplace(count);
    }
    if (bad_starts_->bytes().empty()) return false;
    bad_starts_->bytes()[static_cast<std::size_t>(number_)] = 1;
    return true;
}

bool NonfiniteSearch::began_nonfinite(const Level3& single, std::int64_t number) const {
    if (!reads_old_result(single) || !bad_starts_) return false;
    const std::span<const char> noted = bad_starts_->bytes();
    return noted.empty() || noted[static_cast<std::size_t>(number)] != 0;
}

std::optional<record::Audit> NonfiniteSearch::find_origin(const Plan& plan) {
    number_ = 0;
    for_each_product(site_, frame_, product_, [&](const Level3& single) { return check_result(single, plan); });
    return found_;
}

bool NonfiniteSearch::check_result(const Level3& single, const Plan& plan) {
    const std::int64_t number = number_++;
    // The BLAS reference does not read the operands of a call that multiplies nothing, so the search does not read
    // them either.
    if (!multiplies(single)) return true;
    const std::optional<NonfiniteElement> position = first_nonfinite(written_elements(single));
    if (!position) return true;
    std::optional<OperandFinding> bad = bad_operand(single);
    if (!bad && began_nonfinite(single,
                                number))  // the bad element of the old result may have been another one than
                                          // `position`, but it was overwritten
        bad = {is_in_place(single) ? NonfiniteOperand::b : NonfiniteOperand::c, *position};
    if (bad) {
        if (!received_) received_ = received_by(*bad, number, plan);
        return true;
    }
    found_ = origin_audit(single, *position, number, plan);
    return false;
}

}  // namespace fp32shim::blas
