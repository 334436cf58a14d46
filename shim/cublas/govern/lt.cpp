#include "shim/cublas/govern/govern.hpp"

#include <atomic>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <utility>

#include "shim/cublas/accumulation.hpp"
#include "shim/cublas/arguments.hpp"
#include "shim/cublas/audit/run_audited.hpp"
#include "shim/cublas/emulation.hpp"
#include "shim/cublas/govern/lt_fitting.hpp"
#include "shim/cublas/govern/lt_search.hpp"
#include "shim/cublas/govern/run.hpp"
#include "shim/cublas/lt_algorithms.hpp"
#include "shim/cublas/lt_arguments.hpp"
#include "shim/cublas/plan_key.hpp"
#include "shim/cublas/torch_guard.hpp"
#include "shim/thread/running.hpp"

namespace fp32shim::cublas {
namespace {

using policy::AlgorithmLimits;
using policy::AppliedFormat;
using policy::Reason;

constexpr int check_algorithm = 6;  // index, from 0, of the argument `algo` of cublasLtMatmulAlgoCheck, which follows
                                    // the layouts

// ---- Functions that describe a product ---------------------------------------------------------------------------

struct LtProduct {
    Product product;
    policy::MatmulCall call;
};

bool has_everything_needed(const Library& library) {
    return library.desc_get != nullptr && library.desc_set != nullptr && library.layout_get != nullptr &&
           library.desc_init != nullptr;
}

constinit std::atomic<bool> searches_were_changed{false};

/// Returns true if the algorithm is known to come from a search whose compute type the shim had changed, so that the
/// algorithm belongs to another compute type than `compute_type`, the product's own.
bool is_of_other_compute_type(const void* algorithm, std::int32_t compute_type) {
    SearchConditions found;
    return algorithm != nullptr && has_changed_searches() &&
           recall_search_conditions(algorithm_at(algorithm), found) && found.compute_type != compute_type;
}

/// Stores the operands' type, the compute type and the format of `algorithm` in `product`. Returns false if they
/// cannot be read.
bool describe_requested_precision(const Library& library, const MatmulDescription& parts, const void* algorithm,
                                  Product& product) {
    std::int32_t type = -1;
    if (!read(library.layout_get, parts.a_layout, layout_type, type)) return false;
    product.treatment = operand_type(type).treatment;
    product.dtype = operand_type(type).dtype;
    if (product.treatment == OperandTreatment::ignored) return true;
    RequestedPrecision& asked = product.asked;
    asked.has_bf16x9 = library.has_bf16x9();
    asked.has_fp64_emulation = library.has_fp64_emulation();
    asked.compute_capability = product.device.compute_capability;
    if (!read(library.desc_get, parts.desc, desc_compute_type, asked.compute_type)) return false;
    if (asked.compute_type == 0) asked.compute_type = -1;
    // An algorithm from a search that the shim changed is not the program's choice, and will be replaced.
    if (!is_of_other_compute_type(algorithm, asked.compute_type))
        asked.of_algorithm = format_of_algorithm(library, algorithm, asked.compute_type).value_or(Format::fp32);
    std::uint32_t batch_mode = batch_strided;
    read(library.layout_get, parts.a_layout, layout_batch_mode, batch_mode);
    product.pointers_are_in_arrays = batch_mode != batch_strided;
    return true;
}

/// Returns true if an algorithm never adds partial sums in a type narrower than its compute type. Returns false if
/// `algorithm` is nullptr, because the library then chooses the algorithm itself.
bool has_full_reduction(const Library& library, const void* algorithm) {
    return algorithm != nullptr &&
           is_within_limits({.reduces_in_compute_type = true}, library, algorithm_at(algorithm));
}

/// Fills in product.asked.half. `frame` has the arguments of the product. It is nullptr for a search, which has no
/// scalars.
void describe_half(const Library& library, const MatmulDescription& parts, const void* algorithm, const Frame* frame,
                   Product& product) {
    HalfProduct& half = product.asked.half;
    half.is_half = true;
    half.has_full_reduction = has_full_reduction(library, algorithm);
    std::int32_t result = type_r_16f;
    read(library.layout_get, parts.d_layout, layout_type, result);
    half.is_result_float = result == type_r_32f || result == type_c_32f;
    if (accumulator_of(product.asked) != policy::Accumulator::fp16) return;
    std::int32_t pointer_mode = pointers_to_device;
    std::int64_t strides[] = {0, 0};  // only newer libraries have these strides
    read(library.desc_get, parts.desc, desc_alpha_batch_stride, strides[0]);
    read(library.desc_get, parts.desc, desc_beta_batch_stride, strides[1]);
    if (!read(library.desc_get, parts.desc, desc_pointer_mode, pointer_mode) || pointer_mode != pointers_to_host)
        half.scalars = ScalarPlace::on_device;
    else if (strides[0] != 0 || strides[1] != 0 ||
             (frame != nullptr && (frame->word(argument_alpha) == 0 || frame->word(argument_beta) == 0)))
        half.scalars = ScalarPlace::unreadable;
}

/// Returns the key of the product's plan. Returns key_unknown if the plan also depends on facts that are not part of
/// keys, such as an algorithm that rounds below FP32.
std::uint64_t key_of(const Product& product, std::uint64_t settings) {
    const bool is_counted =
        product.treatment == OperandTreatment::governed || product.treatment == OperandTreatment::as_called;
    if (!is_counted || product.is_guarded || product.pointers_are_in_arrays ||
        product.asked.of_algorithm != Format::fp32)
        return key_unknown;
    return join_keys(settings, handle_key(product.asked.compute_capability, 0),
                     call_key(static_cast<std::uint8_t>(product.dtype), product.asked.compute_type, false));
}

void describe_sizes(const Library& library, const MatmulDescription& parts, policy::MatmulCall& call) {
    std::int32_t trans_a = op_n;
    std::int32_t trans_b = op_n;
    read(library.desc_get, parts.desc, desc_trans_a, trans_a);
    read(library.desc_get, parts.desc, desc_trans_b, trans_b);
    call.trans_a = letter_of_operation(trans_a);
    call.trans_b = letter_of_operation(trans_b);
    std::int32_t batch_count = 1;
    read(library.layout_get, parts.d_layout, layout_batch_count, batch_count);
    call.batch = batch_count;
    std::uint32_t batch_mode = batch_strided;
    read(library.layout_get, parts.d_layout, layout_batch_mode, batch_mode);
    if (batch_mode == batch_grouped) return;  // the sizes are on the device, and the layouts have 0 instead
    std::int64_t m = 0;
    std::int64_t n = 0;
    std::int64_t k = 0;
    if (!read(library.layout_get, parts.d_layout, layout_rows, m) ||
        !read(library.layout_get, parts.d_layout, layout_cols, n) ||
        !read(library.layout_get, parts.a_layout, trans_a == op_n ? layout_cols : layout_rows, k))
        return;
    call.m = m;
    call.n = n;
    call.k = k;
}

/// Reads a product's arguments, apart from its sizes. Returns false if they cannot be read; the library will then
/// report the error. If the handle is invalid, the library reads no other argument, so this function does not read
/// any either. `settings` is a part of the plan's key.
bool describe(const Site& site, const MatmulDescription& parts, const void* algorithm, std::uint64_t settings,
              LtProduct& result) {
    const Library& library = *site.cublas.library;
    Product& product = result.product;
    policy::MatmulCall& call = result.call;
    call.function = functions[row_cublasLtMatmul]
                        .name;  // a search has the same name, so that rules decide it as they decide the product
    call.caller = site.caller_name();
    call.device = policy::Device::cuda;
    product.asked.control = FormatControl::lt_matmul;
    product.handle = live_record_of(parts.handle);
    if (product.handle == nullptr) return true;
    product.device = device_of(*product.handle);
    call.device_index = product.device.index;
    call.compute_capability = product.device.compute_capability;
    if (!has_everything_needed(library) || parts.desc == nullptr || parts.a_layout == nullptr ||
        parts.b_layout == nullptr || parts.d_layout == nullptr ||
        !describe_requested_precision(library, parts, algorithm, product))
        return false;
    if (product.treatment == OperandTreatment::ignored) return true;
    product.is_guarded = may_be_guarded(site) && is_inside_torch_guard();
    call.dtype = product.dtype;
    product.key = key_of(product, settings);
    return true;
}

// ---- Functions that run a product --------------------------------------------------------------------------------

/// Stores, in the outcome of a successful call, facts about the algorithm that ran.
struct AlgorithmReporter {
    const Library& library;
    bool tells_format = false;
    bool tells_algorithm = false;

    void operator()(const void* ran, std::int32_t compute_type, ExecutionOutcome& done) const {
        if (const auto found = tells_format ? format_of_algorithm(library, ran, compute_type) : std::nullopt)
            done.actual = applied_format_of(*found);
        if (done.accumulator == policy::Accumulator::fp32_reduced && has_full_reduction(library, ran))
            done.accumulator = policy::Accumulator::fp32;
        if (tells_algorithm && ran != nullptr) done.algorithm = describe_algorithm(library, algorithm_at(ran)).word;
    }
};

/// The settings with which the shim runs a product.
struct LtRunSettings {
    std::int32_t compute_type;
    Format format;  ///< the lowest format to which the algorithm may round
    AlgorithmLimits limits{};
    EmulationRequest emulation{};
};

/// Runs the product with the compute type of `form` in a copied descriptor. Replaces the program's algorithm if it
/// does not allow this compute type, rounds to a lower format, or is beyond the limits of `form`. If there are limits
/// and the program did not choose an algorithm, chooses one. Returns the library's status. Returns nullopt, with the
/// reason in `obstacle`, if there is no algorithm or the library refuses.
std::optional<std::int32_t> run_fitting(const Site& site, const Frame& frame, const MatmulDescription& parts,
                                        const LtProduct& lt, const LtRunSettings& form, const AlgorithmReporter& tell,
                                        ExecutionOutcome& done, Reason& obstacle) {
    const Library& library = *site.cublas.library;
    const auto* algorithm = reinterpret_cast<const void*>(frame.word(argument_algorithm));
    obstacle = Reason::no_algorithm;
    ChangedDescriptor desc;
    if (!desc.copy_from(library, parts.desc, form.compute_type)) return std::nullopt;
    MatmulDescription changed = parts;
    changed.desc = desc.address();
    EmulationRequest request = form.emulation;
    std::optional<EmulationDescriptor> emulation;
    std::optional<ChangedDescriptor> emulating;
    const auto give = [&] {
        return request.asks_anything() && emulation.emplace().attach_to(library, request, emulating.emplace(desc));
    };
    bool is_given = give();
    if (!is_given && std::exchange(request.kept_bits, nullptr) != nullptr) is_given = give();
    if (is_given)
        changed.desc = emulating->address();
    else if (std::exchange(request, {}).bits != 0)
        done.detail = mantissa_bits_not_set;
    Algorithm64 fitting{};
    if (algorithm != nullptr || form.limits.any()) {
        const FittingRequest wanted{library,           changed,     desc,        frame,       lt.call.device_index,
                                    form.compute_type, form.format, form.limits, request.bits};
        if (!find_fitting_algorithm(wanted, algorithm, fitting)) return std::nullopt;
        algorithm = fitting.data();
    }
    ArgumentFrame arguments(*site.function, frame);
    arguments.set(argument_desc, changed.desc);
    arguments.set(argument_algorithm, algorithm);
    std::optional<ScalarConversion> scalars;
    if (desc.changes_scale_type()) scalars.emplace(arguments, argument_alpha, argument_beta);
    const std::int32_t status = call_as_called(site, arguments.frame());
    obstacle = Reason::library_refused;
    if (is_refusal(status)) return std::nullopt;
    if (status == status_success) tell(algorithm, form.compute_type, done);
    return status;
}

/// Runs the product as its plan changes it, by calling `run_as`. If no algorithm is within the limits, tries again
/// with only those limits that the plan needs. Returns nullopt, with the reason in `obstacle`, if the second attempt
/// fails as well.
template <class RunAs>
std::optional<std::int32_t> run_changed(const RunAs& run_as, const Plan& plan, std::int32_t own_compute_type,
                                        const AlgorithmLimits& limits, std::int32_t* kept_bits,
                                        ExecutionOutcome& done, Reason& obstacle) {
    const AlgorithmLimits needed{.reduces_in_compute_type = plan.change.needs_full_reduction};
    LtRunSettings form{
        plan.compute_type_or(own_compute_type), plan.change.format, needed, {plan.change.mantissa_bits, kept_bits}};
    form.limits |= limits;
    auto status = run_as(form, obstacle);
    if (status || std::exchange(form.limits, needed) == needed) return status;
    status = run_as(form, obstacle);
    if (status)
        done.reason = Reason::no_algorithm;  // the decided precision matters more than the limits on the
                                             // algorithm
    return status;
}

/// Runs a call as planned. If the planned change is impossible, runs the call as the program made it, and corrects
/// `done`. Returns the library's status. If `logs` is true, the call is logged, so `done` also gets the algorithm and
/// its format. `kept_bits` becomes EmulationRequest::kept_bits.
std::int32_t run_lt_as_planned(const Site& site, const Frame& frame, const MatmulDescription& parts,
                               const LtProduct& lt, bool logs, const Plan& plan, ExecutionOutcome& done,
                               std::int32_t* kept_bits = nullptr) {
    const Library& library = *site.cublas.library;
    const auto* algorithm = reinterpret_cast<const void*>(frame.word(argument_algorithm));
    const std::int32_t own_compute_type = lt.product.asked.compute_type;
    const bool is_governed = lt.product.handle != nullptr;
    const AlgorithmReporter tell{library,
                                 logs && lt.product.treatment != OperandTreatment::as_called &&
                                     plan.applied != AppliedFormat::unchanged &&
                                     plan.applied != AppliedFormat::bf16x9,
                                 logs};
    const AlgorithmLimits limits =
        is_governed && multiplies(lt.call) ? effective_limits(library, plan.decision.algorithms) : AlgorithmLimits{};
    // Only products of float32 and float64 have formats as in `plan.asked`. For products of other types, any
    // algorithm is precise enough.
    const Format own_format = lt.product.treatment == OperandTreatment::observed ? Format::fp16 : plan.asked;
    Reason obstacle = Reason::as_requested;
    const auto run_as = [&](LtRunSettings form, Reason& reason) {
        auto status = run_fitting(site, frame, parts, lt, form, tell, done, reason);
        if (!status && std::exchange(form.emulation.kept_bits, nullptr) != nullptr)
            status = run_fitting(site, frame, parts, lt, form, tell, done, reason);
        return status;
    };
    const bool is_beyond_limits =
        limits.any() && (algorithm == nullptr || !is_within_limits(limits, library, algorithm_at(algorithm)));
    if (plan.changes_call()) {
        if (const auto status = run_changed(run_as, plan, own_compute_type, limits, kept_bits, done, obstacle)) {
            if (is_beyond_limits && done.how == record::How::forward) done.how = record::How::algorithm;
            return *status;
        }
        done = done_unchanged(site, plan, obstacle);
    } else if (is_beyond_limits) {
        if (const auto status = run_as({own_compute_type, own_format, limits, {0, kept_bits}}, obstacle)) {
            done.how = record::How::algorithm;
            return *status;
        }
        done.reason = obstacle;
    }
    Reason unused{};
    const auto run_own = [&] {
        auto status = run_as({own_compute_type, own_format, limits}, unused);
        if (!status && limits.any()) status = run_as({own_compute_type, own_format}, unused);
        return status;
    };
    if (is_governed && is_of_other_compute_type(algorithm, own_compute_type))
        if (const auto status = run_own()) return *status;
    const std::int32_t status = run_lt_as_called(site, frame, parts.desc, own_compute_type, kept_bits);
    if (status == status_alloc_failed && obstacle == Reason::library_refused) done.detail = no_memory_as_called;
    if (!is_refusal(status) || status == status_alloc_failed) {
        if (status == status_success) tell(algorithm, own_compute_type, done);
        return status;
    }
    // The library may have refused because the algorithm comes from a search that the shim had changed but no longer
    // remembers.
    if (is_governed && algorithm != nullptr && has_changed_searches())
        if (const auto other = run_own()) return *other;
    if (obstacle != Reason::as_requested) done.reason = Reason::invalid_arguments;
    return status;
}

/// Begins to time a product on the GPU if a measurement is due.
[[gnu::noinline]] void measure(const Site& site, const Frame& frame, const LtProduct& lt, const Settings& in_force,
                               GpuTimedCall& time) {
    if (lt.product.handle != nullptr && time.is_due(site, in_force, lt.call))
        time.begin_timing(reinterpret_cast<Stream>(frame.word(argument_stream)));
}

/// Runs a product while audits are on. This is a separate function, because an audited call needs more stack than
/// other calls.
[[gnu::noinline]] CallOutcome govern_with_audits(Site& site, const Frame& frame, const MatmulDescription& parts,
                                                 LtProduct& lt, const Settings& in_force) {
    AuditedBatch singles;
    AuditLauncher launcher{.site = site,
                           .frame = frame,
                           .product = lt.product,
                           .set_up = set_up_lt_launcher,
                           .launch = launch_by_lt,
                           .parts = parts};
    const bool is_nothing = !multiplies(lt.call);
    const bool may_audit = !is_nothing && lt.product.handle != nullptr &&
                           singles.read_lt_arguments(*site.cublas.library, frame, parts, lt.product);
    GpuTimedCall time;
    const AuditedRun done =
        run_audited(site, launcher, may_audit ? &singles : nullptr, is_nothing, lt.call, in_force,
                    [&](const Plan& plan, ExecutionOutcome& done_so_far) {
                        if (!is_nothing && !GpuTimedCall::is_passed_over(site, in_force, lt.call))
                            measure(site, frame, lt, in_force, time);
                        return run_timed(site, frame, in_force, done_so_far, time, [&] {
                            return run_lt_as_planned(site, frame, parts, lt, in_force.is_logging(), plan, done_so_far,
                                                     launcher.kept_bits);
                        });
                    });
    if (in_force.is_logging()) record_audited(site, in_force, lt.call, done, time);
    return {done.status, nullptr};
}

}  // namespace

bool has_changed_searches() { return searches_were_changed.load(std::memory_order_acquire); }

CallOutcome govern_lt_matmul(Site& site, const Frame& frame, const Settings& in_force, std::uint32_t change_count) {
    const CallOutcome untouched{0, site.real};
    const bool logs = in_force.is_logging();
    const auto pointer = [&](int position) { return reinterpret_cast<void*>(frame.word(position)); };
    const MatmulDescription parts{pointer(argument_handle),   pointer(argument_desc),     pointer(argument_a_layout),
                                  pointer(argument_b_layout), pointer(argument_c_layout), pointer(argument_d_layout)};
    LtProduct lt;
    if (!describe(site, parts, pointer(argument_algorithm), settings_key(change_count, in_force.generation), lt) ||
        lt.product.treatment == OperandTreatment::ignored)
        return untouched;
    if (lt.product.handle != nullptr) describe_sizes(*site.cublas.library, parts, lt.call);
    if (policy::is_half(lt.product.dtype))
        describe_half(*site.cublas.library, parts, pointer(argument_algorithm), &frame, lt.product);
    if (in_force.audits) return govern_with_audits(site, frame, parts, lt, in_force);
    const auto in_words = [&](policy::MatmulCall& call) { call = lt.call; };
    Plan plan = plan_call(site, lt.product, in_force, in_words);
    const bool is_nothing = !multiplies(lt.call);
    if (is_nothing) plan = plan_for_call_without_product(plan);
    if (!plan.changes_call() && !plan.decision.algorithms.any() && !logs && !has_changed_searches()) return untouched;
    ExecutionOutcome done = done_as_planned(site, plan);
    GpuTimedCall time;
    if (!is_nothing && !GpuTimedCall::is_passed_over(site, in_force, lt.call))
        measure(site, frame, lt, in_force, time);
    const std::int32_t status = run_timed(site, frame, in_force, done, time, [&] {
        return run_lt_as_planned(site, frame, parts, lt, logs, plan, done);
    });
    if (logs) {
        done.status = status;
        record_call(site, in_force, lt.call, plan.decision, done, &time);
    }
    return {status, nullptr};
}

CallOutcome govern_lt_algorithm_search(Site& site, const Frame& frame, const Settings& in_force,
                                       std::uint32_t change_count) {
    const CallOutcome untouched{0, site.real};
    const auto pointer = [&](int position) { return reinterpret_cast<void*>(frame.word(position)); };
    const MatmulDescription parts{pointer(argument_handle),    pointer(argument_desc),
                                  pointer(heuristic_a_layout), pointer(heuristic_b_layout),
                                  pointer(heuristic_c_layout), pointer(heuristic_d_layout)};
    LtProduct lt;
    if (!describe(site, parts, nullptr, settings_key(change_count, in_force.generation), lt) ||
        lt.product.handle == nullptr || lt.product.treatment == OperandTreatment::ignored)
        return untouched;
    if (!in_force.limits_algorithms && !has_changed_searches() &&
        (lt.product.treatment == OperandTreatment::as_called  ? !governs_float64(in_force)
         : lt.product.treatment == OperandTreatment::observed ? !in_force.changes_accumulation
                                                              : false))
        return untouched;
    if (policy::is_half(lt.product.dtype)) describe_half(*site.cublas.library, parts, nullptr, nullptr, lt.product);
    const auto in_words = [&](policy::MatmulCall& call) {
        describe_sizes(*site.cublas.library, parts, lt.call);
        call = lt.call;
    };
    const AlgorithmSearch search(site, frame);
    const std::int32_t own_compute_type = lt.product.asked.compute_type;
    if (search.begins_from_an_algorithm())
        return {search.search_from_algorithm(parts.desc, own_compute_type), nullptr};
    const Plan plan = plan_call(site, lt.product, in_force, in_words);
    ChangedDescriptor desc;
    std::optional<EmulationDescriptor> emulation;
    const std::int32_t compute_type = plan.compute_type_or(own_compute_type);
    const EmulationRequest request{.bits = plan.change.mantissa_bits};
    const bool is_changed =
        plan.changes_call() && desc.copy_from(*site.cublas.library, parts.desc, compute_type) &&
        (!request.asks_anything() || emulation.emplace().attach_to(*site.cublas.library, request, desc));
    const AlgorithmSearch::TypedDescriptor own{parts.desc, own_compute_type};
    // The search for `wanted` comes first. If it finds no algorithm within the limits, the search for `needed` still
    // changes the compute type.
    const AlgorithmLimits needed{.reduces_in_compute_type = plan.change.needs_full_reduction};
    AlgorithmLimits wanted = needed;
    wanted |= effective_limits(*site.cublas.library, plan.decision.algorithms);
    for (const AlgorithmLimits& limits : {wanted, needed}) {
        if (!is_changed && !limits.any()) break;
        const AlgorithmSearch::TypedDescriptor changed{desc.address(), compute_type};
        if (!search.search_changed(own, is_changed ? changed : own, limits)) {
            if (wanted == needed) break;
            continue;
        }
        // From now on, any product may come with an algorithm for another compute type, so run_lt_as_planned() has to
        // see every product, whatever the settings are.
        if (is_changed && !searches_were_changed.exchange(true, std::memory_order_acq_rel)) settings_changed();
        return {status_success, nullptr};
    }
    // Nothing was changed or found, so the program gets the results of its own search.
    return {search.search_as_called(parts.desc, own_compute_type), nullptr};
}

CallOutcome govern_lt_algorithm_check(Site& site, const Frame& frame) {
    const CallOutcome untouched{0, site.real};
    const Library& library = *site.cublas.library;
    const auto* desc = reinterpret_cast<const void*>(frame.word(argument_desc));
    const auto* algorithm = reinterpret_cast<const void*>(frame.word(check_algorithm));
    if (!has_changed_searches() || !has_everything_needed(library) || desc == nullptr || algorithm == nullptr ||
        live_record_of(reinterpret_cast<Handle>(frame.word(argument_handle))) == nullptr)
        return untouched;
    SearchConditions found;
    std::int32_t compute_type = 0;
    ChangedDescriptor changed;
    if (!recall_search_conditions(algorithm_at(algorithm), found) ||
        !read(library.desc_get, desc, desc_compute_type, compute_type) || compute_type == found.compute_type ||
        !changed.copy_from(library, desc, found.compute_type))
        return untouched;
    ArgumentFrame arguments(*site.function, frame);
    arguments.set(argument_desc, changed.address());
    return {call_as_called(site, arguments.frame()), nullptr};
}

}  // namespace fp32shim::cublas
