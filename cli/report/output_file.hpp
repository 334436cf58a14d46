// File of `fp32shim report --output FILE`: written whole, or left alone.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fp32shim::cli {

/// Returns an error message if a report cannot go to `path`, for example because it is one of the recordings; empty
/// if it can, as for an empty path.
std::string output_problem(const std::string& path, const std::vector<std::string>& recordings);

/// Writes a report, taken piece by piece, to stdout, a terminal, a pipe, a device or a file. For a file, it writes a
/// new one, which finish() puts in the place of the old. A symbolic link stays, and its target is replaced.
class ReportOutput {
  public:
    /// Opens `path`; an empty one is stdout.
    explicit ReportOutput(const std::string& path);
    /// Leaves the file as it was, unless finish() was called.
    ~ReportOutput();
    ReportOutput(const ReportOutput&) = delete;
    ReportOutput& operator=(const ReportOutput&) = delete;

    /// Returns false once a write failed, for example on a closed pipe or full disk: the rest need not be written.
    bool put(std::string_view text);
    /// Completes the file. Returns an error message in one line, empty on success.
    std::string finish();

  private:
    void open_beside(const std::string& target);
    void fail(const char* what, int error);
    void flush();

    std::string path_, target_, temporary_, problem_;
    std::string held_;
    int descriptor_ = -1;
};

}  // namespace fp32shim::cli
