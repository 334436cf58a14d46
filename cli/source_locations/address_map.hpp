// Maps addresses to numbers. The numbers are given for ranges of addresses, which may overlap.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <queue>
#include <vector>

namespace fp32shim::cli {

/// A set of address ranges, each with a number. Where ranges overlap, the most recently added one counts.
class AddressMap {
  public:
    void add_range(std::uint64_t begin, std::uint64_t end, std::uint32_t value) {
        if (begin < end) ranges_.push_back({begin, end, value});
    }

    /// Builds the index that value_at() needs, after all ranges have been added. May be called only once.
    void build_index() {
        std::vector<std::uint32_t> by_begin(ranges_.size());
        std::iota(by_begin.begin(), by_begin.end(), 0);
        std::ranges::sort(by_begin, {}, [&](std::uint32_t i) { return ranges_[i].begin; });
        // This loop visits the addresses in order. The top of the heap is the most recently added range that contains
        // `here`.
        std::priority_queue<std::uint32_t> open;
        std::size_t next = 0;
        for (std::uint64_t here = 0; next < by_begin.size() || !open.empty();) {
            if (open.empty()) here = ranges_[by_begin[next]].begin;
            while (next < by_begin.size() && ranges_[by_begin[next]].begin <= here) open.push(by_begin[next++]);
            while (!open.empty() && ranges_[open.top()].end <= here) open.pop();
            if (open.empty()) {
                append_step(here, std::nullopt);
                continue;
            }
            append_step(here, ranges_[open.top()].value);
            here = ranges_[open.top()].end;
            if (next < by_begin.size()) here = std::min(here, ranges_[by_begin[next]].begin);
        }
        ranges_ = {};
    }

    std::optional<std::uint32_t> value_at(std::uint64_t address) const {
        const auto after = std::ranges::upper_bound(steps_, address, {}, &MapStep::begin);
        return after == steps_.begin() ? std::nullopt : std::prev(after)->value;
    }

  private:
    struct AddressRange {
        std::uint64_t begin, end;
        std::uint32_t value;
    };
    /// A step covers the addresses from its `begin` to the `begin` of the next step.
    struct MapStep {
        std::uint64_t begin;
        std::optional<std::uint32_t> value;
    };

    void append_step(std::uint64_t begin, std::optional<std::uint32_t> value) {
        if (!steps_.empty() && steps_.back().begin == begin)
            steps_.back().value = value;
        else if (steps_.empty() || steps_.back().value != value)
            steps_.push_back({begin, value});
    }

    std::vector<AddressRange> ranges_;
    std::vector<MapStep> steps_;
};

}  // namespace fp32shim::cli
