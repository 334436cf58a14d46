// The output formats of `fp32shim log`. Each format is a writer that receives calls, decisions and audits one after
// the other.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/output/field_value.hpp"
#include "record/read/reader.hpp"

namespace fp32shim::cli {

class LogEntryReader;
class NativeLocator;

/// An entry of the log: a call, a distinct decision with the counts of its calls, or the result of an audit. Exactly
/// one of `call`, `counters` and `audit` is set.
struct LogEntry {
    const record::RecordingFacts& facts;
    const record::RecordedRow& row;
    const record::RecordedEvent* call = nullptr;
    const record::RecordedCounters* counters = nullptr;
    const record::RecordedAudit* audit = nullptr;

    /// Returns the name of the event in docs/schema.md.
    std::string_view event_name() const;
    /// Returns the time at which the call, the last call of the decision, or the audit ended.
    std::int64_t time_ns() const;
};

/// Writes a log to stdout in one format. The `facts` of entries must belong to a recording that was passed to
/// write_beginning().
class LogWriter {
  public:
    virtual ~LogWriter() = default;
    /// Receives all recordings before the first entry. The recordings must not be moved afterwards.
    virtual void write_beginning(std::span<const LogEntryReader> recordings) = 0;
    /// Writes one entry. Formats without a place for audits leave them out. Returns false if stdout cannot be
    /// written.
    virtual bool write_entry(const LogEntry& entry) = 0;
    /// Returns true if a decision may be written again when it has more calls than before. People read only the last
    /// counts of a decision, but programs would add up all of them.
    virtual bool accepts_repeated_rows() const { return false; }
    /// Ends the output, after the last entry.
    virtual void write_ending() {}
};

/// Caches values that are made from rows (distinct decisions), because there are many calls but few rows.
template <class Value>
class RowValueCache {
  public:
    /// Returns the cached value of an entry's row. If there is no cached value, `make` makes it.
    template <class Make>
    const Value& value_of(const LogEntry& entry, const Make& make) {
        if (kept_.empty()) kept_.resize(4096);
        const std::size_t recording =
            reinterpret_cast<std::uintptr_t>(&entry.facts) / alignof(record::RecordingFacts);
        CachedValue& kept = kept_[(entry.row.id + recording * 31) % kept_.size()];
        if (kept.facts != &entry.facts || kept.row != entry.row.id) kept = {&entry.facts, entry.row.id, make()};
        return kept.made;
    }

  private:
    struct CachedValue {
        const record::RecordingFacts* facts = nullptr;
        std::uint32_t row = 0;
        Value made;
    };
    std::vector<CachedValue> kept_;
};

// --- Entries for audits, and for the first NaN or infinity

/// Returns the name that docs/schema.md gives to the event of an audit: `audit`, `nonfinite` or `received`.
std::string_view event_name_of(const record::RecordedAudit& audit);

/// Returns the columns that the event of `audit` has besides those of all events. They depend on the kind of the
/// event: `audit`, `nonfinite` or `received`.
std::span<const Column<record::RecordedAudit>> audit_event_columns(const record::RecordedAudit& audit);

/// Returns the result of an audit as text: `tf32 with fp32: norm 1.2e-04, row or column 3.0e-04, component 2.2e-05`.
/// `row` has the decision on the audited call.
std::string audit_event_text(const record::RecordedRow& row, const record::RecordedAudit& audit);

// --- Functions that several formats use

/// Writes a text to stdout. Returns false if stdout cannot be written.
bool write_to_stdout(std::string_view text);

/// Returns `what` followed by the process's host and rank: `python3 on node7, rank 3`.
std::string with_host_and_rank(std::string_view what, const record::ProcessFacts& process);

struct LogFormat {
    std::string_view name;
    /// Makes a writer of this format. `locations` must outlive the writer.
    std::unique_ptr<LogWriter> (*make_writer)(NativeLocator& locations);
};

/// Returns all formats: `table`, `json` (one array of the events of docs/schema.md), `jsonl` (one event per
/// line), `csv`, and `chrome` (the trace format that Perfetto and chrome://tracing open).
std::span<const LogFormat> log_formats();

std::unique_ptr<LogWriter> chrome_writer(NativeLocator& locations);

}  // namespace fp32shim::cli
