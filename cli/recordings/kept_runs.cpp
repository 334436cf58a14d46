#include "cli/recordings/kept_runs.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <list>
#include <optional>
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

constexpr const char* all_runs = ".fp32shim";
/// Enough for a few versions of a program, each compared with the one before. What is to last longer gets a name.
constexpr std::size_t most_runs = 10;
/// As large as one recording may become by default. Most have less than 1 MiB, so the number limits them first.
constexpr std::uint64_t most_bytes = std::uint64_t{1} << 30;
/// The rest of a nearly full disk is for the program.
constexpr std::uint64_t least_free_bytes = std::uint64_t{1} << 28;
/// An empty folder may be that of a run which starts at this moment, on another machine.
constexpr std::time_t start_seconds = 24 * 60 * 60;

/// Returns true for the name of a run's folder: the time of its start and its process id.
bool is_run_name(std::string_view name) {
    constexpr std::string_view form = "00000000T000000.000Z-0";
    for (std::size_t i = 0; i < name.size(); ++i) {
        const char expected = form[std::min(i, form.size() - 1)];
        if (expected == '0' ? name[i] < '0' || name[i] > '9' : name[i] != expected) return false;
    }
    return name.size() >= form.size();
}

std::string run_name(std::int64_t time_ns) {
    const std::time_t seconds = time_ns / 1'000'000'000;
    std::tm utc{};
    gmtime_r(&seconds, &utc);
    std::array<char, 32> text{};
    std::strftime(text.data(), text.size(), "%Y%m%dT%H%M%S", &utc);
    return fmt::format("{}.{:03}Z-{}", text.data(), time_ns / 1'000'000 % 1'000, getpid());
}

/// Returns the time in the name of a run, in nanoseconds since 1970.
std::int64_t start_of_run(const std::string& name) {
    std::tm utc{};
    strptime(name.c_str(), "%Y%m%dT%H%M%S", &utc);
    return (timegm(&utc) * 1'000 + std::stoi(name.substr(name.find('.') + 1, 3))) * 1'000'000;
}

/// The folder of a run and its files.
struct Run {
    std::string name;
    OwnFolder folder;
    std::vector<OwnFolder::Entry> files{};
    std::vector<RunMember> members{};  ///< the files, if all of them are recordings of this user
    std::uint64_t bytes = 0;

    Run(const OwnFolder& all, std::string run) : name(std::move(run)), folder(all.descriptor(), name, false) {
        if (!folder.is_open()) return;
        files = folder.entries([](std::string_view file) { return file != "." && file != ".."; });
        for (const OwnFolder::Entry& file : files) {
            bytes += static_cast<std::uint64_t>(file.facts.st_blocks) * 512;
            const bool is_own_file = S_ISREG(file.facts.st_mode) && file.facts.st_uid == geteuid();
            if (auto member = is_own_file ? read_run_member(path_of(file)) : std::nullopt)
                members.push_back(std::move(*member));
        }
    }
    /// Returns a path by which a file of the opened folder is reached, whatever its names lead to meanwhile.
    std::string path_of(const OwnFolder::Entry& file) const {
        return fmt::format("/proc/self/fd/{}/{}", folder.descriptor(), file.name);
    }
    /// Returns true if the folder has nothing but what `fp32shim run` and its processes put there.
    bool is_of_runs_only() const { return folder.is_open() && members.size() == files.size(); }
    /// Returns true if the command that made the folder waits for its program.
    bool is_awaited() const { return flock(folder.descriptor(), LOCK_SH | LOCK_NB) != 0; }
    /// Returns true if it is certain that no process of the run may record any more. Locks the folder.
    bool has_ended() const {
        struct stat facts = {};
        const bool is_starting = members.empty() && (fstat(folder.descriptor(), &facts) != 0 ||
                                                     std::time(nullptr) - facts.st_mtime < start_seconds);
        if (is_starting || flock(folder.descriptor(), LOCK_EX | LOCK_NB) != 0) return false;
        std::uint64_t number = 0;
        record::format::RunEnd end{};
        for (const RunMember& member : members) {
            number = std::max(number, member.run);
            if (member.run_end.ended_ns > end.ended_ns) end = member.run_end;
        }
        if (end.ended_ns != 0 && end.running == 0) return true;
        const bool has_recording = !std::ranges::all_of(members, &RunMember::is_children_file);
        for (std::size_t i = 0; i < files.size(); ++i) {
            const auto opened = record::RecordingReader::open(path_of(files[i]));
            if (members[i].is_children_file
                    ? !has_recording && !members[i].identity.has_boot_of(record::identify_self())
                    : !opened.reader || opened.reader->state() != record::RecordingState::ended)
                return false;
        }
        return number == 0 || record::processes_left_of_run(number, end.began).empty();
    }
};

/// Returns the names of runs, the oldest first.
std::vector<std::string> names_of_runs(const OwnFolder& all) {
    std::vector<std::string> names;
    for (OwnFolder::Entry& entry : all.entries(is_run_name)) names.push_back(std::move(entry.name));
    std::ranges::sort(names);
    return names;
}

/// Removes runs until there is room for another one. Returns the reason why there is none; empty if there is.
std::string make_room(const OwnFolder& all) {
    std::list<Run> runs;
    std::uint64_t bytes = 0;
    for (const std::string& name : names_of_runs(all)) {
        if (!runs.emplace_back(all, name).is_of_runs_only())
            runs.pop_back();
        else
            bytes += runs.back().bytes;
    }
    const auto has_room = [&] { return runs.size() < most_runs && bytes <= most_bytes; };
    for (auto run = runs.begin(); run != runs.end() && !has_room();) {
        if (!run->has_ended()) {
            ++run;
            continue;
        }
        for (const OwnFolder::Entry& file : run->files) run->folder.remove(file.name);
        all.remove(run->name, AT_REMOVEDIR);
        bytes -= run->bytes;
        run = runs.erase(run);
    }
    return has_room()
               ? ""
               : fmt::format("has {} with {} MiB that still run, or of which nothing shows that they have ended",
                             counted(runs.size(), "run"), bytes >> 20);
}

/// Returns the reason why recordings cannot be written in a folder; empty if they can.
std::string problem_with_recordings_in(const std::string& folder) {
    struct statvfs disk {};
    if (statvfs(folder.c_str(), &disk) == 0 && disk.f_bavail * disk.f_frsize < least_free_bytes)
        return fmt::format("has only {} MiB of free space", disk.f_bavail * disk.f_frsize >> 20);
    // Some file systems have no shared memory. This file is made and mapped as a recording is.
    const std::string probe = folder + "/probe";
    const int descriptor = record::open_children_file({probe.c_str(), -1, 0});
    const int error = descriptor < 0 ? -descriptor : record::with_header(descriptor, [](record::format::Header&) {});
    if (descriptor >= 0) close(descriptor);
    unlink(probe.c_str());
    return error == 0 ? "" : fmt::format("cannot take recordings ({})", std::strerror(error));
}

}  // namespace

KeptRun::KeptRun() {
    std::error_code error;
    if (std::filesystem::current_path(error) == "/") {
        problem_ = "is not made in /, which is the system's";
        return;
    }
    const OwnFolder all(AT_FDCWD, all_runs, true);
    problem_ = all.is_open() ? make_room(all) : all.problem();
    if (!problem_.empty()) return;
    if (faccessat(all.descriptor(), ".gitignore", F_OK, AT_SYMLINK_NOFOLLOW) != 0)
        all.write(".gitignore", fmt::format(".gitignore.{}", getpid()), "*\n");
    const std::string name = run_name(now_ns());
    // Where two containers share the folder, both may have this process id.
    if (mkdirat(all.descriptor(), name.c_str(), S_IRWXU) != 0) {
        problem_ = fmt::format("cannot take a folder ({})", std::strerror(errno));
        return;
    }
    folder_ = std::make_unique<OwnFolder>(all.descriptor(), name, false);
    path_ = fmt::format("{}/{}", all_runs, name);
    std::array<char, record::path_capacity> absolute, scratch;
    log_path_ = record::make_absolute(path_ + "/%p.fp32rec", absolute, scratch);
    constexpr std::size_t room_for_names = 64;
    if (!folder_->is_open() || flock(folder_->descriptor(), LOCK_EX | LOCK_NB) != 0)
        problem_ = fmt::format("cannot be locked ({})", std::strerror(errno));
    else if (!log_path_.starts_with('/') || log_path_.size() + room_for_names > record::path_capacity)
        problem_ = "has no path, or one that is too long";
    else
        problem_ = problem_with_recordings_in(path_);
    if (!problem_.empty()) remove_if_empty();
}

void KeptRun::remove_if_empty() const { rmdir(path_.c_str()); }

bool take_last_runs(std::string_view command, std::size_t count, std::vector<std::string>& recordings) {
    if (!recordings.empty()) return true;
    const OwnFolder all(AT_FDCWD, all_runs, false);
    std::vector<std::string> names;
    if (all.is_open()) names = names_of_runs(all);
    if (names.size() < count) {
        struct stat facts {};
        const bool is_there = !all.is_open() && fstatat(AT_FDCWD, all_runs, &facts, AT_SYMLINK_NOFOLLOW) == 0;
        say(command, is_there ? fmt::format("name a recording: {} {}", all_runs, all.problem())
                              : fmt::format("name {}: fp32shim run has kept {} in this folder",
                                            count == 1 ? "a recording" : counted(count, "recording"),
                                            names.empty() ? "none" : "only " + counted(names.size(), "run")));
        return false;
    }
    for (std::size_t i = names.size() - count; i < names.size(); ++i) {
        const Run run(all, names[i]);
        if (!run.folder.is_open()) {
            say(command, fmt::format("name a recording: {}/{} {}", all_runs, names[i], run.folder.problem()));
            return false;
        }
        std::string program;
        std::int64_t first_ns = INT64_MAX;
        for (const OwnFolder::Entry& file : run.files) {
            const auto opened = record::RecordingReader::open(run.path_of(file));
            if (!opened.reader || opened.reader->facts().opened_ns >= first_ns) continue;
            first_ns = opened.reader->facts().opened_ns;
            program = opened.reader->facts().process.command;
        }
        constexpr std::size_t longest = 80;
        if (program.size() > longest) program = program.substr(0, longest) + "…";
        recordings.push_back(fmt::format("{}/{}", all_runs, names[i]));
        say(command,
            fmt::format(
                "{} is the last run{} kept in this folder: {}, started {} ago{}", recordings.back(),
                i + 1 == names.size() ? "" : " but one", program.empty() ? "no recording yet" : program,
                duration_text(static_cast<double>(std::max<std::int64_t>(now_ns() - start_of_run(names[i]), 0))),
                run.is_awaited() ? ", which still runs" : ""));
    }
    return true;
}

}  // namespace fp32shim::cli
