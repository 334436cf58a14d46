// Gives decisions their rows. The file has every distinct text and every distinct decision once.
//
// Look-ups are lock-free. So are additions, except for about one in a hundred that needs a further segment. The index
// lies in private memory, so a forked child starts anew.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "record/events.hpp"
#include "record/format/format.hpp"
#include "record/write/file.hpp"
#include "record/write/memory.hpp"
#include "system/fork_safe_lock.hpp"

namespace fp32shim::record {

/// The texts and rows of a recording's file, with an index.
class RowTable {
  public:
    explicit RowTable(RecordingFile& file) : file_(file) {}

    /// Begins a new file with segment 1 for strings, segment 2 for rows, and row 0. Returns 0 or an errno. `header`:
    /// header of the file, which need not be installed yet. Called before any other thread knows the file, and again
    /// in a forked child, for the child's file.
    int begin_file(format::Header& header, std::uint32_t row_limit);

    struct FoundRow {
        std::uint32_t row = format::overflow_row;
        bool is_final = true;  ///< false: there was no space for the row, but there may be later
        bool is_new = false;   ///< true: this call has added the row
    };
    /// Returns the row of a decision. A new decision gets a new row. Beyond half of the row limit, or a million
    /// frames, a new call path is cut to its known outer frames. Near the limit, sizes of new rows are rounded up to
    /// powers of two. At the limit every new decision gets the overflow row. Thread-safe.
    FoundRow row_of(const DecisionEvent& decision);

    /// Reads the decision of a row that row_of() has returned. Returns false for overflow_row.
    bool decision_of(std::uint32_t row, DecisionEvent& decision, bool& has_sizes) const;

    /// Returns the id of a text, and adds the text if it is new; 0: the text is empty, or there is no space.
    /// Thread-safe.
    format::StringId id_of_text(std::string_view text);

  private:
    struct StringNode;
    struct RowNode;
    struct StringsFill;
    static constexpr std::size_t segment_count =
        (format::row_limit + format::RowSegment::capacity - 1) / format::RowSegment::capacity;

    /// The values that distinguish rows.
    struct RowKey {
        format::RowContent content;
        format::StringId stack;
    };

    static std::string_view text_of(const StringNode* node, format::StringId id);
    const RowNode* find_row(const RowKey& key) const;
    const RowNode* add_row(const RowKey& key);
    bool has_room_for_frames(std::uint32_t rows) const;
    bool intern_stack(const CallStack& stack, bool adds, RowKey& key);
    bool intern_frame(const StackFrame& frame, bool adds, format::StringId& id);
    bool intern(std::string_view text, format::StringId& id, bool adds = true);
    bool intern_cut(std::string_view text, format::StringId& id, bool adds);
    char* reserve_string(std::size_t size, format::StringId& id);
    bool add_strings_segment(const StringsFill* full);
    format::RowSegment* segment_of_row(std::uint32_t row);
    format::RowSegment* add_row_segment(std::uint32_t sequence);
    template <class Get>
    bool try_to_grow(const Get& get);

    RecordingFile& file_;
    PrivateArena arena_;
    std::atomic<StringNode*> strings_{nullptr};
    std::atomic<RowNode*> rows_{nullptr};
    std::atomic<StringsFill*> fill_{nullptr};
    std::atomic<std::uint32_t> row_count_{0};
    std::atomic<format::RowSegment*> segments_[segment_count] = {};
    std::atomic<std::uint64_t> retry_at_{0};  // time in ticks; no segment is requested before it
    system::ForkSafeLock growth_lock_;        // held while a segment is added
    std::uint32_t row_limit_ = format::row_limit;
};

}  // namespace fp32shim::record
