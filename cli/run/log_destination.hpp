// Checks a log's destination before the program starts, and finds the log's recordings after the program has ended.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "record/process_facts.hpp"

namespace fp32shim::cli {

/// Doubles each percent sign of a path, because the shim turns `%%` into `%`.
std::string with_percents_doubled(const std::string& path);

/// Returns true if a log of this name is a recording, which means that the name ends in `.fp32rec`.
bool is_recording_name(const std::string& log_path);

/// Returns one line that says why the log cannot be written, for example because its folder is missing. Returns an
/// empty text if nothing is wrong, or if the folder's name is not yet known. `log_path` may have placeholders.
std::string problem_with_log_destination(const std::string& log_path, const record::ProcessFacts& facts);

/// Returns the path of the log if a file of this name exists already. The shim will then put a number into the new
/// recording's name. Returns an empty text if no file exists, if the log is no recording, or if only the program can
/// fill in the name. Also returns an empty text if this process is one of several ranks (MPI) and the name lacks
/// `%r`, because the file may then belong to another rank.
std::string existing_recording(const std::string& log_path, const record::ProcessFacts& facts);

/// Returns true if the log's folder is known. A relative folder is unknown, because the program may change its
/// working folder. A folder with a placeholder is unknown if only the program can fill in the placeholder.
bool is_log_folder_known(const std::string& log_path, const record::ProcessFacts& facts);

/// Returns `path` with a number before its extension, such as `run.1.fp32rec` for `run.fp32rec`. A recording gets a
/// number if files with its own name and with lower numbers exist already.
std::string with_number_before_extension(const std::string& path, int number);

/// Returns the recordings with the log's name that belong to `run` (ProcessFacts::run) and began at `since_ns` or
/// later, oldest first.
std::vector<std::string> recordings_of_run(const std::string& log_path, const record::ProcessFacts& facts,
                                           std::uint64_t run, std::int64_t since_ns);

}  // namespace fp32shim::cli
