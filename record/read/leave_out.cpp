// Leaves out of a recording the calls that an earlier copy of it has.
#include <algorithm>

#include "record/read/reader.hpp"

namespace fp32shim::record {

using format::CounterRecord;

namespace {

void subtract(std::uint64_t& count, std::uint64_t earlier) { count -= std::min(count, earlier); }

void subtract_calls(CounterRecord& counters, const CounterRecord& earlier) {
    subtract(counters.calls, earlier.calls);
    subtract(counters.total, earlier.total);
    subtract(counters.timed, earlier.timed);
    counters.first = std::max(counters.first, earlier.last);
}

}  // namespace

std::string RecordingReader::subtract_earlier_copy(const RecordingReader& earlier) {
    if (facts_.identity != earlier.facts_.identity || facts_.opened_ticks != earlier.facts_.opened_ticks)
        return "is no copy of it";
    std::vector<CounterRecord> rest = counters_;
    for (const CounterRecord& before : earlier.counters_) {
        const auto now = std::ranges::lower_bound(rest, before.row_plus_one, {}, &CounterRecord::row_plus_one);
        if (now == rest.end() || now->row_plus_one != before.row_plus_one || now->calls < before.calls)
            return "is not an earlier copy of it: it has calls that are not in the recording";
        subtract_calls(*now, before);
    }
    std::erase_if(rest, [](const CounterRecord& counters) { return counters.calls == 0; });
    counters_ = std::move(rest);
    for (const auto& [row, before] : earlier.gpu_times_) {
        const auto now = gpu_times_.find(row);
        if (now == gpu_times_.end()) continue;
        subtract(now->second.samples, before.samples);
        subtract(now->second.total, before.total);
        subtract(now->second.total_of_first_calls, before.total_of_first_calls);
        now->second.first_calls -= std::min(now->second.first_calls, before.first_calls);
        if (now->second.samples == 0) gpu_times_.erase(now);
    }
    subtract(total_calls_, earlier.total_calls_);
    subtract(uncounted_calls_, earlier.uncounted_calls_);
    subtract(dropped_events_, earlier.dropped_events_);
    subtract(overwritten_events_, earlier.overwritten_events_);
    subtract(lost_audits_, earlier.lost_audits_);
    subtract(searched_calls_, earlier.searched_calls_);
    for (const auto& [number, events] : earlier.events_)
        left_out_events_[number] = std::max(events.ring_last, events.last_appended);
    CallRecordCursor<format::AuditRecord> audits(*earlier.bytes_, earlier.audit_segments_);
    while (audits.next() != nullptr) ++left_out_audits_[audits.slot()];
    return {};
}

}  // namespace fp32shim::record
