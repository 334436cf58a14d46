#include "cli/recordings/recordings.hpp"

#include <fmt/format.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <future>
#include <map>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include "cli/output/progress.hpp"
#include "cli/output/terminal.hpp"
#include "cli/recordings/merged_calls.hpp"
#include "cli/recordings/run_members.hpp"
#include "policy/messages.hpp"
#include "record/read/reader.hpp"

namespace fp32shim::cli {
namespace {

namespace fs = std::filesystem;

/// Returns the paths of all `*.fp32rec` files below a folder, and also each subfolder that cannot be read, so that
/// opening it reports the reason. Leaves out folders named .fp32shim, where `fp32shim run` keeps the recordings of
/// the last runs; those are read only if the user names them. Sets `problem` if the search ends early with an error.
std::vector<std::string> recordings_below(const std::string& folder, std::string& problem) {
    std::vector<std::string> found;
    std::error_code error;
    auto entry = fs::recursive_directory_iterator(folder, error);
    for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
        std::error_code ignored;
        const std::string path = entry->path().string();
        if (entry->path().filename() == ".fp32shim") {
            entry.disable_recursion_pending();
        } else if (entry->is_directory(ignored)) {
            // Links to folders are not followed.
            if (entry->is_symlink(ignored) || access(path.c_str(), R_OK | X_OK) == 0) continue;
            entry.disable_recursion_pending();
            found.push_back(path);
        } else if (entry->path().extension() == ".fp32rec") {
            found.push_back(path);
        }
    }
    if (error) problem = fmt::format("{}: {}", folder, error.message());
    std::sort(found.begin(), found.end());
    return found;
}

std::vector<std::string> paths_matching(const std::string& pattern) {
    std::vector<std::string> found;
    glob_t result{};
    if (glob(pattern.c_str(), 0, nullptr, &result) == 0)
        found.assign(result.gl_pathv, result.gl_pathv + result.gl_pathc);
    globfree(&result);
    return found;
}

/// Returns the first bytes of a file's header; empty if the file is no recording. Copies of a recording have the same
/// bytes there. Different recordings have different bytes, even if one process made them before and after a reload,
/// an exec or a fork.
std::string identity_in(const std::string& path) {
    const auto header = read_header(path);
    if (header == nullptr) return {};
    return {reinterpret_cast<const char*>(header.get()), record::format::identity_size};
}

/// Returns a tuple that compares greater for the copy that holds more of a recording, since copies may be old or
/// truncated. Times are not compared, since each reader estimates them.
auto amount_recorded(const std::string& path) {
    const auto opened = record::RecordingReader::open(path);
    const auto* reader = opened.reader.get();
    using Content = std::tuple<bool, std::uint64_t, bool, std::uint64_t, bool, std::size_t, std::size_t>;
    if (reader == nullptr) return Content{};
    const record::RecordedObjectList& objects = reader->objects();
    return Content{true,
                   reader->total_calls(),
                   reader->problems().empty(),
                   reader->event_count(),
                   objects.until_exit,
                   objects.all.size(),
                   reader->changes().size() + reader->lost_changes()};
}

/// Keeps only the fullest copy of each recording, so that no call counts twice.
void drop_copies(RecordingPaths& result) {
    std::map<std::string, std::vector<std::string>> files;
    for (const std::string& path : result.paths)
        if (std::string identity = identity_in(path); !identity.empty()) files[std::move(identity)].push_back(path);
    std::vector<std::string> notes;
    for (const auto& [identity, paths] : files) {
        if (paths.size() == 1) continue;
        std::vector<std::pair<decltype(amount_recorded({})), std::string>> contents;
        for (const std::string& path : paths) contents.emplace_back(amount_recorded(path), path);
        const auto fullest = std::max_element(contents.begin(), contents.end(),
                                              [](const auto& a, const auto& b) { return a.first < b.first; });
        for (const auto& [content, path] : contents) {
            if (path == fullest->second) continue;
            result.copies.push_back({path, fullest->second});
            notes.push_back(fmt::format("{}: a copy of {}, which has {}; counted once", path, fullest->second,
                                        content < fullest->first ? "more" : "as much"));
        }
    }
    if (constexpr std::size_t few = 3; notes.size() > few)
        notes = {fmt::format("{} are further copies; the most complete copy of each recording counts",
                             counted(notes.size(), "file"))};
    result.notes.insert(result.notes.end(), notes.begin(), notes.end());
    std::set<std::string_view> left_out;
    for (const RecordingCopy& copy : result.copies) left_out.insert(copy.path);
    std::erase_if(result.paths, [&](const std::string& path) { return left_out.contains(path); });
}

/// Returns a question that names a recording beside `path` whose name is similar; empty if there is none.
std::string question_about(const fs::path& path) {
    std::error_code error;
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(path.has_parent_path() ? path.parent_path() : ".", error))
        if (entry.path().extension() == ".fp32rec") names.push_back(entry.path().filename().string());
    return policy::did_you_mean(path.filename().string(), {names.begin(), names.end()});
}

/// Returns the reason why a copy may hold calls that the kept copy lacks; empty if there is no such reason.
std::string reason_to_doubt(const RecordingCopy& copy) {
    struct stat left_out {
    }, fullest{};
    const auto is_file = [](const std::string& path, struct stat& status) {
        return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
    };
    if (!is_file(copy.path, left_out) || !is_file(copy.fullest, fullest)) return "can no longer be compared with";
    if (left_out.st_uid != fullest.st_uid) return "has a different owner from";
    const auto all = record::RecordingReader::open(copy.fullest), some = record::RecordingReader::open(copy.path);
    if (!some.reader) return {};  // a file that cannot be read holds nothing that could be judged
    return all.reader && holds_all_of(*all.reader, *some.reader) ? "" : "differs from";
}

constexpr std::size_t many_rows = 65536;  // an open recording takes 64 bytes of memory for each row

struct OpenedRecordings {
    std::vector<record::RecordingReader::OpenResult> all;
    std::size_t rows = 0;
};

/// Opens recordings of `paths` from the index `first` on: enough to make up for the start of a thread that opens
/// them, but so few that they take little memory.
OpenedRecordings open_some(const std::vector<std::string>& paths, std::size_t first) {
    constexpr std::size_t most = 8;  // each recording keeps a file open, and twice this number is open at a time
    OpenedRecordings some;
    for (std::size_t i = first; i < std::min(paths.size(), first + most) && some.rows < many_rows; ++i) {
        some.all.push_back(record::RecordingReader::open(paths[i]));
        if (const auto& reader = some.all.back().reader) some.rows += reader->counters().size();
    }
    return some;
}

/// Returns true if two recordings, which belong to no run, may share the file that lists their unseen children.
bool may_share_children_file(const std::string& path, const std::string& other) {
    const std::vector<std::string> files = possible_children_files(path), others = possible_children_files(other);
    return std::ranges::find_first_of(files, others) != files.end();
}

std::string folder_of(const std::string& path) {
    const std::string folder = fs::path(path).parent_path().string();
    return folder.empty() ? "." : folder;
}

/// Finds the files that belong to given recordings: the other recordings of the same run, and the recordings that a
/// given recording lists.
class RunFileFinder {
  public:
    explicit RunFileFinder(const RecordingPaths& found) {
        for (const std::string& path : found.paths) insert_file(path);
        for (const RecordingCopy& copy : found.copies) insert_file(copy.path);
        for (const std::string& path : found.paths) {
            const auto member = read_run_member(path);
            if (!member) continue;
            add_member(path, *member);
            start_ns_ = std::min(start_ns_, member->start_ns);
            plan_search(path, *member);
            std::error_code error;
            if (!fs::is_symlink(path, error)) continue;
            if (const fs::path real = fs::canonical(path, error); !error) plan_search(real.string(), *member);
        }
        for (const std::string& folder : folders_) search(folder);
        std::sort(others_.begin(), others_.end());
        std::sort(unreadable_.begin(), unreadable_.end());
    }
    /// Returns files in the same folders that belong to the recordings but are not among them, sorted by name. For a
    /// recording that no run made, and that neither lists nor is listed, returns only its file of unseen children.
    std::vector<std::string> others() const { return others_; }
    /// Returns files in the same folders that cannot be read, so that it is not known if they belong to the
    /// recordings.
    std::vector<std::string> unreadable() const { return unreadable_; }
    /// Returns a doubt for each other recording that has the same name as a given recording, except for a number, and
    /// whose process ran at the same time.
    std::vector<ReadingProblem> doubts() const { return doubts_; }

  private:
    bool insert_file(const std::string& path) {
        struct stat status {};
        return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
               known_.emplace(status.st_dev, status.st_ino).second;
    }

    void plan_search(const std::string& path, const RunMember& member) {
        if (member.run != 0 || member.listed_count > 0 || member.listed_in != 0) folders_.insert(folder_of(path));
        for (const std::string& children : possible_children_files(path)) {
            names_of_children_.insert(fs::path(children).filename());
            if (member.run == 0 && insert_file(children)) others_.push_back(children);
        }
    }

    void add_member(const std::string& path, const RunMember& member) {
        if (!member.is_children_file) members_.emplace_back(path, member);
        if (member.run != 0) runs_.insert(member.run);
        lists_.insert(member.number);
        if (member.listed_in != 0) lists_.insert(member.listed_in);
    }

    /// Returns true if the file at `path`, which cannot be read, may belong to the recordings: it was changed after
    /// the first of them began, or its name is that of one of them except for a number.
    bool may_belong(const std::string& path) const {
        struct stat status {};
        // A file system's clock may be wrong by `precision`.
        constexpr std::int64_t second = 1'000'000'000, precision = 1 * second;
        return stat(path.c_str(), &status) == 0 &&
               (std::ranges::any_of(possible_children_files(path),
                                    [&](const std::string& children) {
                                        return names_of_children_.contains(fs::path(children).filename());
                                    }) ||
                status.st_ctime * second + precision >= start_ns_);
    }

    void search(const std::string& folder) {
        std::vector<std::pair<std::string, RunMember>> candidates;
        std::error_code error;
        for (auto entry = fs::directory_iterator(folder, error); !error && entry != fs::directory_iterator();
             entry.increment(error)) {
            if (entry->path().extension() != ".fp32rec") continue;
            std::string path = folder == "." ? entry->path().filename().string() : entry->path().string();
            auto member = read_run_member(path);
            if (member && insert_file(path))
                candidates.emplace_back(std::move(path), std::move(*member));
            else if (!member && may_belong(path) && access(path.c_str(), R_OK) != 0 && insert_file(path))
                unreadable_.push_back(std::move(path));
        }
        // A child's recording may list recordings too, so candidates are tried until no further one is found.
        const auto is_wanted = [&](const auto& candidate) {
            const RunMember& member = candidate.second;
            if (!runs_.contains(member.run) && !lists_.contains(member.listed_in) && !lists_.contains(member.number))
                return false;
            add_member(candidate.first, member);
            others_.push_back(candidate.first);
            return true;
        };
        while (std::erase_if(candidates, is_wanted) > 0) {
        }
        for (const auto& [path, member] : candidates) doubt_if_concurrent(path, member);
    }

    /// Adds a doubt about the recording at `path`, which belongs to none of the known runs, if its process ran at the
    /// same time as the process of a known recording and recorded under the same name. The process may have lost the
    /// number of its run with its environment variables.
    void doubt_if_concurrent(const std::string& path, const RunMember& member) {
        const auto beside = std::ranges::find_if(members_, [&](const auto& taken) {
            const RunMember& other = taken.second;
            return member.identity.shares_boot_with(other.identity) && may_share_children_file(path, taken.first) &&
                   std::max(member.start_ns, other.start_ns) < std::min(member.exited_ns, other.exited_ns);
        });
        if (member.is_children_file || beside == members_.end()) return;
        doubts_.push_back({path, fmt::format("its process ran at the same time as that of {} and recorded under the "
                                             "same name, but in no run that is judged; name it too, or move {} to a "
                                             "folder of its own if they do not belong together",
                                             beside->first, beside->first)});
    }

    std::set<std::pair<dev_t, ino_t>> known_;
    std::set<std::uint64_t> runs_, lists_;
    std::set<std::string> folders_, names_of_children_;
    std::int64_t start_ns_ = INT64_MAX;  ///< start of the first recording
    std::vector<std::pair<std::string, RunMember>> members_;
    std::vector<std::string> others_, unreadable_;
    std::vector<ReadingProblem> doubts_;
};

/// Prints the first lines, then the number of the remaining lines. `more` says what the remaining lines are about.
void print_first_lines(std::string_view command, const std::vector<std::string>& lines, std::string_view more) {
    const std::size_t shown = std::min(lines.size(), max_lines_said);
    for (std::size_t i = 0; i < shown; ++i) say(command, lines[i]);
    if (shown < lines.size()) say(command, fmt::format("and {} more {}", lines.size() - shown, more));
}

}  // namespace

RecordingPaths find_recordings(const std::vector<std::string>& arguments) {
    RecordingPaths result;
    std::set<std::pair<dev_t, ino_t>> seen;
    const auto add_path = [&](const std::string& path) {
        struct stat status {};
        const bool is_known = stat(path.c_str(), &status) == 0;
        if (!is_known || seen.emplace(status.st_dev, status.st_ino).second) result.paths.push_back(path);
    };
    const auto add_file_or_folder = [&](const std::string& path) {
        std::error_code error;
        if (!fs::is_directory(path, error)) return add_path(path);
        std::string problem;
        const std::vector<std::string> files = recordings_below(path, problem);
        std::ranges::for_each(files, add_path);
        if (problem.empty() && files.empty()) {
            problem = fmt::format(
                "{}: no *.fp32rec in this folder; fp32shim run --log NAME.fp32rec -- PROGRAM writes one", path);
            ++result.empty_folders;
        }
        if (!problem.empty()) result.errors.push_back(problem);
    };
    for (const std::string& argument : arguments) {
        std::error_code error;
        const fs::file_status status = fs::status(argument, error);
        if (fs::exists(status)) {
            add_file_or_folder(argument);
        } else if (const auto found = paths_matching(argument); !found.empty()) {
            std::ranges::for_each(found, add_file_or_folder);
        } else {
            const bool is_absent = status.type() == fs::file_type::not_found;
            result.errors.push_back(
                fmt::format("{}: {}", argument,
                            is_absent ? "no such file or folder" + question_about(argument) : error.message()));
        }
    }
    drop_copies(result);
    return result;
}

std::vector<ReadingProblem> visit_recordings(
    const std::vector<std::string>& paths,
    const std::function<void(const std::string&, record::RecordingReader&)>& visit) {
    std::vector<ReadingProblem> problems;
    Progress progress("reading recordings");
    std::future<OpenedRecordings> next;
    for (std::size_t done = 0; done < paths.size();) {
        OpenedRecordings some = next.valid() ? next.get() : open_some(paths, done);
        const std::size_t end = done + some.all.size();
        // Opening takes half of the time that a report spends on a recording, so a thread opens the next recordings.
        // If no thread can be started, get() opens them.
        if (end < paths.size() && some.rows < many_rows)
            next = std::async(std::launch::async | std::launch::deferred, open_some, std::cref(paths), end);
        for (auto& [reader, error] : some.all) {
            const std::string& path = paths[done];
            progress.show(done++, paths.size());
            if (!reader) {
                problems.push_back({path, error, true});
                continue;
            }
            visit(path, *reader);
            for (const record::FileProblem& problem : reader->problems())
                problems.push_back({path, problem_text(problem), false});
            reader.reset();
        }
    }
    return problems;
}

std::vector<ReadingProblem> problems_of_copies(const RecordingPaths& found) {
    std::vector<ReadingProblem> doubts;
    for (const RecordingCopy& copy : found.copies)
        if (const std::string doubt = reason_to_doubt(copy); !doubt.empty())
            doubts.push_back({copy.path, fmt::format("{} {}, although both begin as the same recording. Only one is "
                                                     "judged; name one, and move the other out of its folder.",
                                                     doubt, copy.fullest)});
    return doubts;
}

std::vector<ReadingProblem> problems_of_missing_files(const RecordingPaths& found) {
    std::vector<ReadingProblem> problems = found.doubts;
    for (const MissingFileList& files : find_missing_files(found.paths)) {
        if (const std::size_t count = files.recording_count(); count > 0)
            problems.push_back(
                {files.path,
                 fmt::format("{} of the same run {} missing, so what {} multiplied is not known: {}",
                             counted(count, "recording"), count == 1 ? "is" : "are",
                             count == 1 ? "its process" : "their processes", missing_names_text({files}))});
        if (files.never_made > 0)
            problems.push_back(
                {files.path,
                 fmt::format("{} of {} multiplied but could not make a recording, as a line on stderr "
                             "says",
                             files.never_made == 1 ? "a process" : count_text(files.never_made) + " processes",
                             is_children_file(files.path) ? "its run" : "its family")});
        if (files.lacks_children_file)
            problems.push_back({files.path,
                                "the file for the children of its run, whose name ends in .children.fp32rec, is "
                                "missing, so it is not known what ran without a recording"});
        if (files.lacks_list)
            problems.push_back({files.path,
                                "the recording that lists this one is missing, so what its process multiplied is not "
                                "known"});
    }
    return problems;
}

std::string problem_text(const record::FileProblem& problem) {
    return fmt::format("offset {}: {}", problem.offset, problem.what);
}

void add_rest_of_runs(RecordingPaths& found) {
    const RunFileFinder files(found);
    const std::vector<std::string> others = files.others();
    found.paths.insert(found.paths.end(), others.begin(), others.end());
    if (!others.empty()) drop_copies(found);
    for (const std::string& path : others)
        if (std::ranges::count(found.copies, path, &RecordingCopy::path) == 0)
            found.notes.push_back(path + ": belongs to the same run, so it is judged too");
    found.doubts = files.doubts();
    // Reading these files will fail, which counts as a doubt.
    for (const std::string& path : files.unreadable()) {
        found.paths.push_back(path);
        found.notes.push_back(path + ": may belong to the same run, but cannot be read");
    }
}

void mention_other_files_of_runs(RecordingPaths& found) {
    std::vector<std::string> others = RunFileFinder(found).others();
    std::vector<std::string> all = found.paths;
    all.insert(all.end(), others.begin(), others.end());
    std::vector<MissingFileList> missing = find_missing_files(all);
    std::set<std::string> known;
    for (const std::string& path : found.paths) known.insert(identity_in(path));
    std::erase_if(
        others, [&](const std::string& path) { return is_children_file(path) || known.contains(identity_in(path)); });
    constexpr std::size_t most = 5;
    if (!others.empty())
        found.notes.push_back(fmt::format(
            "not read, although {} to the same run: {}. Name {}.", others.size() == 1 ? "it belongs" : "they belong",
            listed(others, most), others.size() == 1 ? "it too, or its folder" : "them too, or their folder"));
    std::size_t count = 0;
    for (MissingFileList& files : missing) {
        if (files.lacks_list) ++files.unnamed;
        count += files.recording_count();
    }
    if (count > 0)
        found.notes.push_back(fmt::format("{} of the same run {} not read and not beside the others: {}",
                                          counted(count, "recording"), count == 1 ? "is" : "are",
                                          missing_names_text(missing)));
}

bool print_errors_or_notes(std::string_view command, const RecordingPaths& found) {
    print_first_lines(command, found.errors, "arguments without a recording");
    if (!found.errors.empty()) return true;
    print_first_lines(command, found.notes, "such lines");
    return false;
}

std::size_t count_recordings_with_problems(const std::vector<ReadingProblem>& problems) {
    std::set<std::string_view> recordings;
    for (const ReadingProblem& problem : problems) recordings.insert(problem.path);
    return recordings.size();
}

bool print_problems(std::string_view command, const std::vector<ReadingProblem>& problems) {
    std::vector<std::string> lines;
    lines.reserve(problems.size());
    for (const ReadingProblem& problem : problems) lines.push_back(problem.path + ": " + problem.text);
    print_first_lines(
        command, lines,
        fmt::format("problems: {} cannot be read, or only in part; fp32shim report --format jsonl names each problem",
                    counted(count_recordings_with_problems(problems), "recording")));
    return !problems.empty();
}

}  // namespace fp32shim::cli
