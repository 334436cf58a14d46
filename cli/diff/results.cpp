#include "cli/diff/results.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <utility>

#include "cli/recordings/location_text.hpp"
#include "record/fingerprint.hpp"
#include "record/read/reader.hpp"
#include "shim/table/functions.hpp"
#include "system/hash.hpp"
#include "system/inline_text.hpp"

namespace fp32shim::cli {
namespace {

/// Returns a number for a function. Functions that do the same under different names, such as `cblas_sgemm` and
/// `cblas_sgemm64_`, have the same number.
std::uint64_t number_of_function(SharedText function) {
    const FunctionIndex found = find_function(std::string(function).c_str());
    if (found < 0) return function.id();
    const Function& known = functions[found];
    // This bit keeps the number apart from the ids of texts.
    constexpr std::uint64_t is_known = std::uint64_t{1} << 63;
    return is_known | (reinterpret_cast<std::uint64_t>(known.family) << 3 & ~is_known) |
           static_cast<std::uint64_t>(known.convention);
}

/// Reads the products with fingerprints from one recording.
class RecordingResults {
  public:
    RecordingResults(const std::string& path, const record::RecordingReader& recording, ProductKinds& kinds,
                     ResultsOfSide& side)
        : recording_(recording), kinds_(kinds), side_(side) {
        const record::ProcessFacts& facts = recording.facts().process;
        process_.path = path;
        process_.program = system::base_name(facts.executable);
        process_.pid = facts.pid;
        process_.rank = facts.rank;
        process_.opened_ns = recording.facts().opened_ns;
        for (const std::uint32_t slot : recording.slots_with_fingerprints()) add_slot(slot);
        for (const ThreadResults& thread : process_.threads) side.fingerprints += thread.kinds.size();
    }

    ProcessResults&& release() { return std::move(process_); }

  private:
    void add_slot(std::uint32_t slot) {
        record::RecordedFingerprints all = recording_.fingerprints(slot);
        std::map<std::int32_t, std::size_t> indices;  // indices in process_.threads, by thread id
        while (const auto entry = all.next()) {
            const auto [known, is_new] = indices.try_emplace(entry->thread, process_.threads.size());
            if (is_new) process_.threads.push_back({slot, entry->thread, entry->end_ns, {}, {}});
            ThreadResults& thread = process_.threads[known->second];
            const std::uint32_t kind = side_.kinds[row_of(entry->row)];
            thread.kinds.push_back(kind);
            thread.results.push_back(system::Hash().add(kind).add(entry->fingerprint.hash).value());
        }
    }

    std::uint32_t row_of(std::uint32_t id) {
        const auto [entry, is_new] = process_.rows.try_emplace(id, static_cast<std::uint32_t>(side_.rows.size()));
        if (!is_new) return entry->second;
        MergedRow row;
        if (const record::RecordedRow* const recorded = recording_.row(id)) row = to_merged_row(*recorded);
        side_.kinds.push_back(kinds_.number_of(row));
        side_.rows.push_back(row);
        return entry->second;
    }

    const record::RecordingReader& recording_;
    ProductKinds& kinds_;
    ResultsOfSide& side_;
    ProcessResults process_;
};

using Match = std::pair<std::size_t, std::size_t>;

/// Matches processes of A with processes of B, both in their order: first processes with equal rank and name, then
/// those with equal rank, then the rest.
std::vector<Match> matched_processes(const std::vector<ProcessResults>& a, const std::vector<ProcessResults>& b) {
    using IsAlike = bool (*)(const ProcessResults&, const ProcessResults&);
    constexpr IsAlike rounds[] = {
        [](const ProcessResults& one, const ProcessResults& other) {
            return one.rank == other.rank && one.program == other.program;
        },
        [](const ProcessResults& one, const ProcessResults& other) { return one.rank == other.rank; },
        [](const ProcessResults&, const ProcessResults&) { return true; }};
    std::vector<Match> matches;
    std::vector<bool> taken_a(a.size()), taken_b(b.size());
    for (const IsAlike is_alike : rounds) {
        for (std::size_t i = 0; i < a.size(); ++i) {
            for (std::size_t j = 0; j < b.size() && !taken_a[i]; ++j) {
                if (taken_b[j] || !is_alike(a[i], b[j])) continue;
                taken_a[i] = taken_b[j] = true;
                matches.emplace_back(i, j);
            }
        }
    }
    return matches;
}

using Counts = std::map<std::uint64_t, std::uint64_t>;

Counts counts_of(const ThreadResults& thread) {
    Counts counts;
    for (const std::uint64_t kind : thread.kinds) ++counts[kind];
    return counts;
}

std::uint64_t count_in_common(const Counts& a, const Counts& b) {
    std::uint64_t sum = 0;
    for (const auto& [kind, count] : a)
        if (const auto other = b.find(kind); other != b.end()) sum += std::min(count, other->second);
    return sum;
}

/// Returns the indices of threads, sorted by the time of their first product.
std::vector<std::size_t> by_first_product(const std::vector<ThreadResults>& threads) {
    std::vector<std::size_t> order(threads.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return threads[i].first_ns; });
    return order;
}

/// Matches threads in the order of their first products. Each is matched with the thread that shares the most kinds
/// of products with it.
std::vector<Match> matched_threads(const std::vector<ThreadResults>& a, const std::vector<ThreadResults>& b) {
    std::vector<Match> matches;
    // Threads with equal products are matched first, which is fast even with thousands of threads.
    std::map<Counts, std::deque<std::size_t>> by_counts;
    for (const std::size_t j : by_first_product(b)) by_counts[counts_of(b[j])].push_back(j);
    std::vector<std::size_t> others;
    for (const std::size_t i : by_first_product(a)) {
        const auto equal = by_counts.find(counts_of(a[i]));
        if (equal == by_counts.end() || equal->second.empty()) {
            others.push_back(i);
            continue;
        }
        matches.emplace_back(i, equal->second.front());
        equal->second.pop_front();
    }
    std::vector<std::pair<std::size_t, const Counts*>> rest;
    for (const auto& [counts, threads] : by_counts)
        for (const std::size_t j : threads) rest.emplace_back(j, &counts);
    std::ranges::stable_sort(rest, {}, [&](const auto& thread) { return b[thread.first].first_ns; });
    for (const std::size_t i : others) {
        const Counts own = counts_of(a[i]);
        const auto best = std::ranges::max_element(
            rest, {}, [&](const auto& thread) { return count_in_common(own, *thread.second); });
        if (best == rest.end()) break;
        matches.emplace_back(i, best->first);
        rest.erase(best);
    }
    return matches;
}

/// Returns an estimate of the difference between A and B, relative to A.
double difference_of(const record::Fingerprint& a, const record::Fingerprint& b) {
    if (a.is_finite() != b.is_finite()) return std::numeric_limits<double>::infinity();
    const double apart = distance(a, b);
    const double relative = apart == 0 ? 0 : apart / a.norm;
    // A damaged recording may contain NaN.
    return relative >= 0 ? relative : std::numeric_limits<double>::infinity();
}

/// Finds the fingerprints of a thread by their indices, which must be requested in rising order.
class FingerprintsByIndex {
  public:
    FingerprintsByIndex(const record::RecordingReader& recording, const ThreadResults& thread)
        : all_(recording.fingerprints(thread.slot)), thread_(thread.thread) {}

    std::optional<record::RecordedFingerprint> at(std::size_t index) {
        while (const auto entry = all_.next())
            if (entry->thread == thread_ && next_++ == index) return entry;
        return std::nullopt;
    }

  private:
    record::RecordedFingerprints all_;
    std::int32_t thread_;
    std::size_t next_ = 0;
};

std::unique_ptr<record::RecordingReader> open_again(const std::string& path, std::vector<ReadingProblem>& problems) {
    auto opened = record::RecordingReader::open(path);
    if (opened.reader == nullptr) problems.push_back({path, opened.error});
    return std::move(opened.reader);
}

/// Compares the aligned products of two threads.
void compare(const ProcessResults& a, std::size_t thread_a, const record::RecordingReader& recording_a,
             const ProcessResults& b, std::size_t thread_b, const record::RecordingReader& recording_b,
             const std::vector<AlignedRun>& runs, ResultPair pair, AlignedResults& results) {
    FingerprintsByIndex all_a(recording_a, a.threads[thread_a]);
    FingerprintsByIndex all_b(recording_b, b.threads[thread_b]);
    for (const AlignedRun& run : runs) {
        for (std::size_t i = 0; i < run.count; ++i) {
            const auto one = all_a.at(run.a + i), other = all_b.at(run.b + i);
            if (!one || !other) return;  // the file was truncated after it was first read
            pair.end_ns = one->end_ns;
            const auto row_a = a.rows.find(one->row), row_b = b.rows.find(other->row);
            if (row_a == a.rows.end() || row_b == b.rows.end())
                return;  // the file was rewritten after it was first
                         // read
            pair.number_a = std::uint64_t{one->number} + 1;
            pair.number_b = std::uint64_t{other->number} + 1;
            pair.row_a = row_a->second;
            pair.row_b = row_b->second;
            pair.same_bits = same_bits(one->fingerprint, other->fingerprint);
            pair.difference = pair.same_bits ? 0 : difference_of(one->fingerprint, other->fingerprint);
            results.pairs.push_back(pair);
        }
    }
}

}  // namespace

std::uint32_t ProductKinds::number_of(const MergedRow& row) {
    const Key key{SharedText(without_line(row.where)).id(),
                  row.scope.id(),
                  number_of_function(row.function),
                  row.trans_a,
                  row.trans_b,
                  row.m,
                  row.n,
                  row.k,
                  row.batch};
    return numbers_.try_emplace(key, static_cast<std::uint32_t>(numbers_.size())).first->second;
}

ResultsOfSide read_results(const std::vector<std::string>& paths, ProductKinds& kinds, NativeLocations& locations,
                           std::vector<ReadingProblem>& problems) {
    ResultsOfSide side;
    std::int64_t first_ns = std::numeric_limits<std::int64_t>::max();
    auto found = visit_recordings(paths, [&](const std::string& path, record::RecordingReader& recording) {
        locations.name_rows_of(recording, false);
        ++side.recordings;
        side.calls += recording.total_calls();
        side.lost += recording.lost_fingerprints();
        if (recording.facts().opened_ns < first_ns) {
            first_ns = recording.facts().opened_ns;
            side.command = recording.facts().process.command;
        }
        ProcessResults process = RecordingResults(path, recording, kinds, side).release();
        if (!process.threads.empty()) side.processes.push_back(std::move(process));
    });
    problems.insert(problems.end(), std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
    std::ranges::stable_sort(side.processes, {}, &ProcessResults::opened_ns);
    return side;
}

AlignedResults align_results(const ResultsOfSide& a, const ResultsOfSide& b, std::vector<ReadingProblem>& problems) {
    AlignedResults results;
    for (const auto& [i, j] : matched_processes(a.processes, b.processes)) {
        const ProcessResults &one = a.processes[i], &other = b.processes[j];
        const auto recording_a = open_again(one.path, problems), recording_b = open_again(other.path, problems);
        if (recording_a == nullptr || recording_b == nullptr) continue;
        for (const auto& [thread_a, thread_b] : matched_threads(one.threads, other.threads)) {
            ResultPair pair;
            pair.process_a = static_cast<std::uint32_t>(i);
            pair.thread_a = static_cast<std::uint32_t>(thread_a);
            compare(one, thread_a, *recording_a, other, thread_b, *recording_b,
                    align_products(one.threads[thread_a].sequence(), other.threads[thread_b].sequence()), pair,
                    results);
        }
    }
    results.unaligned_a = a.fingerprints - results.pairs.size();
    results.unaligned_b = b.fingerprints - results.pairs.size();
    std::ranges::stable_sort(results.pairs, {}, &ResultPair::end_ns);
    return results;
}

}  // namespace fp32shim::cli
