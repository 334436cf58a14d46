// JSON lines of `fp32shim report`: recordings as data for database engines.
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

/// Writes a line for each row of each recording, and one for the recording itself. Nothing is merged or kept, so that
/// memory follows from the largest recording, not from their number.
class JsonLines {
  public:
    /// The arguments must outlive this object.
    JsonLines(const Filter& filter, NativeLocations& locations, ReportOutput& output)
        : filter_(filter), locations_(locations), output_(output) {}

    /// Writes the lines of a recording. With a filter, one without calls that pass it has no line.
    void write(const std::string& path, record::RecordingReader& recording);
    /// Writes a line for each recording of which nothing could be read.
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
    std::string text_;  ///< lines that are still to be written
    bool is_open_ = true;
    std::size_t recordings_ = 0;
    std::uint64_t calls_with_rounded_sizes_ = 0;
};

}  // namespace fp32shim::cli
