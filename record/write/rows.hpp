// Finds or adds the row of a decision. The file has each distinct decision and each distinct text once.
//
// Look-ups take no lock. Additions take no lock either, except for about one in a hundred that needs a new segment.
// The index of rows and texts is in private memory that forked children do not inherit, so theirs is empty at first.
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

/// The texts and rows in the file of a recording, and an index of them.
class RowTable {
  public:
    explicit RowTable(RecordingFile& file) : file_(file) {}

    /// Begins a new file with segment 1 for strings, segment 2 for rows, and row 0. Returns 0 or an errno. `header`
    /// is the header of the file, which need not be installed yet. `row_limit` is the largest number of rows. Must be
    /// called before another thread uses the file. A forked child calls this again for its own file.
    int begin_file(format::Header& header, std::uint32_t row_limit);

    struct FoundRow {
        std::uint32_t row = format::overflow_row;
        bool is_final = true;  ///< false: there was no space for the row, but there may be space later
        bool is_new = false;   ///< row_of() has just added the row
    };
    /// Returns the row of a decision. A new decision gets a new row. If the file has more than half of the largest
    /// number of rows, or a million frames, a new call path is cut before its first new frame. If the file has three
    /// quarters of the largest number of rows, sizes in new rows are rounded up to powers of two. If it has the
    /// largest number of rows, every new decision gets the overflow row. Thread-safe.
    FoundRow row_of(const DecisionEvent& decision);

    /// Reads the decision of a row that row_of() has returned. Sets `has_sizes` to false if the sizes in the row are
    /// rounded up. Returns false for overflow_row.
    bool decision_of(std::uint32_t row, DecisionEvent& decision, bool& has_sizes) const;

    /// Returns the id of a text, and adds the text if it is new. Returns 0 if the text is empty or there is no space.
    /// Thread-safe.
    format::StringId id_of_text(std::string_view text);

  private:
    struct StringNode;
    struct RowNode;
    struct StringsFill;
    static constexpr std::size_t segment_count =
        (format::row_limit + format::RowSegment::capacity - 1) / format::RowSegment::capacity;

    /// The values by which rows are distinguished.
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
    std::atomic<std::uint64_t> retry_at_{0};  // time in ticks before which no segment is requested
    system::ForkSafeLock growth_lock_;        // this lock is held while a segment is added
    std::uint32_t row_limit_ = format::row_limit;
};

}  // namespace fp32shim::record
