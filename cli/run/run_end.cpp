#include "cli/run/run_end.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "cli/output/moment.hpp"
#include "cli/recordings/process_text.hpp"
#include "cli/recordings/run_members.hpp"
#include "record/format/format.hpp"
#include "record/read/processes.hpp"
#include "record/write/children.hpp"

namespace fp32shim::cli {
namespace {

using record::format::Header, record::format::RunEnd;

/// Notes the end in a recording. Another process may have it mapped.
void note_end_in(const std::string& path, const RunEnd& end, bool is_of_this_boot, bool has_children_file) {
    const int descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (descriptor < 0) return;
    struct stat status {};
    const bool is_whole = fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) &&
                          status.st_size >= static_cast<off_t>(sizeof(Header));
    const auto note = [&](Header& header) {
        if (has_children_file)
            std::atomic_ref(header.flags).fetch_or(record::format::flag_children_file, std::memory_order_relaxed);
        header.run_end = end;
    };
    // Two machines must not map one file: each would write back whole pages.
    if (is_whole && is_of_this_boot) {
        record::with_header(descriptor, note);
    } else if (is_whole) {
        [[maybe_unused]] const ssize_t written = pwrite(descriptor, &end, sizeof end, offsetof(Header, run_end));
    }
    close(descriptor);
}

}  // namespace

void note_end(const RunEnding& ending) {
    const auto is_of_this_boot = [self = record::identify_self()](const std::string& path) {
        const auto member = read_run_member(path);
        return member && member->identity.has_boot_of(self);
    };
    const RunEnd end{
        .ended_ns = now_ns(),
        .running = static_cast<std::uint32_t>(ending.running.size()),
        .strangers = static_cast<std::uint32_t>(std::ranges::count_if(ending.strangers, is_of_this_boot)),
        .began = ending.began};
    const bool has_children_file = !ending.children_file.empty() && access(ending.children_file.c_str(), F_OK) == 0;
    for (const std::string& path : ending.recordings)
        note_end_in(path, end, is_of_this_boot(path), has_children_file);
}

std::string running_line(const RunEnding& ending) {
    if (ending.running.empty()) return {};
    return fmt::format("still running, so more products may follow: {}", running_text(ending.running));
}

}  // namespace fp32shim::cli
