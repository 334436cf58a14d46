#include "cli/log_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace fp32shim::cli {
namespace {

/// Events that are loaded at a time. Going on costs reading one segment of 4096 events for each lane again.
std::size_t events_at_a_time(std::size_t lanes) { return 256 * (8 + lanes); }

}  // namespace

LogSource::LogSource(std::string path, std::unique_ptr<record::RecordingReader> recording, const Filter& filter,
                     bool with_rows)
    : path_(std::move(path)),
      recording_(std::move(recording)),
      facts_(recording_->facts()),
      filter_(&filter),
      has_calls_(!with_rows && facts_.start.log_level == policy::LogLevel::calls) {}

std::optional<std::int64_t> LogSource::next_time() {
    if (loaded_.empty() && !is_read_) {
        if (has_calls_)
            load_events();
        else
            load_rows();
    }
    return loaded_.empty() ? std::nullopt : std::optional(loaded_.front().time_ns);
}

void LogSource::load_events() {
    const std::size_t limit = events_at_a_time(recording_->lanes().size());
    is_read_ = true;
    const std::vector<std::uint64_t> after = last_;
    recording_->visit_events(
        [&](const record::RecordedEvent& event) {
            if (event.lane >= last_.size()) last_.resize(event.lane + 1);
            last_[event.lane] = event.ticks;
            const record::RecordedRow* row = recording_->row(event.row);
            if (row == nullptr || row->is_overflow) {
                ++unknown_events_;
                return true;
            }
            if (passes(*row)) loaded_.push_back({event.end_ns, event});
            is_read_ = loaded_.size() < limit;
            return is_read_;
        },
        std::nullopt, after);
}

void LogSource::load_rows() {
    is_read_ = true;
    for (const auto& entry : recording_->counters()) {
        const record::RecordedRow* row = recording_->row(entry.row);
        if (row == nullptr || !passes(*row)) continue;
        if (std::exchange(calls_[entry.row], entry.counters.calls) == entry.counters.calls) continue;
        loaded_.push_back({entry.counters.last_ns, entry});
    }
    std::stable_sort(loaded_.begin(), loaded_.end(),
                     [](const Entry& a, const Entry& b) { return a.time_ns < b.time_ns; });
}

bool LogSource::write_next(LogWriter& writer) {
    const Entry entry = loaded_.front();
    loaded_.pop_front();
    if (const auto* event = std::get_if<record::RecordedEvent>(&entry.content))
        return writer.event(facts_, *recording_->row(event->row), *event);
    const auto& [row, counters] = std::get<record::RecordingReader::RowCounters>(entry.content);
    return writer.row(facts_, *recording_->row(row), counters);
}

bool LogSource::refresh() {
    if (!recording_->refresh()) return false;
    is_read_ = false;
    return true;
}

std::uint64_t LogSource::folded_calls() const {
    std::uint64_t calls = 0;
    for (const auto& entry : recording_->counters()) {
        const record::RecordedRow* row = recording_->row(entry.row);
        if (row != nullptr && row->is_folded && passes(*row)) calls += entry.counters.calls;
    }
    return calls;
}

std::string LogSource::missing_text() const {
    if (!has_calls_) return {};
    std::string text;
    const auto add = [&](std::uint64_t count, std::string_view what) {
        if (count > 0) text += fmt::format("{}{} events {}", text.empty() ? "" : ", ", count, what);
    };
    add(recording_->dropped_events(), "found no room and were dropped");
    add(recording_->overwritten_events(), "were overwritten by later ones");
    add(unknown_events_, "are of calls of which nothing else is known");
    return text.empty() ? text : text + "; fp32shim report counts those calls";
}

bool LogSource::passes(const record::RecordedRow& row) const { return filter_->passes(row, facts_.process); }

}  // namespace fp32shim::cli
