// Checks a log's destination before the program starts, and finds its recordings afterwards.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "record/process_facts.hpp"

namespace fp32shim::cli {

bool is_recording_name(const std::string& log_path);

/// Returns one line that says why the log cannot be written: its folder is missing, or not writable. Empty if nothing
/// is wrong, or if the folder's name is not known yet. `log_path` is valid and may have placeholders.
std::string problem_of_destination(const std::string& log_path, const record::ProcessFacts& facts);

/// Returns the existing file with the log's name, so that the new recording gets a number. Empty if there is none, if
/// the name is not known yet, or for a rank without `%r` in the name: several ranks may share it.
std::string taken_by(const std::string& log_path, const record::ProcessFacts& facts);

/// Returns true if the log's folder is known. A relative folder is not, since the program may change its working
/// folder; nor is a folder with a placeholder that only the program can fill in.
bool is_folder_known(const std::string& log_path, const record::ProcessFacts& facts);

/// Returns the name that a recording gets if its own and those with lower numbers are taken: `run.1.fp32rec` for
/// `run.fp32rec`.
std::string numbered(const std::string& path, int number);

/// Returns the recordings with the log's name that belong to `run` (ProcessFacts::run) and began at `since_ns` or
/// later, the oldest first.
std::vector<std::string> recordings_of_run(const std::string& log_path, const record::ProcessFacts& facts,
                                           std::uint64_t run, std::int64_t since_ns);

}  // namespace fp32shim::cli
