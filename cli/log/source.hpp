// Reads the entries that `fp32shim log` prints about one recording, in the order of time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "cli/log/writers.hpp"
#include "cli/recordings/filter.hpp"
#include "record/read/reader.hpp"

namespace fp32shim::cli {

/// Reads the entries of one recording. If it has single calls, each call is an entry at the time of its return, and
/// each audit is an entry after its call. Otherwise, each distinct decision, which counts many calls, is an entry at
/// the time when its last call returned. Takes memory for each thread or each decision, and for each audit.
class LogEntryReader {
  public:
    /// Keeps a reference to the filter. With `with_rows`, entries are decisions even if calls were recorded, and
    /// there are no audits. With `is_one_of_many`, the file is open only while it is read.
    LogEntryReader(std::string path, std::unique_ptr<record::RecordingReader> recording, const CallFilter& filter,
                   bool with_rows, bool is_one_of_many);

    const std::string& path() const { return path_; }
    const record::RecordingReader& recording() const { return *recording_; }
    /// Returns the facts about the recording at the time of construction. The reference is valid until this object is
    /// moved.
    const record::RecordingFacts& facts() const { return facts_; }
    /// Returns true if entries are calls, false if they are decisions.
    bool has_calls() const { return has_calls_; }

    /// Returns the time of the next entry, in nanoseconds since 1970, UTC; nullopt after the last one.
    std::optional<std::int64_t> next_entry_time();
    /// Writes the entry that next_entry_time() found. Returns false if stdout cannot be written.
    bool write_next(LogWriter& writer);

    /// Reads the file of a running process again. Afterwards, next_entry_time() continues with new entries: later
    /// calls, or decisions that have more calls than when next_entry_time() last returned them. Returns false if the
    /// file cannot be read any more; entries that were read before stay.
    bool read_again();

    /// Returns the number of calls that pass the filter and have sizes that are rounded up.
    std::uint64_t calls_with_rounded_sizes();
    /// Returns one line about calls that the log lacks; empty if there are none.
    std::string missing_calls_text() const;

  private:
    std::optional<std::int64_t> next_call_or_row_time();
    void load_next_call();
    void load_rows();
    void load_audits();

    std::string path_;
    std::unique_ptr<record::RecordingReader> recording_;
    record::RecordingFacts facts_;
    RowFilter filter_;
    bool has_calls_;
    bool has_audits_;
    bool is_one_of_many_;

    /// The cursor over calls; absent until reading begins after construction or read_again().
    std::optional<record::MergedEventCursor> events_;
    std::optional<record::RecordedEvent> next_event_;
    /// The time, in ticks, of the call that was read last from each slot (the part of the file that one thread
    /// writes), by RecordedEvent::slot.
    std::vector<std::uint64_t> last_;

    bool are_rows_loaded_ = false;
    std::vector<record::RecordingReader::RowCounters> rows_;  ///< decisions to write, in the order of time
    std::size_t next_row_ = 0;
    /// The number of calls that each decision had before the most recent read_again(), by row id.
    std::unordered_map<std::uint32_t, std::uint64_t> calls_;
    std::uint64_t unknown_events_ = 0;

    bool are_audits_loaded_ = false;
    bool is_audit_next_ = false;
    std::vector<record::RecordedAudit> audits_;  ///< audits to write, in the order of time
    std::size_t next_audit_ = 0;
    /// The number of audits read so far, by RecordedAudit::slot.
    std::unordered_map<std::uint32_t, std::size_t> audits_read_;
};

}  // namespace fp32shim::cli
