// Reads and writes files that the command keeps for itself, such as caches and the state files of searches. Files
// that another user may have written are not trusted, and symbolic links are not followed.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/descriptor.hpp"

namespace fp32shim::cli {

/// The content of a file, or the reason why the file was not read.
struct FileText {
    std::string text;
    std::string
        problem;  ///< reason as the end of a sentence, such as `is not a regular file`; empty if the file was read
    bool is_absent = false;  ///< there is no such file
};

/// The largest size of the state file of a search, in bytes.
inline constexpr std::size_t max_state_bytes = std::size_t{1} << 30;

/// Reads a regular file of at most `most` bytes, which may belong to any user. Never waits for the writer of a FIFO.
FileText read_regular_file(const std::string& path, std::size_t most = SIZE_MAX);

/// Reads a regular file of at most `most` bytes that belongs to the effective user and that nobody else can write.
/// `path` must not be a symbolic link.
FileText read_user_owned_file(const std::string& path, std::size_t most);

/// Appends `text` to a file that must meet the conditions of read_user_owned_file(). Creates the file if it is
/// missing. Returns the reason why the text was not written, as the end of a sentence, or an empty text on success.
std::string append_to_user_owned_file(const std::string& path, std::string_view text);

/// A folder of the effective user, in which no other user can replace anything. The object holds an open descriptor
/// of the folder, so later changes of the folder's path do not matter.
class UserOwnedFolder {
  public:
    /// Opens the folder `below` in `base`, which is an absolute path. Symbolic links are followed in `base` only.
    /// Every folder on the way must belong to root or the effective user, and must be writable for its owner only, or
    /// be sticky. The folders in `below` must belong to the effective user. If `makes` is true, missing folders are
    /// created, readable for this user only. If any of this fails, is_open() returns false.
    UserOwnedFolder(const std::string& base, const std::vector<std::string>& below, bool makes);
    /// Opens the folder `name` in the open folder `parent`, in which other users may be able to write.
    UserOwnedFolder(int parent, const std::string& name, bool makes);

    bool is_open() const { return descriptor_ && descriptor_->number() >= 0; }
    /// Returns the descriptor of the folder, which must be open.
    int descriptor() const { return descriptor_->number(); }
    /// Returns the reason, as the end of a sentence, why the folder `name` was not opened.
    const std::string& problem() const { return problem_; }
    /// Reads a file in the folder. The file must meet the conditions of read_user_owned_file().
    FileText read_file(const std::string& name, std::size_t most) const;
    bool contains(const std::string& name) const;
    /// Writes a new file `name`, which replaces an old one. Readers see the whole old file or the whole new one.
    /// Until the new file is complete, its name is `unfinished`. Failures are ignored.
    void replace_file(const std::string& name, const std::string& unfinished, std::string_view text) const;
    struct FolderEntry {
        std::string name;
        struct stat facts;  ///< facts about the entry itself, even if it is a symbolic link
    };
    /// Returns the entries whose names `is_wanted` accepts, sorted by the time of their last change.
    std::vector<FolderEntry> list_entries(bool (*is_wanted)(std::string_view name)) const;
    /// Removes a file or a symbolic link or, with the flag AT_REMOVEDIR, an empty folder.
    void remove_entry(const std::string& name, int flags = 0) const;

  private:
    std::string problem_;
    std::optional<Descriptor> descriptor_;
};

/// A new folder in TMPDIR or /tmp, which no other user can read. The destructor removes it with its files.
class TemporaryFolder {
  public:
    /// Makes a folder whose name begins with `name`.
    explicit TemporaryFolder(std::string_view name);
    ~TemporaryFolder();
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;

    /// Returns the absolute path; empty if no folder could be made.
    const std::string& path() const { return path_; }
    /// Returns the reason why no folder could be made; empty if one was made.
    const std::string& problem() const { return problem_; }

  private:
    std::string path_, problem_;
};

/// Writes all of `text` to `descriptor`. Returns 0 or an errno.
int write_all(int descriptor, std::string_view text);

/// Writes a file that must not exist yet. If it cannot be written as a whole, removes it. Returns 0 or an errno.
int write_new_file(const std::string& path, std::string_view text);

}  // namespace fp32shim::cli
