#include "record/write/file.hpp"

#include <errno.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/statfs.h>

#include <algorithm>
#include <utility>

#include "record/format/clock.hpp"
#include "record/write/lost_pages.hpp"
#include "record/write/memory.hpp"
#include "system/hash.hpp"
#include "system/io_error.hpp"
#include "system/line_writer.hpp"
#include "system/raw_syscall.hpp"
#include "system/signal_hold.hpp"
#include "system/thread_sanitizer.hpp"

namespace fp32shim::record {

namespace raw = system::raw;

using format::segment_size;

namespace {

/// Returns the limit for the numbers of segments with records of single calls, in a file of at most `segments`
/// segments. The rest of the file is reserved for counters, rows and rings. The rest is an eighth of the file, but at
/// most 64 MiB, and at least 1 MiB or half of the file, whichever is smaller.
constexpr std::uint32_t limit_for_calls(std::uint32_t segments) {
    constexpr std::uint32_t least_reserve = 16, largest_reserve = 1024;
    return segments - std::clamp(segments / 8, std::min(segments / 2, least_reserve), largest_reserve);
}

long map_pages(void* at, std::size_t size, int flags, int descriptor, std::uint64_t offset) {
    const long mapped = raw::syscall6(SYS_mmap, at, size, PROT_READ | PROT_WRITE, flags, descriptor, offset);
    system::note_mapped();
    return mapped;
}

template <class Address>
void unmap_segment(Address segment) {
    system::note_unmapping();
    raw::syscall6(SYS_munmap, segment, format::segment_size);
}

/// Calls `call`, which makes a system call that writes to the file, and keeps signals that the write causes from the
/// program. Returns the result of the system call.
template <class Call>
long call_without_signals(Call call) {
    const system::WriteSignalHold hold;
    const long result = raw::retry_if_interrupted(call);
    if (result == -EFBIG) hold.consume_pending_signal(SIGXFSZ);
    return result;
}

/// Writes `size` zeros at `offset`. Returns 0 or an errno.
int write_zeros(int descriptor, std::uint64_t offset, std::uint64_t size) {
    static constexpr char zeros[4096] = {};
    while (size > 0) {
        const long written = call_without_signals([&] {
            return raw::syscall6(SYS_pwrite64, descriptor, zeros, std::min<std::uint64_t>(size, sizeof zeros),
                                 offset);
        });
        if (written <= 0) return written == 0 ? EIO : static_cast<int>(-written);
        offset += static_cast<std::uint64_t>(written);
        size -= static_cast<std::uint64_t>(written);
    }
    return 0;
}

/// If the file is on btrfs, makes btrfs overwrite the file's data in place. By default, btrfs writes each changed
/// page to newly allocated space, so that a store to a mapped page would raise SIGBUS on a full disk. Precondition:
/// the file is empty.
void overwrite_in_place(int descriptor) {
    struct statfs where {};
    if (raw::syscall6(SYS_fstatfs, descriptor, &where) < 0 || where.f_type != BTRFS_SUPER_MAGIC) return;
    int flags = 0;
    if (raw::syscall6(SYS_ioctl, descriptor, FS_IOC_GETFLAGS, &flags) < 0) return;
    flags |= FS_NOCOW_FL;
    raw::syscall6(SYS_ioctl, descriptor, FS_IOC_SETFLAGS, &flags);
}

}  // namespace

bool insert_number(std::string_view path, std::uint64_t number, std::span<char> out) {
    system::LineWriter writer(out);
    const bool has_extension = path.ends_with(recording_extension);
    if (has_extension) path.remove_suffix(recording_extension.size());
    writer.text(path);
    if (number > 0) writer.text(".").number(static_cast<std::int64_t>(number));
    if (has_extension) writer.text(recording_extension);
    return !writer.nul_terminated().empty();
}

format::TextRange append_header_text(format::Header& header, std::size_t& used, std::string_view text) {
    text.copy(header.text + used, text.size());
    const std::size_t offset = offsetof(format::Header, text) + std::exchange(used, used + text.size());
    return {static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(text.size())};
}

[[gnu::noinline]] void warn_about_recording(std::string_view path, std::initializer_list<std::string_view> texts) {
    char buffer[1024];
    system::LineWriter out(buffer);
    out.text("recording ").escaped(path, 600).text(": ");
    for (const std::string_view text : texts) out.text(text);
    system::stderr_line(out.view());
}

int allocate_disk_space(int descriptor, std::uint64_t offset, std::uint64_t size) {
    const long result =
        call_without_signals([&] { return raw::syscall6(SYS_fallocate, descriptor, 0, offset, size); });
    // Some file systems, such as NFS 3 and some FUSE file systems, do not support fallocate. Writing zeros has the
    // same effect.
    if (result == -EOPNOTSUPP || result == -ENOSYS) return write_zeros(descriptor, offset, size);
    return static_cast<int>(-result);
}

RecordingFile::~RecordingFile() {
    unguard_pages_of(*this);
    if (descriptor_.is_own_file()) raw::close(descriptor_.number());
}

int RecordingFile::create(std::string_view path, const Limits& limits, format::Header*& header) {
    is_open_.store(false, std::memory_order_relaxed);
    is_lost_.store(false, std::memory_order_relaxed);
    if (const int inherited = descriptor_.release(); descriptor_.is_own_file(inherited)) raw::close(inherited);
    limits_ = limits;
    reopened_.store(false, std::memory_order_relaxed);
    queue_begin_ = queue_end_ = 0;
    queue_ = nullptr;
    if (limits.overwrites) {
        queue_ = static_cast<std::uint32_t*>(
            map_private_pages(limits.segments * sizeof(std::uint32_t), PagesInChild::none));
        if (queue_ == nullptr) return ENOMEM;
    }

    int error = create_file(path);
    if (error != 0) return error;
    error = allocate_disk_space(descriptor_.number(), 0, (1 + first_segments) * segment_size);
    if (error == 0) {
        const long mapped = map_pages(nullptr, segment_size, MAP_SHARED, descriptor_.number(), 0);
        if (mapped > 0) {
            header = reinterpret_cast<format::Header*>(mapped);
            guard_pages(*this, header, PagesInChild::inherited);
            header->next_segment = 1 + first_segments;
            return 0;
        }
        error = static_cast<int>(-mapped);
    }
    remove_new_file();
    return error;
}

void RecordingFile::remove_new_file() {
    raw::syscall6(SYS_unlinkat, AT_FDCWD, path_, 0);  // the file was just made with O_EXCL, so it is not a file of
                                                      // somebody else
    raw::close(descriptor_.release());
}

void RecordingFile::install_header(format::Header* filled) {
    format::Header* before = header();
    if (before == nullptr) {
        header_.store(filled, std::memory_order_release);
    } else {
        const long mapped = map_pages(before, segment_size, MAP_SHARED | MAP_FIXED, descriptor_.number(), 0);
        if (mapped < 0) return replace_header_by_zeros();
        unguard_pages(filled);
        unmap_segment(filled);
        guard_pages(*this, before, PagesInChild::inherited);
    }
    install_lost_page_handler();
    is_open_.store(true, std::memory_order_release);
}

void RecordingFile::replace_header_by_zeros() {
    is_open_.store(false, std::memory_order_relaxed);
    path_[0] = '\0';
    map_pages(header(), segment_size, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

void RecordingFile::end_lost_recording() {
    is_open_.store(false, std::memory_order_relaxed);
    if (is_lost_.exchange(true) || !system::can_write_to_stderr()) return;
    warn_about_recording(path_, {"the file was truncated, or its disk has failed; nothing more is recorded. Delete "
                                 "recordings instead of truncating them, and check the disk."});
}

void* RecordingFile::map_segment(std::uint32_t number) {
    const long mapped =
        map_pages(nullptr, segment_size, MAP_SHARED, descriptor_.number(), std::uint64_t{number} * segment_size);
    if (mapped < 0) return nullptr;
    if (raw::syscall6(SYS_madvise, mapped, segment_size, MADV_DONTFORK) < 0) {
        unmap_segment(mapped);
        return nullptr;
    }
    guard_pages(*this, reinterpret_cast<void*>(mapped), PagesInChild::none);
    return reinterpret_cast<void*>(mapped);
}

void RecordingFile::publish_segment(format::Header& header, format::SegmentHeader& segment,
                                    format::SegmentKind kind) {
    std::atomic_ref(segment.kind).store(static_cast<std::uint32_t>(kind), std::memory_order_release);
    std::atomic_ref(header.segments_in_use).fetch_add(1, std::memory_order_release);
}

void* RecordingFile::map_new_segment_for_calls() { return map_new_segment_below(limit_for_calls(limits_.segments)); }

void* RecordingFile::map_new_segment_below(std::uint32_t limit) {
    if (!ensure_descriptor()) return nullptr;
    int error = 0;
    if (const std::uint32_t number = reserve_segment(limit, error); number != 0) {
        error = allocate_disk_space(descriptor_.number(), std::uint64_t{number} * segment_size, segment_size);
        if (error == 0) {
            if (void* address = map_segment(number)) return address;
            error = ENOMEM;
        }
        give_back_segment(number);
    }
    warn_no_space(error);
    return nullptr;
}

RecordingFile::AppendResult RecordingFile::append_events(const format::SegmentHeader& segment,
                                                         std::span<const format::EventRecord> events) {
    if (!ensure_descriptor()) return AppendResult::no_room;
    int error = 0;
    std::uint32_t number = reserve_segment(limit_for_calls(limits_.segments), error);
    const bool is_new = number != 0;
    if (!is_new && limits_.overwrites) {
        number = take_oldest_segment();
        if (number == 0) return AppendResult::superseded;  // other threads are overwriting all older segments
    }
    if (number != 0) {
        error = write_events(number, segment, events);
        if (error == 0 || !is_new) queue_segment_for_overwriting(number);
        if (error == 0) {
            if (is_new) std::atomic_ref(header()->segments_in_use).fetch_add(1, std::memory_order_release);
            return AppendResult::appended;
        }
        if (is_new) give_back_segment(number);
    }
    // EFAULT means that the ring can no longer be read, because its pages, which are mapped from the same file, are
    // lost.
    if (error == EFAULT)
        end_lost_recording();
    else
        warn_no_space(error);
    return AppendResult::no_room;
}

/// Reserves the next unused segment number and returns it. If this number is not below `limit`, returns 0 and sets
/// `error` to 0, which means that the file is full.
std::uint32_t RecordingFile::reserve_segment(std::uint32_t limit, int& error) {
    const std::atomic_ref next(header()->next_segment);
    std::uint32_t number = next.load(std::memory_order_relaxed);
    do {
        if (number == 0)
            end_lost_recording();  // the 0 means that somebody truncated the file, and that a write of another thread
                                   // then extended it with zeros
        if (number == 0 || number >= limit) {
            error = 0;
            return 0;
        }
    } while (!next.compare_exchange_weak(number, number + 1, std::memory_order_relaxed));
    return number;
}

/// Makes the segment number that reserve_segment() returned available again. If a later number has been reserved
/// meanwhile, the segment stays unused.
void RecordingFile::give_back_segment(std::uint32_t number) {
    std::uint32_t expected = number + 1;
    std::atomic_ref(header()->next_segment).compare_exchange_strong(expected, number, std::memory_order_relaxed);
}

/// Writes a segment of events from its beginning to its end. If the process is killed while it writes, all events in
/// the file are complete, and the ring still has all events. Returns 0 or an errno. On failure, the function replaces
/// what it has written by zeros, because the segment may be used for other entries later, and unused entries must be
/// zeros.
int RecordingFile::write_events(std::uint32_t number, const format::SegmentHeader& segment,
                                std::span<const format::EventRecord> events) const {
    const int descriptor = descriptor_.number();
    iovec parts[2] = {{const_cast<format::SegmentHeader*>(&segment), sizeof segment},
                      {const_cast<format::EventRecord*>(events.data()), events.size_bytes()}};
    const std::uint64_t begin = std::uint64_t{number} * segment_size;
    std::uint64_t offset = begin;
    while (parts[1].iov_len > 0) {
        const long written =
            call_without_signals([&] { return raw::syscall6(SYS_pwritev, descriptor, parts, 2, offset, 0); });
        if (written <= 0) {
            if (offset != begin) write_zeros(descriptor, begin, offset - begin);
            return written == 0 ? EIO : static_cast<int>(-written);
        }
        offset += static_cast<std::uint64_t>(written);
        auto left = static_cast<std::size_t>(written);
        for (iovec& part : parts) {
            const std::size_t taken = std::min(left, part.iov_len);
            part.iov_base = static_cast<char*>(part.iov_base) + taken;
            part.iov_len -= taken;
            left -= taken;
        }
    }
    return 0;
}

std::uint32_t RecordingFile::take_oldest_segment() {
    const system::HeldLock held(queue_lock_);
    return !held || queue_begin_ == queue_end_ ? 0 : queue_[queue_begin_++ % limits_.segments];
}

void RecordingFile::queue_segment_for_overwriting(std::uint32_t number) {
    if (queue_ == nullptr) return;
    if (const system::HeldLock held(queue_lock_); held) queue_[queue_end_++ % limits_.segments] = number;
}

/// Returns true if the descriptor still refers to this file. If the program closed it, opens the file again by its
/// path, at most once per process.
bool RecordingFile::ensure_descriptor() {
    if (is_lost_.load(std::memory_order_relaxed)) return false;
    if (descriptor_.is_own_file()) return true;
    if (descriptor_.number() >= 0 && !reopened_.exchange(true, std::memory_order_relaxed)) {
        const int again = raw::open(path_, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK);
        if (descriptor_.is_own_file(again)) {
            if (descriptor_.keep(again) == 0) return true;
        } else if (again >= 0) {
            raw::close(again);
        }
    }
    set_flag(format::flag_closed);
    if (closed_warning_.is_first_call())
        warn_about_recording(path_, {"the program has closed it; calls that fit are still counted, the rest are "
                                     "dropped; make sure that the program closes only its own descriptors"});
    return false;
}

/// Makes the file and keeps its descriptor. Returns 0 or an errno. On failure, no file is left behind.
int RecordingFile::create_file(std::string_view path) {
    int descriptor = -EEXIST;
    const std::int32_t self = raw::getpid();
    for (int attempt = 0; descriptor == -EEXIST && attempt < attempt_limit; ++attempt) {
        if (!insert_number(path, number_of_attempt(attempt, self), path_)) return ENAMETOOLONG;
        descriptor = raw::retry_if_interrupted(
            [&] { return raw::open(path_, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0600); });
    }
    if (descriptor < 0) return -descriptor;
    overwrite_in_place(descriptor);

    int error = 0;
    if (limits_.group >= 0) error = static_cast<int>(-raw::syscall6(SYS_fchown, descriptor, -1, limits_.group));
    // The mode is set after the group is changed, so that the file's first group can never read the file.
    if (error == 0) error = -raw::fchmod(descriptor, limits_.mode);
    if (error == 0)
        error = descriptor_.keep(descriptor);
    else
        raw::close(descriptor);
    if (error != 0) raw::syscall6(SYS_unlinkat, AT_FDCWD, path_, 0);
    return error;
}

/// Records that there was no space, and reports it on stderr once per process. `error` is the errno of the refusal,
/// or 0 if the file has reached its largest size.
void RecordingFile::warn_no_space(int error) {
    if (is_lost_.load(std::memory_order_relaxed)) return;
    set_flag(error == 0 ? format::flag_file_full : format::flag_io_error);
    if (error != 0) std::atomic_ref(header()->last_error).store(error, std::memory_order_relaxed);
    if (error == 0 ? !full_warning_.is_first_call() : !error_warning_.is_first_call()) return;

    const system::IoError problem =
        error == 0 ? system::IoError{"max_size is reached",
                                     "raise [log] max_size, or record less: level summary, no fingerprints"}
                   : system::describe_io_error(error);
    char buffer[32];
    system::LineWriter number(buffer);
    if (error != 0 && problem.meaning.find('(') == std::string_view::npos)
        number.text(" (errno ").number(error).text(")");
    warn_about_recording(
        path_, {problem.meaning, number.view(),
                "; calls that fit are still counted, the rest are dropped, and the recording says how many; ",
                problem.remedy});
}

std::uint64_t number_of_attempt(int attempt, std::int32_t process) {
    constexpr int counted = 16;
    if (attempt < counted) return static_cast<std::uint64_t>(attempt);
    if (attempt == counted) return static_cast<std::uint64_t>(process);
    // A random number has ten digits, more than any process id. So it differs from all process ids, also in other PID
    // namespaces.
    constexpr std::uint64_t smallest = 1'000'000'000, numbers = 9 * smallest;
    const std::uint64_t random = system::Hash().add(ticks()).add(static_cast<std::uint64_t>(process)).value();
    return smallest + random % numbers;
}

}  // namespace fp32shim::record
