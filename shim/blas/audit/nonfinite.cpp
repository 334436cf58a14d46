#include "shim/blas/audit/nonfinite.hpp"

#include <algorithm>
#include <cmath>

#include "shim/audit/errors.hpp"
#include "shim/audit/roles.hpp"
#include "shim/blas/audit/finite.hpp"
#include "shim/blas/emulate/arguments.hpp"

namespace fp32shim::blas {
namespace {

/// Returns the elements that the product writes or updates.
Elements written_elements(const Level3& single) { return {result_of(single), written_of(single)}; }

bool is_finite_scalar(const void* scalar, bool is_pair) {
    return scalar == nullptr || all_finite(static_cast<const float*>(scalar), is_pair ? 2 : 1);
}

/// Returns true if all scalars and operands that the product reads are finite. Does not check the previous values of
/// the result.
bool has_finite_operands(const Level3& single) {
    if (!is_finite_scalar(single.alpha, has_pair(single, false)) ||
        !is_finite_scalar(single.beta, has_pair(single, true)))
        return false;
    if (first_nonfinite({operand_a(single), part_of_a(single), single.diag == 'U'})) return false;
    return is_in_place(single) || !first_nonfinite({operand_b(single)});
}

/// Returns the larger magnitude of a scalar's parts, or 0 if the routine has no such scalar. Uses no arithmetic that
/// might raise a floating-point exception.
float size_of(const void* scalar, bool is_pair) {
    const auto* const value = static_cast<const float*>(scalar);
    if (value == nullptr) return 0;
    return is_pair ? std::max(std::abs(value[0]), std::abs(value[1])) : std::abs(value[0]);
}

record::Audit audit_of(const Level3& single, const ElementPosition& position, std::int64_t number, const Plan& plan) {
    record::Audit audit;
    audit.tested = audit.reference = format_of(plan);
    audit.flags = record::audit_nonfinite;
    if (position.is_nan) audit.flags |= record::audit_nan;
    audit.worst_row = static_cast<std::uint32_t>(position.row);
    audit.worst_column = static_cast<std::uint32_t>(position.column);
    audit.product = static_cast<std::uint32_t>(number);
    audit.alpha = size_of(single.alpha, has_pair(single, false));
    audit.beta = size_of(single.beta, has_pair(single, true));
    add_exponents(operand_a(single), part_of_a(single), audit.a);
    if (const Matrix b = operand_b(single); !is_in_place(single) && b.data != nullptr)
        add_exponents(b, Part::whole, audit.b);
    return audit;
}

}  // namespace

NonfiniteSearch::NonfiniteSearch(const Site& site, const Frame& frame, const Product& product)
    : site_(site), frame_(frame), product_(product) {
    for_each_product(site, frame, product, check_start, this);
}

bool NonfiniteSearch::check_start(void* search, const Level3& single) {
    auto& self = *static_cast<NonfiniteSearch*>(search);
    const bool is_bad = multiplies(single) && uses_start(single) && first_nonfinite(written_elements(single));
    const bool goes_on = !is_bad || self.mark_nonfinite_start();
    ++self.number_;
    return goes_on;
}

/// Notes that the result of product number_ contained NaN or infinity before the call. Returns false if there is no
/// memory for the note.
bool NonfiniteSearch::mark_nonfinite_start() {
    if (!bad_starts_) {
        std::size_t count = 0;
        for_each_product(
            site_, frame_, product_, [](void* sum, const Level3&) { return ++*static_cast<std::size_t*>(sum) != 0; },
            &count);
        bad_starts_.emplace(count);
    }
    if (bad_starts_->bytes().empty()) return false;
    bad_starts_->bytes()[static_cast<std::size_t>(number_)] = 1;
    return true;
}

bool NonfiniteSearch::began_nonfinite(const Level3& single, std::int64_t number) const {
    if (!uses_start(single) || !bad_starts_) return false;
    const std::span<const char> noted = bad_starts_->bytes();
    return noted.empty() || noted[static_cast<std::size_t>(number)] != 0;
}

std::optional<record::Audit> NonfiniteSearch::find(const Plan& plan) {
    plan_ = &plan;
    number_ = 0;
    for_each_product(site_, frame_, product_, check_result, this);
    return found_;
}

bool NonfiniteSearch::check_result(void* search, const Level3& single) {
    auto& self = *static_cast<NonfiniteSearch*>(search);
    const std::int64_t number = self.number_++;
    // A call that multiplies nothing must not read its operands, although some libraries do. So this search does not
    // either.
    if (!multiplies(single)) return true;
    const std::optional<ElementPosition> position = first_nonfinite(written_elements(single));
    if (!position || self.began_nonfinite(single, number) || !has_finite_operands(single)) return true;
    self.found_ = audit_of(single, *position, number, *self.plan_);
    return false;
}

}  // namespace fp32shim::blas
