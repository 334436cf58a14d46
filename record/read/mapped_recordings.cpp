#include "record/read/mapped_recordings.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <optional>
#include <string_view>

namespace fp32shim::record {

namespace {

constexpr std::size_t max_recordings = 256;  // limit per process: each reload to another name leaves the earlier
                                             // recording mapped
constexpr std::string_view deleted_mark = " (deleted)";
constexpr std::string_view extension = ".fp32rec";

bool is_recording_name(std::string_view name) {
    if (name.ends_with(deleted_mark)) name.remove_suffix(deleted_mark.size());
    return name.ends_with(extension);
}

/// A line of /proc/PID/maps: `7f01c000-7f01d000 rw-s 00000000 08:01 1234 /tmp/run.fp32rec`
struct MapsLine {
    unsigned long begin = 0;
    char permissions[5] = {};
    unsigned long offset = 0;
    MappedRecording file;
};

std::optional<MapsLine> parse_maps_line(const std::string& text) {
    MapsLine line;
    unsigned long end = 0, inode = 0;
    int name_at = 0;
    if (std::sscanf(text.c_str(), "%lx-%lx %4s %lx %x:%x %lu %n", &line.begin, &end, line.permissions, &line.offset,
                    &line.file.major, &line.file.minor, &inode, &name_at) != 7)
        return std::nullopt;
    line.file.inode = inode;
    if (name_at > 0) line.file.name = text.substr(static_cast<std::size_t>(name_at));
    return line;
}

bool is_same_file(const MappedRecording& a, const MappedRecording& b) {
    return a.inode == b.inode && a.major == b.major && a.minor == b.minor;
}

/// Maps a regular file for a moment, and returns what /proc/self/maps says about the mapping.
std::optional<MappedRecording> mapping_of(const HeldFile& file) {
    const Descriptor readable(open(file.path().c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (readable.number() < 0) return std::nullopt;
    const auto size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void* mapping = mmap(nullptr, size, PROT_READ, MAP_SHARED, readable.number(), 0);
    if (mapping == MAP_FAILED) return std::nullopt;
    std::optional<MappedRecording> found;
    std::ifstream maps("/proc/self/maps");
    for (std::string text; !found && std::getline(maps, text);) {
        const auto line = parse_maps_line(text);
        if (line && line->begin == reinterpret_cast<unsigned long>(mapping)) found = line->file;
    }
    munmap(mapping, size);
    return found;
}

/// Returns true if `mapped` is a mapping of the file. On btrfs and overlayfs, stat and /proc/PID/maps may give
/// different devices for one file. In that case the function maps the file here, and compares `mapped` with
/// /proc/self/maps.
bool is_mapped_file(const HeldFile& file, const MappedRecording& mapped) {
    struct stat status {};
    if (file.number() < 0 || fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
    if (major(status.st_dev) == mapped.major && minor(status.st_dev) == mapped.minor)
        return status.st_ino == mapped.inode;
    const auto here = mapping_of(file);
    return here && is_same_file(*here, mapped);
}

/// Opens the file at `path` with O_PATH; nullptr: it is not the mapped file.
std::shared_ptr<const HeldFile> open_if_mapped(const std::string& path, int flags, const MappedRecording& mapped) {
    auto file = std::make_shared<const HeldFile>(open(path.c_str(), O_PATH | O_CLOEXEC | flags));
    return is_mapped_file(*file, mapped) ? file : nullptr;
}

std::string with_line_feeds(std::string name) {
    constexpr std::string_view shown = "\\012";
    for (std::size_t at = name.find(shown); at != std::string::npos; at = name.find(shown, at + 1))
        name.replace(at, shown.size(), 1, '\n');
    return name;
}

struct CloseFolder {
    void operator()(DIR* folder) const { closedir(folder); }
};

/// Finds the mapped file among the open descriptors of a process.
FoundFile find_among_descriptors(const std::string& process_folder, const MappedRecording& mapped) {
    const std::string folder_path = process_folder + "/fd/";
    const std::unique_ptr<DIR, CloseFolder> folder(opendir(folder_path.c_str()));
    while (const dirent* entry = folder ? readdir(folder.get()) : nullptr) {
        const std::string path = folder_path + entry->d_name;
        char target[4096];
        const ssize_t size = readlink(path.c_str(), target, sizeof target);
        if (size <= 0) continue;
        const std::string_view name(target, static_cast<std::size_t>(size));
        if (!is_recording_name(name)) continue;
        // This link comes from the kernel and leads to the open file itself.
        if (auto file = open_if_mapped(path, 0, mapped)) return {std::move(file), std::string(name)};
    }
    return {nullptr, mapped.name};
}

}  // namespace

std::vector<MappedRecording> mapped_recordings(std::int32_t pid) {
    std::vector<MappedRecording> found;
    std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
    for (std::string text; found.size() < max_recordings && std::getline(maps, text);) {
        if (!is_recording_name(text)) continue;
        auto line = parse_maps_line(text);
        if (!line || line->offset != 0 || std::string_view(line->permissions) != "rw-s") continue;
        const auto is_it = [&](const MappedRecording& other) { return is_same_file(other, line->file); };
        if (std::ranges::none_of(found, is_it)) found.push_back(std::move(line->file));
    }
    return found;
}

FoundFile find_mapped_file(std::int32_t pid, const MappedRecording& mapped) {
    const std::string folder = "/proc/" + std::to_string(pid);
    const std::string root = folder + "/root";
    // The kernel writes a line feed as \012. It does not mark a name that really contains a backslash and these
    // digits, so both readings are tried.
    for (const std::string& name : {with_line_feeds(mapped.name), mapped.name})
        if (auto file = open_if_mapped(root + name, O_NOFOLLOW, mapped)) return {std::move(file), name};
    return find_among_descriptors(folder, mapped);
}

}  // namespace fp32shim::record
