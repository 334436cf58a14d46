// Reads rows and texts of a recording on demand, because a file may have a million of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "record/format/format.hpp"
#include "record/format/row_fields.hpp"
#include "record/read/segments.hpp"

namespace fp32shim::record {

/// One distinct decision of a recording. `decision.host_ns` is always -1; RecordedCounters has the times.
struct RecordedRow {
    std::uint32_t id = 0;
    /// The texts belong to the reader and stay valid as long as the row does. An enumeration may have a value that
    /// only newer versions of fp32shim know; to_string() returns an empty text for it.
    DecisionEvent decision;
    bool is_folded = false;  ///< the sizes are rounded up to powers of two
    bool is_overflow =
        false;  ///< the row counts calls for whose decisions the file had no space; `decision` has no meaning
    format::StringId stack = 0;  ///< id of the call path's innermost frame, for frame(); 0: not known
    bool stack_is_cut = false;   ///< the innermost frames of the call path are missing
};

/// One frame of a call path.
struct RecordedFrame {
    format::StringId parent = 0;  ///< id of the calling frame; 0: this frame is the outermost one
    std::string file;             ///< path of the source file, or of the loaded program or library
    std::string function;    ///< name of the Python function; empty: the frame is a location in a program or library
    std::uint32_t line = 0;  ///< line in the source file, from 1; 0: unknown
    std::uint32_t offset = 0;  ///< return address in a program or library, in bytes from its load address
};

/// Reads rows and texts. Results are copies of the file's bytes. Only one thread may use a reader.
class RecordedRowReader {
  public:
    RecordedRowReader(const RecordingByteReader& bytes, ProblemList& problems)
        : bytes_(bytes), problems_(problems), row_window_(bytes), text_window_(bytes) {}

    /// Sets the segments of rows and texts. `rows_in_use` is the number of rows with calls, on which the size of the
    /// cache depends.
    void set_segments(std::vector<IndexedSegment> rows, std::vector<IndexedSegment> strings, std::size_t rows_in_use);

    /// Returns the row with the number `id`, or nullptr if the file does not have the row. The result is valid until
    /// the next call of row().
    const RecordedRow* row(std::uint32_t id);
    /// Returns the format in which the calls of a row ran. Reads no texts. Returns nullopt if the file does not have
    /// the row, or if it is the overflow row.
    std::optional<policy::AppliedFormat> format_of(std::uint32_t id);
    /// Visits the complete rows by rising id, until `visitor` returns false.
    void visit_rows(const std::function<bool(const RecordedRow&)>& visitor);
    /// Returns the text with the id `id`. If the file does not have the text, returns an empty text and reports a
    /// problem. `referred_from` is the offset of the record that has the id, for the message.
    std::string text(format::StringId id, std::uint64_t referred_from);

    /// Returns the frame of a call path with the id `id`. If the file does not have the frame, returns nullopt and
    /// reports a problem.
    std::optional<RecordedFrame> frame(format::StringId id);

    /// Makes this object call `name` with each row that it reads from now on. `name` may set members that follow from
    /// the call path, such as `where`. Texts that `name` sets must live as long as this object.
    void set_location_namer(std::function<void(RecordedRow&)> name) { location_namer_ = std::move(name); }

    /// Returns the function that was passed to set_location_namer(). This object does not call the function any more.
    std::function<void(RecordedRow&)> release_location_namer() { return std::move(location_namer_); }

    /// Sets other names for source files. `names` maps the path of a file to its new name. frame() returns the new
    /// names, and `where` of a row has the new name if it is a line of such a file.
    void set_file_names(std::map<std::string, std::string> names) { file_names_ = std::move(names); }

    /// Frees cached texts and bytes of the file. They are read from the file again when they are needed.
    void free_caches();

  private:
    struct PublishedRow {
        std::uint64_t offset;
        format::RowContent content;
        format::StringId stack;
    };
    struct CachedRow {
        bool is_used = false;
        RecordedRow row;
        std::string texts[format::text_count_of_a_row];  ///< the texts to which string_views in `row` refer
        std::string where;  ///< text of `where` in `row` if set_file_names() gave its file another name
    };

    struct CachedText {
        format::StringId id = 0;
        std::string text;
    };

    std::optional<PublishedRow> find_row(std::uint32_t id, bool is_new = true);
    const IndexedSegment* find_text_segment(std::uint32_t sequence);
    void fill_cached_row(std::uint32_t id, const PublishedRow& published, CachedRow& cached);
    void replace_file_in_where(CachedRow& cached);
    std::optional<RecordedFrame> read_frame(format::StringId id);
    const std::string& cached_text(format::StringId id, std::uint64_t referred_from);

    const RecordingByteReader& bytes_;
    ProblemList& problems_;
    std::function<void(RecordedRow&)> location_namer_;
    std::map<std::string, std::string> file_names_;
    std::vector<IndexedSegment> rows_, strings_;  // segments sorted by sequence
    bool has_reindexed_ = false;
    RecordingReadCache row_window_, text_window_;
    std::size_t cache_size_ = 1;
    std::vector<CachedRow> cache_;   // cached rows, at indices that depend on their ids; allocated at first use
    std::vector<CachedText> texts_;  // cached texts, at indices that depend on their ids; allocated at first use
};

}  // namespace fp32shim::record
