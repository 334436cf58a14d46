// One recording, as `fp32shim log` reads it: entries in the order of time, some at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "cli/log/formats.hpp"
#include "cli/recordings/filter.hpp"
#include "record/read/reader.hpp"

namespace fp32shim::cli {

/// An entry is a call, at the time when it returned; or a distinct decision, at the time when its last call returned.
/// Memory: what the reader needs; 4 KiB for each of its slots, or 72 bytes for each decision.
class LogSource {
  public:
    /// `with_rows`: decisions, also where calls were recorded. `is_one_of_many`: the file is open only while it is
    /// read. The filter must outlive this.
    LogSource(std::string path, std::unique_ptr<record::RecordingReader> recording, const Filter& filter,
              bool with_rows, bool is_one_of_many);

    const std::string& path() const { return path_; }
    const record::RecordingReader& recording() const { return *recording_; }
    /// As they were when this was made; the same object until this is moved.
    const record::RecordingFacts& facts() const { return facts_; }
    /// Whether entries are calls.
    bool has_calls() const { return has_calls_; }

    /// Of the entry that comes next: nanoseconds since 1970, UTC. Nothing: all were written.
    std::optional<std::int64_t> next_time();
    /// Writes that entry. False: nobody reads any more. Only after a next_time() that gave one.
    bool write_next(LogWriter& writer);

    /// Reads again what may have changed. New calls are entries; so are decisions that have more calls than when they
    /// were written. False, and nothing changed: the file cannot be read any more.
    bool refresh();

    /// Of the calls that pass the filter, those whose sizes are rounded up.
    std::uint64_t folded_calls() const;
    /// Which calls the log lacks; empty: none.
    std::string missing_text() const;

  private:
    void load_event();
    void load_rows();
    bool passes(const record::RecordedRow& row) const;

    std::string path_;
    std::unique_ptr<record::RecordingReader> recording_;
    record::RecordingFacts facts_;
    const Filter* filter_;
    bool has_calls_;
    bool is_one_of_many_;

    std::optional<record::RecordedEvents> events_;  ///< absent: not begun since the last refresh()
    std::optional<record::RecordedEvent> next_event_;
    std::vector<std::uint64_t> last_;  ///< ticks of the last event that was seen, by slot

    bool are_rows_loaded_ = false;
    std::vector<record::RecordingReader::RowCounters> rows_;  ///< by time
    std::size_t next_row_ = 0;
    std::unordered_map<std::uint32_t, std::uint64_t> calls_;  ///< of rows, as they were loaded before refresh()
    std::uint64_t unknown_events_ = 0;
};

}  // namespace fp32shim::cli
