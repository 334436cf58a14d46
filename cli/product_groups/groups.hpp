// Divides the matrix products of a program into groups that the rules of a policy can tell apart. A group has the
// calls of one function at one size, from one location of the program.
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

/// The location of a product in the program, in the form that rules of policies use.
struct GroupLocation {
    /// A line of Python such as `train.py:41 Model.forward`, or a call site in compiled code, as
    /// call_site_for_rules() returns it; empty if it is unknown.
    std::string text;
    /// True if `text` is a call site in compiled code, or is empty because the code was generated at run time.
    bool is_call_site = false;

    auto operator<=>(const GroupLocation&) const = default;
};

/// The facts that identify a group of products.
struct GroupKey {
    std::string scope;  ///< labels of the scopes around the product, joined by `/`; empty outside of all scopes
    GroupLocation location;
    std::string function;
    /// A size is -1 if the function does not have it or if it is unknown.
    std::int64_t m = -1, n = -1, k = -1, batch = 1;
    /// True if the sizes were rounded up to powers of two, so that they are upper bounds.
    bool is_folded = false;

    auto operator<=>(const GroupKey&) const = default;
    /// Returns the sizes as text: `64x64x32 batch 8`.
    std::string size_text() const;
};

struct ProductGroup {
    GroupKey key;
    std::string where;       ///< location to show to people: the source line if it is known, even in compiled code
    std::string file;        ///< source file of the line; empty: unknown
    std::uint32_t line = 0;  ///< line in the file; 0: unknown
    std::uint64_t calls = 0;
    double work = 0;  ///< floating-point operations of all calls

    /// Returns the location as text: `train.py:41 Model.forward`, with the scope if there is one.
    std::string location_text() const;
    /// Returns location_text(), followed by the function and its size.
    std::string full_text() const { return location_text() + ' ' + key.function + ' ' + key.size_text(); }
};

/// Returns the scope and the line to which a group belongs, as a key of maps.
inline std::pair<std::string, GroupLocation> line_key(const ProductGroup& group) {
    return {group.key.scope, group.key.location};
}

/// A range of calls of one group. The calls of a group in a process are numbered from 1.
struct CallRange {
    std::size_t group = 0;  ///< index in GroupList::all()
    std::uint64_t first = 0;
    std::uint64_t last = 0;  ///< 0 if there is no range, so that all calls are meant

    auto operator<=>(const CallRange&) const = default;
};

/// A set of groups: their indices in GroupList::all(), in ascending order.
using Subset = std::vector<std::size_t>;

/// Returns a sentence, without its full stop, that nothing is known about the groups at `places`. `why` is the
/// reason: it names the runs that made fewer of the groups' calls than another run.
std::string untried_places_text(const std::string& places, std::string_view why);

Subset union_of(const Subset& a, const Subset& b);
/// Returns the members of `a` that are not in `b`.
Subset without(const Subset& a, const Subset& b);
bool contains(const Subset& set, std::size_t member);

/// The list of all groups that occurred in the runs of a search. The index of a group never changes.
class GroupList {
  public:
    /// Returns the index of a group. Adds the group if it is new.
    std::size_t find_or_add(const ProductGroup& group);
    const std::vector<ProductGroup>& all() const { return all_; }
    const ProductGroup& operator[](std::size_t number) const { return all_[number]; }
    double work_of(const Subset& set) const;
    double total_work() const;
    Subset everything() const;
    /// Sets the ranks by which split() sorts lines from now on, largest first, such as the error that an audit found
    /// at a line. A key is line_key(). Lines of equal rank are sorted by work. Lines without a rank come last.
    void set_line_ranks(std::map<std::pair<std::string, GroupLocation>, double> ranks) { ranks_ = std::move(ranks); }
    /// Returns the number of distinct pairs of a scope and a line to which the groups belong.
    std::size_t line_count() const;
    /// Divides `set` into subsets of groups that have equal `key_of(group)`. Sorts the subsets by rank and work.
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

/// The types of operands whose products a search tries at other precisions: `float32` means all types but float64 and
/// complex128, and `float64` means only these two.
enum class TriedTypes : std::uint8_t { float32, float64 };

constexpr std::string_view to_string(TriedTypes types) {
    return types == TriedTypes::float64 ? "float64" : "float32";
}

/// Returns true if `types` include `dtype`.
constexpr bool is_tried_type(TriedTypes types, policy::Dtype dtype) {
    return policy::is_double(dtype) == (types == TriedTypes::float64);
}

/// The products that one run recorded, of the types of operands that a search tries.
struct RecordedProducts {
    struct RecordedGroup {
        ProductGroup group;
        bool was_lowered = false;         ///< some calls of the group ran below the format in which they were called
        std::set<std::string> formats{};  ///< names of the formats in which calls of the group ran
    };
    std::vector<RecordedGroup> groups;  ///< groups with their calls and work in this run
    /// The numbers of the calls that were not lowered, as far as is known, by the reason that the shim recorded.
    std::map<std::string, std::uint64_t> reasons;
    std::uint64_t calls = 0;
    std::uint64_t calls_on_gpu = 0;  ///< number of calls among `calls` that ran on a GPU
    /// The number of calls with operands of other types. These calls are not in `calls`.
    std::uint64_t calls_of_other_types = 0;
    /// The numbers of products of oneDNN and XLA, which no policy lowers, by line of the program.
    std::map<std::string, std::uint64_t> by_onednn{};
    /// A recording that lacks calls because it could not be written, and the reason; empty if there is none.
    std::string unwritten_recording{};
};

/// Reads the recorded products of a program's runs and finds their groups.
class RecordedProductsReader {
  public:
    /// Reads the products whose operands have one of `types` from all recordings in a folder.
    RecordedProducts read(const std::string& folder, TriedTypes types);
    /// Returns the group to which the calls of a row belong. Its `calls` and `work` are not set.
    ProductGroup group_of(const record::RecordedRow& row, const record::RecordingReader& recording);

  private:
    void name_native_location(const record::RecordedRow& row, const record::RecordingReader& recording,
                              ProductGroup& group);

    NativeLocator locations_;
};

}  // namespace fp32shim::cli
