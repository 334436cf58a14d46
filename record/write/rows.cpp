#include "record/write/rows.hpp"

#include <errno.h>

#include <bit>
#include <cstring>
#include <new>

#include "record/format/clock.hpp"
#include "record/format/row_fields.hpp"
#include "system/hash.hpp"
#include "system/limited_text.hpp"
#include "system/thread_sanitizer.hpp"

namespace fp32shim::record {

using format::RowContent;
using format::RowRecord;
using format::StringId;

// Two hash tries are the index of texts and of rows. Each node has four children; two bits of the hash choose one at
// each level. A new node is published by a compare-and-swap on a null child. After that, only its null children
// change, and it is never moved.
struct RowTable::StringNode {
    std::uint64_t hash;
    const char* text;
    std::uint32_t size;
    StringId id;
    std::atomic<StringNode*> children[4];

    bool is(std::string_view other) const { return std::string_view(text, size) == other; }
};

struct RowTable::RowNode {
    std::uint64_t hash;
    RowRecord* record;
    std::uint32_t row;
    std::atomic<RowNode*> children[4];

    bool is(const RowKey& other) const {
        return record->stack == other.stack &&
               std::memcmp(&record->content, &other.content, sizeof other.content) == 0;
    }
};

/// The segment of strings to which new texts are added, and how much of the segment is used.
struct RowTable::StringsFill {
    char* segment;
    std::uint32_t sequence;
    std::atomic<std::uint32_t> used;  ///< number of used bytes
};

namespace {

constexpr std::uint32_t strings_segment_limit = 1U << 20;  // number of segments that a string id can distinguish
/// Number of segments of strings after which call paths get no new frames. These segments have 32 MiB, enough for a
/// million frames, which need another 64 MiB of private memory. Without a limit, 300,000 deep call paths that share
/// few frames would need 1.3 GiB.
constexpr std::uint32_t path_segment_limit = 512;

std::uint64_t hash_of(std::string_view bytes) { return system::Hash().add(bytes).value(); }

std::uint64_t hash_of(const RowContent& content, StringId stack) {
    return system::Hash().add({reinterpret_cast<const char*>(&content), sizeof content}).add(stack).value();
}

template <class Node, class Key>
Node* find_node(const std::atomic<Node*>& root, std::uint64_t hash, const Key& key) {
    Node* node = root.load(std::memory_order_acquire);
    for (std::uint64_t bits = hash; node != nullptr; bits <<= 2) {
        system::note_acquire(node);
        if (node->hash == hash && node->is(key)) return node;
        node = node->children[bits >> 62].load(std::memory_order_acquire);
    }
    return nullptr;
}

/// Inserts `fresh`, a node with the key `key`, into the trie `root`, unless the trie already has a node with the same
/// key. Returns the node that is in the trie.
template <class Node, class Key>
Node* insert(std::atomic<Node*>& root, Node* fresh, const Key& key) {
    std::atomic<Node*>* link = &root;
    system::note_release(fresh);
    for (std::uint64_t bits = fresh->hash;; bits <<= 2) {
        Node* node = nullptr;
        if (link->compare_exchange_strong(node, fresh, std::memory_order_acq_rel)) return fresh;
        system::note_acquire(node);
        if (node->hash == fresh->hash && node->is(key)) return node;
        link = &node->children[bits >> 62];
    }
}

std::int64_t rounded_up(std::int64_t size) {
    constexpr std::int64_t largest_power = std::int64_t{1} << 62;
    if (size <= 1 || size > largest_power) return size;
    return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(size)));
}

/// Returns the number of rows after which call paths get no new frames. Without this limit, a program with many call
/// paths could use up all rows.
std::uint32_t row_limit_for_frames(std::uint32_t row_limit) { return row_limit / 2; }

/// Returns the number of rows after which the sizes in new rows are rounded up, so that several decisions share a
/// row. For products with a vector, this number is lower, because some programs multiply vectors of very many
/// lengths, and rows should be left for other products.
std::uint32_t row_limit_for_exact_sizes(std::uint32_t row_limit, bool is_of_vector) {
    return is_of_vector ? row_limit / 64 : row_limit - row_limit / 4;
}

}  // namespace

int RowTable::begin_file(format::Header& header, std::uint32_t row_limit) {
    arena_.forget();
    strings_.store(nullptr, std::memory_order_relaxed);
    rows_.store(nullptr, std::memory_order_relaxed);
    retry_at_.store(0, std::memory_order_relaxed);
    for (auto& segment : segments_) segment.store(nullptr, std::memory_order_relaxed);
    row_limit_ = row_limit;

    auto* strings = static_cast<char*>(file_.map_first_segment(1));
    auto* rows = static_cast<format::RowSegment*>(file_.map_first_segment(2));
    void* fill = arena_.allocate(sizeof(StringsFill));
    if (strings == nullptr || rows == nullptr || fill == nullptr) return ENOMEM;
    fill_.store(new (fill) StringsFill{strings, 0, sizeof(format::SegmentHeader)}, std::memory_order_relaxed);
    segments_[0].store(rows, std::memory_order_relaxed);
    RecordingFile::publish_segment(header, *reinterpret_cast<format::SegmentHeader*>(strings),
                                   format::SegmentKind::strings);

    RowRecord& overflow = rows->entries[format::overflow_row];
    overflow.content.flags = format::row_is_overflow;
    overflow.content.m = overflow.content.n = overflow.content.k = -1;
    overflow.content.device_index = -1;
    overflow.content.actual = format::no_actual;
    overflow.content.status = format::no_status;
    overflow.published = 1;
    row_count_.store(1, std::memory_order_relaxed);
    RecordingFile::publish_segment(header, rows->header, format::SegmentKind::rows);
    return 0;
}

RowTable::FoundRow RowTable::row_of(const DecisionEvent& decision) {
    RowKey key{};
    RowContent& content = key.content;
    if (!format::fill_row_content(decision, content, [&](auto text, StringId& id) { return intern(text, id); }))
        return {format::overflow_row, false};
    const std::uint32_t count = row_count_.load(std::memory_order_relaxed);
    if (decision.stack != nullptr && !intern_stack(*decision.stack, has_room_for_frames(count), key))
        return {format::overflow_row, false};
    if (const RowNode* known = find_row(key)) return {known->row, true};
    if (count >= row_limit_for_exact_sizes(row_limit_, decision.is_of_vector)) {
        for (std::int64_t* size : {&content.m, &content.n, &content.k, &content.batch}) *size = rounded_up(*size);
        content.flags |= format::row_is_folded;
        file_.set_flag(format::flag_rows_folded);
        if (const RowNode* known = find_row(key)) return {known->row, true};
        if (row_count_.load(std::memory_order_relaxed) >= row_limit_) return {format::overflow_row, true};
    }
    if (const RowNode* added = add_row(key)) return {added->row, true, true};
    return {format::overflow_row, false};
}

/// Returns the text with the id `id` in the trie below `node`, or an empty text if there is none. Searches all texts,
/// because the trie is ordered by hashes of the texts and not by ids.
std::string_view RowTable::text_of(const StringNode* node, StringId id) {
    if (node == nullptr || id == 0) return {};
    system::note_acquire(node);
    if (node->id == id) return {node->text, node->size};
    for (const std::atomic<StringNode*>& child : node->children)
        if (const auto text = text_of(child.load(std::memory_order_acquire), id); !text.empty()) return text;
    return {};
}

bool RowTable::decision_of(std::uint32_t row, DecisionEvent& decision, bool& has_sizes) const {
    const format::RowSegment* const segment =
        segments_[row / format::RowSegment::capacity].load(std::memory_order_acquire);
    if (row == format::overflow_row || segment == nullptr) return false;
    const RowContent& content = segment->entries[row % format::RowSegment::capacity].content;
    has_sizes = (content.flags & format::row_is_folded) == 0;
    const StringNode* const texts = strings_.load(std::memory_order_acquire);
    decision = format::decision_of_content(content, [texts](StringId id) { return text_of(texts, id); });
    return true;
}

/// Returns true if call paths may still get new frames. `rows` is the number of rows in the file.
bool RowTable::has_room_for_frames(std::uint32_t rows) const {
    return rows < row_limit_for_frames(row_limit_) &&
           fill_.load(std::memory_order_acquire)->sequence < path_segment_limit;
}

/// Sets `key.stack` to the innermost frame of a call path. If `adds` is true, new frames are added. If `adds` is
/// false, the path ends before its first new frame, and row_stack_is_cut is set in `key`. Returns false if there is
/// no space for a new frame.
bool RowTable::intern_stack(const CallStack& stack, bool adds, RowKey& key) {
    for (std::size_t index = 0; index < stack.size; ++index) {
        StackFrame frame;
        if (!stack.read(stack, index, frame)) continue;
        if (intern_frame(frame, adds, key.stack)) continue;
        if (adds) return false;
        key.content.flags |= format::row_stack_is_cut;
        return true;
    }
    return true;
}

/// Replaces `id`, the id of the caller's frame, by the id of `frame`. Returns false, and leaves `id` unchanged, if
/// there is no space, or if the frame is new and `adds` is false.
bool RowTable::intern_frame(const StackFrame& frame, bool adds, StringId& id) {
    format::FrameRecord record{.parent = id, .file = 0, .function = 0, .line = frame.line, .offset = frame.offset};
    return intern(frame.file, record.file, adds) && intern(frame.function, record.function, adds) &&
           intern({reinterpret_cast<const char*>(&record), sizeof record}, id, adds);
}

const RowTable::RowNode* RowTable::find_row(const RowKey& key) const {
    return find_node(rows_, hash_of(key.content, key.stack), key);
}

const RowTable::RowNode* RowTable::add_row(const RowKey& key) {
    // The segment is made before the number of the row is reserved, because the number would be lost if the segment
    // could not be made.
    std::uint32_t row = row_count_.load(std::memory_order_relaxed);
    format::RowSegment* segment = nullptr;
    do {
        if (row >= row_limit_) return nullptr;
        segment = segment_of_row(row);
        if (segment == nullptr) return nullptr;
    } while (!row_count_.compare_exchange_weak(row, row + 1, std::memory_order_relaxed));
    void* memory = arena_.allocate(sizeof(RowNode));
    if (memory == nullptr) return nullptr;

    RowRecord& record = segment->entries[row % format::RowSegment::capacity];
    record.content = key.content;
    record.stack = key.stack;
    std::atomic_ref(record.published).store(1, std::memory_order_release);
    auto* fresh = new (memory) RowNode{hash_of(key.content, key.stack), &record, row, {}};
    const RowNode* kept = insert(rows_, fresh, key);
    // Another thread may have added an equal row first. Then no call will use the row that this thread has added, so
    // it is withdrawn.
    if (kept != fresh) std::atomic_ref(record.published).store(0, std::memory_order_release);
    return kept;
}

/// Returns the segment for the new row number `row`, and makes the segment if needed. Returns nullptr if there is no
/// space now.
format::RowSegment* RowTable::segment_of_row(std::uint32_t row) {
    const std::uint32_t sequence = row / format::RowSegment::capacity;
    format::RowSegment* segment = segments_[sequence].load(std::memory_order_acquire);
    return segment != nullptr ? segment : add_row_segment(sequence);
}

/// Acquires growth_lock_, calls `get`, which tries to get space in the file, and returns its result. If `get` failed
/// less than a second ago, returns false without calling it. Also returns false if the lock could not be acquired.
template <class Get>
bool RowTable::try_to_grow(const Get& get) {
    if (ticks() < retry_at_.load(std::memory_order_relaxed)) return false;
    const system::HeldLock held(growth_lock_);
    if (!held) return false;
    if (get()) return true;
    retry_at_.store(file_.one_second_from_now(), std::memory_order_relaxed);
    return false;
}

format::RowSegment* RowTable::add_row_segment(std::uint32_t sequence) {
    std::atomic<format::RowSegment*>& published = segments_[sequence];
    try_to_grow([&] {
        if (published.load(std::memory_order_acquire) != nullptr) return true;  // another thread has made the segment
        auto* segment = static_cast<format::RowSegment*>(file_.map_new_segment());
        if (segment == nullptr) return false;
        segment->header.sequence = sequence;
        file_.publish_segment(segment->header, format::SegmentKind::rows);
        published.store(segment, std::memory_order_release);
        return true;
    });
    return published.load(std::memory_order_acquire);
}

StringId RowTable::id_of_text(std::string_view text) {
    StringId id = 0;
    intern(text, id);
    return id;
}

/// Sets `id` to the id of a text. If the text is new and `adds` is true, adds the text. Returns false, and leaves
/// `id` unchanged, if the text is new and either `adds` is false or there is no space.
bool RowTable::intern(std::string_view text, StringId& id, bool adds) {
    if (text.empty()) return true;
    if (text.size() > format::string_limit) return intern_cut(text, id, adds);
    const std::uint64_t hash = hash_of(text);
    if (const StringNode* known = find_node(strings_, hash, text)) {
        id = known->id;
        return true;
    }
    if (!adds) return false;
    StringId fresh_id = 0;
    char* copy = reserve_string(text.size(), fresh_id);
    void* memory = copy == nullptr ? nullptr : arena_.allocate(sizeof(StringNode));
    if (memory == nullptr) return false;
    std::memcpy(copy + sizeof(std::uint32_t), text.data(), text.size());
    const auto size = static_cast<std::uint32_t>(text.size());
    std::atomic_ref(*reinterpret_cast<std::uint32_t*>(copy)).store(size + 1, std::memory_order_release);
    auto* fresh = new (memory) StringNode{hash, copy + sizeof(std::uint32_t), size, fresh_id, {}};
    id = insert(strings_, fresh, text)->id;
    return true;
}

/// Calls intern() with the beginning of a text that is too long. This is a separate function, so that only calls with
/// such a text need the stack for its buffer.
[[gnu::noinline]] bool RowTable::intern_cut(std::string_view text, StringId& id, bool adds) {
    char buffer[format::string_limit];
    return intern(system::cut_to_fit(text, buffer), id, adds);
}

/// Reserves space for the size of a text and the text. Sets `id` to the id of the text. Returns the address of the
/// space, or nullptr if there is no space.
char* RowTable::reserve_string(std::size_t size, StringId& id) {
    constexpr std::size_t alignment = format::string_alignment;
    const auto needed =
        static_cast<std::uint32_t>((sizeof(std::uint32_t) + size + alignment - 1) / alignment * alignment);
    for (;;) {
        StringsFill* fill = fill_.load(std::memory_order_acquire);
        std::uint32_t used = fill->used.load(std::memory_order_relaxed);
        while (used + needed <= format::segment_size) {
            if (!fill->used.compare_exchange_weak(used, used + needed, std::memory_order_relaxed)) continue;
            id = format::make_string_id(fill->sequence, used);
            return fill->segment + used;
        }
        if (!add_strings_segment(fill)) return nullptr;
    }
}

bool RowTable::add_strings_segment(const StringsFill* full) {
    return try_to_grow([&] {
        if (fill_.load(std::memory_order_acquire) != full) return true;  // another thread has added a segment
        const std::uint32_t sequence = full->sequence + 1;
        void* memory = sequence < strings_segment_limit ? arena_.allocate(sizeof(StringsFill)) : nullptr;
        if (memory == nullptr) return false;
        auto* segment = static_cast<char*>(file_.map_new_segment());
        if (segment == nullptr) return false;
        auto& header = *reinterpret_cast<format::SegmentHeader*>(segment);
        header.sequence = sequence;
        file_.publish_segment(header, format::SegmentKind::strings);
        fill_.store(new (memory) StringsFill{segment, sequence, sizeof(format::SegmentHeader)},
                    std::memory_order_release);
        return true;
    });
}

}  // namespace fp32shim::record
