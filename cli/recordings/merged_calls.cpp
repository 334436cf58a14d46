#include "cli/recordings/merged_calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "cli/output/terminal.hpp"
#include "cli/recordings/call_paths.hpp"
#include "cli/recordings/duration_histogram.hpp"
#include "cli/recordings/filter.hpp"
#include "cli/recordings/location_text.hpp"
#include "cli/recordings/row_groups.hpp"
#include "cli/source_locations/function_names.hpp"
#include "policy/conditions.hpp"
#include "policy/words.hpp"
#include "shim/table/functions.hpp"
#include "system/hash.hpp"
#include "system/limited_text.hpp"

namespace fp32shim::cli {
namespace {

std::uint64_t bits_of(SharedText text) { return text.id(); }
std::uint64_t bits_of(std::int64_t number) { return static_cast<std::uint64_t>(number); }
std::uint64_t bits_of(std::optional<int> number) { return number ? bits_of(std::int64_t{*number}) : UINT64_MAX; }

std::uint32_t hash_of(const MergedRow& row) {
    system::Hash hash;
#define DECISION_FIELD(key, ...) hash.add(bits_of(row.key));
#define CALL_FIELD(...)
#include "record/decision_fields.def"
    return static_cast<std::uint32_t>(hash.value());
}

std::string_view text_of(std::string_view text) { return text; }
template <class Enumeration>
std::string_view text_of(Enumeration value) {
    return to_string(value);
}
template <class Enumeration>
std::string_view text_of(std::optional<Enumeration> value) {
    return value ? to_string(*value) : std::string_view();
}

template <class Field, class Merged>
void merge_field(const Field& field, Merged& merged) {
    if constexpr (std::is_same_v<Merged, SharedText>)
        merged = text_of(field);
    else
        merged = field;
}

/// Converts a row as cli::to_merged_row() does. If `row` is null, which stands for calls without a row, sets only
/// `is_overflow`.
MergedRow to_merged_row(const record::RecordedRow* row) {
    if (row != nullptr) return cli::to_merged_row(*row);
    MergedRow merged;
    merged.is_overflow = true;
    return merged;
}

constexpr std::uint32_t no_row = UINT32_MAX;

}  // namespace

void add_counters(record::RecordedCounters& sum, const record::RecordedCounters& counters) {
    if (counters.calls == 0) return;
    const bool is_first = sum.calls == 0;
    sum.calls += counters.calls;
    sum.total_ns += counters.total_ns;
    sum.timed_calls += counters.timed_calls;
    sum.shortest_ns = is_first ? counters.shortest_ns : std::min(sum.shortest_ns, counters.shortest_ns);
    sum.longest_ns = std::max(sum.longest_ns, counters.longest_ns);
    sum.first_ns = is_first ? counters.first_ns : std::min(sum.first_ns, counters.first_ns);
    sum.last_ns = std::max(sum.last_ns, counters.last_ns);
    if (counters.gpu_samples == 0) return;
    sum.gpu_shortest_ns =
        sum.gpu_samples == 0 ? counters.gpu_shortest_ns : std::min(sum.gpu_shortest_ns, counters.gpu_shortest_ns);
    sum.gpu_longest_ns = std::max(sum.gpu_longest_ns, counters.gpu_longest_ns);
    sum.gpu_samples += counters.gpu_samples;
    sum.gpu_calls += counters.gpu_calls;
    sum.gpu_ns += counters.gpu_ns;
}

std::uint64_t clamped_median(std::uint64_t median_ns, const record::RecordedCounters& counters) {
    return std::max(std::min(median_ns, counters.longest_ns), counters.shortest_ns);
}

MergedRow to_merged_row(const record::RecordedRow& row) {
    MergedRow result;
    result.is_folded = row.is_folded;
    result.is_overflow = row.is_overflow;
    if (row.is_overflow) return result;
#define DECISION_FIELD(key, member, ...) merge_field(row.decision.member, result.key);
#define CALL_FIELD(...)
#include "record/decision_fields.def"
    result.flops = policy::flops_of(row.decision.call);
    return result;
}

double MergedRow::total_flops() const { return std::max(flops, 0.0) * static_cast<double>(counters.calls); }

bool is_vector_product(std::string_view function) {
    const FunctionIndex index = find_function(std::string(function).c_str());
    return index >= 0 && functions[index].multiplies() && has_vector(functions[index].product().operation);
}

bool MergedRow::is_vector_product() const { return cli::is_vector_product(function); }

bool MergedRow::is_request_refused() const {
    return !is_overflow && reason != "as_requested" && reason != "no_product" && requested != "native" &&
           reason != "vector_product" && !is_vector_product();
}

std::string MergedRow::accumulator_text() const {
    const std::string_view adds = accumulator, as_called = accumulator_as_called;
    return adds == as_called ? std::string(adds) : fmt::format("{} ({} as called)", adds, as_called);
}

std::optional<record::OneDnnExecution> MergedRow::onednn_execution(std::string& line) const {
    if (is_overflow || !record::is_onednn_or_xla(function)) return std::nullopt;
    line = fmt::format("onednn_verbose,exec,{},0", static_cast<std::string_view>(detail));
    record::OneDnnExecution execution;
    if (record::parse_onednn_line(line, execution) != record::OneDnnLineKind::execution) return std::nullopt;
    return execution;
}

std::string MergedRow::function_text() const {
    if (!is_kernel()) return std::string(static_cast<std::string_view>(function));
    std::string name(static_cast<std::string_view>(function).substr(record::kernel_prefix.size()));
    const bool is_mangled = name.starts_with("_Z");
    if (is_mangled) name = full_function_name(name);
    // The demangled name of a template begins with its return type: void at::native::reduce_kernel<512, 1, …>(…)
    if (name.starts_with("void ")) name.erase(0, 5);
    // Demangled names are long because of template arguments. Names of cuDNN's kernels are not mangled; they tell a
    // type in each part, and have up to 180 characters.
    char buffer[200];
    return std::string(system::cut_to_fit(name, std::span(buffer).first(is_mangled ? 100 : 200)));
}

std::string MergedRow::size_text() const {
    if (is_overflow || is_kernel()) return "?";
    if (std::string line; m < 0 && n < 0 && k < 0)
        if (const auto execution = onednn_execution(line)) return std::string(execution->shape);
    return product_size_text(m, n, k, batch, is_folded);
}

std::string MergedRow::transposes_text() const {
    std::string text;
    for (const char letter : {trans_a, trans_b}) text.append(letter == 0 ? 0 : 1, letter);
    return text;
}

std::string MergedRow::caller_to_provider_text() const {
    return fmt::format("{} -> {}", caller.empty() ? std::string_view("?") : caller,
                       provider.empty() ? std::string_view("?") : provider);
}

std::string MergedRow::requested_text() const {
    if (is_overflow) return requested;
    return fmt::format("{} ({})", requested, rule.empty() ? source : fmt::format("rule \"{}\"", rule));
}

std::optional<policy::Floor> MergedRow::floor_met() const {
    const auto format = policy::parse_word(policy::applied_words, effective_format());
    return format ? floor_shown_by(*format, function, mantissa_bits) : std::nullopt;
}

std::optional<policy::Floor> floor_shown_by(policy::AppliedFormat format, std::string_view function,
                                            int mantissa_bits) {
    if (format == policy::AppliedFormat::fp64_emulated && mantissa_bits >= bits_of_float64)
        return policy::Floor::fp64;
    if (format == policy::AppliedFormat::tf32x3 && function.starts_with(record::kernel_prefix))
        return policy::Floor::fp32;
    const bool has_known_floor =
        format != policy::AppliedFormat::fp64_emulated && format != policy::AppliedFormat::fixed;
    return has_known_floor ? policy::floor_met_by(format) : std::nullopt;
}

std::optional<policy::Floor> floor_met_by_word(std::string_view format) {
    const auto applied = policy::parse_word(policy::applied_words, format);
    return applied ? floor_shown_by(*applied) : std::nullopt;
}

void CallSum::add(const record::RecordedCounters& counters, double flops) {
    calls += counters.calls;
    host_ns += counters.total_ns;
    timed_calls += counters.timed_calls;
    is_estimate |= counters.timed_calls != 0 && counters.timed_calls < counters.calls;
    work += std::max(flops, 0.0) * static_cast<double>(counters.calls);
}

void CallSum::add(const MergedRow& row, const record::RecordedCounters& counters) {
    add(counters, row.flops);
    is_part |= counters.timed_calls == 0 && counters.calls > 0 && !row.is_kernel();
}

std::string CallSum::time_text() const {
    if (calls != 0 && timed_calls == 0) return "not timed";
    return (is_part ? ">" : "") + duration_text(static_cast<double>(host_ns), is_estimate);
}

void CallSum::add(const CallSum& others) {
    calls += others.calls;
    host_ns += others.host_ns;
    timed_calls += others.timed_calls;
    is_estimate |= others.is_estimate;
    is_part |= others.is_part;
    work += others.work;
}

double CallSum::sort_key(RowOrder order) const { return cli::sort_key(order, calls, host_ns, work); }

RowOrder parse_row_order(std::string_view word) {
    return static_cast<RowOrder>(std::ranges::find(row_order_words, word) - row_order_words.begin());
}

double sort_key(RowOrder order, std::uint64_t calls, std::uint64_t host_ns, double work) {
    if (order == RowOrder::flops) return work;
    return static_cast<double>(order == RowOrder::calls ? calls : host_ns);
}

std::size_t MergedCalls::find_or_add(const record::RecordedRow* row) {
    const MergedRow merged = to_merged_row(row);
    const std::uint32_t hash = hash_of(merged);
    const auto [entry, is_new] = hashed_rows_.find_or_add(
        hash, [&](const HashedRow& other) { return is_like(other, merged, hash); },
        [](const HashedRow& other) { return other.hash; });
    if (is_new) {
        rows_.push_back(merged);
        entry = {static_cast<std::uint32_t>(rows_.size()), hash};
    }
    return entry.row - 1;
}

std::optional<std::size_t> MergedCalls::index_of(const record::RecordedRow* row) const {
    const MergedRow merged = to_merged_row(row);
    const std::uint32_t hash = hash_of(merged);
    const HashedRow* const found =
        hashed_rows_.find(hash, [&](const HashedRow& other) { return is_like(other, merged, hash); });
    return found == nullptr ? std::nullopt : std::optional<std::size_t>(found->row - 1);
}

void MergedCalls::set_median_durations(const DurationHistogram& durations) {
    if (durations.empty()) return;
    std::vector<std::size_t> each(rows_.size());
    std::iota(each.begin(), each.end(), std::size_t{0});
    const auto medians = durations.medians(each, rows_.size());
    for (std::size_t i = 0; i < rows_.size(); ++i)
        if (medians[i]) rows_[i].median_ns = clamped_median(*medians[i], rows_[i].counters);
}

void MergedCalls::add(const std::string& path, record::RecordingReader& recording, CallPathTree* paths,
                      RowGroupTable* groups) {
    MergedProcess process{.path = path,
                          .facts = recording.facts(),
                          .state = recording.state(),
                          .environment = {},
                          .uncounted_calls = recording.uncounted_calls(),
                          .dropped_events = recording.dropped_events(),
                          .overwritten_events = recording.overwritten_events(),
                          .changes = recording.changes(),
                          .lost_changes = recording.lost_changes(),
                          .objects = {},
                          .children = recording.children(),
                          .missed_children = recording.missed_children(),
                          .marks = recording.unrecorded_processes(),
                          .missed_marks = recording.missed_unrecorded_processes(),
                          .gpus = {}};
    process.environment.add(recording.environment());
    rules_.add(recording, process.state == record::RecordingState::live);
    if (objects_ == Objects::kept) process.objects = recording.objects();
    const bool takes_all = filter_ == nullptr || filter_->is_empty();
    std::optional<RowFilter> rows;
    if (!takes_all) rows.emplace(*filter_, recording);
    // Several rows of a recording may be merged into one row, which must count the process only once.
    std::vector<std::uint32_t> counted;
    counted.reserve(recording.counters().size());
    // A vector that grows has its rows twice for a moment, so room for all rows is reserved. Reserved pages that stay
    // unused take no memory.
    if (rows_.empty()) rows_.reserve(recording.counters().size());
    if (paths != nullptr) paths->begin_recording();
    if (groups != nullptr) groups->begin_recording(recording.facts());
    std::map<std::uint32_t, std::uint32_t> audited;  // index in rows_, by the id of a row in this recording
    recording.visit_audits([&](const record::RecordedAudit& audit) { audited.emplace(audit.row, no_row); });
    for (const auto& [id, counters] : recording.counters()) {
        const record::RecordedRow* row = recording.row(id);
        calls_before_filter_ += counters.calls;
        if (!takes_all && (row == nullptr || !rows->passes(*row))) {
            if (rows->cannot_decide(row)) calls_left_open_ += counters.calls;
            continue;
        }
        const std::size_t index = find_or_add(row);
        add_counters(rows_[index].counters, counters);
        if (paths != nullptr) paths->add(recording, row, static_cast<std::uint32_t>(index), counters);
        if (groups != nullptr) groups->add(static_cast<std::uint32_t>(index), rows_[index], counters);
        if (const auto found = audited.find(id); found != audited.end())
            found->second = static_cast<std::uint32_t>(index);
        counted.push_back(static_cast<std::uint32_t>(index));
        process.calls += counters.calls;
        process.host_ns += counters.total_ns;
        if (counters.timed_calls < counters.calls) process.sampled_ns += counters.total_ns;
        process.has_untimed_rows |= counters.timed_calls == 0 && !rows_[index].is_kernel();
        process.has_gpu_calls |= row != nullptr && row->decision.call.device == policy::Device::cuda;
        if (row != nullptr && row->decision.call.device == policy::Device::cuda && !rows_[index].is_kernel())
            add_counters(process.gpus[row->decision.call.device_index], counters);
        total_.add(rows_[index], counters);
        if (rows_[index].flops < 0) calls_without_work_ += counters.calls;
        if (first_ns_ == 0 || counters.first_ns < first_ns_) first_ns_ = counters.first_ns;
        last_ns_ = std::max(last_ns_, counters.last_ns);
    }
    add_audits(recording, audited);
    std::sort(counted.begin(), counted.end());
    counted.erase(std::unique(counted.begin(), counted.end()), counted.end());
    for (const std::uint32_t index : counted) ++rows_[index].processes;
    calls_before_filter_ += process.uncounted_calls;
    if (takes_all) {
        process.calls += process.uncounted_calls;
        total_.calls += process.uncounted_calls;
        calls_without_work_ += process.uncounted_calls;
    } else if (rows->cannot_decide(nullptr)) {
        calls_left_open_ += process.uncounted_calls;
    }
    if (opened_ns_ == 0 || process.facts.opened_ns < opened_ns_) opened_ns_ = process.facts.opened_ns;
    process.is_damaged = !recording.problems().empty();
    processes_.push_back(std::move(process));
}

/// Adds the audits of a recording. `merged_rows` maps the ids of rows that have audits to their index in rows_;
/// no_row means that the filter left the row out.
void MergedCalls::add_audits(const record::RecordingReader& recording,
                             const std::map<std::uint32_t, std::uint32_t>& merged_rows) {
    audits_.add_lost(recording.lost_audits());
    searched_calls_ += recording.calls_searched_for_nonfinite();
    recording.visit_audits([&](const record::RecordedAudit& audit) {
        const auto found = merged_rows.find(audit.row);
        if (found == merged_rows.end() || found->second == no_row) return;
        if (!is_about_nonfinite(audit.audit)) return audits_.add(found->second, audit.audit);
        std::vector<FirstNonfiniteProduct>& list =
            (audit.audit.flags & record::audit_received) != 0 ? received_ : nonfinite_;
        const auto later = std::ranges::upper_bound(
            list, audit.end_ns, {}, [](const FirstNonfiniteProduct& other) { return other.found.end_ns; });
        list.insert(later, {found->second, processes_.size(), audit});
    });
}

std::uint64_t MergedCalls::calls_with(bool (MergedRow::*is_of)() const) const {
    std::uint64_t sum = 0;
    for (const MergedRow& row : rows_)
        if ((row.*is_of)()) sum += row.counters.calls;
    return sum;
}

CallSum MergedCalls::vector_products() const {
    CallSum sum;
    for (const MergedRow& row : rows_)
        if (row.is_vector_product()) sum.add(row, row.counters);
    return sum;
}

std::uint64_t MergedCalls::calls_without_row() const {
    return filter_ == nullptr || filter_->is_empty() ? uncounted_calls() : 0;
}

std::vector<std::pair<std::string, CallSum>> MergedCalls::by_format(bool with_vectors) const {
    std::vector<std::pair<std::string, CallSum>> result;
    for (const auto& [format, applied] : policy::applied_words) result.emplace_back(format, CallSum());
    result.emplace_back("unknown", CallSum());
    for (const MergedRow& row : rows_) {
        if (!with_vectors && row.is_vector_product()) continue;
        const auto range = std::find_if(result.begin(), result.end() - 1,
                                        [&](const auto& entry) { return entry.first == row.effective_format(); });
        range->second.add(row, row.counters);
    }
    result.back().second.calls += calls_without_row();
    std::erase_if(result, [](const auto& entry) { return entry.second.calls == 0; });
    return result;
}

std::size_t MergedCalls::recording_count() const {
    const auto others = std::ranges::count_if(processes_, &MergedProcess::is_children_file);
    return processes_.size() - static_cast<std::size_t>(others);
}

std::size_t MergedCalls::host_count() const {
    std::set<std::string> hosts;
    for (const MergedProcess& process : processes_) hosts.insert(process.facts.process.host);
    return hosts.size();
}

std::uint64_t MergedCalls::sum_of(std::uint64_t MergedProcess::*count) const {
    std::uint64_t sum = 0;
    for (const MergedProcess& process : processes_) sum += process.*count;
    return sum;
}

std::vector<const MergedRow*> sorted(const std::vector<MergedRow>& rows, RowOrder order) {
    std::vector<const MergedRow*> result;
    result.reserve(rows.size());
    for (const MergedRow& row : rows) result.push_back(&row);
    std::ranges::stable_sort(result, std::greater<>(), [order](const MergedRow* row) {
        return sort_key(order, row->counters.calls, row->counters.total_ns, row->total_flops());
    });
    return result;
}

bool holds_all_of(record::RecordingReader& fullest, const record::RecordingReader& copy) {
    MergedCalls merged(nullptr, MergedCalls::Objects::left_out);
    merged.add({}, fullest);
    std::map<std::size_t, std::uint64_t> calls;  // calls in `copy`, by index in the rows of `merged`
    for (const auto& [id, counters] : copy.counters()) {
        const record::RecordedRow* row = copy.row(id);
        // A truncated copy may have lost a row whose calls it still counts.
        const auto index = merged.index_of(row != nullptr ? row : fullest.row(id));
        if (!index || (calls[*index] += counters.calls) > merged.rows()[*index].counters.calls) return false;
    }
    const auto are_equal = [](const auto& a, const auto& b) {
        const auto facts = [](const record::RecordedSettingsChange& change) {
            return std::tie(change.kind, change.was_done, change.precision, change.floor, change.policy_sha256);
        };
        return facts(a) == facts(b);
    };
    const auto &some = copy.changes(), &all = fullest.changes();
    return copy.uncounted_calls() <= fullest.uncounted_calls() &&
           copy.children().size() <= fullest.children().size() &&
           copy.unrecorded_processes().size() <= fullest.unrecorded_processes().size() &&
           (copy.lost_changes() < fullest.lost_changes() ||
            std::ranges::mismatch(some, all, are_equal).in1 == some.end());
}

}  // namespace fp32shim::cli
