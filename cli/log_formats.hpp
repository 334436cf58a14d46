// The forms in which `fp32shim log` writes calls and decisions: each a writer that is handed one after the other.
#pragma once

#include <memory>
#include <string_view>

#include "record/recording_reader.hpp"

namespace fp32shim::cli {

/// Writes to stdout. event() and row() return false where nobody reads any more.
class LogWriter {
  public:
    virtual ~LogWriter() = default;
    /// Before the first entry of each recording.
    virtual void begin(record::RecordingReader& recording) = 0;
    virtual bool event(record::RecordingReader& recording, const record::RecordedRow& row,
                       const record::RecordedEvent& event) = 0;
    virtual bool row(record::RecordingReader& recording, const record::RecordedRow& row,
                     const record::RecordedCounters& counters) = 0;
    /// After the last entry of all.
    virtual void end() {}
};

/// `table`, `jsonl` (events as docs/log-format.md has them), `json` (the same as one array), `csv`, or `chrome`: the
/// trace format that Perfetto and chrome://tracing open.
std::unique_ptr<LogWriter> make_log_writer(std::string_view format);

}  // namespace fp32shim::cli
