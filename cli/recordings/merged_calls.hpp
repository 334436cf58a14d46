// What several recordings say together: the model that report, verify and the summary of run are written from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "cli/recordings/call_durations.hpp"
#include "cli/recordings/filter.hpp"
#include "cli/recordings/shared_text.hpp"
#include "record/read/reader.hpp"

namespace fp32shim::cli {

/// How rows keep a field of a decision: numbers as they are, texts and names of enumerations as a SharedText.
template <class Field>
struct MergedField {
    using Type = SharedText;
    static SharedText unknown(const Field&) { return {}; }
};
template <class Field>
    requires std::is_arithmetic_v<Field> || std::is_same_v<Field, std::optional<int>>
struct MergedField<Field> {
    using Type = Field;
    static Field unknown(const Field& initial) { return initial; }
};

/// The fields that tell two rows apart (record/decision_fields.def). At first they say that nothing is known.
struct MergedDecision {
#define DECISION_FIELD(key, member, ...)                     \
    MergedField<decltype(record::DecisionEvent::member)>::Type key = \
        MergedField<decltype(record::DecisionEvent::member)>::unknown(record::DecisionEvent().member);
#define CALL_FIELD(...)
#include "record/decision_fields.def"
    bool is_folded = false;    ///< sizes are rounded up to powers of two
    bool is_overflow = false;  ///< stands for calls of which nothing else is known

    bool operator==(const MergedDecision&) const = default;
};

/// Calls of one distinct decision, in all recordings: of a million, each takes some 200 bytes. Words are those of
/// docs/log-format.md; an empty text is null there.
struct MergedRow : MergedDecision {
    double flops = -1;  ///< of one call; -1: unknown
    record::RecordedCounters counters;
    /// The median duration of those timed calls that are in the recordings one by one; absent where there are none.
    std::optional<std::uint64_t> median_ns;
    std::uint32_t processes = 0;  ///< recordings that have such calls

    /// The format that the library says it used, else the lowest that the call permits.
    SharedText ran_at() const { return actual.empty() ? applied : actual; }
    bool has_estimated_time() const { return counters.timed_calls < counters.calls; }
    /// Whether something was asked for and did not happen.
    bool is_refused() const;
    /// `128x128x64`, with `?` for a size that the function does not have, and the batch count.
    std::string size_text() const;
    /// `libfoo.so -> libopenblas.so.0`
    std::string route_text() const;
};

/// Adds the counters of further calls to `sum`.
void add_counters(record::RecordedCounters& sum, const record::RecordedCounters& counters);

/// A median of rounded durations, put back between the shortest and the longest call.
std::uint64_t within(std::uint64_t median_ns, const record::RecordedCounters& counters);

/// A row of one recording, without counters.
MergedRow to_merged_row(const record::RecordedRow& row);

/// One recording, without its calls.
struct MergedProcess {
    std::string path;
    record::RecordingFacts facts;
    record::RecordingState state = record::RecordingState::unknown;
    std::uint64_t calls = 0;  ///< that pass the filter
    std::uint64_t uncounted_calls = 0, dropped_events = 0, overwritten_events = 0;
    std::vector<record::RecordedChange> changes;
    std::uint64_t lost_changes = 0;  ///< before those
    record::RecordedObjects objects;
    std::vector<record::RecordedChild> children;  ///< that were not seen
    std::uint32_t missed_children = 0;            ///< of which nothing else is known

    /// Whether this is of no process: it only says which children of others were not seen.
    bool is_children_only() const { return (facts.flags & record::format::flag_children_only) != 0; }
};

struct Share {
    std::uint64_t calls = 0;
    std::uint64_t host_ns = 0;
    std::uint64_t timed_calls = 0;
    bool is_estimate = false;  ///< `host_ns`: not all of the calls that it stands for were timed

    void add(const record::RecordedCounters& counters);
};

class MergedCalls {
  public:
    enum class Objects : std::uint8_t { kept, left_out };

    /// The filter must outlive this; null: all calls. `objects`: whether processes say what they had loaded.
    explicit MergedCalls(const Filter* filter = nullptr, Objects objects = Objects::kept)
        : filter_(filter), objects_(objects) {}

    void add(const std::string& path, record::RecordingReader& recording);
    /// The place in rows() of a recording's row that was added; nullptr: of calls under no row.
    std::optional<std::size_t> place_of(const record::RecordedRow* row) const;
    /// Gives each row its median. `durations` are by place in rows().
    void set_medians(const CallDurations& durations);

    const std::vector<MergedRow>& rows() const { return rows_; }
    const std::vector<MergedProcess>& processes() const { return processes_; }
    /// All calls that pass the filter; without one, those of which nothing else is known as well.
    Share total() const { return total_; }
    /// By MergedRow::ran_at(), the strictest format first; `unknown` for calls of which nothing else is known.
    std::vector<std::pair<std::string, Share>> by_format() const;
    /// Of first and last call: nanoseconds since 1970, UTC; 0 where there are none.
    std::int64_t first_ns() const { return first_ns_; }
    std::int64_t last_ns() const { return last_ns_; }
    std::uint64_t uncounted_calls() const;
    std::uint64_t dropped_events() const;
    std::uint64_t overwritten_events() const;
    std::uint64_t lost_changes() const;

  private:
    /// The place in rows_ of a row that says the same, which is added where there is none.
    std::size_t place_for(const record::RecordedRow* row);
    std::size_t slot_of(const MergedRow& row) const;
    void enlarge_slots();

    const Filter* filter_;
    Objects objects_;
    std::vector<MergedRow> rows_;
    std::vector<std::uint32_t> slots_;  ///< places in rows_, plus one, by the hash of all that tells rows apart
    std::vector<MergedProcess> processes_;
    Share total_;
    std::int64_t first_ns_ = 0, last_ns_ = 0;
};

/// Rows in the order in which people look for them.
enum class RowOrder : std::uint8_t { time, calls, flops };
std::vector<const MergedRow*> sorted(const std::vector<MergedRow>& rows, RowOrder order);

}  // namespace fp32shim::cli
