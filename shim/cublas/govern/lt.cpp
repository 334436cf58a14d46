#include "shim/cublas/govern/govern.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <utility>

#include "shim/cublas/arguments.hpp"
#include "shim/cublas/audit/run_audited.hpp"
#include "shim/cublas/emulation.hpp"
#include "shim/cublas/govern/lt_fitting.hpp"
#include "shim/cublas/govern/lt_half.hpp"
#include "shim/cublas/govern/lt_search.hpp"
#include "shim/cublas/govern/run.hpp"
#include "shim/cublas/lt_algorithms.hpp"
#include "shim/cublas/lt_arguments.hpp"
#include "shim/cublas/own_frame.hpp"
#include "shim/cublas/plan_key.hpp"
#include "shim/cublas/torch_guard.hpp"
#include "shim/thread/running.hpp"

namespace fp32shim::cublas {
namespace {

using policy::AlgorithmLimits;
using policy::Applied;
using policy::Reason;

constexpr int check_algorithm = 6;  // index, from 0, of the argument of cublasLtMatmulAlgoCheck after the layouts

// ---- describe ----------------------------------------------------------------------------------------------------

struct LtProduct {
    Product product;
    policy::MatmulCall call;
};

bool has_everything_needed(const Library& library) {
    return library.desc_get != nullptr && library.desc_set != nullptr && library.layout_get != nullptr &&
           library.desc_init != nullptr;
}

constinit std::atomic<bool> searches_were_changed{false};

/// Returns true if a search that the shim had changed is known to have found the algorithm for another compute type
/// than the product's, `compute_type`.
bool is_of_other_compute_type(const void* algorithm, std::int32_t compute_type) {
    FoundAlgorithm found;
    return algorithm != nullptr && has_changed_searches() && recall_algorithm(algorithm_at(algorithm), found) &&
           found.compute_type != compute_type;
}

/// Stores operand type, compute type and the format of `algorithm` in `product`. Returns false if they cannot be
/// read.
bool describe_request(const Library& library, const Parts& parts, const void* algorithm, Product& product) {
    std::int32_t type = -1;
    if (!read(library.layout_get, parts.a_layout, layout_type, type)) return false;
    product.counted = operand_type(type).counted;
    product.dtype = operand_type(type).dtype;
    if (product.counted == Counted::not_at_all) return true;
    Asked& asked = product.asked;
    asked.has_bf16x9 = library.has_bf16x9();
    asked.has_fp64_emulation = library.has_fp64_emulation();
    asked.compute_capability = product.device.compute_capability;
    if (!read(library.desc_get, parts.desc, desc_compute_type, asked.compute_type)) return false;
    if (asked.compute_type == 0) asked.compute_type = -1;
    // An algorithm from a changed search is not the program's choice, and will be replaced.
    if (!is_of_other_compute_type(algorithm, asked.compute_type))
        asked.of_algorithm = format_of_algorithm(library, algorithm, asked.compute_type).value_or(Format::fp32);
    std::uint32_t batch_mode = batch_strided;
    read(library.layout_get, parts.a_layout, layout_batch_mode, batch_mode);
    product.pointers_are_in_arrays = batch_mode != batch_strided;
    return true;
}

/// Returns the key of the product's plan. An algorithm that rounds below FP32 has an influence that is not in keys.
std::uint64_t key_of(const Product& product, std::uint64_t settings) {
    const bool is_counted = product.counted == Counted::governed || product.counted == Counted::as_called;
    if (!is_counted || product.is_guarded || product.pointers_are_in_arrays ||
        product.asked.of_algorithm != Format::fp32)
        return key_unknown;
    return join(settings, handle_key(product.asked.compute_capability, 0),
                call_key(static_cast<std::uint8_t>(product.dtype), product.asked.compute_type, false));
}

void describe_sizes(const Library& library, const Parts& parts, policy::MatmulCall& call) {
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
    // The layouts say 0, since the sizes are on the device.
    if (batch_mode == batch_grouped) return;
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
/// report the error. With an invalid handle the library reads nothing else, so this function does not either.
/// `settings` is a part of the plan's key.
bool describe(const Site& site, const Parts& parts, const void* algorithm, std::uint64_t settings,
              LtProduct& result) {
    const Library& library = *site.cublas.library;
    Product& product = result.product;
    policy::MatmulCall& call = result.call;
    call.function = functions[row_cublasLtMatmul]
                        .name;  // the same name for the search, so that rules decide it as they decide the product
    call.caller = site.caller_name();
    call.device = policy::Device::cuda;
    product.asked.control = FormatControl::lt_matmul;
    product.handle = find_handle(parts.handle);
    if (product.handle == nullptr) return true;
    product.device = device_of(*product.handle);
    call.device_index = product.device.index;
    call.compute_capability = product.device.compute_capability;
    if (!has_everything_needed(library) || parts.desc == nullptr || parts.a_layout == nullptr ||
        parts.b_layout == nullptr || parts.d_layout == nullptr ||
        !describe_request(library, parts, algorithm, product))
        return false;
    if (product.counted == Counted::not_at_all) return true;
    product.is_guarded = may_be_guarded(site) && is_inside_torch_guard();
    call.dtype = product.dtype;
    product.key = key_of(product, settings);
    return true;
}

// ---- run ---------------------------------------------------------------------------------------------------------

/// What the record of a successful call tells of the algorithm that ran.
struct Telling {
    const Library& library;
    bool format = false;
    bool algorithm = false;

    void operator()(const void* ran, std::int32_t compute_type, ExecutionOutcome& done) const {
        if (const auto found = format ? format_of_algorithm(library, ran, compute_type) : std::nullopt)
            done.actual = applied_of(*found);
        if (done.accumulator == policy::Accumulator::fp32_reduced && has_full_reduction(library, ran))
            done.accumulator = policy::Accumulator::fp32;
        if (algorithm && ran != nullptr) done.algorithm = known_algorithm(library, algorithm_at(ran)).word;
    }
};

/// A form in which the product can run.
struct Form {
    std::int32_t compute_type;
    Format format;  ///< the lowest to which the algorithm may round
    AlgorithmLimits limits{};
    EmulationWish emulation{};
};

/// Runs the product with the compute type of `form` in a copied descriptor. Replaces the program's algorithm if it
/// does not allow this compute type, rounds to a lower format, or is beyond the limits. With limits, chooses one if
/// the program did not. Returns the library's status. Returns nullopt, with the reason in `obstacle`, if there is no
/// algorithm or the library refuses.
std::optional<std::int32_t> run_fitting(const Site& site, const Frame& frame, const Parts& parts, const LtProduct& lt,
                                        const Form& form, const Telling& tell, ExecutionOutcome& done,
                                        Reason& obstacle) {
    const Library& library = *site.cublas.library;
    const auto* algorithm = reinterpret_cast<const void*>(frame.word(argument_algorithm));
    obstacle = Reason::no_algorithm;
    ChangedDesc desc;
    if (!desc.copy(library, parts.desc, form.compute_type)) return std::nullopt;
    Parts changed = parts;
    changed.desc = desc.address();
    EmulationWish wish = form.emulation;
    std::optional<EmulationDesc> emulation;
    std::optional<ChangedDesc> emulating;
    const auto give = [&] {
        return wish.is_any() && emulation.emplace().give(library, wish, emulating.emplace(desc));
    };
    bool is_given = give();
    if (!is_given && std::exchange(wish.kept_bits, nullptr) != nullptr) is_given = give();
    if (is_given)
        changed.desc = emulating->address();
    else if (std::exchange(wish, {}).bits != 0)
        done.detail = mantissa_bits_not_set;
    Algorithm64 fitting{};
    if (algorithm != nullptr || form.limits.any()) {
        const Fitting wanted{library,           changed,     desc,        frame,    lt.call.device_index,
                             form.compute_type, form.format, form.limits, wish.bits};
        if (!find_fitting(wanted, algorithm, fitting)) return std::nullopt;
        algorithm = fitting.data();
    }
    OwnFrame arguments(*site.function, frame);
    arguments.put(argument_desc, changed.desc);
    arguments.put(argument_algorithm, algorithm);
    std::optional<FloatScalars> scalars;
    if (desc.changes_scale_type()) scalars.emplace(arguments, argument_alpha, argument_beta);
    const std::int32_t status = call_as_called(site, arguments.frame());
    obstacle = Reason::library_refused;
    if (is_refusal(status)) return std::nullopt;
    if (status == status_success) tell(algorithm, form.compute_type, done);
    return status;
}

/// Runs the product as its plan changes it, by run_as(): with the limits of its algorithm, and else without those
/// that the plan does not need. Returns nullopt, with the reason in `obstacle`, if that is impossible.
template <class RunAs>
std::optional<std::int32_t> run_changed(const RunAs& run_as, const Plan& plan, std::int32_t own_compute_type,
                                        const AlgorithmLimits& limits, std::int32_t* kept_bits,
                                        ExecutionOutcome& done, Reason& obstacle) {
    const AlgorithmLimits needed{.reduces_in_compute_type = plan.change.needs_full_reduction};
    Form form{
        plan.compute_type(own_compute_type), plan.change.format, needed, {plan.change.mantissa_bits, kept_bits}};
    form.limits |= limits;
    auto status = run_as(form, obstacle);
    if (!status && std::exchange(form.emulation.kept_bits, nullptr) != nullptr) status = run_as(form, obstacle);
    if (status || std::exchange(form.limits, needed) == needed) return status;
    status = run_as(form, obstacle);
    if (status) done.reason = Reason::no_algorithm;  // the precision matters more than the algorithm
    return status;
}

/// Runs a call as planned. If the planned change is impossible, runs the call as the program made it, and corrects
/// `done`. Returns the library's status. `logs`: the call is logged, so `done` gets the algorithm and its format.
/// `kept_bits`: see EmulationWish.
std::int32_t run(const Site& site, const Frame& frame, const Parts& parts, const LtProduct& lt, bool logs,
                 const Plan& plan, ExecutionOutcome& done, std::int32_t* kept_bits = nullptr) {
    const Library& library = *site.cublas.library;
    const auto* algorithm = reinterpret_cast<const void*>(frame.word(argument_algorithm));
    const std::int32_t own_compute_type = lt.product.asked.compute_type;
    const bool is_governed = lt.product.handle != nullptr;
    const Telling tell{library,
                       logs && lt.product.counted != Counted::as_called && plan.applied != Applied::unchanged &&
                           plan.applied != Applied::bf16x9,
                       logs};
    const AlgorithmLimits limits =
        is_governed && multiplies(lt.call) ? limits_in(library, plan.decision.algorithms) : AlgorithmLimits{};
    // The formats are those of products of float32 and float64. Any algorithm is as good for other types.
    const Format own_format = lt.product.counted == Counted::observed ? Format::fp16 : plan.asked;
    Reason obstacle = Reason::as_requested;
    const auto run_as = [&](const Form& form, Reason& reason) {
        return run_fitting(site, frame, parts, lt, form, tell, done, reason);
    };
    const bool is_beyond =
        limits.any() && (algorithm == nullptr || !is_within(limits, library, algorithm_at(algorithm)));
    if (plan.changes()) {
        if (const auto status = run_changed(run_as, plan, own_compute_type, limits, kept_bits, done, obstacle)) {
            if (is_beyond && done.how == record::How::forward) done.how = record::How::algorithm;
            return *status;
        }
        done = done_unchanged(site, plan, obstacle);
    } else if (is_beyond) {
        auto status = run_as({own_compute_type, own_format, limits, {0, kept_bits}}, obstacle);
        if (!status && kept_bits != nullptr) status = run_as({own_compute_type, own_format, limits}, obstacle);
        if (status) {
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
    if (is_governed && is_of_other_compute_type(algorithm, own_compute_type)) {
        if (const auto status = run_own()) return *status;
    }
    const std::int32_t status = run_lt_as_called(site, frame, parts.desc, own_compute_type, kept_bits);
    if (status == status_alloc_failed && obstacle == Reason::library_refused) done.detail = no_memory_as_called;
    if (!is_refusal(status) || status == status_alloc_failed) {
        if (status == status_success) tell(algorithm, own_compute_type, done);
        return status;
    }
    // The algorithm may come from a search that the shim had changed and has forgotten.
    if (is_governed && algorithm != nullptr && has_changed_searches()) {
        if (const auto other = run_own()) return *other;
    }
    if (obstacle != Reason::as_requested) done.reason = Reason::invalid_arguments;
    return status;
}

/// Has a product measured on the GPU if it is its turn.
[[gnu::noinline]] void measure(const Site& site, const Frame& frame, const LtProduct& lt, const Settings& in_force,
                               TimedCall& time) {
    if (lt.product.handle != nullptr && time.is_due(site, in_force, lt.call))
        time.begin_on(reinterpret_cast<Stream>(frame.word(argument_stream)));
}

/// Governs a product while audits are on. A function of its own, since it needs more stack than other calls.
[[gnu::noinline]] CallOutcome govern_with_audits(Site& site, const Frame& frame, const Parts& parts, LtProduct& lt,
                                                 const Settings& in_force) {
    SingleProducts singles;
    Launcher launcher{.site = site,
                      .frame = frame,
                      .product = lt.product,
                      .set_up = set_up_lt,
                      .launch = launch_by_lt,
                      .parts = parts};
    const bool is_nothing = !multiplies(lt.call);
    const bool may_audit = !is_nothing && lt.product.handle != nullptr &&
                           singles.describe_lt(*site.cublas.library, frame, parts, lt.product);
    TimedCall time;
    const AuditedRun done = run_audited(site, launcher, may_audit ? &singles : nullptr, is_nothing, lt.call, in_force,
                                        [&](const Plan& plan, ExecutionOutcome& done_so_far) {
                                            if (!is_nothing && !TimedCall::is_passed_over(site, in_force, lt.call))
                                                measure(site, frame, lt, in_force, time);
                                            return run_timed(site, frame, in_force, done_so_far, time, [&] {
                                                return run(site, frame, parts, lt, in_force.is_logging(), plan,
                                                           done_so_far, launcher.kept_bits);
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
    const Parts parts{pointer(argument_handle),   pointer(argument_desc),     pointer(argument_a_layout),
                      pointer(argument_b_layout), pointer(argument_c_layout), pointer(argument_d_layout)};
    LtProduct lt;
    if (!describe(site, parts, pointer(argument_algorithm), settings_key(change_count, in_force.generation), lt) ||
        lt.product.counted == Counted::not_at_all)
        return untouched;
    if (lt.product.handle != nullptr) describe_sizes(*site.cublas.library, parts, lt.call);
    if (policy::is_half(lt.product.dtype))
        describe_half(*site.cublas.library, parts, pointer(argument_algorithm), &frame, lt.product);
    if (in_force.audits) return govern_with_audits(site, frame, parts, lt, in_force);
    const auto in_words = [&](policy::MatmulCall& call) { call = lt.call; };
    Plan plan = plan_call(site, lt.product, in_force, in_words);
    const bool is_nothing = !multiplies(lt.call);
    if (is_nothing) plan = plan_without_product(plan);
    if (!plan.changes() && !plan.decision.algorithms.any() && !logs && !has_changed_searches()) return untouched;
    ExecutionOutcome done = done_as_planned(site, plan);
    TimedCall time;
    if (!is_nothing && !TimedCall::is_passed_over(site, in_force, lt.call)) measure(site, frame, lt, in_force, time);
    const std::int32_t status =
        run_timed(site, frame, in_force, done, time, [&] { return run(site, frame, parts, lt, logs, plan, done); });
    if (logs) {
        done.status = status;
        record_call(site, in_force, lt.call, plan.decision, done, &time);
    }
    return {status, nullptr};
}

CallOutcome govern_lt_heuristic(Site& site, const Frame& frame, const Settings& in_force,
                                std::uint32_t change_count) {
    const CallOutcome untouched{0, site.real};
    const auto pointer = [&](int position) { return reinterpret_cast<void*>(frame.word(position)); };
    const Parts parts{pointer(argument_handle),    pointer(argument_desc),      pointer(heuristic_a_layout),
                      pointer(heuristic_b_layout), pointer(heuristic_c_layout), pointer(heuristic_d_layout)};
    LtProduct lt;
    if (!describe(site, parts, nullptr, settings_key(change_count, in_force.generation), lt) ||
        lt.product.handle == nullptr || lt.product.counted == Counted::not_at_all)
        return untouched;
    if (!in_force.limits_algorithms && !has_changed_searches() &&
        (lt.product.counted == Counted::as_called  ? !governs_float64(in_force)
         : lt.product.counted == Counted::observed ? !in_force.changes_accumulation
                                                   : false))
        return untouched;
    if (policy::is_half(lt.product.dtype)) describe_half(*site.cublas.library, parts, nullptr, nullptr, lt.product);
    const auto in_words = [&](policy::MatmulCall& call) {
        describe_sizes(*site.cublas.library, parts, lt.call);
        call = lt.call;
    };
    const Search search(site, frame);
    const std::int32_t own_compute_type = lt.product.asked.compute_type;
    if (search.begins_from_an_algorithm())
        return {search.search_from_algorithm(parts.desc, own_compute_type), nullptr};
    const Plan plan = plan_call(site, lt.product, in_force, in_words);
    ChangedDesc desc;
    std::optional<EmulationDesc> emulation;
    const std::int32_t compute_type = plan.compute_type(own_compute_type);
    const EmulationWish wish{.bits = plan.change.mantissa_bits};
    const bool is_changed = plan.changes() && desc.copy(*site.cublas.library, parts.desc, compute_type) &&
                            (!wish.is_any() || emulation.emplace().give(*site.cublas.library, wish, desc));
    const Search::Form own{parts.desc, own_compute_type};
    // If no algorithm is within the limits, the compute type is changed nevertheless.
    const AlgorithmLimits needed{.reduces_in_compute_type = plan.change.needs_full_reduction};
    AlgorithmLimits wanted = needed;
    wanted |= limits_in(*site.cublas.library, plan.decision.algorithms);
    for (const AlgorithmLimits& limits : {wanted, needed}) {
        if (!is_changed && !limits.any()) break;
        const Search::Form changed{desc.address(), compute_type};
        if (!search.search_changed(own, is_changed ? changed : own, limits)) {
            if (wanted == needed) break;
            continue;
        }
        // From now on, run() has to see every product, whatever the settings are.
        if (is_changed && !searches_were_changed.exchange(true, std::memory_order_acq_rel)) settings_changed();
        return {status_success, nullptr};
    }
    // Nothing was changed or found, so the program gets the answer to its own search.
    return {search.search_as_called(parts.desc, own_compute_type), nullptr};
}

CallOutcome govern_lt_check(Site& site, const Frame& frame) {
    const CallOutcome untouched{0, site.real};
    const Library& library = *site.cublas.library;
    const auto* desc = reinterpret_cast<const void*>(frame.word(argument_desc));
    const auto* algorithm = reinterpret_cast<const void*>(frame.word(check_algorithm));
    if (!has_changed_searches() || !has_everything_needed(library) || desc == nullptr || algorithm == nullptr ||
        find_handle(reinterpret_cast<Handle>(frame.word(argument_handle))) == nullptr)
        return untouched;
    FoundAlgorithm found;
    std::int32_t compute_type = 0;
    ChangedDesc changed;
    if (!recall_algorithm(algorithm_at(algorithm), found) ||
        !read(library.desc_get, desc, desc_compute_type, compute_type) || compute_type == found.compute_type ||
        !changed.copy(library, desc, found.compute_type))
        return untouched;
    OwnFrame arguments(*site.function, frame);
    arguments.put(argument_desc, changed.address());
    return {call_as_called(site, arguments.frame()), nullptr};
}

}  // namespace fp32shim::cublas
