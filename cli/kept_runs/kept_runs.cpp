#include "cli/kept_runs/kept_runs.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <list>
#include <system_error>

#include "cli/output/moment.hpp"
#include "cli/output/terminal.hpp"
#include "cli/recordings/run_members.hpp"
#include "record/log_path.hpp"
#include "record/read/processes.hpp"
#include "record/read/reader.hpp"
#include "record/write/children.hpp"

namespace fp32shim::cli {
namespace {

constexpr const char* runs_folder = ".fp32shim";
/// The name of an empty file beside the runs' folders. The file says that the most recent run was not kept.
constexpr const char* not_kept_file = "last-run-was-not-kept";
/// The largest number of kept runs. It is enough to compare a few versions of a program, each with the previous
/// one. A recording that a user wants to keep longer can be written to another file with --log.
constexpr std::size_t most_runs = 10;
/// The largest size of all kept runs together. It equals the size that one recording may have by default. Most runs
/// have less than 1 MiB, so usually most_runs is reached first.
constexpr std::uint64_t most_bytes = std::uint64_t{1} << 30;
/// If the disk has less free space than this, no run is kept, because the program may need the space.
constexpr std::uint64_t least_free_bytes = std::uint64_t{1} << 28;

/// Returns true for the name of a run's folder, which consists of the run's start time to the millisecond (or a
/// millisecond after the run before it, if that is later) and its process id.
bool is_run_name(std::string_view name) {
    constexpr std::string_view form = "0000-00-00T000000.000Z-0";
    for (std::size_t i = 0; i < name.size(); ++i) {
        const char expected = form[std::min(i, form.size() - 1)];
        if (expected == '0' ? name[i] < '0' || name[i] > '9' : name[i] != expected) return false;
    }
    return name.size() >= form.size();
}

/// Returns true for names of recordings in a kept run: `4711.fp32rec`, `4711.1.fp32rec`, `4711.children.fp32rec`.
bool is_name_of_recording(std::string_view name) {
    const std::size_t end = name.find_first_not_of("0123456789.");
    return end != std::string_view::npos && end > 1 && name[0] != '.' &&
           (name.substr(end - 1) == ".fp32rec" || name.substr(end - 1) == ".children.fp32rec");
}

/// Ignores SIGXFSZ while it exists, so that a write beyond the limit of file sizes (ulimit -f) does not end this
/// process. The destructor restores the earlier setting, so that programs started later inherit it.
struct IgnoredFileSizeSignal {
    void (*const before)(int) = std::signal(SIGXFSZ, SIG_IGN);
    ~IgnoredFileSizeSignal() { std::signal(SIGXFSZ, before); }
};

/// The folder of one kept run, with the files in it.
struct KeptRunFolder {
    std::string name;
    UserOwnedFolder folder;
    std::vector<UserOwnedFolder::FolderEntry> files{};
    std::uint64_t bytes = 0;
    bool has_only_recordings =
        false;  ///< all files are recordings that belong to this user, judged by their names and owners

    KeptRunFolder(const UserOwnedFolder& all, std::string run)
        : name(std::move(run)), folder(all.descriptor(), name, false) {
        if (!folder.is_open()) return;
        files = folder.list_entries([](std::string_view file) { return file != "." && file != ".."; });
        for (const UserOwnedFolder::FolderEntry& file : files)
            bytes += static_cast<std::uint64_t>(file.facts.st_blocks) * 512;
        has_only_recordings = std::ranges::all_of(files, [](const UserOwnedFolder::FolderEntry& file) {
            return S_ISREG(file.facts.st_mode) && file.facts.st_uid == geteuid() && is_name_of_recording(file.name);
        });
    }

    /// Returns a path that leads to a file of the opened folder, even if the folder's own path meanwhile leads
    /// elsewhere.
    std::string path_of(const UserOwnedFolder::FolderEntry& file) const {
        return fmt::format("/proc/self/fd/{}/{}", folder.descriptor(), file.name);
    }

    /// Returns the command line of the process that began to record first, and the time since then: `python3
    /// train.py, 12 s ago`.
    std::string text() const {
        std::string path;
        std::int64_t first_ns = INT64_MAX;
        for (const UserOwnedFolder::FolderEntry& file : files) {
            const auto member = read_run_member(path_of(file));
            if (!member || member->is_children_file || member->start_ns >= first_ns) continue;
            first_ns = member->start_ns;
            path = path_of(file);
        }
        if (path.empty()) return "without a recording of a process";
        constexpr std::size_t longest = 80;
        const auto opened = record::RecordingReader::open(path);
        const std::string command = opened.reader ? opened.reader->facts().process.command : opened.error;
        const std::int64_t age = now_ns() - first_ns;  // negative if the clock was set back
        return fmt::format("{}{}{}", command.substr(0, longest), command.size() > longest ? "…" : "",
                           age < 0 ? "" : fmt::format(", {} ago", duration_text(static_cast<double>(age))));
    }

    /// Returns true if the `fp32shim run` that created the folder still waits for its program.
    bool is_awaited() const { return flock(folder.descriptor(), LOCK_SH | LOCK_NB) != 0; }

    /// Returns true if it is certain that no process of the run can record any more. Locks the folder until this
    /// object is destroyed.
    bool has_ended() const {
        // An empty folder may belong to a run that is just starting on another machine, so it is kept for a day.
        struct stat facts = {};
        constexpr std::time_t day = 24 * 60 * 60;
        if (files.empty() && fstat(folder.descriptor(), &facts) == 0 && std::time(nullptr) - facts.st_mtime < day)
            return false;
        if (flock(folder.descriptor(), LOCK_EX | LOCK_NB) != 0) return false;
        std::uint64_t number = 0;
        record::format::RunEnd end{};
        bool all_ended = true;
        for (const UserOwnedFolder::FolderEntry& file : files) {
            const auto opened = record::RecordingReader::open(path_of(file));
            const auto member = read_run_member(path_of(file));
            if (!opened.reader || !member) return false;
            number = std::max(number, member->run);
            if (member->run_end.ended_ns > end.ended_ns) end = member->run_end;
            // The file that lists the run's children belongs to no single process. The run's other recordings decide.
            // If there are none, the run must be of this machine and boot, so that its processes can be found.
            all_ended &= member->is_children_file
                             ? files.size() > 1 || member->identity.shares_boot_with(record::identify_self())
                             : opened.reader->state() == record::RecordingState::ended;
        }
        if (end.ended_ns != 0 && end.running == 0) return true;
        return all_ended && (number == 0 || record::remaining_processes_of_run(number, end.began).empty());
    }
};

/// Returns the names of the runs' folders, the oldest run first.
std::vector<std::string> names_of_runs(const UserOwnedFolder& all) {
    std::vector<std::string> names;
    for (UserOwnedFolder::FolderEntry& entry : all.list_entries(is_run_name)) names.push_back(std::move(entry.name));
    std::ranges::sort(names);
    return names;
}

/// Returns the time of a run's name with its number one larger. The result may have 60 seconds or more.
std::string time_after(std::string time) {
    for (auto digit = time.rbegin(); digit != time.rend(); ++digit) {
        if (*digit < '0' || *digit > '9') continue;
        *digit = *digit == '9' ? '0' : static_cast<char>(*digit + 1);
        if (*digit != '0') break;
    }
    return time;
}

/// Removes ended runs, the oldest first, until there is room for another run. Returns an empty text if there is room,
/// and otherwise the reason why there is none.
std::string make_room(const UserOwnedFolder& all) {
    std::list<KeptRunFolder> runs;
    for (const std::string& name : names_of_runs(all))
        if (!runs.emplace_back(all, name).has_only_recordings) runs.pop_back();
    std::uint64_t bytes = 0;
    for (const KeptRunFolder& run : runs) bytes += run.bytes;
    const auto has_room = [&] { return runs.size() < most_runs && bytes <= most_bytes; };
    for (auto run = runs.begin(); run != runs.end() && !has_room();) {
        if (!run->has_ended()) {
            ++run;
            continue;
        }
        for (const UserOwnedFolder::FolderEntry& file : run->files) run->folder.remove_entry(file.name);
        all.remove_entry(run->name, AT_REMOVEDIR);
        bytes -= run->bytes;
        run = runs.erase(run);
    }
    return has_room() ? ""
                      : fmt::format(
                            "has {} with {} MiB that still run, or of which nothing shows that they have ended; "
                            "remove it if they have",
                            counted(runs.size(), "run"), bytes >> 20);
}

/// Returns the reason why recordings cannot be written in a folder, or an empty text if they can.
std::string problem_with_recordings_in(const std::string& folder) {
    struct statvfs disk {};
    if (statvfs(folder.c_str(), &disk) == 0 && disk.f_bavail * disk.f_frsize < least_free_bytes)
        return fmt::format("has only {} MiB of free space", disk.f_bavail * disk.f_frsize >> 20);
    // Some file systems do not support shared mappings, so a file is created and mapped here in the same way as a
    // recording.
    const std::string probe = folder + "/0.fp32rec";
    const int descriptor = record::open_children_file({probe.c_str(), -1, 0});
    const int error =
        descriptor < 0 ? -descriptor : record::with_mapped_header(descriptor, [](record::format::Header&) {});
    if (descriptor >= 0) close(descriptor);
    unlink(probe.c_str());
    return error == 0 ? "" : fmt::format("cannot take recordings ({})", std::strerror(error));
}

}  // namespace

void mark_run_not_kept() {
    const IgnoredFileSizeSignal ignored;
    const UserOwnedFolder all(AT_FDCWD, runs_folder, false);
    if (all.is_open()) all.replace_file(not_kept_file, fmt::format("{}.{}", not_kept_file, getpid()), "");
}

NewRunFolder make_run_folder() {
    const IgnoredFileSizeSignal ignored;
    std::error_code error;
    if (std::filesystem::current_path(error) == "/") return {"is not made in /, which is the system's", {}, {}, {}};
    const UserOwnedFolder all(AT_FDCWD, runs_folder, true);
    NewRunFolder kept{all.is_open() ? make_room(all) : all.problem(), {}, {}, {}};
    if (!kept.problem.empty()) return kept;
    if (!all.contains(".gitignore")) all.replace_file(".gitignore", fmt::format(".gitignore.{}", getpid()), "*\n");
    std::string time = timestamp(now_ns()).substr(0, std::strlen("2026-11-29T10:15:00.123"));
    std::erase(time, ':');
    // The order of the names is that of the runs, even if the clock was set back.
    if (const auto names = names_of_runs(all); !names.empty() && names.back().substr(0, time.size()) >= time)
        time = time_after(names.back().substr(0, time.size()));
    const std::string name = fmt::format("{}Z-{}", time, getpid());
    kept.path = fmt::format("{}/{}", runs_folder, name);
    std::array<char, record::path_capacity> absolute, scratch;
    kept.log_path = record::make_absolute_name(kept.path + "/%p.fp32rec", absolute, scratch);
    constexpr std::size_t room_for_names = 64;
    // mkdirat() fails if the name exists: two containers that share the folder may have processes with the same id.
    const bool is_made = mkdirat(all.descriptor(), name.c_str(), S_IRWXU) == 0;
    if (is_made) kept.folder = std::make_unique<UserOwnedFolder>(all.descriptor(), name, false);
    if (!is_made || !kept.folder->is_open() || flock(kept.folder->descriptor(), LOCK_EX | LOCK_NB) != 0)
        kept.problem = fmt::format("cannot take a folder ({})", std::strerror(errno));
    else if (!kept.log_path.starts_with('/') || kept.log_path.size() + room_for_names > record::path_capacity)
        kept.problem = "has no path, or one that is too long";
    else
        kept.problem = problem_with_recordings_in(kept.path);
    if (kept.problem.empty())
        all.remove_entry(not_kept_file);
    else if (is_made)
        all.remove_entry(name, AT_REMOVEDIR);
    return kept;
}

bool default_to_last_runs(std::string_view command, std::size_t count, std::vector<std::string>& recordings) {
    if (!recordings.empty()) return true;
    const UserOwnedFolder all(AT_FDCWD, runs_folder, false);
    const auto names = all.is_open() ? names_of_runs(all) : std::vector<std::string>();
    std::string problem;
    if (!all.is_open() && faccessat(AT_FDCWD, runs_folder, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        problem = fmt::format("{} {}", runs_folder, all.problem());
    else if (names.empty())
        problem = "no run is kept in this folder; fp32shim run -- PROGRAM keeps one";
    else if (names.size() < count)
        problem = "only one run is kept in this folder";
    else if (all.contains(not_kept_file))
        problem = fmt::format("a later run in this folder was not kept; the last one that was is {}/{}", runs_folder,
                              names.back());
    for (std::size_t i = names.size() - count; problem.empty() && i < names.size(); ++i) {
        const KeptRunFolder run(all, names[i]);
        recordings.push_back(fmt::format("{}/{}", runs_folder, names[i]));
        if (!run.folder.is_open())
            problem = recordings.back() + ' ' + run.folder.problem();
        else
            say(command, fmt::format("{} is the last run{} kept in this folder{}: {}", recordings.back(),
                                     i + 1 == names.size() ? "" : " but one",
                                     run.is_awaited() ? ", and still runs" : "", run.text()));
    }
    if (!problem.empty()) say(command, fmt::format("name {}: {}", counted(count, "recording"), problem));
    return problem.empty();
}

}  // namespace fp32shim::cli
