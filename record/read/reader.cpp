#include "record/read/reader.hpp"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "policy/words.hpp"
#include "record/format/clock.hpp"
#include "record/format/identity.hpp"
#include "record/read/processes.hpp"
#include "system/io_error.hpp"

namespace fp32shim::record {

using format::CounterRecord;
using format::HeaderText;
using format::segment_size;

namespace {

constexpr std::size_t stable_header_size = 4096;  // size of the part of the header that is the same in all versions

__extension__ using Wide = __int128;

std::int64_t clamped_time(Wide nanoseconds) {
    return static_cast<std::int64_t>(std::clamp<Wide>(nanoseconds, -farthest_time_ns, farthest_time_ns));
}

std::string hex(std::uint64_t value) {
    static constexpr char digits[] = "0123456789abcdef";
    std::string text = "0x";
    for (int shift = 60; shift >= 0; shift -= 4) text += digits[value >> shift & 0xf];
    return text;
}

std::uint64_t mean_duration(const CounterRecord& counters) {
    return counters.calls == 0 ? 0 : counters.total / counters.calls;
}

/// Returns the reason why nothing can be read from a file, or an empty text if its header can be read. `header_bytes`
/// is the number of bytes of `header` that the file has.
std::string why_no_recording(const format::Header& header, std::size_t header_bytes) {
    if (header_bytes == 0)
        return "the file is empty: it is not a recording, or its process was killed while creating it";
    if (header.magic == 0)
        return "offset 0: not a complete recording yet: its process is creating it, or was killed while creating it";
    if (header_bytes < sizeof header.magic || header.magic != format::magic) {
        if (header_bytes >= sizeof header.magic && header.magic == __builtin_bswap64(format::magic))
            return "offset 0: recorded on a machine with a different byte order; read it on such a machine";
        // The message does not quote the file's first bytes, because a link made by another user may lead to a file
        // that only this user may read.
        return "offset 0: not an fp32shim recording (these begin with \"FP32REC\"); name a .fp32rec file";
    }
    if (header_bytes < stable_header_size)
        return "offset " + std::to_string(header_bytes) + ": the file ends within its header, which needs " +
               std::to_string(stable_header_size) + " bytes; nothing in it can be read";
    if (header.byte_order != format::byte_order)
        return "offset 12: byte order " + hex(header.byte_order) + ", expected " + hex(format::byte_order) +
               "; the file is corrupt";
    return {};
}

/// Returns true if `path` is a symbolic link that belongs neither to root, nor to this user, nor to the owner of its
/// target.
bool is_link_of_another_user(const std::string& path) {
    struct stat link {
    }, target{};
    if (lstat(path.c_str(), &link) != 0 || !S_ISLNK(link.st_mode)) return false;
    if (link.st_uid == 0 || link.st_uid == geteuid()) return false;
    return stat(path.c_str(), &target) == 0 && target.st_uid != link.st_uid;
}

/// Searches /proc for a process of another PID namespace. Returns `live` if the process is found. Otherwise returns
/// `unknown`, because the process may run where this process cannot see it.
RecordingState find_in_proc(const ProcessIdentity& recorded) {
    for (const std::int32_t pid : list_process_ids())
        if (identify_process(pid) == recorded) return RecordingState::live;
    return RecordingState::unknown;
}

void subtract(std::uint64_t& count, std::uint64_t earlier) { count -= std::min(count, earlier); }

void subtract_calls(CounterRecord& counters, const CounterRecord& earlier) {
    subtract(counters.calls, earlier.calls);
    subtract(counters.total, earlier.total);
    subtract(counters.timed, earlier.timed);
    counters.first = std::max(counters.first, earlier.last);
}

}  // namespace

std::string_view to_string(RecordingState state) {
    constexpr policy::NamedValue<RecordingState> words[] = {
        {"live", RecordingState::live}, {"ended", RecordingState::ended}, {"unknown", RecordingState::unknown}};
    return policy::name_of(words, state);
}

RecordingReader::RecordingReader(std::shared_ptr<RecordingByteReader> bytes)
    : bytes_(std::move(bytes)),
      problems_(std::make_unique<ProblemList>()),
      row_reader_(std::make_unique<RecordedRowReader>(*bytes_, *problems_)) {}

RecordingReader::OpenResult RecordingReader::open(const std::string& path) {
    if (is_link_of_another_user(path))
        return {nullptr,
                "a symbolic link that belongs to another user and may lead anywhere; name the file that it leads to"};
    // With O_NONBLOCK, opening a pipe that has no writer does not wait.
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor >= 0) return open_descriptor(descriptor, path);
    const int error = errno;
    switch (error) {
        case EACCES:
        case EPERM:
            return {nullptr,
                    "this user may not read it; ask its owner, or have it recorded with [log] mode and group"};
        case ENOENT:
            return {nullptr, "no such file; check the name"};
        default:
            return {nullptr, "cannot be opened: " + std::string(system::describe_io_error(error).meaning)};
    }
}

RecordingReader::OpenResult RecordingReader::open_descriptor(int descriptor, const std::string& path) {
    std::unique_ptr<RecordingReader> reader(
        new RecordingReader(std::make_shared<RecordingByteReader>(descriptor, path)));
    struct stat status {};
    if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode))
        return {nullptr, "not a regular file; name a .fp32rec file"};
    std::string error = reader->read_file();
    if (!error.empty()) return {nullptr, std::move(error)};
    return {std::move(reader), {}};
}

bool RecordingReader::read_again() {
    RecordingReader fresh(bytes_);
    if (!fresh.read_file().empty()) return false;
    fresh.row_reader_->set_location_namer(row_reader_->release_location_namer());
    *this = std::move(fresh);
    return true;
}

void RecordingReader::close_until_next_read() {
    if (!bytes_->is_open()) return;
    row_reader_->free_caches();
    bytes_->close_until_next_read();
}

std::string RecordingReader::read_file() {
    const auto header = std::make_unique<format::Header>();
    const std::size_t header_bytes = bytes_->read(0, header.get(), sizeof *header);
    facts_.file_size = bytes_->size();
    if (std::string why = why_no_recording(*header, header_bytes); !why.empty()) return why;
    facts_.format_version = header->version;
    start_realtime_ns_ = header->start_realtime_ns;
    if (header_bytes < sizeof *header && header->version == format::version)
        problems_->add(header_bytes,
                       "the file ends within its header; only the facts about the process that it has are shown");
    read_facts(*header, header_bytes);
    if (header->version != format::version) {
        problems_->add(8, "format version " + std::to_string(header->version) + ", but this fp32shim reads version " +
                              std::to_string(format::version) +
                              ". Only the facts about the process are shown. Use a newer fp32shim.");
        return {};
    }
    if (header->segment_size != segment_size) {
        problems_->add(16, "segments of " + std::to_string(header->segment_size) + " bytes, expected " +
                               std::to_string(segment_size) + "; only the facts about the process are shown");
        return {};
    }
    read_segments(*header);
    return {};
}

std::string RecordingReader::header_text(const format::Header& header, const format::TextRange& range,
                                         std::size_t header_bytes) {
    const std::uint64_t end = std::uint64_t{range.offset} + range.size;
    const auto* const begin = reinterpret_cast<const char*>(&header);
    if (end <= header_bytes) return {begin + range.offset, range.size};
    // read_file() has already reported a truncated header.
    if (header_bytes < sizeof header && header.version == format::version) return {};
    const auto offset = static_cast<std::uint64_t>(reinterpret_cast<const char*>(&range) - begin);
    problems_->add(offset, "the header places a text at " + std::to_string(range.offset) + " to " +
                               std::to_string(end) + ", but has only " + std::to_string(header_bytes) +
                               " bytes; the text is left out");
    return {};
}

std::string RecordingReader::header_text(const format::Header& header, HeaderText which, std::size_t header_bytes) {
    return header_text(header, header.texts[static_cast<std::size_t>(which)], header_bytes);
}

/// Returns the name of an environment variable, which is stored in the header as the text `which`. If the text has
/// characters that names of variables do not have, reports a problem and returns an empty text, because names are
/// shown without escaping.
std::string RecordingReader::variable_name(const format::Header& header, HeaderText which, std::size_t header_bytes) {
    constexpr std::size_t longest = 64;
    std::string name = header_text(header, which, header_bytes);
    const bool is_name =
        name.size() <= longest && std::all_of(name.begin(), name.end(), [](char c) {
            return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
        });
    if (is_name) return name;
    problems_->add(header.texts[static_cast<std::size_t>(which)].offset,
                   "this text should be the name of an environment variable, but is not; it is ignored");
    return {};
}

void RecordingReader::read_facts(const format::Header& header, std::size_t header_bytes) {
    facts_.process.pid = header.pid;
    facts_.process.forked_from = header.forked_from;
    facts_.process.host = header_text(header, HeaderText::host, header_bytes);
    facts_.process.job_id = header_text(header, HeaderText::job_id, header_bytes);
    facts_.process.job_id_from = variable_name(header, HeaderText::job_id_from, header_bytes);
    facts_.process.rank = header.rank;
    facts_.process.rank_from = variable_name(header, HeaderText::rank_from, header_bytes);
    facts_.process.executable = header_text(header, HeaderText::executable, header_bytes);
    facts_.process.command = header_text(header, HeaderText::command, header_bytes);
    facts_.process.pins = static_cast<std::uint16_t>(header.pins | header.more_pins << 8);
    facts_.process.run = header.run;
    facts_.process.start_ns = clamped_time(header.facts_ns);
    facts_.start.version = header_text(header, HeaderText::version, header_bytes);
    facts_.start.policy_name = header_text(header, HeaderText::policy_name, header_bytes);
    facts_.start.policy_revision = header_text(header, HeaderText::policy_revision, header_bytes);
    facts_.start.policy_sha256 = header_text(header, HeaderText::policy_sha256, header_bytes);
    facts_.start.default_precision = static_cast<policy::Precision>(header.default_precision);
    facts_.start.floor = static_cast<policy::Floor>(header.floor);
    facts_.start.allow_bf16x9 = header.allows_bf16x9 == 1;
    facts_.start.floor_exception = header_text(header, header.floor_exception, header_bytes);
    facts_.user = static_cast<std::int64_t>(header.user_and_one) - 1;
    facts_.start.cpu_mode = static_cast<policy::CpuMode>(header.cpu_mode);
    facts_.start.tf32_rounding = static_cast<policy::Tf32Rounding>(header.tf32_rounding);
    facts_.start.accumulation = static_cast<policy::AccumulationModel>(header.accumulation);
    facts_.start.rounds_at_random = header.rounds_at_random != 0;
    facts_.start.log_level = static_cast<policy::LogLevel>(header.level);
    facts_.start.where = {header.where, header.native_frames};
    facts_.python = static_cast<PythonReaderState>(header.python);
    facts_.opened_ns = clamped_time(header.start_realtime_ns);
    facts_.on_full = static_cast<policy::OnFull>(header.on_full);
    facts_.max_size = header.max_size;
    facts_.architecture = static_cast<format::Architecture>(header.architecture);
    facts_.flags = header.flags;
    facts_.processor = header.processor;
    facts_.last_error = header.last_error;
    facts_.identity = {header.pid, header.process_start, header.pid_namespace, std::to_array(header.boot_id)};
    facts_.opened_ticks = header.start_ticks;
    facts_.went_on_ticks = header.went_on_at;
    objects_.are_missing = (header.flags & format::flag_objects_missed) != 0;
    objects_.had_lookup_past = (header.flags & format::flag_lookup_past) != 0;
    objects_.ask_onednn = (header.flags & format::flag_asks_onednn) != 0;
    objects_.ask_kernels = (header.flags & format::flag_asks_kernels) != 0;
    objects_.kernels_missed = (header.flags & format::flag_kernels_missed) != 0;
    read_ticks_per_second(header);
    // Header::process_start is the time since boot in units of 10 ms. CLOCK_MONOTONIC stands still while the
    // machine sleeps, so `start` is too late if the machine slept. If `start` lies after the time when the settings
    // were read, it is wrong and not used.
    const Wide age =
        static_cast<Wide>(header.start_monotonic_ns) - static_cast<Wide>(header.process_start) * 10'000'000;
    const std::int64_t start = clamped_time(static_cast<Wide>(facts_.opened_ns) - age);
    constexpr std::int64_t two_ticks_ns = 20'000'000;
    if (header.process_start != 0 && start > 0 && start <= facts_.process.start_ns + two_ticks_ns)
        facts_.process_start_ns = start;
    const bool is_left = (header.flags & format::flag_left) != 0;
    if (header.exited_at != 0 && !is_left) facts_.exited_ns = realtime_of(header.exited_at);
}

/// Takes the rate of the processor's counter from the header, so that all readers show the same times. The writer
/// measures the rate again whenever the recording's age has doubled, and at `exit`. So the error of the rate moves no
/// time by more than it takes to read the clocks.
void RecordingReader::read_ticks_per_second(const format::Header& header) {
    facts_.ticks_per_second = header.ticks_per_second;
    if (facts_.ticks_per_second != 0) return;
    problems_->add(offsetof(format::Header, ticks_per_second),
                   "the rate of the processor's counter is 0; times assume 1 GHz");
    facts_.ticks_per_second = 1'000'000'000;
}

RecordingState RecordingReader::state() const {
    const ProcessIdentity recorded = facts_.identity;
    const ProcessIdentity self = identify_self();
    if (recorded.start == 0 || self.start == 0) return RecordingState::unknown;
    if (!recorded.shares_boot_with(self)) {
        utsname names{};
        const bool is_same_host = uname(&names) == 0 && facts_.process.host == names.nodename;
        return is_same_host ? RecordingState::ended
                            : RecordingState::unknown;  // if the host is the same, the machine was restarted, so the
                                                        // process has ended; otherwise it ran on another machine
    }
    // A process of another PID namespace has another process id in this namespace, or none.
    if (recorded.pid_namespace != self.pid_namespace) return find_in_proc(recorded);
    const std::uint64_t start = identify_process(recorded.pid).start;
    if (start == recorded.start) return RecordingState::live;
    // /proc does not show processes of other users if it is mounted with hidepid. EPERM from kill() means that a
    // process with this id exists.
    const bool is_hidden = start == 0 && kill(recorded.pid, 0) != 0 && errno == EPERM;
    return is_hidden ? RecordingState::unknown : RecordingState::ended;
}

const std::vector<FileProblem>& RecordingReader::problems() const {
    if (bytes_->is_lost())
        problems_->add(0, "the file was deleted or replaced while being read; the rest of it is left out");
    return problems_->all();
}

std::int64_t RecordingReader::realtime_of(std::uint64_t ticks) const {
    const Wide since_start = static_cast<Wide>(ticks) - static_cast<Wide>(facts_.opened_ticks);
    return clamped_time(since_start * 1'000'000'000 / static_cast<Wide>(facts_.ticks_per_second) +
                        static_cast<Wide>(start_realtime_ns_));
}

std::uint64_t RecordingReader::duration_ns(std::uint64_t ticks) const {
    const Wide nanoseconds = static_cast<Wide>(ticks) * 1'000'000'000 / static_cast<Wide>(facts_.ticks_per_second);
    return static_cast<std::uint64_t>(std::min<Wide>(nanoseconds, INT64_MAX));
}

RecordingReader::RowCounters RecordingReader::to_counters(const CounterRecord& record) const {
    RowCounters result{
        record.row_plus_one - 1,
        {record.calls, duration_ns(record.total), duration_ns(record.shortest), duration_ns(record.longest),
         realtime_of(record.first), realtime_of(record.last), record.timed}};
    add_gpu_times(result);
    return result;
}

RecordedEvent RecordingReader::to_event(const EventCursor::Event& recorded, std::uint32_t slot) const {
    RecordedEvent event;
    event.ticks = recorded.record.time;
    event.end_ns = realtime_of(event.ticks);
    event.row = format::row_of(recorded.record);
    event.slot = slot;
    event.thread = recorded.thread;
    const std::uint64_t duration = format::duration_of(recorded.record);
    event.is_timed = duration != format::untimed;
    if (event.is_timed) {
        event.duration_ns = duration_ns(duration);
    } else if (const CounterRecord* counted = counters_of(event.row)) {
        event.duration_ns = duration_ns(mean_duration(*counted));
        const auto most = static_cast<std::uint64_t>(farthest_time_ns - event.end_ns);
        event.end_ns += static_cast<std::int64_t>(std::min(event.duration_ns, most));
    }
    return event;
}

const CounterRecord* RecordingReader::counters_of(std::uint32_t row) const {
    if (counters_.empty() || row + 1 < counters_.front().row_plus_one) return nullptr;
    // In most recordings every row has calls, so the index of a row's counters usually follows from the row's number.
    const std::size_t guess = row + 1 - counters_.front().row_plus_one;
    if (guess < counters_.size() && counters_[guess].row_plus_one == row + 1) return &counters_[guess];
    const auto found = std::ranges::lower_bound(counters_, row + 1, {}, &CounterRecord::row_plus_one);
    return found != counters_.end() && found->row_plus_one == row + 1 ? &*found : nullptr;
}

const RecordedRow* RecordingReader::row(std::uint32_t id) const {
    const RecordedRow* found = row_reader_->row(id);
    if (found == nullptr && counters_of(id) != nullptr)
        problems_->add(facts_.file_size, "counters name row " + std::to_string(id) +
                                             ", which is not in the file; their calls are counted as unknown");
    return found;
}

std::uint64_t RecordingReader::event_count() const {
    std::uint64_t sum = 0;
    for (const auto& [number, events] : events_) sum += events.count();
    return sum;
}

bool MergedEventCursor::Slot::operator<(const Slot& other) const {
    return std::pair(next.record.time, cursor->slot()) > std::pair(other.next.record.time, other.cursor->slot());
}

MergedEventCursor::MergedEventCursor(const RecordingReader& reader, const std::vector<std::uint64_t>& after)
    : reader_(&reader) {
    for (const auto& [number, events] : reader.events_) {
        std::uint64_t seen = number < after.size() ? after[number] : 0;
        if (const auto earlier = reader.left_out_events_.find(number); earlier != reader.left_out_events_.end())
            seen = std::max(seen, earlier->second);
        auto cursor = std::make_unique<EventCursor>(*reader.bytes_, events, seen, *reader.problems_);
        if (const auto event = cursor->next()) slots_.push_back({std::move(cursor), *event});
    }
    std::make_heap(slots_.begin(), slots_.end());
}

std::optional<RecordedEvent> MergedEventCursor::next() {
    if (slots_.empty()) return std::nullopt;
    if (slots_.size() > 1) std::pop_heap(slots_.begin(), slots_.end());
    Slot& earliest = slots_.back();
    const RecordedEvent event = reader_->to_event(earliest.next, earliest.cursor->slot());
    if (const auto next = earliest.cursor->next()) {
        earliest.next = *next;
        if (slots_.size() > 1) std::push_heap(slots_.begin(), slots_.end());
    } else {
        slots_.pop_back();
    }
    return event;
}

void RecordingReader::visit_events(const std::function<void(const RecordedEvent&)>& visitor) const {
    MergedEventCursor all = events();
    while (const auto event = all.next()) visitor(*event);
}

std::string RecordingReader::subtract_earlier_copy(const RecordingReader& earlier) {
    if (facts_.identity != earlier.facts_.identity || facts_.opened_ticks != earlier.facts_.opened_ticks)
        return "is no copy of it";
    std::vector<CounterRecord> rest = counters_;
    for (const CounterRecord& before : earlier.counters_) {
        const auto now = std::ranges::lower_bound(rest, before.row_plus_one, {}, &CounterRecord::row_plus_one);
        if (now == rest.end() || now->row_plus_one != before.row_plus_one || now->calls < before.calls)
            return "is not an earlier copy of it: it has calls that are not in the recording";
        subtract_calls(*now, before);
    }
    std::erase_if(rest, [](const CounterRecord& counters) { return counters.calls == 0; });
    counters_ = std::move(rest);
    for (const auto& [row, before] : earlier.gpu_times_) {
        const auto now = gpu_times_.find(row);
        if (now == gpu_times_.end()) continue;
        subtract(now->second.samples, before.samples);
        subtract(now->second.total, before.total);
        subtract(now->second.total_of_first_calls, before.total_of_first_calls);
        now->second.first_calls -= std::min(now->second.first_calls, before.first_calls);
        if (now->second.samples == 0) gpu_times_.erase(now);
    }
    subtract(total_calls_, earlier.total_calls_);
    subtract(uncounted_calls_, earlier.uncounted_calls_);
    subtract(dropped_events_, earlier.dropped_events_);
    subtract(overwritten_events_, earlier.overwritten_events_);
    subtract(lost_audits_, earlier.lost_audits_);
    subtract(searched_calls_, earlier.searched_calls_);
    for (const auto& [number, events] : earlier.events_)
        left_out_events_[number] = std::max(events.ring_last, events.last_appended);
    CallRecordCursor<format::AuditRecord> audits(*earlier.bytes_, earlier.audit_segments_);
    while (audits.next() != nullptr) ++left_out_audits_[audits.slot()];
    return {};
}

}  // namespace fp32shim::record
