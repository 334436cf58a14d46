// `fp32shim report --output FILE`: the file is there whole, or as it was before.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fp32shim::cli {

/// What is wrong with writing to `path` before anything is read; empty: nothing, also for an empty path. A recording
/// that is read must not be replaced by its report.
std::string output_problem(const std::string& path, const std::vector<std::string>& recordings);

/// Where a report goes, piece by piece: to stdout; or into a new file beside the one that is named, which then takes
/// its place; or to a terminal, a pipe or a device directly. A symbolic link stays one: what it points to is
/// replaced.
class ReportOutput {
  public:
    /// Empty: stdout.
    explicit ReportOutput(const std::string& path);
    /// Without finish(), the file is as it was before.
    ~ReportOutput();
    ReportOutput(const ReportOutput&) = delete;
    ReportOutput& operator=(const ReportOutput&) = delete;

    /// False: nobody reads any more, or there is no room; the rest need not be written.
    bool put(std::string_view text);
    /// An empty text, or in one line what went wrong.
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
