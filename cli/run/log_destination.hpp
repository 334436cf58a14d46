// Checks a log's destination before the program starts, and finds its recordings afterwards.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "record/process_facts.hpp"

namespace fp32shim::cli {

/// Doubles each percent sign, so that the shim expands the result to `path`.
std::string with_percents_doubled(const std::string& path);

bool is_recording_name(const std::string& log_path);

/// Returns one line that says why the log cannot be written: its folder is missing, or not writable. Empty if nothing
/// is wrong, or if the folder's name is not known yet. `log_path` is valid and may have placeholders.
std::string problem_with_log_folder(const std::string& log_path, const record::ProcessFacts& facts);

/// Returns the path of the log if a file is there already: the shim will put a number into the new recording's name.
/// Returns an empty text if no file is there, if the log is no recording, if only the program can fill in the name,
/// or if this is one of several ranks (MPI) and the name lacks `%r`: the file may then be another rank's.
std::string process_writing_to(const std::string& log_path, const record::ProcessFacts& facts);

/// Returns true if the log's folder is known. A relative folder is not, since the program may change its working
/// folder; nor is a folder with a placeholder that only the program can fill in.
bool is_folder_known(const std::string& log_path, const record::ProcessFacts& facts);

/// Returns the name with a number before its extension: `run.1.fp32rec` for `run.fp32rec`. A recording gets such a
/// name if its own and those with lower numbers exist already.
std::string numbered(const std::string& path, int number);

/// Returns the recordings with the log's name that belong to `run` (ProcessFacts::run) and began at `since_ns` or
/// later, the oldest first.
std::vector<std::string> recordings_of_run(const std::string& log_path, const record::ProcessFacts& facts,
                                           std::uint64_t run, std::int64_t since_ns);

}  // namespace fp32shim::cli
