#include "record/write/listing.hpp"

#include <errno.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>
#include <span>
#include <type_traits>

#include "record/format/identity.hpp"
#include "record/log_path.hpp"
#include "record/write/file.hpp"
#include "record/write/memory.hpp"
#include "system/hash.hpp"
#include "system/inline_text.hpp"
#include "system/line_writer.hpp"
#include "system/raw_syscall.hpp"
#include "system/signal_hold.hpp"

namespace fp32shim::record {

namespace raw = system::raw;

using format::Header;
using format::ListedRecording;

namespace {

/// Adds an entry for `recording` to the list in the header `list`, and stores the list's number in the recording's
/// own header. If the list is full, the recording is only counted.
void enter_recording(Header& list, const NewRecording& recording) {
    recording.header.listed_in = format::list_id(list);
    const std::uint32_t index = std::atomic_ref(list.listed_count).fetch_add(1, std::memory_order_acq_rel);
    if (index >= format::listed_limit) return;
    ListedRecording& entry = list.listed[index];
    entry.pid = recording.header.pid;
    entry.process_start = recording.header.process_start;
    system::LineWriter name(entry.name);
    append_shortened_path(name, system::base_name(recording.path), sizeof entry.name);
    entry.name_size = static_cast<std::uint32_t>(name.size());
    std::atomic_ref(entry.published).store(1, std::memory_order_release);
}

/// The ancestors of this process. The parent is the first element.
class AncestorList {
  public:
    static constexpr std::size_t limit = 64;

    AncestorList() {
        auto pid = static_cast<std::int32_t>(raw::syscall6(SYS_getppid));
        while (pid > 1 && count_ < limit) {
            const ProcessStart process = process_start_of(pid);
            all_[count_++] = process;
            pid = process.parent;
        }
    }
    std::span<const ProcessStart> all() const { return {all_, count_}; }

  private:
    ProcessStart all_[limit];
    std::size_t count_ = 0;
};

enum class EntryResult : std::uint8_t { yes, no_list, failed };

/// Searches for a file with the list that a new recording should enter, and enters the recording.
class ListSearch {
  public:
    ListSearch(const NewRecording& recording, std::uint64_t program, std::span<char> buffer,
               const AncestorList& ancestors)
        : recording_(recording), program_(program), buffer_(buffer), ancestors_(ancestors) {}

    /// Tries the files with the name `expanded` and the numbers of the first `attempts` attempts
    /// (number_of_attempt()). Stops at the file of this recording itself.
    EntryResult try_numbers(std::string_view expanded, int attempts) {
        for (int attempt = 0; attempt < attempts; ++attempt) {
            if (!insert_number(expanded, number_of_attempt(attempt, 0), buffer_)) break;
            if (system::view(buffer_.data()) == recording_.path) {
                was_name_tried_ = true;
                break;
            }
            if (const EntryResult entered = try_file(buffer_.data()); entered != EntryResult::no_list) return entered;
        }
        return EntryResult::no_list;
    }

    /// Tries the files that recordings of ancestors would have, if the names of files have a process id.
    EntryResult try_names_of_ancestors(std::span<char> room) {
        const bool has_id = has_placeholder(recording_.name, 'p');
        EntryResult entered = EntryResult::no_list;
        for (const ProcessStart& ancestor : ancestors_.all()) {
            if (has_id)
                entered = try_name_of(ancestor.pid, room);
            else if (!was_name_tried_ && insert_number(recording_.expanded, ancestor.pid, buffer_))
                entered = try_file(buffer_.data());
            if (entered != EntryResult::no_list) break;
        }
        return entered;
    }
    /// Returns true if the recording's own name is one of those that try_numbers() tried. Precondition: try_numbers()
    /// found no list.
    bool was_name_tried() const { return was_name_tried_; }
    int error() const { return error_; }
    /// Returns true if the search found a recording of the same run on another machine. This process cannot enter the
    /// list in such a recording, because two machines must not map one file.
    bool was_found_elsewhere() const { return was_found_elsewhere_; }

  private:
    /// Tries the files whose names have the process id `pid` in place of `%p`.
    EntryResult try_name_of(std::int32_t pid, std::span<char> room) {
        const std::int32_t self = recording_.facts.pid;
        recording_.facts.pid = pid;
        const std::string_view expanded = expand_path(recording_.name, recording_.facts, room).path;
        recording_.facts.pid = self;
        constexpr int attempts = 3;  // the process may have made earlier recordings with the same id, before it
                                     // executed another program
        return expanded.empty() ? EntryResult::no_list : try_numbers(expanded, attempts);
    }

    /// Returns true if the open file is a recording of the same run that was made on this machine. If this process
    /// has no run, the file must be a recording of the same program or of an ancestor; the ancestor may have a run.
    bool is_of_family(int descriptor) {
        const Header& own = recording_.header;
        struct stat status {};
        const auto is_equal = [&](const auto& value, std::size_t offset) {
            std::remove_cvref_t<decltype(value)> found{};
            return raw::syscall6(SYS_pread64, descriptor, &found, sizeof found, offset) == sizeof found &&
                   std::memcmp(&found, &value, sizeof found) == 0;
        };
        const bool is_same_run = is_equal(own.run, offsetof(Header, run));
        // If the environment of this process was cleared, own.run is 0 although the process may belong to a run.
        if (!is_same_run && own.run != 0) return false;
        const bool is_here = is_equal(own.boot_id, offsetof(Header, boot_id));
        if (own.run != 0) was_found_elsewhere_ = was_found_elsewhere_ || !is_here;
        if (own.run != 0 || !is_here) return is_here;
        // If this process has no run, the file must belong to this user, because another owner could truncate it. A
        // file with the number of the run is safe, because only processes of the run know the number.
        if (raw::fstat(descriptor, status) < 0 || status.st_uid != static_cast<uid_t>(raw::syscall6(SYS_geteuid)))
            return false;
        if (is_same_run && program_ != 0 && is_equal(program_, offsetof(Header, program))) return true;
        return is_equal(own.pid_namespace, offsetof(Header, pid_namespace)) &&
               std::ranges::any_of(ancestors_.all(), [&](const ProcessStart& ancestor) {
                   return ancestor.start != 0 && is_equal(ancestor.pid, offsetof(Header, pid)) &&
                          is_equal(ancestor.start, offsetof(Header, process_start));
               });
    }

    EntryResult try_file(const char* path) {
        constexpr int flags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
        const int descriptor = raw::open(path, O_RDONLY | flags);
        if (descriptor < 0) return EntryResult::no_list;
        const bool is_list = wait_until_whole(descriptor) && is_of_family(descriptor);
        raw::close(descriptor);
        if (!is_list) return EntryResult::no_list;
        const int writable = raw::open(path, O_RDWR | flags);
        error_ = writable < 0
                     ? -writable
                     : with_mapped_header(writable, [&](Header& header) { enter_recording(header, recording_); });
        if (writable >= 0) raw::close(writable);
        return error_ == 0 ? EntryResult::yes : EntryResult::failed;
    }

    /// Waits until the header of the file is complete, because another process may be making the file, which takes
    /// long on a busy machine. Gives up when the file is a second old, because the process that was making it was
    /// probably killed. Returns false if the file is not a complete recording.
    static bool wait_until_whole(int descriptor) {
        constexpr int most_tries = 1000;
        constexpr int most_tries_by_other_clock = 10;  // number of tries if the file has a time in the future,
                                                       // because it is on a machine with another clock
        constexpr std::int64_t second = 1'000'000'000;
        for (int tries = 0; tries < most_tries; ++tries) {
            struct stat status {};
            if (raw::fstat(descriptor, status) < 0 || !S_ISREG(status.st_mode)) return false;
            std::uint64_t magic = 0;
            const long size = raw::syscall6(SYS_pread64, descriptor, &magic, sizeof magic, 0);
            if (magic == format::magic) return status.st_size >= static_cast<off_t>(sizeof(Header));
            if (size < 0 || magic != 0) return false;
            const std::int64_t age = raw::realtime_ns() - (status.st_ctim.tv_sec * second + status.st_ctim.tv_nsec);
            if (age > second || (age < 0 && tries >= most_tries_by_other_clock)) return false;
            const timespec millisecond{0, 1'000'000};
            raw::syscall6(SYS_nanosleep, &millisecond, 0);
        }
        return false;
    }

    const NewRecording& recording_;
    const std::uint64_t program_;
    const std::span<char> buffer_;
    const AncestorList& ancestors_;
    int error_ = 0;
    bool was_found_elsewhere_ = false;
    bool was_name_tried_ = false;
};

/// Enters the recording into the list of the run's file for children. Returns 0 or an errno.
int enter_children_file(const NewRecording& recording, const ChildrenFile& file) {
    const int error = with_children_file(file, [&](Header& header) { enter_recording(header, recording); });
    if (error == 0) recording.header.flags |= format::flag_children_file;
    return error;
}

}  // namespace

int enter_list(const NewRecording& recording, Header* parent, const FamilyFacts& family) {
    const system::SignalHold hold;
    recording.header.program = family.program;
    if (parent != nullptr && parent->magic == format::magic) {
        enter_recording(*parent, recording);
        return 0;
    }
    // The buffers and the list of ancestors are too large for the stack, which may be small in a signal handler.
    constexpr std::size_t size = 2 * path_capacity + sizeof(AncestorList);
    auto* const pages = static_cast<char*>(map_private_pages(size, PagesInChild::none));
    if (pages == nullptr) return ENOMEM;
    const std::span<char> first(pages, path_capacity), second(pages + path_capacity, path_capacity);
    ListSearch search(recording, family.program, first, *new (pages + 2 * path_capacity) AncestorList);
    constexpr int counted_attempts = 16;
    EntryResult entered = search.try_numbers(recording.expanded, counted_attempts);
    if (entered == EntryResult::no_list) entered = search.try_names_of_ancestors(second);
    unmap_pages(pages, size);
    if (entered != EntryResult::no_list) return search.error();
    // Other recordings of the run cannot find this recording by its name if the name has placeholders, or if it has
    // the process id or a random number because the first numbers were taken.
    const bool has_own_name = recording.name.find('%') != std::string_view::npos || !search.was_name_tried();
    const bool has_file = family.children.path != nullptr && !family.is_first;
    return (has_own_name || search.was_found_elsewhere()) && has_file
               ? enter_children_file(recording, family.children)
               : 0;
}

int count_run_recording(const FamilyFacts& family) {
    if (family.children.path == nullptr) return 0;
    const system::SignalHold hold;
    const int descriptor = open_existing_children_file(family.children);
    if (descriptor < 0) return -descriptor;
    const ProcessIdentity self = identify_self();
    decltype(self.boot_id) boot_id{};
    const bool is_here = raw::syscall6(SYS_pread64, descriptor, &boot_id, sizeof boot_id,
                                       offsetof(Header, boot_id)) == sizeof boot_id &&
                         boot_id == self.boot_id;
    // The file is not mapped if another machine made it, because two machines must not map one file.
    const int error = !is_here ? 0 : with_mapped_header(descriptor, [](Header& header) {
        std::atomic_ref(header.run_recordings).fetch_add(1, std::memory_order_relaxed);
    });
    raw::close(descriptor);
    return error;
}

void count_process_without_recording(const FamilyFacts& family) {
    if (family.children.path == nullptr) return;
    with_children_file(family.children, [](Header& header) {
        std::atomic_ref(header.unrecorded).fetch_add(1, std::memory_order_relaxed);
    });
}

}  // namespace fp32shim::record
