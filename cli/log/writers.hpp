// Formats of `fp32shim log`: each a writer that takes calls and decisions one after the other.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "record/read/reader.hpp"

namespace fp32shim::cli {

class LogSource;
class NativeLocations;

/// Writes a log to stdout in one format. event() and row() return false once stdout cannot be written. Their `facts`
/// must be those of a recording that begin() was given.
class LogWriter {
  public:
    virtual ~LogWriter() = default;
    /// Receives all recordings, before the first entry. They must stay where they are.
    virtual void begin(std::span<const LogSource> recordings) = 0;
    /// Writes one call. Returns false once stdout cannot be written.
    virtual bool event(const record::RecordingFacts& facts, const record::RecordedRow& row,
                       const record::RecordedEvent& event) = 0;
    /// Writes a distinct decision with its counts. Returns false once stdout cannot be written.
    virtual bool row(const record::RecordingFacts& facts, const record::RecordedRow& row,
                     const record::RecordedCounters& counters) = 0;
    /// Writes what an audit found in a call, or the first NaN or infinity. Returns false once stdout cannot be
    /// written. A format that cannot say it leaves it out.
    virtual bool audit(const record::RecordingFacts&, const record::RecordedRow&, const record::RecordedAudit&) {
        return true;
    }
    /// Returns true if row() may be called again for a decision that has got more calls since it was written. People
    /// read the last counts of a decision, but programs would add up all its counts.
    virtual bool accepts_repeated_rows() const { return false; }
    /// Ends the output, after the last entry.
    virtual void end() {}
};

/// A format of the log.
struct LogFormat {
    std::string_view name;
    /// Makes its writer, which `locations` must outlive.
    std::unique_ptr<LogWriter> (*make_writer)(NativeLocations& locations);
};

/// Returns all formats: `table`, `json` (one array of the events of docs/log-format.md), `jsonl` (one event a line),
/// `csv`, and `chrome` (the trace format that Perfetto and chrome://tracing open).
std::span<const LogFormat> log_formats();

}  // namespace fp32shim::cli
