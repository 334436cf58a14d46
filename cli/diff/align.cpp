#include "cli/diff/align.hpp"

#include <algorithm>
#include <unordered_set>

namespace fp32shim::cli {
namespace {

using Entries = std::span<const std::uint64_t>;

/// The entries of one sequence that the other sequence also contains, with their indices in the first sequence.
struct CommonEntries {
    std::vector<std::uint64_t> entries;
    std::vector<std::size_t> indices;
};

CommonEntries common_with(Entries sequence, Entries other) {
    const std::unordered_set<std::uint64_t> known(other.begin(), other.end());
    CommonEntries common;
    for (std::size_t i = 0; i < sequence.size(); ++i) {
        if (!known.contains(sequence[i])) continue;
        common.entries.push_back(sequence[i]);
        common.indices.push_back(i);
    }
    return common;
}

struct IndexPair {
    std::size_t a, b;
};

std::size_t common_prefix(Entries a, Entries b) {
    const auto [end, _] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
    return static_cast<std::size_t>(end - a.begin());
}

/// Searches forward with Myers' greedy algorithm. On diagonal k, the index in `a_` minus the index in `b_` is k. For
/// each number d of left-out entries, reach(d, k) is the largest index in `a_` that a path reaches on diagonal k.
class MyersForwardSearch {
  public:
    MyersForwardSearch(Entries a, Entries b) : a_(a), b_(b) {}

    /// Adds the aligned pairs of a path that starts at the beginnings of both sequences. The path ends at the ends of
    /// both sequences, or once it has left out max_left_out entries. Returns the end of the path.
    IndexPair add_pairs(std::vector<IndexPair>& pairs) {
        for (std::int64_t d = 0;; ++d) {
            const std::int64_t best = step(d);
            const IndexPair end = point(best);
            const bool is_done = end.a == a_.size() && end.b == b_.size();
            if (!is_done && d < static_cast<std::int64_t>(max_left_out)) continue;
            trace(d, best, pairs);
            return end;
        }
    }

  private:
    std::size_t index_of(std::int64_t d, std::int64_t k) const {
        return static_cast<std::size_t>(d * (d + 1) / 2 + (k + d) / 2);
    }
    std::int64_t& reach(std::int64_t d, std::int64_t k) { return reaches_[index_of(d, k)]; }
    /// The start of a run of equal entries on a diagonal. It follows the farthest point of a neighbouring diagonal,
    /// with one more entry of `a_` or `b_` left out.
    struct RunStart {
        std::int64_t a;  ///< index in `a_`; `outside` if no path leads to this diagonal
        bool leaves_out_of_a;
    };
    RunStart begin_of_run(std::int64_t d, std::int64_t k) {
        if (d == 0) return {0, false};
        const auto inside = [&](std::int64_t at) {
            return at >= 0 && at <= size(a_) && at - k >= 0 && at - k <= size(b_) ? at : outside;
        };
        const std::int64_t without_a = k > -d ? inside(reach(d - 1, k - 1) + 1) : outside;
        const std::int64_t without_b = k < d ? inside(reach(d - 1, k + 1)) : outside;
        return {std::max(without_a, without_b), without_a >= without_b};
    }
    static std::int64_t size(Entries entries) { return static_cast<std::int64_t>(entries.size()); }

    /// Finds the farthest point on each diagonal for paths that leave out d entries. Returns the diagonal whose path
    /// has covered the most entries.
    std::int64_t step(std::int64_t d) {
        reaches_.resize(index_of(d, d) + 1);
        std::int64_t best = 0;
        std::int64_t most = outside;
        for (std::int64_t k = -d; k <= d; k += 2) {
            std::int64_t at = begin_of_run(d, k).a;
            if (at >= 0) {
                const auto a = static_cast<std::size_t>(at), b = static_cast<std::size_t>(at - k);
                at += static_cast<std::int64_t>(common_prefix(a_.subspan(a), b_.subspan(b)));
            }
            reach(d, k) = at;
            if (at >= 0 && 2 * at - k > most) {
                most = 2 * at - k;
                best = k;
            }
        }
        last_ = d;
        return best;
    }
    IndexPair point(std::int64_t k) {
        const std::int64_t a = reach(last_, k);
        return {static_cast<std::size_t>(a), static_cast<std::size_t>(a - k)};
    }

    /// Adds to `pairs` the aligned pairs of the path that leaves out d entries and ends on diagonal k.
    void trace(std::int64_t d, std::int64_t k, std::vector<IndexPair>& pairs) {
        const std::size_t first = pairs.size();
        for (;; --d) {
            const RunStart begin = begin_of_run(d, k);
            for (std::int64_t at = reach(d, k); at > begin.a; --at)
                pairs.push_back({static_cast<std::size_t>(at - 1), static_cast<std::size_t>(at - 1 - k)});
            if (d == 0) break;
            k = begin.leaves_out_of_a ? k - 1 : k + 1;
        }
        std::reverse(pairs.begin() + static_cast<std::ptrdiff_t>(first), pairs.end());
    }

    static constexpr std::int64_t outside = INT64_MIN / 4;
    Entries a_, b_;
    std::vector<std::int64_t> reaches_;  ///< values of reach(d, k), sorted by d, then by k
    std::int64_t last_ = 0;
};

std::size_t length_of(const std::vector<AlignedRun>& runs) {
    std::size_t length = 0;
    for (const AlignedRun& run : runs) length += run.count;
    return length;
}

/// Keeps the runs of products with equal results, and aligns the products between these runs by their kinds.
std::vector<AlignedRun> align_between(const std::vector<AlignedRun>& equal, Entries a, Entries b) {
    std::vector<AlignedRun> runs;
    AlignedRun done{0, 0, 0};
    const auto add_gap = [&](std::size_t end_a, std::size_t end_b) {
        const std::size_t begin_a = done.a + done.count, begin_b = done.b + done.count;
        for (const AlignedRun& run :
             align_sequences(a.subspan(begin_a, end_a - begin_a), b.subspan(begin_b, end_b - begin_b)))
            runs.push_back({begin_a + run.a, begin_b + run.b, run.count});
    };
    for (const AlignedRun& run : equal) {
        add_gap(run.a, run.b);
        runs.push_back(run);
        done = run;
    }
    add_gap(a.size(), b.size());
    return runs;
}

}  // namespace

std::vector<AlignedRun> align_sequences(Entries a, Entries b) {
    const CommonEntries common_a = common_with(a, b), common_b = common_with(b, a);
    std::vector<AlignedRun> runs;
    const auto add = [&](std::size_t common_index_a, std::size_t common_index_b) {
        const std::size_t at_a = common_a.indices[common_index_a], at_b = common_b.indices[common_index_b];
        if (!runs.empty() && runs.back().a + runs.back().count == at_a && runs.back().b + runs.back().count == at_b)
            ++runs.back().count;
        else
            runs.push_back({at_a, at_b, 1});
    };
    IndexPair begin{0, 0};
    for (std::size_t cuts = 0; cuts <= max_cuts; ++cuts) {
        if (begin.a == common_a.entries.size() || begin.b == common_b.entries.size()) break;
        const Entries rest_a = Entries(common_a.entries).subspan(begin.a);
        const Entries rest_b = Entries(common_b.entries).subspan(begin.b);
        std::vector<IndexPair> pairs;
        const IndexPair end = MyersForwardSearch(rest_a, rest_b).add_pairs(pairs);
        for (const IndexPair& pair : pairs) add(begin.a + pair.a, begin.b + pair.b);
        begin = {begin.a + end.a, begin.b + end.b};
    }
    return runs;
}

std::vector<AlignedRun> align_products(const ProductSequence& a, const ProductSequence& b) {
    std::vector<AlignedRun> by_kind = align_sequences(a.kinds, b.kinds);
    const bool is_whole = by_kind.size() == 1 && by_kind[0].count == std::max(a.kinds.size(), b.kinds.size());
    if (is_whole) return by_kind;
    std::vector<AlignedRun> by_result = align_between(align_sequences(a.results, b.results), a.kinds, b.kinds);
    // Results may be equal by chance, for example if they are all zero. An alignment by equal results may then have
    // fewer products than the alignment by kind.
    return length_of(by_result) >= length_of(by_kind) ? by_result : by_kind;
}

}  // namespace fp32shim::cli
