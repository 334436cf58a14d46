// JSON lines of `fp32shim report`, which make recordings readable for database engines.
#pragma once

#include <string>
#include <vector>

namespace fp32shim::record {
class RecordingReader;
}

namespace fp32shim::cli {

class Filter;
class NativeLocations;
class ReportOutput;
struct ReadingProblem;

/// Writes a line for each row of each recording, and a line for the recording itself. Recordings are not merged, so
/// memory depends on the largest one and not on their number.
class JsonLines {
  public:
    /// Keeps references to its arguments, which must outlive this object.
    JsonLines(const Filter& filter, NativeLocations& locations, ReportOutput& output)
        : filter_(filter), locations_(locations), output_(output) {}

    /// Writes the lines of a recording. With a filter, a recording gets no line if none of its calls pass.
    void write(const std::string& path, record::RecordingReader& recording);
    /// Writes a line for each recording that could not be read at all.
    void write_unread(const std::vector<ReadingProblem>& problems);
    /// Returns the number of recordings that could be read.
    std::size_t recordings() const { return recordings_; }
    /// Returns the number of calls that passed a filter by size although their sizes are rounded up.
    std::uint64_t calls_with_rounded_sizes() const { return calls_with_rounded_sizes_; }

  private:
    void put(bool is_last);

    const Filter& filter_;
    NativeLocations& locations_;
    ReportOutput& output_;
    std::string text_;  ///< collected lines that are not yet written
    bool is_open_ = true;
    std::size_t recordings_ = 0;
    std::uint64_t calls_with_rounded_sizes_ = 0;
};

}  // namespace fp32shim::cli
