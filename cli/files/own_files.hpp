// Reads and writes files that the command keeps for itself: caches, and the states of searches. What another user
// could have written is not trusted, and no link is followed.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/descriptor.hpp"

namespace fp32shim::cli {

/// Content of a file, or the reason why it was not read.
struct FileText {
    std::string text;
    std::string problem;     ///< reason, as the end of a sentence: `is not a regular file`; empty: the file was read
    bool is_absent = false;  ///< there is no such file
};

/// Largest size of the state file of a search, in bytes.
inline constexpr std::size_t max_state_bytes = std::size_t{1} << 30;

/// Reads a regular file of anybody, of at most `most` bytes. Never waits for the writer of a FIFO.
FileText read_regular_file(const std::string& path, std::size_t most = SIZE_MAX);

/// Reads a regular file of at most `most` bytes that belongs to the effective user and that nobody else can write.
/// `path` must not be a symbolic link.
FileText read_user_owned_file(const std::string& path, std::size_t most);

/// Appends a text to a file like that of read_user_owned_file(), which is made if it is missing. Returns the reason
/// why it was not written, as the end of a sentence; empty on success.
std::string append_to_user_owned_file(const std::string& path, std::string_view text);

/// A folder of the effective user, in which nobody else can replace anything. An open descriptor holds it, so later
/// changes of its path do not matter.
class UserOwnedFolder {
  public:
    /// Opens the folder `below` in `base`, an absolute path. Links are followed in `base` only. Every folder on the
    /// way must belong to root or the effective user and must be writable for its owner only, or be sticky; those of
    /// `below` must belong to the effective user. With `makes`, missing folders are made, for this user only. The
    /// result is not open if any of that fails.
    UserOwnedFolder(const std::string& base, const std::vector<std::string>& below, bool makes);
    /// Opens the folder `name` in the open folder `parent`, whoever may write in `parent`.
    UserOwnedFolder(int parent, const std::string& name, bool makes);

    bool is_open() const { return descriptor_ && descriptor_->number() >= 0; }
    /// Returns the descriptor of the open folder.
    int descriptor() const { return descriptor_->number(); }
    /// Returns the reason why a folder in an open folder is not open, as the end of a sentence.
    const std::string& problem() const { return problem_; }
    /// Reads a file as read_user_owned_file() does.
    FileText read_file(const std::string& name, std::size_t most) const;
    bool contains(const std::string& name) const;
    /// Writes a new file in the place of an old one. Readers see a whole file or none. `unfinished` is its name until
    /// then. Failures are ignored.
    void replace_file(const std::string& name, const std::string& unfinished, std::string_view text) const;
    struct FolderEntry {
        std::string name;
        struct stat facts;  ///< of the entry itself, which may be a link
    };
    /// Returns the entries whose names `is_wanted` selects, in the order of their last change.
    std::vector<FolderEntry> list_entries(bool (*is_wanted)(std::string_view name)) const;
    /// Removes an entry: a file or a link itself, or, with the flag AT_REMOVEDIR, an empty folder.
    void remove_entry(const std::string& name, int flags = 0) const;

  private:
    std::string problem_;
    std::optional<Descriptor> descriptor_;
};

/// Writes all of `text`. Returns 0 or an errno.
int write_all(int descriptor, std::string_view text);

}  // namespace fp32shim::cli
