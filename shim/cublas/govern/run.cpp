#include "shim/cublas/govern/run.hpp"

#include "shim/cublas/accumulation.hpp"
#include "shim/cublas/arguments.hpp"
#include "shim/cublas/emulation.hpp"
#include "shim/cublas/environment.hpp"

namespace fp32shim::cublas {
namespace {

/// Makes the call with a compute type of float32. With this compute type, alpha and beta are float32 instead of
/// float16.
std::int32_t call_with_float_scalars(const Site& site, const Frame& frame, const CallChange& change) {
    const ArgumentPositions& positions = site.function->positions();
    ArgumentFrame arguments(*site.function, frame);
    const ScalarConversion scalars(arguments, positions.of(Role::alpha), positions.of(Role::beta));
    return call_with_compute_type(site, arguments.frame(), change);
}

std::int32_t run_change(const Site& site, const Frame& frame, HandleRecord* handle, std::int32_t program_mode,
                        const CallChange& change, ExecutionOutcome& done) {
    const auto call_in_this_mode = [&] {
        if (change.converts_scalars) return call_with_float_scalars(site, frame, change);
        return change.how == record::How::compute_type ? call_with_compute_type(site, frame, change)
                                                       : call_as_called(site, frame);
    };
    const auto call = [&] {
        if (change.mantissa_bits == 0 || handle == nullptr) return call_in_this_mode();
        bool is_set = false;
        const std::int32_t status = call_with_mantissa_bits(handle->address(), *site.cublas.library,
                                                            change.mantissa_bits, is_set, call_in_this_mode);
        if (!is_set) done.detail = mantissa_bits_not_set;
        return status;
    };
    if (change.math_mode < 0 || handle == nullptr) return call();  // the mode of an unknown handle is not changed
    return call_under_math_mode(*handle, *site.cublas.library, program_mode, change.math_mode, call,
                                kept_math_mode_bits(change.format));
}

}  // namespace

std::int32_t run_as_planned(const Site& site, const Frame& frame, const Product& product, const Plan& plan,
                            ExecutionOutcome& done) {
    const CallChange& change = plan.change;
    std::int32_t status = run_change(site, frame, product.handle, product.asked.math_mode, change, done);
    if (!plan.changes_call() || !is_refusal(status)) return status;
    const auto try_mode = [&](const CallChange& other) {
        // The mode is read again, since a logging callback of the program may have set another one in the meantime.
        const std::int32_t program_mode = program_math_mode(*product.handle, *site.cublas.library);
        status = run_change(site, frame, product.handle, program_mode, other, done);
        return !is_refusal(status);
    };
    // If the library refuses a higher compute type, the math mode is tried. This applies only to functions that do
    // not have a compute type themselves.
    if (change.how == record::How::compute_type && change.format > plan.asked && product.asked.compute_type == 0 &&
        product.handle != nullptr && try_mode(as_math_mode_change(change))) {
        done.how = record::How::math_mode;
        return status;
    }
    if (change.how == record::How::math_mode && change.format == Format::fp32 && change.math_mode == math_pedantic) {
        const Plan other = plan_without_pedantic(plan, product.asked, environment_in_force());
        if (try_mode(other.change)) {
            done = done_as_planned(site, other);
            return status;
        }
    }
    status = call_as_called(site, frame);
    const bool is_invalid = is_refusal(status) && status != status_alloc_failed;
    done =
        done_unchanged(site, plan, is_invalid ? policy::Reason::invalid_arguments : policy::Reason::library_refused);
    if (status == status_alloc_failed) done.detail = no_memory_as_called;
    return status;
}

std::int32_t run_lt_as_called(const Site& site, const Frame& frame, const void* own_desc, std::int32_t compute_type,
                              std::int32_t* kept_bits) {
    if (kept_bits == nullptr) return call_as_called(site, frame);
    const Library& library = *site.cublas.library;
    ChangedDescriptor desc;
    EmulationDescriptor emulation;
    if (desc.copy_from(library, own_desc, compute_type) &&
        emulation.attach_to(library, {.kept_bits = kept_bits}, desc)) {
        ArgumentFrame arguments(*site.function, frame);
        arguments.set(argument_desc, desc.address());
        const std::int32_t status = call_as_called(site, arguments.frame());
        if (!is_refusal(status)) return status;
    }
    return call_as_called(site, frame);
}

}  // namespace fp32shim::cublas
