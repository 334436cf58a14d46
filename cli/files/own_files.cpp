#include "cli/files/own_files.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <tuple>

namespace fp32shim::cli {
namespace {

constexpr mode_t writable_by_others = S_IWGRP | S_IWOTH;
/// Flags for every call of open(). They keep it from waiting for the writer of a FIFO, and keep a terminal from
/// becoming the controlling terminal.
constexpr int safe_open_flags = O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

/// Returns the reason why another user than the effective one may have changed a file, or an empty text if no other
/// user can have done so.
std::string why_not_own(const struct stat& facts) {
    if (facts.st_uid != geteuid())
        return fmt::format("belongs to user {}, and this command runs as user {}", facts.st_uid, geteuid());
    if ((facts.st_mode & writable_by_others) != 0) return "can be written by its group or by others; chmod go-w it";
    return {};
}

/// Returns the reason why an opened file must not be used, or an empty text if it may be. Only regular files may be
/// used and, if `must_be_own` is true, only those that no other user can change. `use` is `read` or `written`.
std::string why_unusable(int descriptor, std::string_view use, bool must_be_own) {
    struct stat facts = {};
    if (descriptor < 0 && errno == ELOOP) return "is a symbolic link";
    if (descriptor < 0 || fstat(descriptor, &facts) != 0)
        return fmt::format("cannot be {} ({})", use, std::strerror(errno));
    if (!S_ISREG(facts.st_mode)) return "is not a regular file";
    return must_be_own ? why_not_own(facts) : std::string();
}

FileText read_opened(const Descriptor& file, std::size_t most, bool must_be_own) {
    if (file.number() < 0 && errno == ENOENT) return {{}, "does not exist", true};
    FileText result{{}, why_unusable(file.number(), "read", must_be_own)};
    char piece[1 << 16];
    while (result.problem.empty()) {
        const ssize_t got = ::read(file.number(), piece, sizeof piece);
        if (got < 0 && errno == EINTR) continue;
        if (got == 0) return result;
        if (got < 0)
            result.problem = fmt::format("cannot be read ({})", std::strerror(errno));
        else if (static_cast<std::size_t>(got) > most - result.text.size())
            result.problem = fmt::format("is larger than {} bytes", most);
        else
            result.text.append(piece, static_cast<std::size_t>(got));
    }
    result.text.clear();
    return result;
}

/// Opens the folder `name` in the folder `parent`. Creates the folder if it is missing and `makes` is true. Returns
/// the descriptor, or -1 on failure.
int open_folder(int parent, const char* name, bool makes) {
    constexpr int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    const int found = openat(parent, name, flags);
    if (found >= 0 || !makes || errno != ENOENT) return found;
    if (mkdirat(parent, name, S_IRWXU) != 0 && errno != EEXIST) return -1;
    return openat(parent, name, flags);
}

/// Returns true if only root and the effective user can replace the files that this user has in the folder.
bool is_safe_parent_folder(int folder) {
    struct stat facts = {};
    if (fstat(folder, &facts) != 0 || (facts.st_uid != 0 && facts.st_uid != geteuid())) return false;
    return (facts.st_mode & writable_by_others) == 0 || (facts.st_mode & S_ISVTX) != 0;
}

}  // namespace

int write_all(int descriptor, std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = ::write(descriptor, text.data(), text.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return errno;
        text.remove_prefix(static_cast<std::size_t>(written));
    }
    return 0;
}

int write_new_file(const std::string& path, std::string_view text) {
    const Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (file.number() < 0) return errno;
    const int error = write_all(file.number(), text);
    if (error != 0) unlink(path.c_str());
    return error;
}

FileText read_regular_file(const std::string& path, std::size_t most) {
    return read_opened(Descriptor(open(path.c_str(), O_RDONLY | safe_open_flags)), most, false);
}

FileText read_user_owned_file(const std::string& path, std::size_t most) {
    return read_opened(Descriptor(open(path.c_str(), O_RDONLY | O_NOFOLLOW | safe_open_flags)), most, true);
}

std::string append_to_user_owned_file(const std::string& path, std::string_view text) {
    // Without O_NONBLOCK, open() would wait for a reader if somebody had replaced the file by a FIFO.
    const Descriptor file(open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | safe_open_flags,
                               S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH));
    std::string problem = why_unusable(file.number(), "written", true);
    if (!problem.empty()) return problem;
    const int error = write_all(file.number(), text);
    return error == 0 ? "" : fmt::format("cannot be written ({})", std::strerror(error));
}

TemporaryFolder::TemporaryFolder(std::string_view name) {
    const char* temporary = std::getenv("TMPDIR");
    std::string folder =
        fmt::format("{}/{}.XXXXXX", temporary == nullptr || *temporary == '\0' ? "/tmp" : temporary, name);
    if (mkdtemp(folder.data()) == nullptr) {
        problem_ = fmt::format("{}: {}; TMPDIR names the folder for temporary files", folder, std::strerror(errno));
        return;
    }
    // The path is made absolute, because a program may change its working folder before it opens a file there.
    std::error_code error;
    const std::filesystem::path absolute = std::filesystem::absolute(folder, error);
    path_ = error ? folder : absolute.string();
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code error;
    if (!path_.empty()) std::filesystem::remove_all(path_, error);
}

UserOwnedFolder::UserOwnedFolder(const std::string& base, const std::vector<std::string>& below, bool makes) {
    std::error_code error;
    const std::filesystem::path plain = std::filesystem::weakly_canonical(base, error);
    if (error || !plain.is_absolute()) return;
    std::vector<std::string> names;
    for (const auto& part : plain.relative_path())
        if (!part.empty()) names.push_back(part.string());
    const std::size_t first_own = names.size();
    names.insert(names.end(), below.begin(), below.end());
    std::optional<Descriptor> at;
    at.emplace(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (!is_safe_parent_folder(at->number())) return;
        const int next = open_folder(at->number(), names[i].c_str(), makes);
        struct stat facts = {};
        at.emplace(next);
        if (next < 0 || (i >= first_own && (fstat(next, &facts) != 0 || !why_not_own(facts).empty()))) return;
    }
    descriptor_.emplace(openat(at->number(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

UserOwnedFolder::UserOwnedFolder(int parent, const std::string& name, bool makes) {
    const Descriptor found(open_folder(parent, name.c_str(), makes));
    struct stat facts = {};
    if (found.number() >= 0 && fstat(found.number(), &facts) == 0) problem_ = why_not_own(facts);
    if (found.number() >= 0 && problem_.empty())
        descriptor_.emplace(openat(found.number(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (problem_.empty() && !is_open())
        problem_ =
            errno == ENOTDIR ? "is a file or a link" : fmt::format("cannot be used ({})", std::strerror(errno));
}

bool UserOwnedFolder::contains(const std::string& name) const {
    return faccessat(descriptor_->number(), name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

FileText UserOwnedFolder::read_file(const std::string& name, std::size_t most) const {
    return read_opened(
        Descriptor(openat(descriptor_->number(), name.c_str(), O_RDONLY | O_NOFOLLOW | safe_open_flags)), most, true);
}

void UserOwnedFolder::replace_file(const std::string& name, const std::string& unfinished,
                                   std::string_view text) const {
    const int folder = descriptor_->number();
    const Descriptor file(openat(folder, unfinished.c_str(),
                                 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | safe_open_flags, S_IRUSR | S_IWUSR));
    if (file.number() < 0) return;
    if (write_all(file.number(), text) != 0 || renameat(folder, unfinished.c_str(), folder, name.c_str()) != 0)
        remove_entry(unfinished);
}

std::vector<UserOwnedFolder::FolderEntry> UserOwnedFolder::list_entries(
    bool (*is_wanted)(std::string_view name)) const {
    std::vector<FolderEntry> found;
    const int again = openat(descriptor_->number(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR* const listing = again < 0 ? nullptr : fdopendir(again);
    if (listing == nullptr) {
        if (again >= 0) close(again);
        return found;
    }
    while (const dirent* const entry = readdir(listing)) {
        struct stat facts = {};
        if (!is_wanted(entry->d_name) || fstatat(again, entry->d_name, &facts, AT_SYMLINK_NOFOLLOW) != 0) continue;
        found.push_back({entry->d_name, facts});
    }
    closedir(listing);
    std::ranges::sort(found, {}, [](const FolderEntry& entry) {
        return std::tuple(entry.facts.st_mtim.tv_sec, entry.facts.st_mtim.tv_nsec, entry.name);
    });
    return found;
}

void UserOwnedFolder::remove_entry(const std::string& name, int flags) const {
    unlinkat(descriptor_->number(), name.c_str(), flags);
}

}  // namespace fp32shim::cli
