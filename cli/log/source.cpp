#include "cli/log/source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/output/terminal.hpp"

namespace fp32shim::cli {

LogEntryReader::LogEntryReader(std::string path, std::unique_ptr<record::RecordingReader> recording,
                               const CallFilter& filter, bool with_rows, bool is_one_of_many)
    : path_(std::move(path)),
      recording_(std::move(recording)),
      facts_(recording_->facts()),
      filter_(filter, *recording_),
      has_calls_(!with_rows && facts_.start.log_level == policy::LogLevel::calls),
      has_audits_(!with_rows),
      is_one_of_many_(is_one_of_many) {
    if (is_one_of_many_) recording_->close_until_next_read();
}

std::optional<std::int64_t> LogEntryReader::next_entry_time() {
    const std::optional<std::int64_t> entry = next_call_or_row_time();
    if (!are_audits_loaded_) load_audits();
    if (next_audit_ == audits_.size()) return entry;
    const std::int64_t audit = audits_[next_audit_].end_ns;
    is_audit_next_ = !entry || audit < *entry;
    return is_audit_next_ ? audit : entry;
}

/// Returns the time of the next call or decision; nullopt after the last one.
std::optional<std::int64_t> LogEntryReader::next_call_or_row_time() {
    if (!has_calls_) {
        if (!are_rows_loaded_) load_rows();
        return next_row_ < rows_.size() ? std::optional(rows_[next_row_].counters.last_ns) : std::nullopt;
    }
    if (!next_event_) load_next_call();
    return next_event_ ? std::optional(next_event_->end_ns) : std::nullopt;
}

void LogEntryReader::load_next_call() {
    if (!events_) events_ = recording_->events(last_);
    while ((next_event_ = events_->next())) {
        if (next_event_->slot >= last_.size()) last_.resize(next_event_->slot + 1);
        last_[next_event_->slot] = next_event_->ticks;
        const record::RecordedRow* row = recording_->row(next_event_->row);
        if (row == nullptr || row->is_overflow)
            ++unknown_events_;
        else if (filter_.passes(*row))
            break;
    }
    if (is_one_of_many_) recording_->close_until_next_read();
}

void LogEntryReader::load_rows() {
    are_rows_loaded_ = true;
    rows_.clear();
    next_row_ = 0;
    for (const auto& entry : recording_->counters()) {
        const record::RecordedRow* row = recording_->row(entry.row);
        if (row == nullptr || !filter_.passes(*row)) continue;
        const auto before = calls_.find(entry.row);
        if (before == calls_.end() || before->second != entry.counters.calls) rows_.push_back(entry);
    }
    std::stable_sort(rows_.begin(), rows_.end(),
                     [](const auto& a, const auto& b) { return a.counters.last_ns < b.counters.last_ns; });
    if (is_one_of_many_) recording_->close_until_next_read();
}

/// Loads the audits that were added to the file since it was last read.
void LogEntryReader::load_audits() {
    are_audits_loaded_ = true;
    audits_.erase(audits_.begin(), audits_.begin() + static_cast<std::ptrdiff_t>(std::exchange(next_audit_, 0)));
    if (!has_audits_) return;
    std::unordered_map<std::uint32_t, std::size_t> number;
    const auto add_audit = [&](const record::RecordedAudit& audit) {
        if (number[audit.slot]++ < audits_read_[audit.slot]) return;
        const record::RecordedRow* const row = recording_->row(audit.row);
        if (row != nullptr && filter_.passes(*row)) audits_.push_back(audit);
    };
    recording_->visit_audits(add_audit);
    audits_read_ = std::move(number);
    std::ranges::stable_sort(audits_, {}, &record::RecordedAudit::end_ns);
    if (is_one_of_many_) recording_->close_until_next_read();
}

bool LogEntryReader::write_next(LogWriter& writer) {
    const auto write = [&](std::uint32_t id, const record::RecordedEvent* call,
                           const record::RecordedCounters* counters, const record::RecordedAudit* audit) {
        const record::RecordedRow* row = recording_->row(id);
        return row == nullptr || writer.write_entry({facts_, *row, call, counters, audit});
    };
    if (std::exchange(is_audit_next_, false)) {
        const record::RecordedAudit& audit = audits_[next_audit_++];
        return write(audit.row, nullptr, nullptr, &audit);
    }
    if (has_calls_) {
        const record::RecordedEvent call = *std::exchange(next_event_, std::nullopt);
        return write(call.row, &call, nullptr, nullptr);
    }
    const auto& [id, counters] = rows_[next_row_++];
    return write(id, nullptr, &counters, nullptr);
}

bool LogEntryReader::read_again() {
    if (std::exchange(are_rows_loaded_, false))
        for (const auto& entry : recording_->counters()) calls_[entry.row] = entry.counters.calls;
    events_.reset();
    next_event_.reset();
    are_audits_loaded_ = false;
    return recording_->read_again();
}

std::uint64_t LogEntryReader::calls_with_rounded_sizes() {
    std::uint64_t calls = 0;
    for (const auto& entry : recording_->counters()) {
        const record::RecordedRow* row = recording_->row(entry.row);
        if (row != nullptr && row->is_folded && filter_.passes(*row)) calls += entry.counters.calls;
    }
    return calls;
}

std::string LogEntryReader::missing_calls_text() const {
    if (!has_calls_) return {};
    std::string text;
    const auto add = [&](std::uint64_t count, std::string_view what) {
        if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", counted(count, "event"), what);
    };
    add(recording_->dropped_events(), "dropped for lack of room");
    add(recording_->overwritten_events(), "overwritten by later ones");
    add(unknown_events_, "of calls of which nothing else is known");
    return text.empty() ? text : text + "; fp32shim report counts those calls";
}

}  // namespace fp32shim::cli
