#include "shim/blas/audit/audit.hpp"

#include <algorithm>
#include <cerrno>

#include "shim/audit/groups.hpp"
#include "shim/audit/packed.hpp"
#include "shim/blas/emulate/arguments.hpp"
#include "shim/blas/emulate/emulate.hpp"
#include "shim/blas/emulate/in_float32.hpp"
#include "shim/level3/roles.hpp"
#include "shim/thread/running.hpp"

namespace fp32shim::blas {
namespace {

using policy::AppliedFormat;
using policy::AuditFormat;

/// Returns the product `single` with `to` as its result. `to` already holds the values that C (or B of an in-place
/// trmm) had before the product.
Level3 with_result(const Level3& single, const Matrix& to) {
    Level3 other = single;
    auto* const data = const_cast<float*>(to.data);
    if (is_in_place(single)) {
        other.b = data;
        other.ldb = to.ld;
    } else {
        other.c = data;
        other.ldc = to.ld;
    }
    return other;
}

}  // namespace

bool can_audit(const Site& site, const Frame& frame, const Product& product, const Plan& plan, bool wants_float64) {
    const policy::Dtype dtype = product.call.dtype;
    const bool has_type = policy::is_single(dtype) || (policy::is_double(dtype) && (plan.rounds || wants_float64));
    return has_type && site.function->family->treatment == Treatment::governed &&
           has_examinable_result(product, plan) && plan.reason != policy::Reason::no_product &&
           !for_each_product(site, frame, product, [](const Level3& single) { return !multiplies(single); });
}

bool CallAudit::add_memory_sizes(const Level3& single, MemorySizes& sum) {
    if (!multiplies(single)) return true;
    const Matrix result = result_of(single);
    const std::size_t bytes = packed_bytes(result);
    if (reads_old_result(single)) sum.starts += bytes;
    const std::size_t wide = sum.has_reference_product ? bytes_for_reference(single) : bytes;
    // To compare one product, the audit needs memory for two results and the bound, for the sums of rows and columns,
    // and for one row or column in more digits. It also needs `wide` bytes for the reduced bound or for the whole
    // product in more digits.
    const std::size_t work = 3 * bytes + rounded_to_cache_line(ErrorAccumulator::bytes_needed(result)) +
                             rounded_to_cache_line(bytes_for_line(result));
    if (wide > audit_memory_limit || work > audit_memory_limit || sum.starts > audit_memory_limit ||
        (sum.has_float32_copies && float32_copy_bytes(single) > audit_memory_limit - work)) {
        sum.work = SIZE_MAX / 2;
        return false;
    }
    sum.work = std::max(sum.work, work + rounded_to_cache_line(wide));
    return true;
}

CallAudit::CallAudit(const Site& site, const Frame& frame, const Product& product, const Plan& plan,
                     const policy::Policy& policy, std::optional<AuditFormat> tested)
    : site_(site),
      frame_(frame),
      product_(product),
      plan_(plan),
      policy_(policy),
      wanted_(tested),
      routines_(routines_of(site)),
      memory_([&] {
          record::Audit compared;
          audit::set_audit_formats(compared, policy, tested, audit_format_of(plan),
                                   policy::is_double(product.call.dtype));
          MemorySizes sizes{.has_reference_product = audit::exceeds_product_type(
                                compared.reference, policy::is_double(product.call.dtype)),
                            .has_float32_copies = compared.tested == AuditFormat::sgemm};
          for_each_product(site, frame, product,
                           [&](const Level3& single) { return add_memory_sizes(single, sizes); });
          const std::size_t bytes = sizes.starts + sizes.work;
          return bytes <= audit_memory_limit ? bytes : 0;
      }()) {
    starts_ = next_start_ = memory_.bytes().data();
    if (memory_.bytes().empty()) {
        audit_.flags = record::audit_skipped;
        return;
    }
    for_each_product(site, frame, product, [this](const Level3& single) { save_old_result(single); });
    work_ = next_work_ = next_start_;
    next_start_ = starts_;
}

void CallAudit::save_old_result(const Level3& single) {
    if (!multiplies(single) || !reads_old_result(single)) return;
    const Matrix result = result_of(single);
    copy_elements(result, written_part(single), packed_matrix(result, next_start_));
    next_start_ += packed_bytes(result);
}

record::Audit CallAudit::finish() {
    // The formats are set only now, since a product may have run unrounded for lack of memory.
    audit::set_audit_formats(audit_, policy_, wanted_, audit_format_of(plan_),
                             policy::is_double(product_.call.dtype));
    if (audit_.flags & record::audit_skipped) return audit_;
    const int saved_errno = errno;
    const RunningProduct outer = running;
    running = {site_.provider, nullptr, &frame_};
    for_each_product(site_, frame_, product_, [this](const Level3& single) { return audit_product(single); });
    running = outer;
    errno = saved_errno;
    return audit_;
}

bool CallAudit::audit_product(const Level3& single) {
    if (!multiplies(single)) return true;
    next_work_ = work_;
    const Matrix result = result_of(single);
    Matrix start{};
    if (reads_old_result(single)) {
        start = packed_matrix(result, next_start_);
        next_start_ += packed_bytes(result);
    }
    const bool in_place = is_in_place(single);
    if (!store_operand_exponents(single, operand_a(single), in_place ? start : operand_b(single),
                                 in_place ? Matrix{} : start, operands_, audit_))
        return false;
    ComponentwiseBound bound;
    bool done = compute_bound(single, start, bound);
    if (done)
        done = audit::exceeds_product_type(audit_.reference, single.is_double)
                   ? compare_with_reference(single, start, bound)
                   : compare_with_product_in_own_format(single, start, bound);
    if (!done) audit_.flags |= record::audit_skipped;
    return done;
}

/// Compares the product in the tested format with the product that the library computes in the operands' own type.
/// Returns false if there is no memory.
bool CallAudit::compare_with_product_in_own_format(const Level3& single, const Matrix& start,
                                                   const ComponentwiseBound& bound) {
    const Matrix result = result_of(single);
    Matrix exact = result;
    Matrix tested = result;
    const AuditFormat ran = audit_format_of(plan_);
    if (ran != audit_.reference) {
        exact = allocate_like(result);
        if (!run_in_format(audit_.reference, single, start, exact)) return false;
    }
    if (ran != audit_.tested) {
        tested = allocate_like(result);
        if (!run_in_format(audit_.tested, single, start, tested)) return false;
    }
    ErrorAccumulator sums(result, allocate_bytes(ErrorAccumulator::bytes_needed(result)));
    accumulate_differences(tested, exact, bound, written_region(single), sums);
    if (reference_stays_in_range(single, operands_))
        store_errors_and_noise(sums, single, start, {tested, exact, written_region(single)},
                               allocate_bytes(bytes_for_line(result)), audit_);
    else
        store_errors_and_cancellation(sums, audit_);
    return true;
}

/// Compares the program's result with the product computed in more digits. Returns false if the product in more
/// digits would leave the range of its numbers.
bool CallAudit::compare_with_reference(const Level3& single, const Matrix& start, const ComponentwiseBound& bound) {
    if (!reference_stays_in_range(single, operands_)) return false;
    const Matrix result = result_of(single);
    const Matrix layout = start.data != nullptr ? start : packed_matrix(result, nullptr);
    ErrorAccumulator sums(result, allocate_bytes(ErrorAccumulator::bytes_needed(result)));
    const ReferenceMatrix reference =
        multiply_for_reference(single, layout, allocate_bytes(bytes_for_reference(single)));
    accumulate_differences(result, reference, bound, written_region(single), sums);
    store_errors_and_cancellation(sums, audit_);
    return true;
}

/// Computes the product in the given format, and stores the result in `to`. Returns false if there is no memory or
/// the library has no routine for the format.
bool CallAudit::run_in_format(AuditFormat format, const Level3& single, const Matrix& start, const Matrix& to) {
    if (start.data != nullptr) copy_elements(start, written_part(single), to);
    const Level3 other = with_result(single, to);
    if (format == audit_.reference) {  // this branch computes in the operands' own type
        call_by_role(&routines_.same, other);
        return true;
    }
    const Preview preview = preview_of(policy::applied_format_of(format).value_or(AppliedFormat::fp32), policy_);
    if (preview.in_float32 && routines_.float32.address == nullptr) return false;
    return emulate_with_routines(routines_, other, preview) == EmulationResult::done;
}

/// Computes the bound of each element (ComponentwiseBound). If the bound of a float32 product overflows, also
/// computes the reduced bound. Returns false if there is no memory.
bool CallAudit::compute_bound(const Level3& single, const Matrix& start, ComponentwiseBound& bound) {
    alignas(double) float alpha[4];
    alignas(double) float beta[4];
    store_absolute_scalar(single, single.alpha, has_complex_scalar(single, false), alpha);
    store_absolute_scalar(single, single.beta, has_complex_scalar(single, true), beta);
    bound.sizes = allocate_like(result_of(single));
    if (!run_on_absolute_values(single, absolute_value_kernel(single), start, alpha, beta, bound.sizes)) return false;
    record::ExponentRange ignored;
    if (single.is_double || widen_exponents(bound.sizes, written_part(single), ignored)) return true;
    // A trmm with a unit diagonal gets no reduced bound: the routine takes the diagonal as 1 without reading it, so
    // the diagonal cannot be scaled down.
    if (single.operation == Operation::trmm && has_unit_diagonal(single)) return true;
    bound = {bound.sizes, allocate_like(bound.sizes), alpha[0], beta[0], start};
    constexpr float one[2] = {1, 0};
    constexpr float zero[2] = {0, 0};
    const Matrix factor = is_in_place(single) ? start : Matrix{};
    return run_on_absolute_values(single, reduced_absolute_kernel(single.is_complex), factor, one, zero,
                                  bound.reduced);
}

/// Computes alpha |A||B| + beta |start|, and stores the result in `to`. `kernel` computes the absolute values.
/// Returns false if there is no memory.
bool CallAudit::run_on_absolute_values(const Level3& single, RoundingKernel kernel, const Matrix& start,
                                       const float* alpha, const float* beta, const Matrix& to) {
    if (start.data != nullptr) {
        copy_elements(start, written_part(single), to);
        if (!is_in_place(single)) round_in_place(to, kernel);  // otherwise emulate() applies `kernel` to B
    }
    Level3 other = with_result(single, to);
    other.alpha = alpha;
    other.beta = beta;
    const Routine same{call_by_role, &routines_.same};
    const Routine gemm{routines_.gemm.address == nullptr ? nullptr : call_by_role, &routines_.gemm};
    return emulate(other, kernel, same, gemm, scratch_limit_of_a_product) == EmulationResult::done;
}

Matrix CallAudit::allocate_like(const Matrix& like) {
    return packed_matrix(like, allocate_bytes(packed_bytes(like)));
}

/// Returns zeroed memory for the comparison of the current product. It is part of the audit's memory.
char* CallAudit::allocate_bytes(std::size_t bytes) {
    char* const taken = next_work_;
    next_work_ += rounded_to_cache_line(bytes);
    std::fill(taken, next_work_, '\0');
    return taken;
}

}  // namespace fp32shim::blas
