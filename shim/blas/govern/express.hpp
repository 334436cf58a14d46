// The express lane, the quick path of recorded calls to CPU libraries. A call on the lane is counted and forwarded
// unchanged, without a description, decision or plan. The row of the recording that counts the call follows from the
// call site, from the call's options and integers (entry/argument_key.hpp), and from one word of the call site:
//
//     63                      32 31          30                                        0
//     | settings_change_count   | is_whole | the decision for all calls of the site, or  |
//     |  when it was made       |          | settings_change_count again                 |
//
// Invariants:
//  1. The word is valid for one settings_change_count(). A change of the settings, or of the precision or floor of
//     the process, closes the lane. The first scope on which decisions may depend closes it as well. A scope that
//     only labels calls adds its key to the row's key.
//  2. The lane opens only if every call from the call site is forwarded whatever its sizes are, if no rule depends on
//     the number of the call, and only after one call was handled outside the lane (make_express_word).
//  3. The call site, the options and the integers determine the row. A call leaves the lane if its key is new to the
//     thread, or if it runs in a forked child, which does not have its parent's keys.
//  4. The binding of the call site is current: no object was loaded since that could change its provider
//     (is_binding_current).
//  5. An untimed express call does not set `running`, so a call from the provider back into the shim would look like
//     a call of the program. Therefore untimed calls are only for providers that were never seen to call back. Timed
//     calls (the first call of every row, and later about one call in 64) set `running`.
//  6. No product is running on the thread, and no command of `fp32shim set` is waiting.
//  7. fp32shim_express touches no vector register, so the entry point need not save them. The function's file is
//     compiled without vector registers, and everything that it uses is inlined: the linker could take another file's
//     copy of a function, which may use vector registers.
#pragma once

#include <cstdint>

#include "policy/decide.hpp"
#include "record/write/count_call.hpp"
#include "shim/entry/gate.hpp"
#include "shim/entry/site.hpp"
#include "shim/settings/settings.hpp"
#include "shim/thread/running.hpp"
#include "shim/thread/thread_context.hpp"

namespace fp32shim::blas {

/// Returns true if fp32shim_express may count calls from this call site without a decision for each call. It may not
/// if results are examined, or if call paths are recorded: the code that reads call paths may use vector registers.
inline bool may_take_express_lane(const Site& site, const Settings& in_force) {
    return in_force.recording != nullptr && site.keyed.count > 0 && !in_force.distinguishes_call_paths() &&
           !in_force.examines_results();
}

/// Returns true if site.cpu.express is set, even if a change of settings has made it invalid.
inline bool has_express_word(const Site& site) { return site.cpu.express.load(std::memory_order_relaxed) != 0; }

/// Returns the value of site.cpu.express after `decision` on one call. The value allows later calls to be counted
/// without a decision while settings_change_count() equals `change_count`. Returns 0 if each call needs its own
/// decision.
std::uint64_t make_express_word(const Site& site, const Settings& in_force, const policy::Decision& decision,
                                std::uint32_t change_count);

/// Returns the key of the recording's row that counts calls with these options and integers, inside a scope with the
/// key `scope`. Returns 0 if the arguments cannot be read.
[[gnu::always_inline]] inline std::uint64_t express_key(const Site& site, const Frame& frame, std::uint64_t express,
                                                        std::uint64_t scope) {
    const bool is_wide = site.cpu.width.load(std::memory_order_relaxed) == IntegerWidth::bits64;
    return argument_key(site.keyed, frame, is_wide, site.number + static_cast<std::uint32_t>(express) + scope);
}

/// The objects that count a call without its own decision: the recording, the thread's writer, and the key of the
/// recording's row.
struct ExpressCall {
    record::Recording* recording = nullptr;  ///< nullptr: the call needs a decision of its own
    record::ThreadWriter* writer = nullptr;
    std::uint64_t key = 0;
    bool with_event = false;
};

[[gnu::always_inline]] inline ExpressCall prepare_express_call(const Site& site, const Frame& frame) {
    const std::uint64_t express = site.cpu.express.load(std::memory_order_relaxed);
    const ThreadContext* context = existing_thread_context();
    const std::uint32_t change_count = settings_change_count();
    if (express >> 32 != change_count || !is_binding_current(site) || running.provider != nullptr ||
        context == nullptr || context->writer_change_count != change_count || context->recording->has_command())
        return {};
    const std::uint64_t key = express_key(site, frame, express, context->scopes.key());
    if (key == 0) return {};
    return {context->recording, context->writer, key, context->writes_every_call};
}

/// Runs and counts a call without its own decision. This function is for calls that are timed, whose location is
/// recorded, or whose library calls the shim's entry points. Returns false, and does nothing, if the call needs its
/// own decision.
bool try_express_lane(Site& site, Frame& frame, CallOutcome& outcome);

}  // namespace fp32shim::blas
