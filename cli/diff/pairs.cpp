#include "cli/diff/pairs.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <span>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

#include "cli/diff/align.hpp"
#include "cli/diff/results.hpp"
#include "cli/recordings/recordings.hpp"
#include "record/fingerprint.hpp"
#include "record/format/entry_fields.hpp"
#include "record/read/reader.hpp"
#include "system/hash.hpp"

namespace fp32shim::cli {
namespace {

// ---- The following functions match the processes and threads of two runs that are likely to do the same work. The
// order of products is used only to align two matched threads.

/// The indices of two matched threads in DiffSide::threads, the first in run A and the second in run B.
using MatchedThreads = std::pair<std::size_t, std::size_t>;

using MatchedProcesses = std::pair<std::size_t, std::size_t>;

std::vector<MatchedProcesses> matched_processes(const std::vector<ProcessResults>& a,
                                                const std::vector<ProcessResults>& b) {
    using IsAlike = bool (*)(const ProcessResults&, const ProcessResults&);
    constexpr IsAlike rounds[] = {
        [](const ProcessResults& one, const ProcessResults& other) {
            return one.rank == other.rank && one.program == other.program;
        },
        [](const ProcessResults& one, const ProcessResults& other) { return one.rank == other.rank; },
        [](const ProcessResults&, const ProcessResults&) { return true; }};
    std::vector<MatchedProcesses> matches;
    std::vector<bool> taken_a(a.size()), taken_b(b.size());
    for (const IsAlike is_alike : rounds) {
        for (std::size_t i = 0; i < a.size(); ++i)
            for (std::size_t j = 0; j < b.size() && !taken_a[i]; ++j) {
                if (taken_b[j] || !is_alike(a[i], b[j])) continue;
                taken_a[i] = taken_b[j] = true;
                matches.emplace_back(i, j);
            }
    }
    return matches;
}

/// The number of products of each kind. The key is the number by which ProductKindNumbering identifies the kind.
using Counts = std::map<std::uint32_t, std::uint64_t>;

Counts counts_of(const DiffSide& side, std::size_t thread) {
    Counts counts;
    const ThreadResults& range = side.threads[thread];
    for (std::size_t i = 0; i < range.count; ++i) ++counts[side.kind_of(range.first + i)];
    return counts;
}

std::uint64_t count_in_common(const Counts& a, const Counts& b) {
    std::uint64_t sum = 0;
    for (const auto& [kind, count] : a)
        if (const auto other = b.find(kind); other != b.end()) sum += std::min(count, other->second);
    return sum;
}

std::int64_t begin_of(const DiffSide& side, std::size_t thread) {
    return side.products[side.threads[thread].first].end_ns;
}

/// Returns the indices of the threads of `process`, sorted by the time of their first product.
std::vector<std::size_t> by_first_product(const DiffSide& side, const ProcessResults& process) {
    std::vector<std::size_t> order(process.threads);
    std::iota(order.begin(), order.end(), process.first_thread);
    std::ranges::stable_sort(order, {}, [&](std::size_t thread) { return begin_of(side, thread); });
    return order;
}

/// Matches the threads of `process_a` with the threads of `process_b`, and adds the pairs to `matches`.
void match_threads_of(const DiffSide& a, const ProcessResults& process_a, const DiffSide& b,
                      const ProcessResults& process_b, std::vector<MatchedThreads>& matches) {
    // Threads with equally many products of each kind are matched first, which is fast even with thousands of
    // threads.
    std::map<Counts, std::deque<std::size_t>> by_counts;
    for (const std::size_t j : by_first_product(b, process_b)) by_counts[counts_of(b, j)].push_back(j);
    std::vector<std::size_t> others;
    for (const std::size_t i : by_first_product(a, process_a)) {
        const auto equal = by_counts.find(counts_of(a, i));
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
    std::ranges::stable_sort(rest, {}, [&](const auto& thread) { return begin_of(b, thread.first); });
    for (const std::size_t i : others) {
        const Counts own = counts_of(a, i);
        const auto best = std::ranges::max_element(
            rest, {}, [&](const auto& thread) { return count_in_common(own, *thread.second); });
        if (best == rest.end()) break;
        matches.emplace_back(i, best->first);
        rest.erase(best);
    }
}

/// Matches the processes of both runs in their order: first processes with equal rank and program, then those with
/// equal rank, then the rest. In two matched processes, the threads are matched in the order of their first products.
/// Each thread is matched with the thread that shares the most products of equal kinds with it. A thread or process
/// may have no counterpart.
std::vector<MatchedThreads> match_threads(const DiffSide& a, const DiffSide& b) {
    std::vector<MatchedThreads> matches;
    for (const auto& [i, j] : matched_processes(a.processes, b.processes))
        match_threads_of(a, a.processes[i], b, b.processes[j], matches);
    return matches;
}

// ---- The following code estimates the differences between results of two runs from the sketches in their
// recordings.

/// Reads fingerprints of a run again when they are needed. Keeps only one recording open at a time.
class FingerprintReader {
  public:
    FingerprintReader(const DiffSide& side, std::vector<ReadingProblem>& problems)
        : side_(side), problems_(problems), readers_(side.processes.size()), is_lost_(side.processes.size()) {}

    /// Returns the fingerprint of a product. If it cannot be read again, returns a fingerprint that has no hash and
    /// is marked as not finite.
    record::Fingerprint of(std::size_t product);

  private:
    record::RecordingReader* reader_of(std::uint32_t process);

    const DiffSide& side_;
    std::vector<ReadingProblem>& problems_;
    std::vector<std::unique_ptr<record::RecordingReader>> readers_;
    std::vector<bool> is_lost_;
    std::uint32_t process_ = 0;  ///< index of the process whose recording is open
};

record::RecordingReader* FingerprintReader::reader_of(std::uint32_t process) {
    if (process != process_) {
        if (readers_[process_] != nullptr) readers_[process_]->close_until_next_read();
        process_ = process;
    }
    if (readers_[process] == nullptr && !is_lost_[process]) {
        auto opened = record::RecordingReader::open(side_.processes[process].path);
        readers_[process] = std::move(opened.reader);
        is_lost_[process] = readers_[process] == nullptr;
        if (is_lost_[process]) problems_.push_back({side_.processes[process].path, opened.error});
    }
    return readers_[process].get();
}

record::Fingerprint FingerprintReader::of(std::size_t product) {
    record::RecordingReader* const reader = reader_of(side_.thread_of(product).process);
    record::format::FingerprintRecord entry;
    if (reader != nullptr && reader->read_fingerprints(side_.products[product].offset, {&entry, 1}) == 1)
        return record::format::load_fingerprint(entry);
    record::Fingerprint lost;  // this fingerprint stands for one that is missing because the file was truncated after
                               // it was first read
    lost.flags = record::fingerprint_nonfinite;
    return lost;
}

/// Returns the estimated norm of the difference between two results, relative to the norm of the result `a`. The
/// result is infinite if `a` is zero and `b` is not, or if only one of the two is finite.
double difference_of(const record::Fingerprint& a, const record::Fingerprint& b) {
    if (a.is_finite() != b.is_finite()) return std::numeric_limits<double>::infinity();
    const double apart = estimated_distance(a, b);
    const double relative = apart == 0 ? 0 : apart / a.norm;
    // A damaged recording may contain NaN, for which the comparison is false.
    return relative >= 0 ? relative : std::numeric_limits<double>::infinity();
}

constexpr std::size_t none = SIZE_MAX;
/// The relative difference beyond which two results are assumed not to come from the same work. Most differences by
/// rounding are far smaller.
constexpr double very_different = 0.1;
/// If the order of one kind's products is doubtful and no run has more of them than this number, each is compared
/// with each product of the other run. Larger numbers of products are paired by their order only.
constexpr std::size_t max_compared = 200;

/// Copies the kinds and the results of a thread's products, because the alignment needs them as sequences of numbers.
struct ThreadSequence {
    ThreadSequence(const DiffSide& side, const ThreadResults& thread) {
        kinds.reserve(thread.count);
        results.reserve(thread.count);
        for (std::size_t i = thread.first; i < thread.first + thread.count; ++i) {
            kinds.push_back(side.kind_of(i));
            results.push_back(side.products[i].result);
        }
    }

    std::vector<std::uint64_t> kinds, results;
};

/// Products that have no counterpart yet. Each entry is a number by which products are grouped, and the product's
/// index.
using Rest = std::vector<std::pair<std::uint64_t, std::size_t>>;

/// Calls visitor(products of a, products of b) for each group number that both `a` and `b` contain.
template <class Visitor>
void visit_common(const Rest& a, const Rest& b, const Visitor& visitor) {
    const auto end_of_number = [](const Rest& rest, std::size_t begin) {
        std::size_t end = begin;
        while (end < rest.size() && rest[end].first == rest[begin].first) ++end;
        return end;
    };
    std::size_t i = 0, j = 0;
    while (i < a.size() && j < b.size()) {
        if (a[i].first < b[j].first) {
            ++i;
        } else if (b[j].first < a[i].first) {
            ++j;
        } else {
            const std::size_t end_i = end_of_number(a, i), end_j = end_of_number(b, j);
            visitor(std::span(a).subspan(i, end_i - i), std::span(b).subspan(j, end_j - j));
            i = end_i;
            j = end_j;
        }
    }
}
using RestGroup = std::span<const Rest::value_type>;

class ResultPairing {
  public:
    ResultPairing(const DiffSide& a, const DiffSide& b, std::vector<ReadingProblem>& problems)
        : a_(a),
          b_(b),
          fingerprints_a_(a, problems),
          fingerprints_b_(b, problems),
          counterpart_in_order_(a.products.size(), none),
          is_paired_a_(a.products.size()),
          is_paired_b_(b.products.size()) {}

    PairedResults pairs() {
        align_threads();
        pair_equal_results();
        pair_equal_operands();
        visit_common(rest_by_kind(a_, is_paired_a_), rest_by_kind(b_, is_paired_b_),
                     [&](RestGroup group_a, RestGroup group_b) { pair_rest(group_a, group_b); });
        for (std::size_t i = 0; i < is_paired_a_.size(); ++i)
            if (!is_paired_a_[i]) results_.unpaired_a.push_back(i);
        for (std::size_t i = 0; i < is_paired_b_.size(); ++i)
            if (!is_paired_b_[i]) results_.unpaired_b.push_back(i);
        std::ranges::stable_sort(results_.pairs, {}, [&](const ResultPair& pair) {
            return std::tuple(a_.products[pair.a].end_ns, pair.a);
        });
        return std::move(results_);
    }

  private:
    void add_pair(std::size_t a, std::size_t b, double difference, bool same_bits) {
        is_paired_a_[a] = is_paired_b_[b] = true;
        results_.pairs.push_back(
            {a, b, difference, same_bits, a_.products[a].operands.differing_operands(b_.products[b].operands)});
    }

    /// Finds the counterpart of each product in the order of its thread, and pairs the products that have equal bits.
    void align_threads() {
        for (const auto& [i, j] : match_threads(a_, b_)) {
            const ThreadResults &thread_a = a_.threads[i], &thread_b = b_.threads[j];
            const ThreadSequence one(a_, thread_a), other(b_, thread_b);
            for (const AlignedRun& run : align_products({one.kinds, one.results}, {other.kinds, other.results}))
                for (std::size_t k = 0; k < run.count; ++k) {
                    const std::size_t a = thread_a.first + run.a + k, b = thread_b.first + run.b + k;
                    counterpart_in_order_[a] = b;
                    if (a_.products[a].result == b_.products[b].result) add_pair(a, b, 0, true);
                }
        }
    }

    template <class Number>
    static Rest rest_of(const DiffSide& side, const std::vector<bool>& is_paired, const Number& number_of) {
        Rest rest;
        for (std::size_t i = 0; i < side.products.size(); ++i)
            if (!is_paired[i]) rest.emplace_back(number_of(i), i);
        std::ranges::sort(rest);
        return rest;
    }
    static Rest rest_by_kind(const DiffSide& side, const std::vector<bool>& is_paired) {
        return rest_of(side, is_paired, [&](std::size_t i) { return side.kind_of(i); });
    }

    /// Pairs products of both runs that have equal bits, regardless of their order and thread.
    void pair_equal_results() {
        const auto of_side = [](const DiffSide& side, const std::vector<bool>& is_paired) {
            return rest_of(side, is_paired, [&](std::size_t i) { return side.products[i].result; });
        };
        visit_common(of_side(a_, is_paired_a_), of_side(b_, is_paired_b_), [&](RestGroup group_a, RestGroup group_b) {
            for (std::size_t i = 0; i < std::min(group_a.size(), group_b.size()); ++i) {
                add_pair(group_a[i].second, group_b[i].second, 0, true);
                ++results_.elsewhere;
            }
            kinds_out_of_order_.insert(a_.kind_of(group_a[0].second));
        });
    }

    /// Pairs products of one kind that read equal operands but have different results. First pairs each product with
    /// its counterpart in the order of the thread, then the others regardless of their order and thread.
    void pair_equal_operands() {
        for (std::size_t a = 0; a < counterpart_in_order_.size(); ++a) {
            const std::size_t b = counterpart_in_order_[a];
            if (b == none || is_paired_a_[a] || is_paired_b_[b]) continue;
            if (a_.products[a].operands.differing_operands(b_.products[b].operands) == 0)
                add_pair(a, b, difference(a, b), false);
        }
        const auto of_side = [](const DiffSide& side, const std::vector<bool>& is_paired) {
            Rest rest = rest_of(side, is_paired, [&](std::size_t i) {
                const std::uint64_t operands = side.products[i].operands.all;
                return operands == 0 ? 0 : system::Hash().add(side.kind_of(i)).add(operands).value();
            });
            std::erase_if(rest, [](const auto& product) { return product.first == 0; });
            return rest;
        };
        visit_common(of_side(a_, is_paired_a_), of_side(b_, is_paired_b_), [&](RestGroup group_a, RestGroup group_b) {
            for (std::size_t i = 0; i < std::min(group_a.size(), group_b.size()); ++i)
                add_pair(group_a[i].second, group_b[i].second, difference(group_a[i].second, group_b[i].second),
                         false);
            kinds_out_of_order_.insert(a_.kind_of(group_a[0].second));
        });
    }

    double difference(std::size_t a, std::size_t b) {
        return difference_of(fingerprints_a_.of(a), fingerprints_b_.of(b));
    }

    /// Returns true if the order of the products of this kind may be meaningless, because the two runs made some of
    /// them in different orders, or because several threads share the work.
    bool has_doubtful_order(RestGroup group_a, RestGroup group_b) const {
        if (kinds_out_of_order_.contains(a_.kind_of(group_a[0].second))) return true;
        const auto in_order = static_cast<std::size_t>(std::ranges::count_if(
            group_a, [&](const auto& product) { return counterpart_in_order_[product.second] != none; }));
        if (in_order < std::min(group_a.size(), group_b.size())) return true;
        const auto has_several_threads = [](const DiffSide& side, RestGroup group) {
            return &side.thread_of(group.front().second) != &side.thread_of(group.back().second);
        };
        return has_several_threads(a_, group_a) || has_several_threads(b_, group_b);
    }

    /// Pairs products of one kind whose bits differ.
    void pair_rest(RestGroup group_a, RestGroup group_b) {
        const bool is_doubtful = has_doubtful_order(group_a, group_b);
        const bool is_small = std::max(group_a.size(), group_b.size()) <= max_compared;
        if (is_doubtful && is_small) pair_nearest(group_a, group_b);
        const std::size_t left =
            std::max(count_unpaired(group_a, is_paired_a_), count_unpaired(group_b, is_paired_b_));
        const std::size_t paired = pair_in_order(group_a, group_b);
        // If a single product is left in each run, the two are counterparts by elimination.
        if (is_doubtful && left > 1) results_.doubtful += paired;
    }
    static std::size_t count_unpaired(RestGroup group, const std::vector<bool>& is_paired) {
        return static_cast<std::size_t>(
            std::ranges::count_if(group, [&](const auto& product) { return !is_paired[product.second]; }));
    }

    /// Pairs products of both runs whose results are similar, the most similar pairs first. The counterpart in the
    /// order of the thread is preferred, unless another result is more than ten times as near. A product without a
    /// similar result is not paired.
    void pair_nearest(RestGroup group_a, RestGroup group_b) {
        std::vector<record::Fingerprint> all_b;
        for (const auto& [kind, b] : group_b) all_b.push_back(fingerprints_b_.of(b));
        struct CandidatePair {
            double weight, apart;
            std::size_t a, b;
        };
        std::vector<CandidatePair> candidates;
        for (const auto& [kind, a] : group_a) {
            const record::Fingerprint one = fingerprints_a_.of(a);
            for (std::size_t j = 0; j < group_b.size(); ++j) {
                const std::size_t b = group_b[j].second;
                const double apart = difference_of(one, all_b[j]);
                if (apart <= very_different)
                    candidates.push_back({b == counterpart_in_order_[a] ? apart / 10 : apart, apart, a, b});
            }
        }
        std::ranges::stable_sort(candidates, {}, &CandidatePair::weight);
        const bool is_a_choice = group_a.size() > 1 || group_b.size() > 1;
        for (const CandidatePair& candidate : candidates) {
            if (is_paired_a_[candidate.a] || is_paired_b_[candidate.b]) continue;
            add_pair(candidate.a, candidate.b, candidate.apart, false);
            if (is_a_choice && candidate.b != counterpart_in_order_[candidate.a]) ++results_.nearest;
        }
    }

    /// Pairs the products that are left: first with the counterpart in the order of the thread, then in the order of
    /// the products in each run. Returns the number of pairs.
    std::size_t pair_in_order(RestGroup group_a, RestGroup group_b) {
        const std::size_t before = results_.pairs.size();
        for (const auto& [kind, a] : group_a)
            if (const std::size_t b = counterpart_in_order_[a]; !is_paired_a_[a] && b != none && !is_paired_b_[b])
                add_pair(a, b, difference(a, b), false);
        auto next = group_b.begin();
        for (const auto& [kind, a] : group_a) {
            if (is_paired_a_[a]) continue;
            next = std::find_if(next, group_b.end(), [&](const auto& b) { return !is_paired_b_[b.second]; });
            if (next == group_b.end()) break;
            add_pair(a, next->second, difference(a, next->second), false);
        }
        return results_.pairs.size() - before;
    }

    const DiffSide &a_, &b_;
    FingerprintReader fingerprints_a_, fingerprints_b_;
    std::vector<std::size_t>
        counterpart_in_order_;  // for each product of A, its counterpart in B in the order of the thread, or `none`
    std::vector<bool> is_paired_a_, is_paired_b_;
    std::unordered_set<std::uint32_t> kinds_out_of_order_;
    PairedResults results_;
};

}  // namespace

PairedResults pair_results(const DiffSide& a, const DiffSide& b, std::vector<ReadingProblem>& problems) {
    return ResultPairing(a, b, problems).pairs();
}

}  // namespace fp32shim::cli
