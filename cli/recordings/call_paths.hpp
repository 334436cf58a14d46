// Merges the call paths of recordings into one tree.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "cli/recordings/hash_table.hpp"
#include "cli/recordings/shared_text.hpp"
#include "record/read/reader.hpp"

namespace fp32shim::cli {

class NativeLocator;

/// A level of a call path: a line of a source file, a location in a program or library or, innermost, the function
/// that multiplies. A level takes only 20 bytes, since a tree may have a million levels.
struct PathFrame {
    /// The path of the source file, program or library; empty if `function` is the function that multiplies, a part
    /// of a scope's name, or a remark such as `(found no room)`.
    SharedText file{};
    /// The name of the function; empty for a location in a program or library whose function is unknown.
    SharedText function{};
    std::uint32_t line = 0;    ///< line in the source file, from 1; 0: unknown
    std::uint32_t offset = 0;  ///< return address in a program or library, in bytes from its load address
    SharedText call_site{};    ///< readable form of the return address, `libphysics.so!solve+0x1c4`; empty: none

    /// Returns the level as text: `Model.forward (train.py:41)`, `libphysics.so!solve+0x1c4` or `cblas_sgemm`.
    std::string text() const;
    /// Returns only the name of the function or call site: `Model.forward`.
    std::string name() const;
    bool operator==(const PathFrame&) const = default;
};

struct PathNode : PathFrame {
    std::uint32_t parent = 0;  ///< index of the caller in CallPathTree::nodes()
};

/// The number and times of the calls of one merged row that have the same path.
struct CallsOfPath {
    std::uint32_t node = 0;  ///< innermost level of the path: index in CallPathTree::nodes()
    std::uint32_t row = 0;   ///< index in MergedCalls::rows()
    record::RecordedCounters counters;
};

/// A tree of call paths. Equal frames below one caller become one node. A node takes some 30 bytes, and the calls of
/// one decision by one path take 104 bytes.
class CallPathTree {
  public:
    /// Keeps a pointer to `locations`, which names the functions at return addresses; functions that the compiler
    /// inlined become levels of their own. With null, addresses stay numbers. `locations` must live as long as add()
    /// is used.
    explicit CallPathTree(NativeLocator* locations = nullptr) : locations_(locations) {}

    /// Begins a new recording. All that add() adds from now on belongs to it.
    void begin_recording();
    /// Adds the calls of a row. `row_index` is the index of the merged row. The function that multiplies becomes the
    /// innermost level.
    void add(const record::RecordingReader& recording, const record::RecordedRow* row, std::uint32_t row_index,
             const record::RecordedCounters& counters);
    /// Adds calls at a node that find_or_add_child() returned. The root is node 0.
    void add(std::uint32_t node, std::uint32_t row, const record::RecordedCounters& counters);
    /// Returns the node of a frame below `parent`. Adds the node if it is new.
    std::uint32_t find_or_add_child(std::uint32_t parent, const PathFrame& frame);
    /// Must be called when nothing more will be added. Sorts calls(), which are in no order before, and adds up
    /// entries with the same path and row.
    void finish();

    /// Returns the nodes. A caller stands before the nodes below it. The first node is the root, which has no frame.
    const std::vector<PathNode>& nodes() const { return nodes_; }
    /// Returns the calls, sorted by node, then by row.
    const std::vector<CallsOfPath>& calls() const { return calls_; }
    /// Returns the number of calls whose paths lack the innermost functions, because the recording had no room for
    /// them.
    std::uint64_t calls_with_cut_paths() const { return cut_calls_; }
    /// Returns the nodes of a path, outermost first, without the root.
    std::vector<std::uint32_t> path_of(std::uint32_t node) const;
    /// Returns the call site in compiled code, `libphysics.so!solve+0x1c4`, that called the function of this node;
    /// empty if it is unknown.
    SharedText call_site_of(std::uint32_t node) const { return nodes_[nodes_[node].parent].call_site; }

  private:
    std::uint32_t child_of_recorded(std::uint32_t parent, const record::RecordedFrame& frame,
                                    const record::RecordingReader& recording);
    std::uint32_t node_of(const record::RecordingReader& recording, record::format::StringId frame);
    void merge_equal_calls();

    NativeLocator* locations_;
    std::vector<PathNode> nodes_ = {{}};
    HashTable<std::uint32_t> node_indices_;  ///< indices in nodes_
    std::vector<CallsOfPath> calls_;
    std::uint64_t cut_calls_ = 0;
    std::size_t summed_up_ = 0;  ///< size of calls_ when merge_equal_calls() last ran
    std::unordered_map<record::format::StringId, std::uint32_t> known_;  ///< nodes of frames of the current recording
};

}  // namespace fp32shim::cli
