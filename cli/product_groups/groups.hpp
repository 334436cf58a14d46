// Groups products that a policy can tell apart. A group is one function at one size, at one location of the program.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/recordings/native_locations.hpp"
#include "policy/matmul_call.hpp"
#include "record/read/reader.hpp"

namespace fp32shim::cli {

/// Location of a product in the program, in the form that rules use.
struct GroupLocation {
    std::string text;  ///< `train.py:41 Model.forward`, or a call site (call_site_for_rules()); empty:
                       ///< unknown
    bool is_call_site =
        false;  ///< `text` is a call site in compiled code, or is empty for code generated at run time

    auto operator<=>(const GroupLocation&) const = default;
};

/// Facts that identify a group.
struct GroupKey {
    std::string scope;  ///< labels joined by `/`; empty outside of all scopes
    GroupLocation location;
    std::string function;
    std::int64_t m = -1, n = -1, k = -1, batch = 1;  ///< -1 if the function has no such size or it is unknown
    bool is_folded = false;                          ///< sizes were rounded up to powers of two, so they are upper
                                                     ///< bounds

    auto operator<=>(const GroupKey&) const = default;
    /// Returns `64x64x32 batch 8`.
    std::string size_text() const;
};

struct ProductGroup {
    GroupKey key;
    std::string where;       ///< location for people: the line, even in compiled code, if it is known
    std::string file;        ///< source file of the line; empty: unknown
    std::uint32_t line = 0;  ///< line in the file; 0: unknown
    std::uint64_t calls = 0;
    double work = 0;  ///< floating-point operations of all calls

    /// Returns `train.py:41 Model.forward`, with the scope if there is one.
    std::string location_text() const;
    /// Returns location_text(), followed by the function and its size.
    std::string full_text() const { return location_text() + ' ' + key.function + ' ' + key.size_text(); }
};

/// Returns the key of the line, in its scope, that a group belongs to.
inline std::pair<std::string, GroupLocation> line_key(const ProductGroup& group) {
    return {group.key.scope, group.key.location};
}

/// Range of calls of one group, by their numbers in a process, from 1.
struct CallRange {
    std::size_t group = 0;  ///< index in GroupList::all()
    std::uint64_t first = 0;
    std::uint64_t last = 0;  ///< 0: no range; all calls are meant

    auto operator<=>(const CallRange&) const = default;
};

/// Set of groups, as rising indices in GroupList::all().
using Subset = std::vector<std::size_t>;

/// Returns a sentence, without its full stop, about places of which nothing is known because runs made fewer of their
/// calls than another run. `why` tells which runs.
std::string untried_places_text(const std::string& places, std::string_view why);

Subset union_of(const Subset& a, const Subset& b);
/// Returns the members of `a` that are not in `b`.
Subset without(const Subset& a, const Subset& b);
bool contains(const Subset& set, std::size_t member);

/// List of all groups that occurred in the runs of a search. The index of a group never changes.
class GroupList {
  public:
    /// Returns the index of a group. Adds the group if it is new.
    std::size_t find_or_add(const ProductGroup& group);
    const std::vector<ProductGroup>& all() const { return all_; }
    const ProductGroup& operator[](std::size_t number) const { return all_[number]; }
    double work_of(const Subset& set) const;
    double total_work() const;
    Subset everything() const;
    /// Lets split() sort from now on by these ranks of lines, largest first, and then by work. Lines without a rank
    /// come last.
    void set_line_ranks(std::map<std::pair<std::string, GroupLocation>, double> ranks) { ranks_ = std::move(ranks); }
    /// Returns the number of lines, in their scopes, that the groups belong to.
    std::size_t line_count() const;
    /// Divides `set` into subsets with equal `key_of(group)`, sorted by rank and work, largest first.
    template <class KeyOf>
    std::vector<Subset> split(const Subset& set, const KeyOf& key_of) const {
        std::map<decltype(key_of(all_.front())), Subset> by_key;
        for (const std::size_t member : set) by_key[key_of(all_[member])].push_back(member);
        std::vector<Subset> parts;
        parts.reserve(by_key.size());
        for (auto& [key, members] : by_key) parts.push_back(std::move(members));
        sort_by_rank(parts);
        return parts;
    }

  private:
    double rank_of(const Subset& set) const;
    void sort_by_rank(std::vector<Subset>& parts) const;

    std::vector<ProductGroup> all_;
    std::map<GroupKey, std::size_t> numbers_;
    std::map<std::pair<std::string, GroupLocation>, double> ranks_;
};

/// Types of operands whose products are tried: all but float64 and complex128, or only these two.
enum class TriedTypes : std::uint8_t { float32, float64 };

constexpr std::string_view to_string(TriedTypes types) {
    return types == TriedTypes::float64 ? "float64" : "float32";
}

/// Returns true if products of a type are among those that are tried.
constexpr bool is_tried_type(TriedTypes types, policy::Dtype dtype) {
    return policy::is_double(dtype) == (types == TriedTypes::float64);
}

/// Products of the tried types, as one run recorded them.
struct RecordedProducts {
    struct RecordedGroup {
        ProductGroup group;
        bool was_lowered = false;         ///< some calls of the group ran below the format in which they were called
        std::set<std::string> formats{};  ///< words of the formats in which its calls ran
    };
    std::vector<RecordedGroup> groups;             ///< groups with their calls and work in this run
    std::map<std::string, std::uint64_t> reasons;  ///< number of calls that were not lowered, by reason
    std::uint64_t calls = 0;
    std::uint64_t calls_on_gpu = 0;          ///< number of calls among `calls` that ran on a GPU
    std::uint64_t calls_of_other_types = 0;  ///< number of calls that are not among `calls`
    std::map<std::string, std::uint64_t>
        by_onednn{};  ///< number of products of oneDNN and XLA by line; no policy lowers them
};

/// Reads the recordings of runs.
class RecordedProductsReader {
  public:
    /// Reads the products of some types from all recordings in a folder.
    RecordedProducts read(const std::string& folder, TriedTypes types);
    /// Returns the group of a row, without calls and work.
    ProductGroup group_of(const record::RecordedRow& row, const record::RecordingReader& recording);

  private:
    void name_native_location(const record::RecordedRow& row, const record::RecordingReader& recording,
                              ProductGroup& group);

    NativeLocator locations_;
};

}  // namespace fp32shim::cli
