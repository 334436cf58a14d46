// Finds and opens the recordings that a command's arguments name: files, folders and globs.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace fp32shim::record {
class RecordingReader;
struct FileProblem;
}  // namespace fp32shim::record

namespace fp32shim::cli {

/// A copy of a recording that is left out, because another copy holds at least as much.
struct RecordingCopy {
    std::string path;
    std::string fullest;  ///< path of the copy that is read instead
};

/// A file, or part of one, that could not be read or judged.
struct ReadingProblem {
    std::string path;
    std::string text;        ///< one line: the damage, its offset, and what is left out because of it
    bool is_unread = false;  ///< no part of the recording could be read
};

struct RecordingPaths {
    /// Each recording once, in the order of the arguments; recordings of one argument are sorted by name.
    std::vector<std::string> paths;
    std::vector<std::string> errors;    ///< one line for each argument that names no recording
    std::vector<RecordingCopy> copies;  ///< copies that are left out
    /// The lines about `copies` (one for each if they are few, otherwise one with their number), and about other
    /// files of the same runs.
    std::vector<std::string> notes;
    /// Doubts about further recordings that may belong to those in `paths`. Only add_rest_of_runs() sets them.
    std::vector<ReadingProblem> doubts;
    std::size_t empty_folders = 0;  ///< number of the `errors` that are about folders without recordings
};

/// Finds the recordings of each argument. An argument is a file; a folder, which is searched for `*.fp32rec` with all
/// its subfolders; or a glob that the shell did not expand. A folder that cannot be read is returned as a path, so
/// that visit_recordings() reports it.
RecordingPaths find_recordings(const std::vector<std::string>& arguments);

/// Adds the other recordings of each `fp32shim run` in the same folders, and the run's file that lists children which
/// the shim did not see. For a recording `a.fp32rec` that no `fp32shim run` made, adds `a.children.fp32rec` and the
/// recordings of the process's children and of its parent. Adds a note for each file.
void add_rest_of_runs(RecordingPaths& found);

/// Adds a note that names the other recordings of each `fp32shim run` in the same folders, but does not add the
/// recordings themselves.
void mention_other_files_of_runs(RecordingPaths& found);

/// The maximum number of lines on stderr about problems of one kind, and about problems of one recording. The
/// remaining problems are only counted.
inline constexpr std::size_t max_lines_said = 100;

/// Prints the errors, or the notes if there are no errors, each in one line. Returns true if there are errors.
bool print_errors_or_notes(std::string_view command, const RecordingPaths& found);

/// Returns a line for each copy that was left out but may hold calls which the file that is read instead lacks. Such
/// a copy has another owner, or something that the other file lacks, or the files cannot be compared. An equal header
/// does not prove that a file is a copy, since anybody can copy a header.
std::vector<ReadingProblem> problems_of_copies(const RecordingPaths& found);

/// Returns the `doubts` of `found`, and lines about files that are not among `found.paths`: other recordings of the
/// same runs, and files that list unseen children. Processes of missing recordings may have multiplied at any format.
std::vector<ReadingProblem> problems_of_missing_files(const RecordingPaths& found);

/// Opens each recording in turn and passes it to `visit`. While recordings are visited, a second thread opens the
/// next few recordings, unless the present ones are large, so that memory use stays bounded. Shows progress on a
/// terminal after a second. Returns the parts that could not be read; `visit` gets the rest.
std::vector<ReadingProblem> visit_recordings(
    const std::vector<std::string>& paths,
    const std::function<void(const std::string&, record::RecordingReader&)>& visit);

/// Returns the text of a problem in one line: `offset 4096: …`.
std::string problem_text(const record::FileProblem& problem);

/// Returns the number of recordings that have problems.
std::size_t count_recordings_with_problems(const std::vector<ReadingProblem>& problems);

/// Prints the first problems, one per line, then the number of the remaining problems. Returns true if there are any
/// problems.
bool print_problems(std::string_view command, const std::vector<ReadingProblem>& problems);

}  // namespace fp32shim::cli
