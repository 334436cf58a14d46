// Several recordings merged: the model of report, verify and the summary of run.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "cli/recordings/hash_table.hpp"
#include "cli/recordings/row_audits.hpp"
#include "cli/recordings/rule_use.hpp"
#include "cli/recordings/shared_text.hpp"
#include "record/read/reader.hpp"

namespace fp32shim::cli {

class CallDurations;
class CallPaths;
class Filter;
class ProcessGroups;

/// Form in which rows keep a field of a decision: numbers as they are, texts and enumeration names as SharedText.
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

/// Fields that tell two rows apart (record/decision_fields.def). Initially they say that nothing is known.
struct MergedDecision {
#define DECISION_FIELD(key, member, ...)                             \
    MergedField<decltype(record::DecisionEvent::member)>::Type key = \
        MergedField<decltype(record::DecisionEvent::member)>::unknown(record::DecisionEvent().member);
#define CALL_FIELD(...)
#include "record/decision_fields.def"
    bool is_folded = false;    ///< sizes are rounded up to powers of two
    bool is_overflow = false;  ///< stands for calls without a decision: only counts are known

    bool operator==(const MergedDecision&) const = default;
};

/// Calls of one distinct decision in all recordings. Takes some 200 bytes, since there may be a million rows.
/// docs/log-format.md describes the fields; an empty text in a row is null in the log.
struct MergedRow : MergedDecision {
    double flops = -1;  ///< operations of one call; -1: unknown
    record::RecordedCounters counters;
    /// Median duration of the timed calls that were recorded singly, not only as counts; absent if there are none.
    std::optional<std::uint64_t> median_ns;
    std::uint32_t processes = 0;  ///< number of recordings with calls of this decision

    /// Returns the format that the library says it used; if it does not say, the least precise that the call permits.
    SharedText ran_at() const { return actual.empty() ? applied : actual; }
    bool has_estimated_time() const { return counters.timed_calls < counters.calls; }
    /// Returns the number of floating-point operations of all calls; 0 if it is unknown.
    double total_flops() const;
    /// Returns true if a precision was asked for and not applied.
    bool is_refused() const;
    /// Returns `128x128x64`, with `?` for a size that the function does not have, and the batch count.
    std::string size_text() const;
    /// Returns `libfoo.so -> libopenblas.so.0`.
    std::string route_text() const;
};

/// Adds the counters of further calls to `sum`.
void add_counters(record::RecordedCounters& sum, const record::RecordedCounters& counters);

/// Limits a median of rounded durations to the range from the shortest to the longest call.
std::uint64_t clamped_median(std::uint64_t median_ns, const record::RecordedCounters& counters);

/// Converts a row of one recording into the form in which rows of several are compared and summed. Sets the decision
/// and `flops`; counters, median and `processes` stay unset. A row with `is_overflow` gets its flags only.
MergedRow to_merged_row(const record::RecordedRow& row);

/// One recording, without its calls.
struct MergedProcess {
    std::string path;
    record::RecordingFacts facts;
    record::RecordingState state = record::RecordingState::unknown;
    std::uint64_t calls = 0;  ///< calls that pass the filter
    std::uint64_t uncounted_calls = 0, dropped_events = 0, overwritten_events = 0;
    std::vector<record::RecordedChange> changes;
    std::uint64_t lost_changes = 0;  ///< number of older changes that the recording no longer has
    record::RecordedObjects objects;
    std::vector<record::RecordedChild> children;  ///< children that the shim did not see
    std::uint32_t missed_children = 0;            ///< number of further unseen children, dropped for lack of space
    std::vector<record::RecordedMark> marks;      ///< processes of the run that ended without a recording
    std::uint32_t missed_marks = 0;               ///< number of further ones, dropped for lack of space

    /// Returns true for a file that records no process and only names children that the shim did not see, and has the
    /// marks of processes without a recording.
    bool is_children_only() const { return (facts.flags & record::format::flag_children_only) != 0; }
};

/// The first product of a process that made NaN or infinity of finite operands, or that received them.
struct MergedNonfinite {
    std::uint32_t row = 0;        ///< index in MergedCalls::rows()
    std::size_t process = 0;      ///< index in MergedCalls::processes()
    record::RecordedAudit found;  ///< its `row` is that of the recording
};

/// Quantity by which rows and groups of rows are sorted, the largest first; `time`: by total duration.
enum class RowOrder : std::uint8_t { time, calls, flops };
/// Returns the number by which calls are sorted. `work`: floating-point operations of all of them.
double weight(RowOrder order, std::uint64_t calls, std::uint64_t host_ns, double work);

/// Calls and their time, summed.
struct Share {
    std::uint64_t calls = 0;
    std::uint64_t host_ns = 0;
    std::uint64_t timed_calls = 0;
    bool is_estimate = false;  ///< not all calls were timed, so `host_ns` is an estimate

    void add(const record::RecordedCounters& counters);
};

/// Calls, their time and their work, summed.
struct ShareWithWork : Share {
    double work = 0;  ///< floating-point operations, as far as they are known

    /// Adds calls of `flops` operations each; negative: not known.
    void add(const record::RecordedCounters& counters, double flops);
    void add(const ShareWithWork& others);
    double weight(RowOrder order) const;
};

class MergedCalls {
  public:
    enum class Objects : std::uint8_t { kept, left_out };

    /// Keeps a reference to the filter; null: all calls count. Objects::left_out: processes() lack loaded libraries.
    explicit MergedCalls(const Filter* filter = nullptr, Objects objects = Objects::kept)
        : filter_(filter), objects_(objects) {}

    /// Adds a recording. `paths`: tree to which its call paths are added; null: they are not read. `groups`: groups
    /// to which its calls are added; null: there are none.
    void add(const std::string& path, record::RecordingReader& recording, CallPaths* paths = nullptr,
             ProcessGroups* groups = nullptr);
    /// Returns the index in rows() for the calls of `row` (null: calls without a row); nullopt if none were added.
    std::optional<std::size_t> index_of(const record::RecordedRow* row) const;
    /// Gives each row its median. `durations` have the calls of each row by its index in rows().
    void set_medians(const CallDurations& durations);

    const std::vector<MergedRow>& rows() const { return rows_; }
    const std::vector<MergedProcess>& processes() const { return processes_; }
    /// Returns the rules of the policies, whatever the filter.
    std::vector<RuleCount> rules() const { return rules_.all(); }
    /// Returns the audits of rows().
    const AuditSums& audits() const { return audits_; }
    /// Returns the first products of processes that made NaN or infinity of finite operands, by time.
    const std::vector<MergedNonfinite>& nonfinite() const { return nonfinite_; }
    /// Returns the first products of processes that received NaN or infinity in an operand, by time.
    const std::vector<MergedNonfinite>& received() const { return received_; }
    /// Returns the number of calls whose results were searched for NaN and infinity, whatever the filter.
    std::uint64_t searched_calls() const { return searched_calls_; }
    /// Returns the sum of all calls that pass the filter; without a filter, calls without a row count too.
    Share total() const { return total_; }
    /// Returns the filter; null: there is none.
    const Filter* filter() const { return filter_; }
    /// Returns the number of all calls, those included that do not pass the filter.
    std::uint64_t calls_before_filter() const { return calls_before_filter_; }
    /// Returns the number of calls that may have run below the format of the filter, or not (RowFilter::leaves_open).
    std::uint64_t calls_left_open() const { return calls_left_open_; }
    /// Returns the number of calls of total() that no row has.
    std::uint64_t calls_without_row() const;
    /// Returns the calls of each MergedRow::ran_at(), the strictest format first; `unknown` for calls without a row.
    std::vector<std::pair<std::string, Share>> by_format() const;
    /// Returns the number of processes() without those that only stand for marks and names of children.
    std::size_t recording_count() const;
    /// Returns the number of machines that the recordings come from.
    std::size_t host_count() const;
    /// Returns the time at which the first call returned: nanoseconds since 1970, UTC; 0 without calls.
    std::int64_t first_ns() const { return first_ns_; }
    /// Returns the time at which the last call returned: nanoseconds since 1970, UTC; 0 without calls.
    std::int64_t last_ns() const { return last_ns_; }
    std::uint64_t uncounted_calls() const { return sum_of(&MergedProcess::uncounted_calls); }
    std::uint64_t dropped_events() const { return sum_of(&MergedProcess::dropped_events); }
    std::uint64_t overwritten_events() const { return sum_of(&MergedProcess::overwritten_events); }
    std::uint64_t lost_changes() const { return sum_of(&MergedProcess::lost_changes); }

  private:
    /// Returns the index in rows_ of the row that calls of `row` are added to, and adds such a row if there is none.
    std::size_t find_or_add(const record::RecordedRow* row);
    struct HashedRow {
        std::uint32_t row = 0;   ///< index in rows_ plus one
        std::uint32_t hash = 0;  ///< of that row, so that most others are told apart without looking at it

        explicit operator bool() const { return row != 0; }
    };
    bool is_like(const HashedRow& row, const MergedDecision& decision, std::uint32_t hash) const {
        if (row.hash != hash) return false;
        const MergedDecision& known = rows_[row.row - 1];
        return known == decision;
    }
    void add_audits(const record::RecordingReader& recording,
                    const std::map<std::uint32_t, std::uint32_t>& merged_rows);
    std::uint64_t sum_of(std::uint64_t MergedProcess::*count) const;

    const Filter* filter_;
    Objects objects_;
    std::vector<MergedRow> rows_;
    HashTable<HashedRow> hashed_rows_;
    std::vector<MergedProcess> processes_;
    RuleUse rules_;
    AuditSums audits_;
    std::vector<MergedNonfinite> nonfinite_, received_;
    std::uint64_t searched_calls_ = 0;
    Share total_;
    std::uint64_t calls_before_filter_ = 0, calls_left_open_ = 0;
    std::int64_t first_ns_ = 0, last_ns_ = 0;
};

std::vector<const MergedRow*> sorted(const std::vector<MergedRow>& rows, RowOrder order);

}  // namespace fp32shim::cli
