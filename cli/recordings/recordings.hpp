// From the arguments of a command to open recordings: files, folders and globs, one after the other.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "record/read/reader.hpp"

namespace fp32shim::cli {

struct RecordingPaths {
    std::vector<std::string> paths;   ///< each recording once, in the order of the arguments, then by name
    std::vector<std::string> errors;  ///< an argument that names no recording: one line each
    std::vector<std::string>
        copies;  ///< files that are left out: they hold no more of a recording than one of `paths`
    std::vector<std::string> notes;  ///< for each of those, one line that says so
};

/// An argument is a file; or a folder, for all recordings (`*.fp32rec`) in and below it, and for what is below it and
/// cannot be looked into, which `visit_recordings` then names; or a glob, where the shell has left it as it is.
RecordingPaths find_recordings(const std::vector<std::string>& arguments);

/// Adds what the same run of `fp32shim run` has recorded in the same folders: other processes', and which children
/// were not covered. Of a recording that belongs to no run, the file that names such children of its log. A note says
/// what was added.
void add_rest_of_runs(RecordingPaths& found);

/// Says each error, or else each note, in one line; returns whether there are errors.
bool say_errors(std::string_view command, const RecordingPaths& found);

/// What could not be read: of a whole file, or at one place of it.
struct ReadingProblem {
    std::string path;
    std::string text;  ///< one line: what was found, where, and what is left out because of it
};

/// Opens each recording in turn and hands it to `visit`; one is open at a time. Shows progress on a terminal where
/// that takes longer than a second. Returns what could not be read; `visit` sees the rest.
std::vector<ReadingProblem> visit_recordings(
    const std::vector<std::string>& paths,
    const std::function<void(const std::string&, record::RecordingReader&)>& visit);

/// Says each problem in one line; returns whether there are any.
bool say_problems(std::string_view command, const std::vector<ReadingProblem>& problems);

}  // namespace fp32shim::cli
