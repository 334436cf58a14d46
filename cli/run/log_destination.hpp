// Where a log goes: what can be told of it before the program starts, and what it became.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "record/process_facts.hpp"

namespace fp32shim::cli {

bool is_recording_name(const std::string& log_path);

/// What will keep the log from being written: its folder is not there, or nothing may be written to it. One line;
/// empty where nothing is wrong, or where the folder's name is not known yet. `log_path` is a valid one, placeholders
/// and all.
std::string problem_of_destination(const std::string& log_path, const record::ProcessFacts& facts);

/// The file that is there already, so that a recording of this name would get a number before its extension; empty:
/// none, or it cannot be told: by `%p` and `%t` each process has a name of its own, rank and job may be known to the
/// program only, and of several ranks with one name the first may have begun.
std::string taken_by(const std::string& log_path, const record::ProcessFacts& facts);

/// Whether it can be told in which folder the log will be: false for a name that is relative to a folder that the
/// program may change, and where this process does not know what a placeholder will become.
bool is_folder_known(const std::string& log_path, const record::ProcessFacts& facts);

/// `run.1.fp32rec` of `run.fp32rec`, the first of the names that a recording gets where its own is taken.
std::string numbered(const std::string& path);

/// The recordings of that name, with or without a number before the extension, that began at `since_ns` or later: the
/// oldest first.
std::vector<std::string> recordings_since(const std::string& log_path, const record::ProcessFacts& facts,
                                          std::int64_t since_ns);

}  // namespace fp32shim::cli
