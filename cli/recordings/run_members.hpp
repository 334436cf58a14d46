// Finds recordings that belong together: those of one `fp32shim run`, and those of a process and its children.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "record/format/format.hpp"
#include "record/format/identity.hpp"

namespace fp32shim::cli {

/// The facts in a recording's header about the other recordings that belong to it.
struct RunMember {
    std::uint64_t run = 0;  ///< number of the `fp32shim run` that made the recording; 0: none
    /// The number by which other recordings name this recording as the one that lists them.
    std::uint64_t number = 0;
    std::uint64_t listed_in = 0;  ///< number of the recording that lists this recording; 0 if none does
    /// The number of recordings that entered themselves into the list of this recording.
    std::uint32_t listed_count = 0;
    std::uint32_t unrecorded = 0;    ///< number of processes that multiplied without a recording
    bool has_children_file = false;  ///< the run has a file that lists children which the shim did not see
    bool is_children_file = false;   ///< this file only lists such children
    /// True if `fp32shim run` waits for the program, and will write `run_end` unless `fp32shim run` is killed.
    bool is_run_awaited = false;
    record::format::RunEnd run_end{};  ///< the note at the end of the run; all zeros: there is none
    /// The number of the run's recordings, only in the file for the run's children.
    std::uint32_t run_recordings = 0;
    std::int64_t start_ns = 0;         ///< start of the recording: nanoseconds since 1970
    std::int64_t exited_ns = 0;        ///< end of the process, if it called `exit`; otherwise equal to start_ns
    record::ProcessIdentity identity;  ///< identity of the process, of its namespace and of the machine's boot

    struct ListEntry {
        std::int32_t pid = 0;
        std::uint64_t process_start = 0;
        std::string name;  ///< name of the file, perhaps without its beginning
    };
    std::vector<ListEntry> listed;  ///< the first entries of this recording's list of recordings
};

/// Returns the first part of a file's header, with zeros behind the end of the file; null if it is no recording.
std::unique_ptr<record::format::Header> read_header(const std::string& path);

/// Reads the header of a file. Returns nullopt if the file is no recording.
std::optional<RunMember> read_run_member(const std::string& path);

/// Returns true if `fp32shim run` noted in the file at `path` that all processes of its run had ended.
bool notes_end_of_run(const std::string& path);

/// Returns true if the file at `path` only lists children that the shim did not see, and has no calls.
bool is_children_file(const std::string& path);

/// Returns the paths that the file for a recording's children may have if the recording belongs to no run:
/// `run.children.fp32rec` for `run.fp32rec`. For `run.3.fp32rec`, the file is `run.children.fp32rec` or, if the user
/// chose the number as part of the name, `run.3.children.fp32rec`.
std::vector<std::string> possible_children_files(const std::string& path);

/// The files that belong to a recording but were not read.
struct MissingFileList {
    std::string path;                ///< path of the recording
    std::vector<std::string> names;  ///< names of other recordings
    std::size_t unnamed = 0;         ///< number of further recordings whose names are not known
    /// The number of recordings that forked children, or processes of the run, could not make.
    std::uint32_t never_made = 0;
    bool lacks_children_file = false;
    /// True if the file whose list contains this recording is missing, unless lacks_children_file is true, or the
    /// MissingFileList of an earlier recording already reports the same file.
    bool lacks_list = false;

    std::size_t recording_count() const { return names.size() + unnamed; }
};

/// Finds the files that belong to the recordings at `paths` but are not among them.
std::vector<MissingFileList> find_missing_files(const std::vector<std::string>& paths);

/// Returns the names of missing recordings as a list: `run.1.fp32rec, run.2.fp32rec and 3 more`.
std::string missing_names_text(const std::vector<MissingFileList>& missing);

}  // namespace fp32shim::cli
