#include "shim/cublas/product.hpp"

#include "shim/cublas/accumulation.hpp"
#include "shim/cublas/api.hpp"
#include "shim/cublas/arguments.hpp"
#include "shim/cublas/routes.hpp"
#include "shim/level3/groups.hpp"
#include "shim/settings/settings.hpp"

namespace fp32shim::cublas {
namespace {

void describe_one_size(const ArgumentReader& arguments, const ProductFamily& family, policy::MatmulCall& call) {
    call.trans_a = arguments.operation(Role::trans_a);
    call.trans_b = arguments.operation(Role::trans_b);
    call.n = arguments.integer(Role::n, -1);
    call.m = arguments.integer(Role::m, call.n);  // in rank-k updates, C is n×n
    call.k = arguments.integer(Role::k, arguments.is_right_sided() ? call.n : call.m);
    call.batch = family.batching == Batching::single ? 1 : arguments.integer(Role::batch_count, 1);
}

bool is_xt(const Function& function) { return function.form == NameForm::xt; }

/// Fills in `product.asked.half`. If the way to change the call depends on where alpha and beta lie, sets the key of
/// the plan to key_unknown, so that no plan is kept.
void describe_half(const Site& site, const Frame& frame, Product& product) {
    const ArgumentReader arguments(*site.function, frame);
    HalfProduct& half = product.asked.half;
    half.is_half = true;
    half.adds_in_fp16 = site.function->family->treatment == Treatment::observed;
    const std::int32_t result = arguments.enumerator(Role::c_type, type_r_16f);
    half.is_result_float = result == type_r_32f || result == type_c_32f;
    if (accumulator_of(product.asked) != policy::Accumulator::fp16 || !settings().changes_accumulation) return;
    product.key = key_unknown;
    std::int32_t pointer_mode = pointers_to_host;
    const auto& get_pointer_mode = site.cublas.library->get_pointer_mode;
    if (get_pointer_mode == nullptr ||
        get_pointer_mode.call_keeping_errno(arguments.handle(), &pointer_mode) != status_success ||
        pointer_mode != pointers_to_host)
        half.scalars = ScalarPlace::on_device;
    else if (product.asked.is_grouped || arguments.array(Role::alpha) == nullptr ||
             arguments.array(Role::beta) == nullptr || arguments.integer(Role::m, 1) < 1 ||
             arguments.integer(Role::n, 1) < 1 || arguments.integer(Role::k, 1) < 1 ||
             arguments.integer(Role::batch_count, 1) < 1)
        half.scalars = ScalarPlace::unreadable;
}

}  // namespace

bool is_cublas_library(const LoadedObject* object) {
    return object != nullptr &&
           (object->name.starts_with("libcublas.so") || object->name.starts_with("libcublasLt.so") ||
            object->name.starts_with("libcublas-") ||
            object->name.starts_with("libcublasLt-"));  // the libraries in wheels
                                                        // have names of this form
}

bool describe_groups(const ArgumentReader& arguments, policy::MatmulCall& call) {
    const std::int64_t group_count = arguments.integer(Role::group_count, 0);
    if (group_count == 0) call.batch = 0;
    if (group_count <= 0) return group_count != 0;
    for (Role role : {Role::trans_a, Role::trans_b, Role::m, Role::n, Role::k, Role::group_size})
        if (arguments.array(role) == nullptr) return true;
    return blas::describe_by_largest_group(group_count, call, [&](std::int64_t group, policy::MatmulCall& of_group) {
        of_group.m = arguments.integer_of_group(Role::m, group);
        of_group.n = arguments.integer_of_group(Role::n, group);
        of_group.k = arguments.integer_of_group(Role::k, group);
        of_group.trans_a = arguments.operation_of_group(Role::trans_a, group);
        of_group.trans_b = arguments.operation_of_group(Role::trans_b, group);
        return arguments.integer_of_group(Role::group_size, group);
    });
}

OperandType operand_type(std::int32_t data_type) {
    using policy::Dtype;
    switch (data_type) {
        case type_r_32f:
            return {OperandTreatment::governed, Dtype::float32};
        case type_c_32f:
            return {OperandTreatment::governed, Dtype::complex64};
        case type_r_64f:
            return {OperandTreatment::as_called, Dtype::float64};
        case type_c_64f:
            return {OperandTreatment::as_called, Dtype::complex128};
        case type_r_16f:
        case type_c_16f:
            return {OperandTreatment::observed, Dtype::float16};
        case type_r_16bf:
        case type_c_16bf:
            return {OperandTreatment::observed, Dtype::bfloat16};
        case type_r_8f_e4m3:
        case type_r_8f_e5m2:
        case type_r_8f_ue8m0:
        case type_r_6f_e2m3:
        case type_r_6f_e3m2:
        case type_r_4f_e2m1:
            return {OperandTreatment::observed, Dtype::float8};
        default:
            return {OperandTreatment::ignored, Dtype::float32};
    }
}

Product describe_product(const Site& site, const Frame& frame) {
    const Function& function = *site.function;
    const ProductFamily& family = function.product();
    const ArgumentReader arguments(function, frame);
    Product product;
    product.dtype = family.dtype;
    product.pointers_are_in_arrays = family.batching == Batching::pointers || family.batching == Batching::groups;
    if (arguments.has(Role::a_type)) {
        const OperandType type = operand_type(arguments.enumerator(Role::a_type));
        product.treatment = type.treatment;
        product.dtype = type.dtype;
    } else if (family.treatment == Treatment::observed) {
        product.treatment = OperandTreatment::observed;
    } else if (is_double(family.dtype)) {
        product.treatment = OperandTreatment::as_called;
    }
    if (product.treatment != OperandTreatment::ignored && arguments.has(Role::handle) && !is_xt(function))
        product.handle = live_record_of(arguments.handle());
    if (product.handle != nullptr) product.device = device_of(*product.handle);
    return product;
}

void describe_requested_precision(const Site& site, const Frame& frame, std::uint64_t settings, Product& product) {
    const ProductFamily& family = site.function->product();
    RequestedPrecision& asked = product.asked;
    asked.control = family.control;
    if (product.handle == nullptr) return;
    asked.math_mode = program_math_mode(*product.handle, *site.cublas.library);
    if (asked.math_mode == math_unknown) {
        product.handle = nullptr;
        return;
    }
    const ArgumentReader arguments(*site.function, frame);
    asked.compute_type = arguments.enumerator(Role::compute_type, 0);
    if (arguments.has(Role::compute_type) && asked.compute_type == 0) asked.compute_type = -1;
    asked.algorithm = arguments.enumerator(Role::algorithm, gemm_default);
    asked.is_grouped = family.batching == Batching::groups;
    asked.has_compute_type_form = site.cublas.with_compute_type != nullptr;
    asked.ignores_tf32_mode = ignores_tf32_mode(family);
    asked.has_bf16x9 = site.cublas.library->has_bf16x9();
    asked.has_fp64_emulation = site.cublas.library->has_fp64_emulation();
    asked.compute_capability = product.device.compute_capability;
    product.key =
        join_keys(settings, handle_key(asked.compute_capability, asked.math_mode), site.cublas.route->key(frame));
    if (policy::is_half(product.dtype)) describe_half(site, frame, product);
}

void describe_sizes(const Site& site, const Frame& frame, const Product& product, policy::MatmulCall& call) {
    const Function& function = *site.function;
    const ArgumentReader arguments(function, frame);
    call.function = function.name;
    call.caller = site.caller_name();
    call.device = policy::Device::cuda;
    call.dtype = product.dtype;
    if (product.handle != nullptr) {
        call.device_index = product.device.index;
        call.compute_capability = product.device.compute_capability;
    }
    if (function.product().batching == Batching::groups) {
        // The library reads the arrays only if it accepts the handle, so the shim reads them only then.
        if (product.handle != nullptr) describe_groups(arguments, call);
    } else {
        describe_one_size(arguments, function.product(), call);
    }
}

}  // namespace fp32shim::cublas
