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
/// none, or it cannot be told: by `%p` and `%t` each process has a name of its own, and of several ranks with one
/// name the first may have begun.
std::string taken_by(const std::string& log_path, const record::ProcessFacts& facts);

/// Whether a recording that was asked for by that name is there with a number before its extension, since the name
/// was taken. False where it cannot be told.
bool is_numbered(const std::string& path, const std::string& log_path, const record::ProcessFacts& facts);

/// The recordings of that name, with any number before the extension, that began at `since_ns` or later: the oldest
/// first.
std::vector<std::string> recordings_since(const std::string& log_path, const record::ProcessFacts& facts,
                                          std::int64_t since_ns);

}  // namespace fp32shim::cli
