// The express lane of recorded calls. A call that is recorded and otherwise forwarded as it is, whatever its sizes,
// and is like one that this thread has counted lately, needs no description, decision or plan: what its row says
// follows from the site, from the call's options and integers (argument_key.hpp), and from one word of the site:
//
//     63                      32 31          30                                        0
//     | settings_change_count   | is_whole | the decision for all calls of the site, or  |
//     |  under which it was made |          | settings_change_count again                 |
//
// Most such calls are counted by fp32shim_express and never come to fp32shim_govern. What it uses is inlined whatever
// the compiler thinks of it: the linker would take the copy of another file, which may use vector registers.
#pragma once

#include <cstdint>

#include "policy/decide.hpp"
#include "record/write/writer.hpp"
#include "shim/entry/frame.hpp"
#include "shim/running.hpp"
#include "shim/settings.hpp"
#include "shim/site.hpp"
#include "shim/thread_context.hpp"

namespace fp32shim {

/// The word of a site one of whose calls got this decision. 0: its calls take the long way.
std::uint64_t express_word(const Site& site, const Settings& in_force, const policy::Decision& decision,
                           std::uint32_t change_count);

/// Under which a recording knows calls like this one. 0: the arguments cannot be read.
[[gnu::always_inline]] inline std::uint64_t express_key(const Site& site, const Frame& frame, std::uint64_t express) {
    constexpr std::uint64_t random = 0xd1342543de82ef95;
    const bool is_wide = site.width.load(std::memory_order_relaxed) == IntegerWidth::bits64;
    return argument_key(site.keyed, frame, is_wide, site.number * random + static_cast<std::uint32_t>(express));
}

/// What a call on the express lane is counted with.
struct ExpressCall {
    record::Recording* recording = nullptr;  ///< nullptr: the call takes the long way
    record::ThreadWriter* writer = nullptr;
    std::uint64_t key = 0;
    bool with_event = false;
};

[[gnu::always_inline]] inline ExpressCall express_call(const Site& site, const Frame& frame) {
    const std::uint64_t express = site.express.load(std::memory_order_relaxed);
    const ThreadContext* context = existing_thread_context();
    const std::uint32_t change_count = settings_change_count();
    if (express >> 32 != change_count || !is_bound(site) || running.provider != nullptr || context == nullptr ||
        context->writer_change_count != change_count || context->recording->has_command())
        return {};
    const std::uint64_t key = express_key(site, frame, express);
    if (key == 0) return {};
    return {context->recording, context->writer, key, context->writes_every_call};
}

/// Whether calls of a site are worth a look by fp32shim_express.
inline bool may_take_express_lane(const Site& site, const Settings& in_force) {
    return in_force.recording != nullptr && site.keyed.count > 0;
}

}  // namespace fp32shim
