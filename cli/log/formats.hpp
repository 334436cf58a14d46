// The forms in which `fp32shim log` writes calls and decisions: each a writer that is handed one after the other.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "record/read/reader.hpp"

namespace fp32shim::cli {

/// Writes to stdout. event() and row() return false where nobody reads any more. All entries of one recording come
/// with the same facts, and those of begin().
class LogWriter {
  public:
    virtual ~LogWriter() = default;
    /// Before the first entry: the recordings that entries will be from.
    virtual void begin(std::span<const record::RecordingFacts* const> recordings) = 0;
    /// One call.
    virtual bool event(const record::RecordingFacts& facts, const record::RecordedRow& row,
                       const record::RecordedEvent& event) = 0;
    /// A distinct decision with its counts.
    virtual bool row(const record::RecordingFacts& facts, const record::RecordedRow& row,
                     const record::RecordedCounters& counters) = 0;
    /// Whether a decision may be handed over again, with the counts that it has by then: a person takes the last of
    /// these, a program would add them up.
    virtual bool takes_decisions_again() const { return false; }
    /// After the last entry of all.
    virtual void end() {}
};

/// `table`, `jsonl` (events as docs/log-format.md has them), `json` (the same as one array), `csv`, or `chrome`: the
/// trace format that Perfetto and chrome://tracing open.
std::unique_ptr<LogWriter> make_log_writer(std::string_view format);

}  // namespace fp32shim::cli
