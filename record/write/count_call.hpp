// The code of a recording that runs in each call. It consists of count(), and of count_untimed(), which is inlined
// into the quick path of short calls (shim/blas/govern/express.hpp).
#pragma once

#include <atomic>
#include <cstdint>

#include "record/write/writer.hpp"

namespace fp32shim::record {

/// Returns the longest duration, in ticks, that may be assumed for the untimed calls before a timed call. It is
/// outlier_factor times the mean of the calls in `counters` without the longest one, but at least 250 ns
/// (jitter_part).
inline std::uint64_t Recording::longest_untimed_duration(const format::CounterRecord& counters) const {
    const std::uint64_t known = counters.calls - counters.untimed;
    const std::uint64_t others = counters.total - counters.longest;
    const std::uint64_t most = known > 1 ? format::outlier_factor * others / (known - 1) : 0;
    return most > short_ticks_ / jitter_part ? most : short_ticks_ / jitter_part;
}

inline void Recording::add_call(format::CounterRecord& counters, std::uint64_t begin, std::uint64_t end) const {
    constexpr auto relaxed = std::memory_order_relaxed;
    const std::atomic_ref calls(counters.calls), total(counters.total), shortest(counters.shortest),
        longest(counters.longest), last(counters.last), timed(counters.timed);
    const std::atomic_ref untimed(counters.untimed);
    if (begin == not_timed) {
        untimed.store(untimed.load(relaxed) + 1, relaxed);
    } else {
        const std::uint64_t duration = end > begin ? end - begin : 0;
        std::uint64_t sum = total.load(relaxed) + duration;
        if (const std::uint64_t before = untimed.load(relaxed); before != 0) {
            const std::uint64_t most = longest_untimed_duration(counters);
            sum += before * (duration < most ? duration : most);
            untimed.store(0, relaxed);
        }
        total.store(sum, relaxed);
        timed.store(timed.load(relaxed) + 1, relaxed);
        if (duration < shortest.load(relaxed)) shortest.store(duration, relaxed);
        if (duration > longest.load(relaxed)) longest.store(duration, relaxed);
    }
    last.store(end, relaxed);
    calls.store(calls.load(relaxed) + 1, std::memory_order_release);
}

inline void Recording::add_event(ThreadWriter& writer, const format::CounterRecord& counters, std::uint64_t begin,
                                 std::uint64_t end) {
    if (!writer.has_room_for_event() && !make_room_or_drop_event(writer)) return;
    const std::uint64_t duration = begin == not_timed ? format::untimed : end > begin ? end - begin : 1;
    writer.put_event(end, format::pack_duration_and_row(duration, counters.row_plus_one - 1));
}

template <class Describe>
void Recording::count(ThreadWriter& writer, std::uint64_t key, std::uint64_t begin, std::uint64_t end,
                      bool with_event, Describe&& describe) {
    // This lambda must not be inlined, because a call with a known key should need no stack for a DecisionEvent.
    const auto count_described = [&](auto slowly) __attribute__((noinline, cold)) {
        DecisionEvent decision;
        describe(decision);
        (this->*slowly)(writer, key, begin, end, with_event, decision);
    };
    if (!writer.use_.begin_use()) [[unlikely]]
        return count_described(&Recording::count_with_spare_writer);
    if (format::CounterRecord* counters = writer.find_counters(key)) [[likely]] {
        add_call(*counters, begin, end);
        writer.last_product_ = counters;
        if (with_event) add_event(writer, *counters, begin, end);
        if (end >= refine_at_.load(std::memory_order_relaxed)) [[unlikely]]
            refine_ticks_per_second(end);
    } else {
        count_described(&Recording::count_on_slow_path);
    }
    writer.use_.end_use();
}

/// Returns the counters of a key. Returns nullptr if the thread's table does not have the key, or if a signal handler
/// calls this function while `writer` is in use.
inline format::CounterRecord* Recording::counters_of(ThreadWriter& writer, std::uint64_t key) {
    if (!writer.use_.begin_use()) return nullptr;
    format::CounterRecord* const counters = writer.find_counters(key);
    writer.use_.end_use();
    return counters;
}

inline bool Recording::knows_key(ThreadWriter& writer, std::uint64_t key) {
    return counters_of(writer, key) != nullptr;
}

[[gnu::always_inline]] inline bool Recording::has_to_be_timed(format::CounterRecord& counters) const {
    constexpr auto relaxed = std::memory_order_relaxed;
    const std::uint64_t timed = std::atomic_ref(counters.timed).load(relaxed);
    if (timed < timed_at_first || std::atomic_ref(counters.untimed).load(relaxed) >= untimed_calls_in_between(timed))
        return true;
    // The longest call is subtracted, because it was probably interrupted.
    const std::uint64_t total = std::atomic_ref(counters.total).load(relaxed);
    return total - std::atomic_ref(counters.longest).load(relaxed) >=
           short_ticks_ * std::atomic_ref(counters.calls).load(relaxed);
}

[[gnu::always_inline]] inline Recording::CallsOfKey Recording::calls_of_key(ThreadWriter& writer,
                                                                            std::uint64_t key) const {
    format::CounterRecord* const counters = counters_of(writer, key);
    if (counters == nullptr) return {};
    return {true, has_to_be_timed(*counters), counters->row_plus_one - 1, counters->calls};
}

[[gnu::always_inline]] inline bool Recording::count_untimed(ThreadWriter& writer, std::uint64_t key,
                                                            bool with_event) const {
    constexpr auto relaxed = std::memory_order_relaxed;
    if (!writer.use_.is_free()) return false;
    writer.use_.begin_use_when_free();
    bool is_counted = false;
    if (format::CounterRecord* const known = writer.find_counters(key)) {
        format::CounterRecord& counters = *known;
        const std::atomic_ref calls(counters.calls);
        const std::atomic_ref untimed(counters.untimed);
        const bool has_room = !with_event || writer.has_room_for_event();
        if (!has_to_be_timed(counters) && (has_room || writer.is_dropping_events())) [[likely]] {
            untimed.store(untimed.load(relaxed) + 1, relaxed);
            calls.store(calls.load(relaxed) + 1, std::memory_order_release);
            writer.last_product_ = known;
            if (!has_room) [[unlikely]]
                writer.drop_event();
            else if (with_event)
                writer.put_event(processor_counter(),
                                 format::pack_duration_and_row(format::untimed, counters.row_plus_one - 1));
            is_counted = true;
        }
    }
    writer.use_.end_use();
    return is_counted;
}

}  // namespace fp32shim::record
