// Merges several recordings into one model, which `fp32shim report`, `verify` and the summary of `run` read.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "cli/recordings/environment.hpp"
#include "cli/recordings/hash_table.hpp"
#include "cli/recordings/row_audits.hpp"
#include "cli/recordings/rule_use.hpp"
#include "cli/recordings/shared_text.hpp"
#include "policy/precision.hpp"
#include "record/kernels/judge.hpp"
#include "record/onednn/line.hpp"
#include "record/read/reader.hpp"

namespace fp32shim::cli {

class DurationHistogram;
class CallPathTree;
class CallFilter;
class RowGroupTable;

/// The type that a field of a decision has in a row. Numbers keep their type; texts and enumeration names become
/// SharedText.
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

/// The fields that distinguish rows, as record/decision_fields.def lists them. At first, each is unknown.
struct MergedDecision {
#define DECISION_FIELD(key, member, ...)                             \
    MergedField<decltype(record::DecisionEvent::member)>::Type key = \
        MergedField<decltype(record::DecisionEvent::member)>::unknown(record::DecisionEvent().member);
#define CALL_FIELD(...)
#include "record/decision_fields.def"
    bool is_folded = false;    ///< sizes are rounded up to powers of two
    bool is_overflow = false;  ///< the row stands for calls without a decision, of which only counts are known

    auto operator<=>(const MergedDecision&) const = default;
};

/// The calls of one distinct decision in all recordings. A decision has the facts about a call and the precision that
/// the shim chose for it. A row takes only some 260 bytes, since there may be a million rows. docs/schema.md
/// describes the fields. A text is empty where the log has null.
struct MergedRow : MergedDecision {
    double flops = -1;  ///< floating-point operations of one call; -1 if they are unknown
    record::RecordedCounters counters;
    /// The median duration in nanoseconds of the calls that were timed and recorded singly; absent if there are none.
    std::optional<std::uint64_t> median_ns;
    std::uint32_t processes = 0;  ///< number of recordings with calls of this decision

    /// Returns the format that the library reports. If it reports none, returns the least precise format that the
    /// call permits.
    SharedText effective_format() const { return actual.empty() ? applied : actual; }
    /// Returns the strictest floor (lowest allowed format) that effective_format() meets; nullopt if it is not known.
    std::optional<policy::Floor> floor_met() const;
    /// Returns true for products of float32 and complex64.
    bool is_float32() const { return dtype == "float32" || dtype == "complex64"; }
    /// Returns true for products that oneDNN executed itself.
    bool is_onednn() const { return !is_overflow && std::string_view(function).starts_with(record::onednn_prefix); }
    /// Returns true for products in programs that JAX had XLA compile. Such a product is counted when it is compiled,
    /// not when it runs.
    bool is_xla() const { return !is_overflow && std::string_view(function).starts_with(record::xla_prefix); }
    /// Returns true for kernels that were launched on a GPU, but not by cuBLAS, and for replays of CUDA graphs.
    bool is_kernel() const { return !is_overflow && std::string_view(function).starts_with(record::kernel_prefix); }
    /// Returns the function's name. For a kernel, returns the name that its source code has, cut if it is long.
    std::string function_text() const;
    /// Returns true for products of float64 and complex128.
    bool is_float64() const { return dtype == "float64" || dtype == "complex128"; }
    /// Returns true for a product on a GPU whose library does not tell at which format it ran, so that only the
    /// format is known at which it was allowed to run.
    bool has_only_permitted_format() const { return device != "cpu" && actual.empty(); }
    /// Returns true for products of float16 and bfloat16.
    bool is_half() const { return dtype == "float16" || dtype == "bfloat16"; }
    /// Returns the format in which a product of float16 or bfloat16 adds: `fp32`, or `fp32 (fp16 as called)` if the
    /// call itself asks for another format; empty if it is not known.
    std::string accumulator_text() const;
    bool is_vector_product() const;
    bool has_rounded_sizes() const { return is_folded; }
    bool has_estimated_time() const { return counters.timed_calls < counters.calls; }
    /// Returns the number of floating-point operations of all calls; 0 if it is unknown.
    double total_flops() const;
    /// Returns true if the product can run at several precisions, and one of them was requested but not applied.
    bool is_request_refused() const;
    /// Returns the sizes as text: `128x128x64`, and the batch count. A `?` stands for a size that the function does
    /// not have.
    std::string size_text() const;
    /// Returns what oneDNN or JAX told about the row's products; nullopt if the row is about other products. The
    /// texts of the result point into `line`, which this function fills in.
    std::optional<record::OneDnnExecution> onednn_execution(std::string& line) const;
    /// Returns the letters of the transpositions that the function has: `NT`; empty if it has none.
    std::string transposes_text() const;
    /// Returns the calling and the called library: `libfoo.so -> libopenblas.so.0`.
    std::string caller_to_provider_text() const;
    /// Returns the requested precision and its source: `high (environment)`, `high (rule "gram")`.
    std::string requested_text() const;
};

/// Returns true for the name of a function that multiplies with a vector.
bool is_vector_product(std::string_view function);

/// The number of bits in the significand of a float64.
inline constexpr int bits_of_float64 = 53;

/// Returns the strictest floor (lowest allowed format) that calls at `format` are known to meet. Returns nullopt for
/// `unchanged`, for `fixed`, which cannot be compared with a floor, and for `fp64_emulated` unless `mantissa_bits` is
/// at least `bits_of_float64`. If `mantissa_bits` is 0, the number of bits is not known.
/// The format `tf32x3`, three products of TF32, meets fp32 if `function` names a kernel on a GPU: torch's attention
/// for float32 multiplies in this way, and its errors are those of FP32. `verify` names such kernels.
std::optional<policy::Floor> floor_shown_by(policy::AppliedFormat format, std::string_view function = {},
                                            int mantissa_bits = 0);
/// Returns the floor that a format of MergedRow::effective_format() is known to meet; nullopt if there is none, or if
/// `format` is no word for a format.
std::optional<policy::Floor> floor_met_by_word(std::string_view format);

/// Adds the counters of further calls to `sum`.
void add_counters(record::RecordedCounters& sum, const record::RecordedCounters& counters);

/// Returns a median, limited to the range from the shortest to the longest call. The rounding of durations may have
/// put the median outside this range.
std::uint64_t clamped_median(std::uint64_t median_ns, const record::RecordedCounters& counters);

/// Converts a row of one recording into a row that can be merged with rows of other recordings. Sets the decision and
/// `flops`. Counters, median and `processes` stay unset. For a row with `is_overflow`, sets only the flags.
MergedRow to_merged_row(const record::RecordedRow& row);

/// Describes the process of one recording, without its calls.
struct MergedProcess {
    std::string path;
    record::RecordingFacts facts;
    record::RecordingState state = record::RecordingState::unknown;
    EnvironmentFacts environment;
    std::uint64_t calls = 0;        ///< number of calls that pass the filter
    std::uint64_t host_ns = 0;      ///< total time of these calls
    std::uint64_t sampled_ns = 0;   ///< total time of the rows in which not all calls were timed
    bool has_untimed_rows = false;  ///< there are rows of products in which no call was timed, such as those of XLA
    bool has_gpu_calls = false;     ///< some of the calls ran on a GPU
    bool is_damaged = false;        ///< the recording has errors, so calls may be missing
    std::uint64_t uncounted_calls = 0, dropped_events = 0, overwritten_events = 0;
    std::vector<record::RecordedSettingsChange> changes;
    std::uint64_t lost_changes = 0;  ///< number of older changes of settings that the recording no longer has
    record::RecordedObjectList objects;
    std::vector<record::RecordedChild> children;   ///< child processes that the shim did not see
    std::uint32_t missed_children = 0;             ///< number of further unseen children, dropped for lack of space
    std::vector<record::UnrecordedProcess> marks;  ///< processes of the run that ended without a recording
    /// The number of processes without a recording that are missing from `marks`, so that their files are not known.
    std::uint32_t missed_marks = 0;
    std::map<std::int32_t, record::RecordedCounters> gpus;  ///< counters of the products of cuBLAS on each GPU

    /// Returns true for a file that records no process. Such a file only lists children that the shim did not see,
    /// and processes that ended without a recording.
    bool is_children_file() const { return (facts.flags & record::format::flag_children_only) != 0; }
};

/// The first product of a process that turned finite operands into NaN or infinity, or the first product that
/// received NaN or infinity in an operand.
struct FirstNonfiniteProduct {
    std::uint32_t row = 0;        ///< index in MergedCalls::rows()
    std::size_t process = 0;      ///< index in MergedCalls::processes()
    record::RecordedAudit found;  ///< its `row` is an id in the recording, not an index in rows()
};

/// The quantity by which rows and groups of rows are sorted, largest first. `time` is the total duration.
enum class RowOrder : std::uint8_t { time, calls, flops };
/// The words for the values of RowOrder, in the order of the values.
inline const std::vector<std::string_view> row_order_words = {"time", "calls", "flops"};
/// Returns the value of RowOrder for a word of row_order_words.
RowOrder parse_row_order(std::string_view word);
/// Returns the value by which groups of calls are sorted. `work` is the number of floating-point operations of all
/// calls.
double sort_key(RowOrder order, std::uint64_t calls, std::uint64_t host_ns, double work);

/// The number of calls, and the sums of their durations and of their floating-point operations.
struct CallSum {
    std::uint64_t calls = 0;
    std::uint64_t host_ns = 0;
    std::uint64_t timed_calls = 0;
    bool is_estimate = false;  ///< `host_ns` is an estimate because not all calls were timed
    bool is_part = false;      ///< `host_ns` lacks rows in which no call was timed, such as those of XLA; launches of
                               ///< kernels take no part in it
    double work = 0;           ///< floating-point operations of the calls for which they are known

    /// Adds calls of `flops` operations each; a negative number means unknown.
    void add(const record::RecordedCounters& counters, double flops = -1);
    /// Adds calls of a row.
    void add(const MergedRow& row, const record::RecordedCounters& counters);
    void add(const CallSum& others);
    double sort_key(RowOrder order) const;
    /// Returns the total duration as text: `1.3 s`, `~1.3 s` for an estimate, `>1.3 s` for a part, or `not timed`.
    std::string time_text() const;
};

class MergedCalls {
  public:
    enum class Objects : std::uint8_t { kept, left_out };

    /// Keeps a pointer to the filter; with null, all calls count. With Objects::left_out, processes() do not list
    /// loaded libraries.
    explicit MergedCalls(const CallFilter* filter = nullptr, Objects objects = Objects::kept)
        : filter_(filter), objects_(objects) {}

    /// Adds a recording. Its call paths are added to `paths`, and its calls to `groups`. Either may be null.
    void add(const std::string& path, record::RecordingReader& recording, CallPathTree* paths = nullptr,
             RowGroupTable* groups = nullptr);
    /// Returns the index in rows() of the merged row with the calls of `row`; nullopt if no such calls were added.
    /// `row` is null for calls without a row.
    std::optional<std::size_t> index_of(const record::RecordedRow* row) const;
    /// Sets the median of each row. `durations` has the calls of each row by its index in rows().
    void set_median_durations(const DurationHistogram& durations);

    const std::vector<MergedRow>& rows() const { return rows_; }
    const std::vector<MergedProcess>& processes() const { return processes_; }
    /// Returns the rules of all recorded policies, with the numbers of recordings in which they decided no call. The
    /// filter does not affect these numbers.
    std::vector<RuleUseCount> rules() const { return rules_.all(); }
    /// Returns the sums of the audits of each row in rows().
    const AuditSummaryTable& audits() const { return audits_; }
    /// Returns, for each process, the first of its products that turned finite operands into NaN or infinity. The
    /// results are sorted by time.
    const std::vector<FirstNonfiniteProduct>& first_nonfinite_products() const { return nonfinite_; }
    /// Returns, for each process, the first of its products that received NaN or infinity in an operand. The results
    /// are sorted by time.
    const std::vector<FirstNonfiniteProduct>& first_receiving_products() const { return received_; }
    /// Returns the number of calls whose results were searched for NaN and infinity, whether or not they pass the
    /// filter.
    std::uint64_t calls_searched_for_nonfinite() const { return searched_calls_; }
    /// Returns the sum of all calls that pass the filter. Without a filter, it includes calls that belong to no row.
    CallSum total() const { return total_; }
    /// Returns the number of calls in total() whose floating-point operations are not known.
    std::uint64_t calls_without_work() const { return calls_without_work_; }
    /// Returns the filter; null if there is none.
    const CallFilter* filter() const { return filter_; }
    /// Returns the number of all calls, including those that do not pass the filter.
    std::uint64_t calls_before_filter() const { return calls_before_filter_; }
    /// Returns the number of calls that `--ran-below` neither selects nor rules out, because their format is not
    /// known (RowFilter::cannot_decide).
    std::uint64_t undecided_calls() const { return calls_left_open_; }
    /// Returns the number of calls of float64 and complex128 in total().
    std::uint64_t float64_calls() const { return calls_with(&MergedRow::is_float64); }
    /// Returns the sum of all products with a vector in total().
    CallSum vector_products() const;
    /// Returns the number of calls in total() whose sizes are rounded up.
    std::uint64_t calls_with_rounded_sizes() const { return calls_with(&MergedRow::has_rounded_sizes); }
    /// Returns the number of executions of oneDNN in total().
    std::uint64_t onednn_calls() const { return calls_with(&MergedRow::is_onednn); }
    /// Returns the number of products in total() that XLA compiled.
    std::uint64_t xla_products() const { return calls_with(&MergedRow::is_xla); }
    /// Returns the number of launches of kernels, and of replays of graphs, in total().
    std::uint64_t kernel_launches() const { return calls_with(&MergedRow::is_kernel); }
    /// Returns the number of calls in total() that belong to no row.
    std::uint64_t calls_without_row() const;
    /// Returns the calls by format (MergedRow::effective_format()), the most precise format first. Calls without a
    /// row are `unknown`. If `with_vectors` is false, products with a vector are left out.
    std::vector<std::pair<std::string, CallSum>> by_format(bool with_vectors = true) const;
    /// Returns the number of elements of processes() that are recordings of a process. Files that record no process
    /// (MergedProcess::is_children_file) do not count.
    std::size_t recording_count() const;
    /// Returns the number of machines that the recordings come from.
    std::size_t host_count() const;
    /// Returns the time at which the first recording began: nanoseconds since 1970, UTC; 0 without recordings.
    std::int64_t earliest_opening_ns() const { return opened_ns_; }
    /// Returns the time at which the first call returned: nanoseconds since 1970, UTC; 0 without calls.
    std::int64_t first_return_ns() const { return first_ns_; }
    /// Returns the time at which the last call returned: nanoseconds since 1970, UTC; 0 without calls.
    std::int64_t last_return_ns() const { return last_ns_; }
    std::uint64_t uncounted_calls() const { return sum_of(&MergedProcess::uncounted_calls); }
    std::uint64_t dropped_events() const { return sum_of(&MergedProcess::dropped_events); }
    std::uint64_t overwritten_events() const { return sum_of(&MergedProcess::overwritten_events); }
    std::uint64_t lost_changes() const { return sum_of(&MergedProcess::lost_changes); }

  private:
    std::uint64_t calls_with(bool (MergedRow::*is_of)() const) const;
    /// Returns the index in rows_ of the row that takes the calls of `row`. Adds such a row if there is none.
    std::size_t find_or_add(const record::RecordedRow* row);
    struct HashedRow {
        std::uint32_t row = 0;   ///< index in rows_ plus one
        std::uint32_t hash = 0;  ///< hash of the row, so that unequal rows are mostly told apart without reading them

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

    const CallFilter* filter_;
    Objects objects_;
    std::vector<MergedRow> rows_;
    HashTable<HashedRow> hashed_rows_;
    std::vector<MergedProcess> processes_;
    RuleUseCounter rules_;
    AuditSummaryTable audits_;
    std::vector<FirstNonfiniteProduct> nonfinite_, received_;
    std::uint64_t searched_calls_ = 0;
    CallSum total_;
    std::uint64_t calls_without_work_ = 0;
    std::uint64_t calls_before_filter_ = 0, calls_left_open_ = 0;
    std::int64_t opened_ns_ = 0, first_ns_ = 0, last_ns_ = 0;
};

std::vector<const MergedRow*> sorted(const std::vector<MergedRow>& rows, RowOrder order);

/// Returns true if `fullest` has all that its copy `copy` has: each row with at least as many calls, and each change
/// of settings. Bytes are not compared, since a process changes counters and parts of the header in place.
bool holds_all_of(record::RecordingReader& fullest, const record::RecordingReader& copy);

}  // namespace fp32shim::cli
