// `fp32shim report --output FILE`: the file is there whole, or as it was before.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fp32shim::cli {

/// What is wrong with writing to `path` before anything is read; empty: nothing, also for an empty path. A recording
/// that is read must not be replaced by its report.
std::string output_problem(const std::string& path, const std::vector<std::string>& recordings);

/// Writes `text` to a new file beside `path`, which then takes its place; to a terminal, a pipe or a device directly.
/// A symbolic link stays one: what it points to is replaced. Returns an empty text, or in one line what went wrong.
std::string write_output(const std::string& path, std::string_view text);

}  // namespace fp32shim::cli
