// Writes the file of `fp32shim report --output FILE`. The file is either written completely or left unchanged.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "cli/output/field_value.hpp"

namespace fp32shim::cli {

/// Returns an error message if a report must not be written to `path`, because it is one of `recordings` or a folder,
/// or because its folder does not exist. Otherwise returns an empty text. An empty `path` means stdout.
std::string problem_with_output(const std::string& path, const std::vector<std::string>& recordings);

/// Writes a report piece by piece to stdout, a terminal, a pipe, a device or a file. A file is first written under
/// another name, and finish() replaces the old file. If `path` is a symbolic link, the link stays and its target is
/// replaced.
class ReportOutput {
  public:
    /// Opens `path`. An empty path means stdout.
    explicit ReportOutput(const std::string& path);
    /// Deletes the unfinished file unless finish() was called, so that an existing file at `path` stays unchanged.
    ~ReportOutput();
    ReportOutput(const ReportOutput&) = delete;
    ReportOutput& operator=(const ReportOutput&) = delete;

    /// Adds text. Returns false if writing failed, for example on a closed pipe or a full disk; then the caller can
    /// stop.
    bool write(std::string_view text);
    /// Completes the file. Returns an error message of one line; empty on success.
    std::string finish();

  private:
    void open_temporary_beside(const std::string& target);
    void keep_failure(const char* what, int error);
    void flush_buffer();

    std::string path_, target_, temporary_, problem_;
    std::string buffer_;
    int descriptor_ = -1;
};

/// Writes CSV (RFC 4180): a line of column names, then a line for each row. `rows` has rows or pointers to them.
template <class Row, class Rows>
void write_csv_rows(std::span<const Column<Row>> columns, const Rows& rows, ReportOutput& output) {
    output.write(csv_header(columns) + "\r\n");
    std::string line;
    for (const auto& row : rows) {
        line.clear();
        if constexpr (std::is_convertible_v<decltype(row), const Row&>)
            append_csv_row<Row>(line, columns, row);
        else
            append_csv_row<Row>(line, columns, *row);
        if (!output.write(line += "\r\n")) return;
    }
}

}  // namespace fp32shim::cli
