// Formats of `fp32shim log`. Each is a writer that receives calls and decisions one after the other.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "record/read/reader.hpp"

namespace fp32shim::cli {

class LogSource;
class NativeLocations;

/// Writes a log to stdout in one format. event() and row() return false if stdout cannot be written. Their `facts`
/// must belong to a recording that was passed to begin().
class LogWriter {
  public:
    virtual ~LogWriter() = default;
    /// Receives all recordings before the first entry. They must not be moved afterwards.
    virtual void begin(std::span<const LogSource> recordings) = 0;
    /// Writes one call. Returns false if stdout cannot be written.
    virtual bool event(const record::RecordingFacts& facts, const record::RecordedRow& row,
                       const record::RecordedEvent& event) = 0;
    /// Writes a distinct decision with its counts. Returns false if stdout cannot be written.
    virtual bool row(const record::RecordingFacts& facts, const record::RecordedRow& row,
                     const record::RecordedCounters& counters) = 0;
    /// Writes the result of an audit, or the first NaN or infinity. Returns false if stdout cannot be written.
    /// Formats without a place for it write nothing.
    virtual bool audit(const record::RecordingFacts&, const record::RecordedRow&, const record::RecordedAudit&) {
        return true;
    }
    /// Returns true if row() may be called again for a decision that has more calls than when it was written. People
    /// read only the last counts of a decision, but programs would add up all of them.
    virtual bool accepts_repeated_rows() const { return false; }
    /// Ends the output, after the last entry.
    virtual void end() {}
};

/// A format of the log.
struct LogFormat {
    std::string_view name;
    /// Makes a writer of this format. `locations` must outlive it.
    std::unique_ptr<LogWriter> (*make_writer)(NativeLocations& locations);
};

/// Returns all formats: `table`, `json` (one array of the events of docs/log-format.md), `jsonl` (one event per
/// line), `csv`, and `chrome` (the trace format that Perfetto and chrome://tracing open).
std::span<const LogFormat> log_formats();

}  // namespace fp32shim::cli
