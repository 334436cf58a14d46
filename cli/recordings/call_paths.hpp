// Call paths of recordings, merged into one tree.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "cli/recordings/hash_table.hpp"
#include "cli/recordings/shared_text.hpp"
#include "record/read/reader.hpp"

namespace fp32shim::cli {

class NativeLocations;

/// Level of a call path: a line of a source file, a location in a program or library or, innermost, the function that
/// multiplies. Takes 20 bytes, since there may be a million.
struct PathFrame {
    SharedText file;           ///< source file, or program or library; empty: `function` is that of the product, a
                               ///< part of a scope, or a remark
    SharedText function;       ///< empty: a location in a program or library, of which no function is known
    std::uint32_t line = 0;    ///< line in the source file, from 1; 0: unknown
    std::uint32_t offset = 0;  ///< return address in a program or library, in bytes from its load address
    SharedText call_site;      ///< the return address in words, `libphysics.so!solve+0x1c4`; empty: none

    /// Returns `Model.forward (train.py:41)`, `libphysics.so!solve+0x1c4` or `cblas_sgemm`.
    std::string text() const;
    /// Returns the text without the location in a source file: `Model.forward`.
    std::string name() const;
    bool operator==(const PathFrame&) const = default;
};

struct PathNode : PathFrame {
    std::uint32_t parent = 0;  ///< index of the caller in CallPaths::nodes()
};

/// Calls of one merged row by one path.
struct PathCalls {
    std::uint32_t node = 0;  ///< innermost level of the path: index in CallPaths::nodes()
    std::uint32_t row = 0;   ///< index in MergedCalls::rows()
    record::RecordedCounters counters;
};

/// Tree of call paths. Equal frames below one caller are one node. Takes some 30 bytes for a node, and 64 for the
/// calls of one decision by one path.
class CallPaths {
  public:
    /// `locations`: puts return addresses into words, with the functions that the compiler inlined there as levels of
    /// their own. Null: they stay numbers. Must outlive the calls of add().
    explicit CallPaths(NativeLocations* locations = nullptr) : locations_(locations) {}

    /// Begins a recording, whose rows add() then takes.
    void start();
    /// Adds the calls of a row. `location`: that of the merged row. The innermost level becomes the row's function.
    void add(const record::RecordingReader& recording, const record::RecordedRow* row, std::uint32_t row_index,
             const record::RecordedCounters& counters);
    /// Adds calls at a node that child() returned. The root is node 0.
    void add(std::uint32_t node, std::uint32_t row, const record::RecordedCounters& counters);
    /// Returns the node of a frame below another, which is added if it is new.
    std::uint32_t child(std::uint32_t parent, const PathFrame& frame);
    /// Ends the last recording. Only then are calls() in order.
    void finish();

    /// Returns the nodes; each stands behind its caller. The first is the root, and stands for no frame.
    const std::vector<PathNode>& nodes() const { return nodes_; }
    /// Returns the calls by rising node, then row.
    const std::vector<PathCalls>& calls() const { return calls_; }
    /// Returns the number of calls whose paths lack their innermost functions, for which recordings had no room.
    std::uint64_t calls_with_cut_paths() const { return cut_calls_; }
    /// Returns the nodes of a path, outermost first, without the root.
    std::vector<std::uint32_t> path_of(std::uint32_t node) const;
    /// Returns the call site in compiled code of a product's node, `libphysics.so!solve+0x1c4`; empty if it is
    /// not known.
    SharedText call_site_of(std::uint32_t node) const { return nodes_[nodes_[node].parent].call_site; }

  private:
    std::uint32_t child_of_recorded(std::uint32_t parent, const record::RecordedFrame& frame,
                                    const record::RecordingReader& recording);
    std::uint32_t node_of(const record::RecordingReader& recording, record::format::StringId frame);
    void sum_up();

    NativeLocations* locations_;
    std::vector<PathNode> nodes_ = {{}};
    HashTable<std::uint32_t> node_indices_;  ///< indices in nodes_
    std::vector<PathCalls> calls_;
    std::uint64_t cut_calls_ = 0;
    std::size_t summed_up_ = 0;  ///< size of calls_ when its equal entries were last summed up
    std::unordered_map<record::format::StringId, std::uint32_t> known_;  ///< nodes of the recording's frames
};

}  // namespace fp32shim::cli
