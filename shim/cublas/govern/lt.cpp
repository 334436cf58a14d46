#include "shim/cublas/govern/govern.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <initializer_list>
#include <optional>

#include "shim/cublas/arguments.hpp"
#include "shim/cublas/audit/run_audited.hpp"
#include "shim/cublas/govern/lt_search.hpp"
#include "shim/cublas/govern/run.hpp"
#include "shim/cublas/lt_algorithms.hpp"
#include "shim/cublas/lt_arguments.hpp"
#include "shim/cublas/own_frame.hpp"
#include "shim/cublas/plan_key.hpp"
#include "shim/cublas/torch_guard.hpp"
#include "shim/thread/running.hpp"
#include "system/hash.hpp"

namespace fp32shim::cublas {
namespace {

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

/// Returns the format to which an algorithm for a compute type rounds operands, by its capability flags; nullopt if
/// they do not tell. BF16x9 consists of BF16 products, so its algorithms have the flag of BF16; BF16x9 compute types
/// do not permit plain BF16.
std::optional<Format> format_of_algorithm(const Library& library, const void* algorithm, std::int32_t compute_type) {
    std::uint64_t flags = 0;
    if (library.algo_capability == nullptr || algorithm == nullptr ||
        !read(library.algo_capability, algorithm, capability_numerical_impl_flags, flags))
        return std::nullopt;
    if ((flags & impl_input_16f) != 0) return Format::fp16;
    std::int32_t emulates = 0;
    const bool is_float64 = compute_type == compute_64f || compute_type == compute_64f_pedantic;
    if (is_float64 && read(library.algo_capability, algorithm, capability_emulates, emulates) && emulates != 0)
        return Format::fp64_emulated;
    const bool permits_no_bf16 = compute_type == compute_32f || compute_type == compute_32f_emulated_16bfx9;
    if ((flags & impl_input_16bf) != 0) return permits_no_bf16 ? Format::bf16x9 : Format::bf16;
    if ((flags & impl_input_tf32) != 0) return Format::tf32;
    if ((flags & impl_input_32f) != 0) return Format::fp32;
    return std::nullopt;
}

Algorithm64 algorithm_at(const void* address) {
    Algorithm64 algorithm{};
    std::memcpy(algorithm.data(), address, sizeof algorithm);
    return algorithm;
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
    product.asked.road = Road::lt_matmul;
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

/// Returns the largest power of two that divides all addresses, at most 256.
std::uint64_t alignment_of(const std::array<std::int64_t, 4>& addresses) {
    std::uint64_t bits = 256;
    for (std::int64_t address : addresses) bits |= static_cast<std::uint64_t>(address);
    return bits & (~bits + 1);
}

std::array<std::int64_t, 4> matrices_of(const Frame& frame) {
    return {frame.word(argument_a), frame.word(argument_b), frame.word(argument_c), frame.word(argument_d)};
}

/// Memory for a cublasLtMatmulPreference_t, which is opaque. No version needs more.
using Preference = std::array<std::uint64_t, 32>;

std::uint64_t implementations_below(Format format) {
    constexpr std::uint64_t below_bf16 = impl_input_16f, below_tf32 = below_bf16 | impl_input_16bf,
                            below_fp32 = below_tf32 | impl_input_tf32;
    constexpr std::uint64_t below[] = {0, below_bf16, below_tf32, 0, below_fp32};  // BF16x9 consists of BF16 products
    return is_of_float64(format) ? 0 : below[static_cast<std::size_t>(format)];
}

struct SearchResult {
    Replacement replacement;
    bool is_final = false;  ///< the library would answer the same if asked again
};

/// Searches for an algorithm for the product `parts`, whose descriptor was changed. The algorithm must need no more
/// than this workspace size, round to no lower format than `format`, and keep the limits of the program's own search
/// (`original`).
SearchResult search(const Library& library, const Parts& parts, const FoundAlgorithm& original, Format format,
                    const std::array<std::int64_t, 4>& matrices, std::uint64_t workspace_size) {
    SearchResult answer;
    alignas(16) Preference preference{};
    if (library.heuristic == nullptr || library.preference_init == nullptr || library.preference_set == nullptr ||
        library.preference_init(preference.data(), sizeof preference) != status_success)
        return answer;
    const auto set = [&](std::int32_t attribute, const auto& value) {
        return library.preference_set(preference.data(), attribute, &value, sizeof value) == status_success;
    };
    bool is_set = set(preference_max_workspace_bytes, workspace_size);
    for (int i = 0; i < 4; ++i) {
        const auto alignment =
            static_cast<std::uint32_t>(alignment_of({matrices[static_cast<std::size_t>(i)], 0, 0, 0}));
        is_set = set(preference_min_alignment_a_bytes + i, alignment) && is_set;
    }
    const std::uint64_t implementation_mask = original.implementation_mask & ~implementations_below(format);
    is_set = set(preference_reduction_scheme_mask, original.reduction_scheme_mask) && is_set;
    is_set = set(preference_impl_mask, implementation_mask) && is_set;
    is_set = set(preference_max_waves_count, original.max_waves_count) && is_set;
    if (!is_set) return answer;
    HeuristicResult result{};
    std::int32_t found = 0;
    const std::int32_t status =
        library.heuristic(parts.handle, parts.desc, parts.a_layout, parts.b_layout, parts.c_layout, parts.d_layout,
                          preference.data(), 1, &result, &found);
    answer.is_final = status == status_success || status == status_not_supported;
    answer.replacement.exists = status == status_success && found > 0 && result.state == status_success;
    answer.replacement.algorithm = result.algorithm;
    return answer;
}

/// Adds all facts of a layout to a key. Returns false if the layout cannot be read.
bool add_shape(const Library& library, const void* layout, system::Hash& key) {
    if (layout == nullptr) return true;
    const auto add = [&](std::initializer_list<LayoutAttribute> attributes, auto value) {
        return std::ranges::all_of(attributes, [&](LayoutAttribute attribute) {
            if (!read(library.layout_get, layout, attribute, value)) return false;
            key.add(static_cast<std::uint64_t>(value));
            return true;
        });
    };
    if (!add({layout_type, layout_order, layout_batch_count}, std::int32_t{}) ||
        !add({layout_rows, layout_cols, layout_ld, layout_batch_stride, layout_plane_offset}, std::int64_t{}))
        return false;
    std::uint32_t batch_mode = batch_strided;  // older libraries have no other batch mode
    read(library.layout_get, layout, layout_batch_mode, batch_mode);
    key.add(batch_mode);
    return batch_mode != batch_grouped ||
           (add({layout_rows_array, layout_cols_array, layout_ld_array}, std::int64_t{}) &&
            add({layout_rows_cols_width, layout_ld_width}, std::int32_t{}));
}

/// Returns true if the library accepts the program's algorithm for the product `parts`, whose descriptor was changed,
/// and if the algorithm needs no more workspace (in bytes) and no larger alignment than the program gives.
bool algorithm_fits(const Library& library, const Parts& parts, const Algorithm64& algorithm, std::uint64_t alignment,
                    std::uint64_t workspace_size) {
    if (library.algo_check == nullptr) return false;
    HeuristicResult check{};
    return library.algo_check(parts.handle, parts.desc, parts.a_layout, parts.b_layout, parts.c_layout,
                              parts.d_layout, algorithm.data(), &check) == status_success &&
           check.workspace_size <= workspace_size && min_alignment_of(library, algorithm) <= alignment;
}

/// Makes `algorithm` one that runs the product with its changed descriptor and rounds to no lower format than
/// `format`. Keeps the program's algorithm if it fits. Returns false if none fits. Remembers the library's answers.
bool fitting_algorithm(const Library& library, const Parts& parts, const LtProduct& lt, const ChangedDesc& desc,
                       const Frame& frame, std::int32_t compute_type, Format format, Algorithm64& algorithm) {
    const std::array<std::int64_t, 4> matrices = matrices_of(frame);
    const std::uint64_t alignment = alignment_of(matrices);
    const auto workspace_size = static_cast<std::uint64_t>(frame.word(argument_workspace_size));
    const Format of_algorithm = format_of_algorithm(library, algorithm.data(), compute_type).value_or(format);
    const bool is_precise_enough = of_algorithm >= format || format == Format::bf16x9;
    FoundAlgorithm original;
    const bool is_known = recall_algorithm(algorithm, original);
    if (is_precise_enough && is_known && original.compute_type == compute_type && original.min_alignment <= alignment)
        return true;

    system::Hash key;
    key.add_all(algorithm);
    key.add_all(desc.words());
    bool is_whole = true;  // false: nothing is remembered for the product's shape
    for (const void* layout : {parts.a_layout, parts.b_layout, parts.c_layout, parts.d_layout})
        is_whole = add_shape(library, layout, key) && is_whole;
    for (std::int64_t matrix : matrices) key.add(alignment_of({matrix, 0, 0, 0}));
    key.add(workspace_size);
    key.add(static_cast<std::uint64_t>(lt.call.device_index));
    key.add(static_cast<std::uint64_t>(format));
    key.add_all(__builtin_bit_cast(std::array<std::uint64_t, 3>, original));
    Replacement replacement;
    if (!is_whole || !recall_replacement(key.value(), replacement)) {
        SearchResult answer{.replacement = {true, algorithm}};
        if (!is_precise_enough || !algorithm_fits(library, parts, algorithm, alignment, workspace_size))
            answer = search(library, parts, original, format, matrices, workspace_size);
        replacement = answer.replacement;
        if (is_whole && (replacement.exists || answer.is_final)) remember_replacement(key.value(), replacement);
    }
    algorithm = replacement.algorithm;
    return replacement.exists != 0;
}

std::optional<policy::Applied> actual_format(const Library& library, const void* algorithm,
                                             std::int32_t compute_type) {
    const std::optional<Format> format = format_of_algorithm(library, algorithm, compute_type);
    return format ? std::optional(applied_of(*format)) : std::nullopt;
}

/// Runs the product with this compute type in a copied descriptor. Replaces the program's algorithm if it does not
/// allow this compute type, or rounds to a lower format than `format`. Returns the library's status. Returns nullopt,
/// with the reason in `obstacle`, if there is no algorithm or the library refuses. `tells_actual`: done.actual gets
/// the format used.
std::optional<std::int32_t> run_fitting(const Site& site, const Frame& frame, const Parts& parts, const LtProduct& lt,
                                        std::int32_t compute_type, Format format, bool tells_actual, Done& done,
                                        Reason& obstacle) {
    const Library& library = *site.cublas.library;
    const auto* algorithm = reinterpret_cast<const void*>(frame.word(argument_algorithm));
    obstacle = Reason::no_algorithm;
    ChangedDesc desc;
    if (!desc.copy(library, parts.desc, compute_type)) return std::nullopt;
    Parts changed = parts;
    changed.desc = desc.address();
    Algorithm64 fitting{};
    if (algorithm != nullptr) {
        fitting = algorithm_at(algorithm);
        if (!fitting_algorithm(library, changed, lt, desc, frame, compute_type, format, fitting)) return std::nullopt;
        algorithm = fitting.data();
    }
    OwnFrame arguments(*site.function, frame);
    arguments.put(argument_desc, desc.address());
    arguments.put(argument_algorithm, algorithm);
    const std::int32_t status = call_as_called(site, arguments.frame());
    obstacle = Reason::library_refused;
    if (is_refusal(status)) return std::nullopt;
    if (tells_actual) done.actual = actual_format(library, algorithm, compute_type);
    return status;
}

/// Runs a call as planned. If the planned change is impossible, runs the call as the program made it, and corrects
/// `done`. Returns the library's status. `logs`: the call is logged, so done.actual gets the algorithm's format.
std::int32_t run(const Site& site, const Frame& frame, const Parts& parts, const LtProduct& lt, bool logs,
                 const Plan& plan, Done& done) {
    const auto* algorithm = reinterpret_cast<const void*>(frame.word(argument_algorithm));
    const std::int32_t own_compute_type = lt.product.asked.compute_type;
    const bool tells_actual = logs && lt.product.counted != Counted::as_called &&
                              plan.applied != policy::Applied::unchanged && plan.applied != policy::Applied::bf16x9;
    Reason obstacle = Reason::as_requested;
    if (plan.change.how != record::How::forward) {
        if (const auto status = run_fitting(site, frame, parts, lt, plan.change.compute_type, plan.change.format,
                                            tells_actual, done, obstacle))
            return *status;
        done = done_unchanged(site, plan, obstacle);
    }
    Reason unused{};
    const auto run_with_another_algorithm = [&] {
        return run_fitting(site, frame, parts, lt, own_compute_type, plan.asked, tells_actual, done, unused);
    };
    if (lt.product.handle != nullptr && is_of_other_compute_type(algorithm, own_compute_type)) {
        if (const auto status = run_with_another_algorithm()) return *status;
    }
    const std::int32_t status = call_as_called(site, frame);
    if (status == status_alloc_failed && obstacle == Reason::library_refused) done.detail = no_memory_as_called;
    if (!is_refusal(status) || status == status_alloc_failed) {
        if (tells_actual && status == status_success)
            done.actual = actual_format(*site.cublas.library, algorithm, own_compute_type);
        return status;
    }
    // The algorithm may come from a search that the shim had changed and has forgotten.
    if (lt.product.handle != nullptr && algorithm != nullptr && has_changed_searches()) {
        if (const auto other = run_with_another_algorithm()) return *other;
    }
    if (obstacle != Reason::as_requested) done.reason = Reason::invalid_arguments;
    return status;
}

/// Has a product measured on the GPU if it is its turn.
inline void measure(const Site& site, const Frame& frame, const LtProduct& lt, const Settings& in_force,
                    TimedCall& time) {
    if (in_force.gpu_times != 0 && lt.product.handle != nullptr && time.gpu.is_due(site, in_force, lt.call))
        time.gpu.measure_on(reinterpret_cast<Stream>(frame.word(argument_stream)));
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
    measure(site, frame, lt, in_force, time);
    const AuditedRun done = run_audited(
        site, launcher, may_audit ? &singles : nullptr, is_nothing, lt.call, in_force,
        [&](const Plan& plan, Done& done_so_far) {
            return run_timed(site, frame, in_force, done_so_far, time,
                             [&] { return run(site, frame, parts, lt, in_force.logs(), plan, done_so_far); });
        });
    if (in_force.logs()) record_audited(site, in_force, lt.call, done, time);
    return {done.status, nullptr};
}

}  // namespace

bool has_changed_searches() { return searches_were_changed.load(std::memory_order_acquire); }

CallOutcome govern_lt_matmul(Site& site, const Frame& frame, const Settings& in_force, std::uint32_t change_count) {
    const CallOutcome untouched{0, site.real};
    const bool logs = in_force.logs();
    const auto pointer = [&](int position) { return reinterpret_cast<void*>(frame.word(position)); };
    const Parts parts{pointer(argument_handle),   pointer(argument_desc),     pointer(argument_a_layout),
                      pointer(argument_b_layout), pointer(argument_c_layout), pointer(argument_d_layout)};
    LtProduct lt;
    if (!describe(site, parts, pointer(argument_algorithm), settings_key(change_count, in_force.generation), lt) ||
        lt.product.counted == Counted::not_at_all)
        return untouched;
    if (lt.product.handle != nullptr) describe_sizes(*site.cublas.library, parts, lt.call);
    if (in_force.audits) return govern_with_audits(site, frame, parts, lt, in_force);
    const auto in_words = [&](policy::MatmulCall& call) { call = lt.call; };
    Plan plan = plan_call(site, lt.product, in_force, in_words);
    if (!multiplies(lt.call)) plan = plan_without_product(plan);
    if (plan.change.how == record::How::forward && !logs && !has_changed_searches()) return untouched;
    Done done = done_as_planned(site, plan);
    TimedCall time;
    measure(site, frame, lt, in_force, time);
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
        lt.product.handle == nullptr ||
        (lt.product.counted != Counted::governed && lt.product.counted != Counted::as_called))
        return untouched;
    if (lt.product.counted == Counted::as_called && !governs_float64(in_force) && !has_changed_searches())
        return untouched;
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
    if (plan.change.how == record::How::compute_type &&
        desc.copy(*site.cublas.library, parts.desc, plan.change.compute_type) &&
        search.search_changed(parts.desc, own_compute_type, desc.address(), plan.change.compute_type)) {
        // From now on, run() has to see every product, whatever the settings are.
        if (!searches_were_changed.exchange(true, std::memory_order_acq_rel)) settings_changed();
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
