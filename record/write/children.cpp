#include "record/write/children.hpp"

#include <errno.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "record/format/clock.hpp"
#include "record/format/identity.hpp"
#include "record/log_path.hpp"
#include "record/write/file.hpp"
#include "record/write/memory.hpp"
#include "system/line_writer.hpp"
#include "system/raw_syscall.hpp"
#include "system/signal_hold.hpp"
#include "system/small_files.hpp"

namespace fp32shim::record {

namespace raw = system::raw;

using format::ChildDetail;
using format::ChildRecord;
using format::Header;

namespace {

/// Sets the fields by which records of children are compared: the path, the interpreter or the current folder, and
/// the reason.
void fill_child_record(ChildRecord& record, const UnseenChild& child) {
    constexpr std::size_t path_limit = 144;
    system::LineWriter out(record.text);
    char folder[512];
    std::string_view path = child.path;
    // fexecve passes the kernel a path in /proc/self/fd, which is a link to the file.
    if (path.starts_with("/proc/self/fd/")) {
        const long size = raw::readlink(path.data(), folder, sizeof folder);
        if (size > 0) path = {folder, static_cast<std::size_t>(size)};
    }
    append_shortened_path(out, path, path_limit);
    record.path_size = static_cast<std::uint8_t>(out.size());
    const std::size_t left = format::child_text_limit - out.size();
    if (!child.interpreter.empty()) {
        record.detail_kind = static_cast<std::uint8_t>(ChildDetail::interpreter);
        append_shortened_path(out, child.interpreter, left);
    } else if (!path.starts_with('/')) {
        if (const long size = raw::getcwd(folder, sizeof folder); size > 1) {
            record.detail_kind = static_cast<std::uint8_t>(ChildDetail::folder);
            append_shortened_path(out, {folder, static_cast<std::size_t>(size) - 1}, left);
        }
    }
    record.detail_size = static_cast<std::uint8_t>(out.size() - record.path_size);
    if (child.has_own_libraries) record.detail_kind |= format::child_has_own_libraries;
    record.why = static_cast<std::uint8_t>(child.why);
}

bool is_same_child(const ChildRecord& a, const ChildRecord& b) {
    return a.why == b.why && a.detail_kind == b.detail_kind && a.path_size == b.path_size &&
           a.detail_size == b.detail_size && std::memcmp(a.text, b.text, sizeof a.text) == 0;
}

/// Fills the header of a file that lists programs without the shim (ChildrenFile). The file belongs to no single
/// process.
void fill_children_header(Header& header, const ChildrenFile& file) {
    header.version = format::version;
    header.byte_order = format::byte_order;
    header.segment_size = format::segment_size;
    header.rank = -1;
    header.start_realtime_ns = header.facts_ns = raw::realtime_ns();
    header.start_monotonic_ns = raw::clock_ns(CLOCK_MONOTONIC);
    header.start_ticks = ticks();
    header.ticks_per_second = 1'000'000'000;  // this rate is never used, because the file contains no times in ticks
    const ProcessIdentity maker = identify_self();
    header.pid_namespace = maker.pid_namespace;
    std::ranges::copy(maker.boot_id, header.boot_id);
    header.run = file.run;
    header.user_and_one = system::user_outside_namespace_plus_1();
    header.max_size = format::segment_size;
    header.next_segment = 1;
    header.flags = format::flag_children_only;
    std::size_t used = 0;
    const auto put = [&](format::HeaderText which, std::string_view text) {
        header.texts[static_cast<std::size_t>(which)] = append_header_text(header, used, text.substr(0, 1024));
    };
    utsname names{};
    if (raw::uname(names) == 0) put(format::HeaderText::host, names.nodename);
    put(format::HeaderText::job_id, file.job_id);
    put(format::HeaderText::job_id_from, file.job_id_from);
    std::atomic_ref(header.magic).store(format::magic, std::memory_order_release);
}

int write_new_file(int descriptor, const ChildrenFile& file) {
    if (const int error = allocate_disk_space(descriptor, 0, sizeof(Header)); error != 0) return error;
    return with_mapped_header(descriptor, [&](Header& header) { fill_children_header(header, file); });
}

/// Gives the file `from` the name `to`, unless a file with the name `to` exists. Returns 0 or a negative errno.
long name_new_file(const char* from, const char* to) {
    const long result = raw::syscall6(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
    // After EPERM, EOPNOTSUPP, ENOSYS and EMLINK, which mean that no hard link can be made, the file is renamed
    // instead.
    if (result != -EPERM && result != -EOPNOTSUPP && result != -ENOSYS && result != -EMLINK) return result;
    constexpr long no_replace = 1;
    return raw::syscall6(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, no_replace);
}

/// Makes `file` with a temporary name, composed in the buffer `name`, and then gives it its final name, so that
/// nobody sees an incomplete file. Returns 0 or an errno. If another process has made the file meanwhile, returns 0,
/// too.
int make_children_file(const ChildrenFile& file, std::span<char> name) {
    system::LineWriter writer(name);
    if (writer.text(file.path).text(".").number(raw::gettid()).nul_terminated().empty()) return ENAMETOOLONG;
    const auto descriptor = static_cast<int>(
        raw::syscall6(SYS_openat, AT_FDCWD, name.data(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (descriptor < 0) return -descriptor;
    raw::fchmod(descriptor, 0600);
    int error = write_new_file(descriptor, file);
    raw::close(descriptor);
    if (error == 0) {
        const long published = name_new_file(name.data(), file.path);
        if (published < 0 && published != -EEXIST) error = static_cast<int>(-published);
    }
    raw::syscall6(SYS_unlinkat, AT_FDCWD, name.data(), 0);
    return error;
}

int open_existing(const ChildrenFile& file) {
    if (file.descriptor >= 0) return static_cast<int>(raw::syscall6(SYS_fcntl, file.descriptor, F_DUPFD_CLOEXEC, 0));
    return static_cast<int>(
        raw::syscall6(SYS_openat, AT_FDCWD, file.path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0));
}

/// Returns true if the open file is a file for the children of the run with the number `run`, and not a file that
/// somebody else put in its place.
bool is_children_file_of_run(int descriptor, std::uint64_t run) {
    struct stat status {};
    if (raw::fstat(descriptor, status) < 0 || !S_ISREG(status.st_mode) ||
        status.st_size < static_cast<off_t>(sizeof(Header)))
        return false;
    // Only the processes of a run know its number, so a file with the number was made by one of them. If there is no
    // run, the file must belong to this user, because another owner could truncate it.
    if (run == 0 && status.st_uid != static_cast<uid_t>(raw::syscall6(SYS_geteuid))) return false;
    std::uint64_t magic = 0, found_run = 0;
    std::uint32_t flags = 0;
    const auto read = [&](auto& value, std::size_t offset) {
        return raw::syscall6(SYS_pread64, descriptor, &value, sizeof value, offset) == sizeof value;
    };
    return read(magic, offsetof(Header, magic)) && read(found_run, offsetof(Header, run)) &&
           read(flags, offsetof(Header, flags)) && magic == format::magic && found_run == run &&
           (flags & format::flag_children_only) != 0;
}

/// Returns `descriptor` if its file is a file for the children of the run. Otherwise closes it and returns a negative
/// errno. A negative `descriptor` is returned unchanged.
int close_unless_of_run(int descriptor, std::uint64_t run) {
    if (descriptor < 0 || is_children_file_of_run(descriptor, run)) return descriptor;
    raw::close(descriptor);
    return -EEXIST;
}

}  // namespace

void append_shortened_path(system::LineWriter& out, std::string_view text, std::size_t limit) {
    constexpr std::string_view cut = "…";
    if (text.size() > limit) {
        out.text(cut);
        text.remove_prefix(text.size() - (limit - cut.size()));
    }
    out.text(text);
}

void record_child(Header& header, const UnseenChild& child, ChildEvent event) {
    ChildRecord wanted{};
    fill_child_record(wanted, child);
    const std::int64_t now = raw::realtime_ns();
    for (ChildRecord& record : header.children) {
        const std::atomic_ref state(record.state);
        std::uint32_t found = state.load(std::memory_order_acquire);
        if (found == format::child_is_whole && is_same_child(record, wanted)) {
            const std::atomic_ref count(record.count);
            if (event == ChildEvent::failed) {
                count.fetch_sub(1, std::memory_order_relaxed);
            } else {
                std::atomic_ref(record.last_ns).store(now, std::memory_order_relaxed);
                count.fetch_add(1, std::memory_order_relaxed);
            }
            return;
        }
        if (found != 0 || event == ChildEvent::failed) continue;
        if (!state.compare_exchange_strong(found, 1, std::memory_order_acquire)) continue;
        wanted.first_ns = wanted.last_ns = now;
        wanted.pid = raw::getpid();
        wanted.count = 1;
        wanted.state = 1;
        record = wanted;
        state.store(format::child_is_whole, std::memory_order_release);
        return;
    }
    const std::uint32_t one = event == ChildEvent::failed ? -1U : 1U;
    std::atomic_ref(header.children_missed).fetch_add(one, std::memory_order_relaxed);
}

int open_children_file(const ChildrenFile& file) {
    int descriptor = open_existing(file);
    if (descriptor == -ENOENT) {
        // The buffer for the name is too large for the stack, which may be small in a signal handler.
        auto* const name = static_cast<char*>(map_private_pages(path_capacity, PagesInChild::none));
        if (name == nullptr) return -ENOMEM;
        const int error = make_children_file(file, {name, path_capacity});
        unmap_pages(name, path_capacity);
        if (error != 0) return -error;
        descriptor = open_existing(file);
    }
    return close_unless_of_run(descriptor, file.run);
}

int open_existing_children_file(const ChildrenFile& file) {
    return close_unless_of_run(open_existing(file), file.run);
}

int record_child(const ChildrenFile& file, const UnseenChild& child, ChildEvent event) {
    return with_children_file(file, [&](Header& header) { record_child(header, child, event); });
}

std::string_view children_file_path(std::string_view log, std::span<char> out) {
    system::LineWriter writer(out);
    log.remove_suffix(recording_extension.size());
    return writer.text(log).text(".children").text(recording_extension).nul_terminated();
}

}  // namespace fp32shim::record
