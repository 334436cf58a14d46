#include "cli/run/run_end.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>

#include "cli/output/moment.hpp"
#include "cli/recordings/process_text.hpp"
#include "cli/recordings/run_members.hpp"
#include "record/format/format.hpp"
#include "record/format/identity.hpp"
#include "record/read/reader.hpp"
#include "record/write/children.hpp"

namespace fp32shim::cli {
namespace {

using record::format::Header, record::format::RunEnd;

/// Returns true if the file for the children of a run names no program, recording or mark.
bool is_empty_children_file(const std::string& path, const RunMember& file) {
    const auto opened = record::RecordingReader::open(path);
    return opened.reader && opened.reader->children().empty() && opened.reader->missed_children() == 0 &&
           opened.reader->unrecorded_processes().empty() && opened.reader->missed_unrecorded_processes() == 0 &&
           file.unrecorded == 0 && file.listed_count == 0;
}

/// Notes the end in a recording of this boot. Another process may have it mapped.
void note_end_here(int descriptor, const RunEnd& end, bool has_children_file) {
    record::with_mapped_header(descriptor, [&](Header& header) {
        if (has_children_file)
            std::atomic_ref(header.flags).fetch_or(record::format::flag_children_file, std::memory_order_relaxed);
        header.run_end = end;
    });
}

/// Notes the end in a recording of another machine. Two machines must not map one file: each would write back whole
/// pages.
void note_end_elsewhere(int descriptor, RunEnd end) {
    end.recordings = 0;
    [[maybe_unused]] const ssize_t written = pwrite(descriptor, &end, sizeof end, offsetof(Header, run_end));
}

}  // namespace

void note_end(const RunEnding& ending) {
    const record::ProcessIdentity self = record::identify_self();
    const auto file = read_run_member(ending.children_file);
    RunEnd end{.ended_ns = now_ns(),
               .running = static_cast<std::uint32_t>(ending.running.size()),
               .recordings = file ? file->run_recordings : 0,
               .began = self.start};
    const bool is_needed = file && !(ending.running.empty() && is_empty_children_file(ending.children_file, *file));
    for (const std::string& path : ending.recordings) {
        const auto member = read_run_member(path);
        const int descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
        struct stat status {};
        const bool is_whole = descriptor >= 0 && fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) &&
                              status.st_size >= static_cast<off_t>(sizeof(Header));
        if (member && is_whole) {
            if (member->identity.shares_boot_with(self))
                note_end_here(descriptor, end, is_needed);
            else
                note_end_elsewhere(descriptor, end);
        }
        if (descriptor >= 0) close(descriptor);
    }
    if (file && !is_needed) unlink(ending.children_file.c_str());
}

std::string running_line(const RunEnding& ending) {
    if (ending.running.empty()) return {};
    return fmt::format("still running, so more products may follow: {}", running_processes_text(ending.running));
}

}  // namespace fp32shim::cli
