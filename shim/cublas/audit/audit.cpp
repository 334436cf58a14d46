#include "shim/cublas/audit/audit.hpp"

#include <algorithm>
#include <new>

#include "shim/audit/groups.hpp"
#include "shim/audit/packed.hpp"
#include "shim/audit/reference_product.hpp"
#include "shim/level3/roles.hpp"

namespace fp32shim::cublas {
namespace {

using blas::Level3;
using blas::Matrix;
using blas::packed_bytes;
using blas::packed_matrix;
using policy::AuditFormat;

constexpr std::size_t device_line = 256;  // every kernel of cuBLAS accepts this alignment
constexpr std::size_t scalar_bytes = device_line;

/// Returns the cuBLAS format that corresponds to an audit's format, or nullopt if cuBLAS has none.
std::optional<Format> format_of(AuditFormat format) {
    const std::optional<policy::AppliedFormat> applied = policy::applied_format_of(format);
    return applied ? cublas::format_of(*applied) : std::nullopt;
}

Level3 with_operands(const Level3& single, const Matrix& a, const Matrix& b, const Matrix& c) {
    Level3 other = single;
    other.a = a.data;
    other.lda = a.ld;
    other.b = b.data;
    other.ldb = b.ld;
    other.c = const_cast<float*>(c.data);
    other.ldc = c.ld;
    return other;
}

/// Returns false if the matrices of a product are too large for any audit. Their size in bytes might overflow an
/// integer, so it is computed in double precision.
bool may_fit_in_memory(const Level3& single) {
    const auto bytes = [](const Matrix& matrix) {
        return static_cast<double>(matrix.rows) * static_cast<double>(matrix.columns) * matrix.width * sizeof(float);
    };
    return bytes(operand_a(single)) + bytes(operand_b(single)) + bytes(operand_c(single)) <
           static_cast<double>(device_memory_limit);
}

}  // namespace

/// The memory for computing one product at a time. The device memory has copies of the operands, aligned and without
/// gaps.
struct CallAudit::Memory {
    char* scalars;  ///< device memory for alpha and then beta
    AlphaAndBeta* host_scalars;
    Matrix device_a, device_b, device_c;
    Matrix a, b;
    Matrix result;  ///< the program's result
    Matrix reference;
    Matrix tested;
    Matrix bound;
    Matrix reduced;  ///< see blas::ComponentwiseBound
    char* sums;
    char* line;  ///< memory for blas::store_errors_and_noise()
    char* wide;

    static std::size_t device_bytes(const Level3& single) {
        return scalar_bytes + aligned(operand_a(single)) + aligned(operand_b(single)) + aligned(operand_c(single));
    }
    static std::size_t host_bytes(const Level3& single, bool needs_wide) {
        const Matrix c = operand_c(single);
        const std::size_t wide = needs_wide ? blas::bytes_for_reference(single) : 0;
        if (wide > host_memory_limit) return wide;
        return blas::rounded_to_cache_line(sizeof(AlphaAndBeta)) + packed_bytes(operand_a(single)) +
               packed_bytes(operand_b(single)) + 5 * packed_bytes(c) +
               blas::rounded_to_cache_line(blas::ErrorAccumulator::bytes_needed(c)) +
               blas::rounded_to_cache_line(blas::bytes_for_line(c)) + blas::rounded_to_cache_line(wide);
    }

    Memory(const Level3& single, char* device, char* host) {
        const Matrix stored_a = operand_a(single);
        const Matrix stored_b = operand_b(single);
        const Matrix stored_c = operand_c(single);
        scalars = allocate_from(device, scalar_bytes);
        host_scalars = new (allocate_from(host, blas::rounded_to_cache_line(sizeof(AlphaAndBeta)))) AlphaAndBeta;
        device_a = packed_matrix(stored_a, allocate_from(device, aligned(stored_a)));
        device_b = packed_matrix(stored_b, allocate_from(device, aligned(stored_b)));
        device_c = packed_matrix(stored_c, allocate_from(device, aligned(stored_c)));
        a = packed_matrix(stored_a, allocate_from(host, packed_bytes(stored_a)));
        b = packed_matrix(stored_b, allocate_from(host, packed_bytes(stored_b)));
        for (Matrix* matrix : {&result, &reference, &tested, &bound, &reduced})
            *matrix = packed_matrix(stored_c, allocate_from(host, packed_bytes(stored_c)));
        sums = allocate_from(host, blas::rounded_to_cache_line(blas::ErrorAccumulator::bytes_needed(stored_c)));
        line = allocate_from(host, blas::rounded_to_cache_line(blas::bytes_for_line(stored_c)));
        wide = host;
    }

  private:
    static char* allocate_from(char*& memory, std::size_t bytes) {
        char* const taken = memory;
        memory += bytes;
        return taken;
    }
    static std::size_t aligned(const Matrix& matrix) {
        return (packed_bytes(matrix) + device_line - 1) / device_line * device_line;
    }
};

CallAudit::CallAudit(const AuditLauncher& launcher, AuditedBatch& singles, const policy::Policy& policy,
                     std::optional<AuditFormat> tested)
    : launcher_(launcher), singles_(singles), policy_(policy), tested_(tested), driver_(find_cuda_driver()) {
    is_prepared_ = prepare();
}

/// Saves all values that the products will overwrite. Returns false if the call cannot be audited now.
bool CallAudit::prepare() {
    if (!launcher_.is_ready || !driver_.has_audit_functions() || current_device() != launcher_.product.device)
        return false;
    const AuditStream stream(driver_, launcher_.stream);
    return stream.is_not_capturing() && stream.wait_until_idle() &&
           singles_.read_device_arguments(stream, launcher_.scalars_on_device) && save_overwritten_values(stream);
}

bool CallAudit::save_overwritten_values(const AuditStream& stream) {
    const Level3 first = singles_.product_at(0);
    if (!may_fit_in_memory(first)) return false;
    const bool keeps_c = blas::reads_old_result(first);
    const bool keeps_b = singles_.overwrites_b();
    if (!keeps_c && !keeps_b) return true;
    const std::size_t bytes = keeps_c ? packed_bytes(operand_c(first)) : packed_bytes(operand_b(first));
    const auto count = static_cast<std::size_t>(singles_.count());
    if (bytes > host_memory_limit / count) return false;
    overwritten_.emplace(bytes * count);
    next_overwritten_ = overwritten_->bytes().data();
    if (overwritten_->bytes().empty()) return false;
    const bool is_kept = copy_overwritten_values(stream, keeps_c, bytes) && stream.wait_for_audit();
    if (!stream.have_copies_ended()) overwritten_->keep_mapped();
    return is_kept;
}

/// Copies the values that the products overwrite to the host. Each product takes `bytes` bytes. If `keeps_c` is true,
/// the values are those of C, otherwise those of B.
bool CallAudit::copy_overwritten_values(const AuditStream& stream, bool keeps_c, std::size_t bytes) {
    char* next = next_overwritten_;
    for (std::int64_t i = 0; i < singles_.count(); ++i, next += bytes) {
        const Matrix matrix = keeps_c ? singles_.old_result_at(i) : operand_b(singles_.product_at(i));
        if (!stream.read_matrix(matrix, packed_matrix(matrix, next))) return false;
    }
    return true;
}

record::Audit CallAudit::compare_results(policy::AppliedFormat ran) {
    const std::optional<AuditFormat> format = policy::audit_format_of(ran);
    const bool is_double = singles_.is_float64();
    audit::set_audit_formats(audit_, policy_, is_double && !audits_against_double_double(policy_) ? format : tested_,
                             format.value_or(is_double ? AuditFormat::fp64 : AuditFormat::fp32), is_double);
    if (!format || !is_prepared_ || !has_compared_formats(*format) || !compare_all_products(*format))
        audit_.flags |= record::audit_skipped;
    return audit_;
}

/// Returns true if this GPU and this function have all formats that the audit compares. `ran` is the format in which
/// the program's product ran.
bool CallAudit::has_compared_formats(AuditFormat ran) const {
    if (audit::exceeds_product_type(audit_.reference, singles_.is_float64())) return !launcher_.adds_epilogue;
    if (audit_.tested == ran) return true;
    const std::optional<Format> format = format_of(audit_.tested);
    return format && can_multiply_in(*format, launcher_.site, launcher_.product);
}

bool CallAudit::compare_all_products(AuditFormat ran) {
    const Level3 first = singles_.product_at(0);
    const std::size_t device_bytes = Memory::device_bytes(first);
    const std::size_t host_bytes =
        Memory::host_bytes(first, audit::exceeds_product_type(audit_.reference, first.is_double));
    const std::size_t kept_bytes = overwritten_ ? overwritten_->bytes().size() : 0;
    if (device_bytes > device_memory_limit || host_bytes > host_memory_limit - kept_bytes) return false;
    const AuditStream stream(driver_, launcher_.stream);
    const HostMemory host(stream, host_bytes);
    const DeviceMemory device(stream, device_bytes);
    if (host.bytes().empty() || device.begin() == nullptr) return false;
    for (std::int64_t i = 0; i < singles_.count(); ++i) {
        const Level3 single = singles_.product_at(i);
        if (!compare_one_product(stream, single, Memory(single, device.begin(), host.bytes().data()), ran))
            return false;
        if ((audit_.flags & record::audit_bad_operand) != 0) return true;
    }
    return true;
}

/// Compares the GPU's result of one product with a reference. Returns false if operands could not be copied or no
/// reference could be computed. If an operand has NaN or infinity, compares nothing, sets audit_bad_operand, and
/// returns true.
bool CallAudit::compare_one_product(const AuditStream& stream, const Level3& single, const Memory& memory,
                                    AuditFormat ran) {
    Matrix c_before{};
    char* const next_overwritten = next_overwritten_;
    if (!copy_product_to_host(stream, single, memory, c_before)) return false;
    blas::OperandExponents operands;
    if (!store_operand_exponents(single, memory.a, has_b(single.operation) ? memory.b : Matrix{}, c_before, operands,
                                 audit_))
        return true;
    const Level3 on_host = with_operands(single, memory.a, memory.b, memory.result);
    const Level3 on_device = with_operands(single, memory.device_a, memory.device_b, memory.device_c);
    blas::ComponentwiseBound bound;
    blas::ErrorAccumulator sums(memory.result, memory.sums);
    std::fill_n(memory.sums, blas::ErrorAccumulator::bytes_needed(memory.result), '\0');
    const bool has_reference = blas::reference_stays_in_range(on_host, operands);
    if (audit::exceeds_product_type(audit_.reference, single.is_double)) {
        if (!has_reference) return false;
        const Matrix layout = c_before.data != nullptr ? c_before : packed_matrix(memory.result, nullptr);
        const blas::ReferenceMatrix reference = multiply_for_reference(on_host, layout, memory.wide);
        if (!compute_bounds(stream, on_device, memory, c_before, bound)) return false;
        accumulate_differences(memory.result, reference, bound, singles_.written_region(), sums);
        store_errors_and_cancellation(sums, audit_);
    } else {
        const auto result_in = [&](AuditFormat format, const Matrix& to) -> const Matrix* {
            if (format == ran) return &memory.result;
            return multiply_in_format(stream, *format_of(format), false, on_device, memory, c_before, to) ? &to
                                                                                                          : nullptr;
        };
        const Matrix* const reference = result_in(audit_.reference, memory.reference);
        const Matrix* const tested = reference == nullptr ? nullptr : result_in(audit_.tested, memory.tested);
        if (tested == nullptr || !compute_bounds(stream, on_device, memory, c_before, bound)) return false;
        accumulate_differences(*tested, *reference, bound, singles_.written_region(), sums);
        if (launcher_.adds_epilogue || !has_reference) {
            store_errors_and_cancellation(sums, audit_);
            return true;
        }
        next_overwritten_ = next_overwritten;
        if (!copy_product_to_host(stream, single, memory, c_before))
            return false;  // the operands are copied again, since compute_bounds() has overwritten them
        store_errors_and_noise(sums, on_host, c_before, {*tested, *reference, singles_.written_region()}, memory.line,
                               audit_);
    }
    return true;
}

/// Copies a product's operands and result to the host. `c_before` becomes the previous values of C if the product
/// uses them.
bool CallAudit::copy_product_to_host(const AuditStream& stream, const Level3& single, const Memory& memory,
                                     Matrix& c_before) {
    if (!stream.read_matrix(operand_a(single), memory.a) || !stream.read_matrix(operand_c(single), memory.result))
        return false;
    const bool keeps_b = singles_.overwrites_b();
    if (!keeps_b && has_b(single.operation) && !stream.read_matrix(operand_b(single), memory.b)) return false;
    if (next_overwritten_ != nullptr) {
        const Matrix kept = packed_matrix(keeps_b ? memory.b : memory.result, next_overwritten_);
        next_overwritten_ += packed_bytes(kept);
        (keeps_b ? copy_elements(kept, blas::Part::whole, memory.b) : void(c_before = kept));
    }
    return stream.wait_for_audit();
}

/// Copies the operands from the host to the device, multiplies them there in `format`, and copies the result to `to`
/// on the host. `single` is the product with its operands on the device. `is_bound` is passed on to
/// AuditLauncher::launch. Returns false if the driver or the library reports an error.
bool CallAudit::multiply_in_format(const AuditStream& stream, Format format, bool is_bound, const Level3& single,
                                   const Memory& memory, const Matrix& c_before, const Matrix& to) {
    if (!stream.write_matrix(memory.a, memory.device_a) ||
        (has_b(single.operation) && !stream.write_matrix(memory.b, memory.device_b)) ||
        (c_before.data != nullptr && !stream.write_matrix(c_before, memory.device_c)))
        return false;
    Level3 other = single;
    if (launcher_.scalars_on_device) {
        AlphaAndBeta& scalars = *memory.host_scalars;
        std::copy_n(static_cast<const float*>(single.alpha), 4, scalars.alpha);
        if (single.beta != nullptr) std::copy_n(static_cast<const float*>(single.beta), 4, scalars.beta);
        if (!stream.write_bytes(&scalars, memory.scalars, sizeof scalars)) return false;
        other.alpha = memory.scalars;
        if (single.beta != nullptr) other.beta = memory.scalars + sizeof scalars.alpha;
    }
    return launcher_.launch(launcher_, other, format, is_bound) == status_success &&
           stream.read_matrix(memory.device_c, to) && stream.wait_for_audit();
}

/// Computes blas::ComponentwiseBound for each element, and its reduced form too if the bound of a float32 product
/// overflows. Overwrites the operands on the host. Returns false if multiply_in_format() fails.
bool CallAudit::compute_bounds(const AuditStream& stream, const Level3& single, const Memory& memory,
                               const Matrix& c_before, blas::ComponentwiseBound& bound) {
    const auto round_operands = [&](blas::RoundingKernel kernel) {
        round_in_place(memory.a, kernel);
        if (has_b(single.operation)) round_in_place(memory.b, kernel);
    };
    round_operands(blas::absolute_value_kernel(single));
    Matrix absolute_c{};
    if (c_before.data != nullptr) {
        absolute_c = memory.bound;
        copy_elements(c_before, blas::Part::whole, absolute_c);
        round_in_place(absolute_c, blas::absolute_value_kernel(single));
    }
    AlphaAndBeta scalars;
    blas::store_absolute_scalar(single, single.alpha, has_complex_scalar(single, false), scalars.alpha);
    blas::store_absolute_scalar(single, single.beta, has_complex_scalar(single, true), scalars.beta);
    Level3 other = single;
    other.alpha = scalars.alpha;
    if (single.beta != nullptr) other.beta = scalars.beta;
    const Format own = single.is_double ? Format::fp64 : Format::fp32;
    if (!multiply_in_format(stream, own, true, other, memory, absolute_c, memory.bound)) return false;
    bound.sizes = memory.bound;
    record::ExponentRange ignored;
    if (single.is_double || widen_exponents(bound.sizes, singles_.written_region().part, ignored)) return true;
    // There is no reduced bound for a unit diagonal. The routine takes such a diagonal as 1 without reading it, so
    // the diagonal cannot be scaled down like the other elements.
    if (single.operation == blas::Operation::trmm && has_unit_diagonal(single)) return true;
    bound = {memory.bound, memory.reduced, scalars.alpha[0], scalars.beta[0], c_before};
    round_operands(blas::reduced_absolute_kernel(single.is_complex));
    scalars = {{1, 0}, {0, 0}};
    return multiply_in_format(stream, Format::fp32, true, other, memory, Matrix{}, memory.reduced);
}

}  // namespace fp32shim::cublas
