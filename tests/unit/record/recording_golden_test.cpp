// Tests that the format does not change unnoticed. Files of version 1 are read as they were written, and this version
// writes the same bytes. No truncated file makes the reader crash, or goes unreported.
//
// After an intended change of the format: FP32SHIM_WRITE_GOLDEN=1 recording_tests --gtest_filter='*Golden*', and a
// new version number if older readers would misread the file.
#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string_view>

#include "recording_fixture.hpp"

namespace fp32shim::record::test {
namespace {

const std::string golden_folder = FP32SHIM_GOLDEN_DIR;

constexpr std::uint8_t build_id[] = {0xc0, 0xff, 0xee};

struct Golden {
    const char* name;
    policy::LogLevel level;
    bool with_results;  ///< true: the first call was audited, and has a fingerprint
};

Audit written_audit() {
    Audit audit;
    audit.tested = policy::AuditFormat::tf32;
    audit.flags = audit_exceeds_tolerance;
    audit.errors = {0.25, 0.5, 1, 2, 4, 8};
    audit.worst_row = 5;
    audit.worst_column = 6;
    audit.a = {-3, 4};
    audit.fp32_error = 1;  // the version that wrote the file stored 1 for alpha here
    return audit;
}

Fingerprint written_fingerprint() {
    Fingerprint fingerprint;
    fingerprint.flags = fingerprint_nonfinite;
    fingerprint.hash = 0x0123456789abcdef;
    fingerprint.norm = 3;
    for (int i = 0; i < sketch_size; ++i) fingerprint.sketch[i] = 0.5 * i;
    return fingerprint;
}

/// Writes what a golden file's program would record: two decisions at `summary`; at `calls` slightly more than a
/// ring.
void write_program(const std::string& path, const Golden& golden) {
    const policy::LogLevel level = golden.level;
    ProcessFacts who = facts();
    who.pid = 4242;
    who.rank = 0;
    who.rank_from = "SLURM_PROCID";
    who.job_id = "4711";
    who.job_id_from = "SLURM_JOB_ID";
    StartEvent what = start(level);
    what.policy_name = "prod-a100";
    what.policy_revision = "2026-11-21.3";
    what.policy_sha256 = std::string(64, '7');
    what.floor = policy::Floor::bf16;
    const Recording::OpenResult opened = Recording::open(path, who, what, {});
    ASSERT_EQ(opened.error, "");
    const std::unique_ptr<Recording> recording(opened.recording);
    ThreadWriter* writer = recording->attach_thread();
    const bool with_events = level == policy::LogLevel::calls;
    const auto square = [](DecisionEvent& decision) { describe_square(decision, 128); };
    const auto lt = [](DecisionEvent& decision) {
        decision.call.function = "cublasLtMatmul";
        decision.call.caller = "libtorch_cuda.so";
        decision.call.scope = "inference";
        decision.call.device = policy::Device::cuda;
        decision.call.device_index = 1;
        decision.call.compute_capability = 75;
        decision.call.m = 4096;
        decision.call.n = 512;
        decision.call.k = 1024;
        decision.call.batch = 16;
        decision.provider = "libcublasLt.so.13";
        decision.requested = policy::Precision::automatic;
        decision.source = policy::Source::rule;
        decision.rule = "large products";
        decision.applied = policy::AppliedFormat::fp32;
        decision.reason = policy::Reason::compute_capability;
        decision.status = 0;
    };
    // Ticks of 1 ns, starting at 1'000'000: see normalize().
    const int calls = with_events ? static_cast<int>(format::EventSegment::capacity) + 3 : 3;
    for (int i = 0; i < calls; ++i) {
        const std::uint64_t begin = 2'000'000 + static_cast<std::uint64_t>(i) * 1000;
        const std::uint64_t end = begin + 500 + static_cast<std::uint64_t>(i) % 10;
        recording->count(*writer, 1, begin, end, with_events, square);
        if (!golden.with_results || i > 0) continue;
        recording->add_audit(*writer, 1, end, written_audit());
        recording->add_fingerprint(*writer, 1, end, written_fingerprint());
    }
    recording->count(*writer, 2, 9'000'000, 9'004'096, with_events, lt);
    recording->control()->record_precision_change(policy::Precision::highest);
    recording->objects()->add({"", build_id, false});
    recording->objects()->add({"/usr/lib/libfoo.so", {}, false});
    recording->objects()->add({"/usr/lib/libfoo.so", {}, true});
    recording->objects()->mark_complete(1);
    recording->record_exit();
}

/// Replaces everything that differs from run to run by the values in the golden files.
void normalize(std::string& bytes) {
    auto& header = *reinterpret_cast<format::Header*>(bytes.data());
    header.pid = 4242;
    header.start_realtime_ns = 1'795'000'000'000'000'000;
    header.start_monotonic_ns = 5'000'000'000;
    header.start_ticks = 1'000'000;
    header.ticks_per_second = 1'000'000'000;
    header.process_start = 100;
    header.pid_namespace = 4026531836;
    header.architecture = static_cast<std::uint8_t>(format::Architecture::x86_64);
    header.processor = 0;
    header.user_and_one = 0;
    std::memset(header.boot_id, 0x5a, sizeof header.boot_id);
    header.changes[0].time = 9'500'000;
    header.objects_looked_at = 9'600'000;
    header.exited_at = 9'600'000;
    for (std::size_t offset = format::segment_size; offset < bytes.size(); offset += format::segment_size) {
        auto& segment = *reinterpret_cast<format::SegmentHeader*>(bytes.data() + offset);
        if (segment.thread != 0) segment.thread = 4243;
        if (segment.kind == static_cast<std::uint32_t>(format::SegmentKind::fingerprints))
            reinterpret_cast<format::FingerprintSegment*>(bytes.data() + offset)->entries[0].thread = 4243;
        if (segment.kind != static_cast<std::uint32_t>(format::SegmentKind::objects)) continue;
        auto& objects = *reinterpret_cast<format::ObjectSegment*>(bytes.data() + offset);
        for (format::ObjectRecord& object : objects.entries)
            if (object.published != 0) {
                object.first_seen = 9'600'000;
                object.file = {};  // the program may exist on this machine
            }
    }
}

class RecordingGolden : public testing::TestWithParam<Golden> {
  protected:
    std::string path() const { return golden_folder + "/" + GetParam().name; }
};

TEST_P(RecordingGolden, IsWhatThisVersionWritesByteForByte) {
    const TemporaryFolder folder;
    write_program(folder / "run.fp32rec", GetParam());
    std::string written = bytes_of(folder / "run.fp32rec");
    normalize(written);
    if (std::getenv("FP32SHIM_WRITE_GOLDEN") != nullptr) std::ofstream(path(), std::ios::binary) << written;
    const std::string golden = bytes_of(path());
    ASSERT_EQ(golden.size(), written.size());
    const auto [different, _] = std::mismatch(golden.begin(), golden.end(), written.begin());
    EXPECT_EQ(different, golden.end()) << "they differ from offset " << different - golden.begin() << " on";
}

void expect_written_objects(const RecordedObjectList& objects, std::string_view executable) {
    ASSERT_EQ(objects.all.size(), 2U);
    EXPECT_EQ(objects.all[0].path, executable);
    EXPECT_EQ(objects.all[0].build_id, std::vector<std::uint8_t>(std::begin(build_id), std::end(build_id)));
    EXPECT_FALSE(objects.all[0].has_flag(record::format::object_is_bound_past));
    EXPECT_EQ(objects.all[1].path, "/usr/lib/libfoo.so");
    EXPECT_TRUE(objects.all[1].build_id.empty());
    EXPECT_TRUE(objects.all[1].has_flag(record::format::object_is_bound_past));
    EXPECT_EQ(objects.looked_at_ns, 1'795'000'000'000'000'000 + 8'600'000);
    EXPECT_TRUE(objects.until_exit);
    EXPECT_FALSE(objects.are_missing);
    EXPECT_FALSE(objects.had_lookup_past);
}

void expect_written_results(const RecordingReader& reader, bool with_results) {
    std::vector<RecordedAudit> audits;
    reader.visit_audits([&](const RecordedAudit& audit) {
        audits.push_back(audit);
        return true;
    });
    ASSERT_EQ(audits.size(), with_results ? 1U : 0U);
    ASSERT_EQ(reader.slots_with_fingerprints().size(), audits.size());
    if (!with_results) return;
    EXPECT_EQ(audits[0].row, 1U);
    EXPECT_EQ(audits[0].audit.flags, audit_exceeds_tolerance);
    EXPECT_EQ(audits[0].audit.errors.column, 8);
    EXPECT_EQ(audits[0].audit.a, (ExponentRange{-3, 4}));
    FingerprintCursor fingerprints = reader.fingerprints(reader.slots_with_fingerprints()[0]);
    const auto first = fingerprints.next();
    ASSERT_TRUE(first);
    EXPECT_EQ(first->row, 1U);
    EXPECT_EQ(first->number, 0U);
    EXPECT_EQ(first->thread, 4243);
    EXPECT_EQ(first->end_ns, 1'795'000'000'000'000'000 + 1'000'500);
    EXPECT_FALSE(first->fingerprint.is_finite());
    EXPECT_EQ(first->fingerprint.hash, written_fingerprint().hash);
    EXPECT_EQ(first->fingerprint.norm, 3);
    EXPECT_EQ(estimated_distance(first->fingerprint, written_fingerprint()), 0);
    EXPECT_FALSE(fingerprints.next());
}

TEST_P(RecordingGolden, ReadsAsItWasWritten) {
    const auto reader = read_recording(path());
    ASSERT_TRUE(reader);
    const bool with_events = GetParam().level == policy::LogLevel::calls;
    const std::vector<RecordedEvent> events = events_of(*reader);
    expect_no_problems(*reader);
    const RecordingFacts& read = reader->facts();
    EXPECT_EQ(read.format_version, 1U);
    EXPECT_EQ(read.process.pid, 4242);
    EXPECT_EQ(read.process.host, "node17");
    EXPECT_EQ(read.process.job_id, "4711");
    EXPECT_EQ(read.process.command, "python3 train.py --epochs 3");
    EXPECT_EQ(read.start.policy_name, "prod-a100");
    EXPECT_EQ(read.start.floor, policy::Floor::bf16);
    EXPECT_EQ(read.start.log_level, GetParam().level);
    EXPECT_EQ(read.architecture, format::Architecture::x86_64);
    EXPECT_EQ(reader->state(), RecordingState::unknown);

    const std::uint64_t squares = with_events ? format::EventSegment::capacity + 3 : 3;
    EXPECT_EQ(reader->total_calls(), squares + 1);
    ASSERT_EQ(reader->counters().size(), 2U);
    const auto& [first_row, first] = reader->counters()[0];
    EXPECT_EQ(first_row, 1U);
    EXPECT_EQ(first.calls, squares);
    EXPECT_EQ(first.shortest_ns, 500U);
    EXPECT_EQ(first.longest_ns, with_events ? 509U : 502U);
    EXPECT_EQ(first.first_ns, 1'795'000'000'000'000'000 + 1'000'500);
    const DecisionEvent& square = reader->row(1)->decision;
    EXPECT_EQ(square.call.function, "cblas_sgemm");
    EXPECT_EQ(square.applied, policy::AppliedFormat::tf32);
    const DecisionEvent& lt = reader->row(2)->decision;
    EXPECT_EQ(lt.call.scope, "inference");
    EXPECT_EQ(lt.rule, "large products");
    EXPECT_EQ(lt.reason, policy::Reason::compute_capability);
    EXPECT_EQ(lt.status, 0);
    EXPECT_EQ(reader->counters()[1].counters.total_ns, 4096U);
    ASSERT_EQ(reader->changes().size(), 1U);
    EXPECT_EQ(reader->changes()[0].precision, policy::Precision::highest);
    EXPECT_EQ(reader->changes()[0].time_ns, 1'795'000'000'000'000'000 + 8'500'000);

    expect_written_objects(reader->objects(), read.process.executable);
    expect_written_results(*reader, GetParam().with_results);
    if (!with_events) {
        EXPECT_TRUE(events.empty());
        return;
    }
    ASSERT_EQ(events.size(), squares + 1);
    EXPECT_EQ(events[0].begin_ns(), 1'795'000'000'000'000'000 + 1'000'000);
    EXPECT_EQ(events[0].duration_ns, 500U);
    EXPECT_EQ(events[0].thread, 4243);
    EXPECT_EQ(events.back().row, 2U);
    EXPECT_EQ(events.back().duration_ns, 4096U);
}

/// Returns true if there is content within 64 bytes of this offset. Most of a recording is unused space, all zeros.
bool near_contents(std::string_view bytes, std::size_t offset) {
    const std::size_t begin = offset < 64 ? 0 : offset - 64;
    return bytes.substr(begin, offset + 64 - begin).find_first_not_of('\0') != std::string_view::npos;
}

TEST_P(RecordingGolden, CutAtEveryLengthItNeverCrashesAndAlwaysReports) {
    const std::string golden = bytes_of(path());
    const auto complete = read_recording(path());
    const int file = memfd_create("cut", MFD_CLOEXEC);
    ASSERT_EQ(write(file, golden.data(), golden.size()), static_cast<ssize_t>(golden.size()));
    for (std::size_t length = golden.size(); length-- > 0;) {
        // All lengths would take minutes. Without contents nearby, and under sanitizers, only the ends of entries are
        // tried.
        if ((sanitized || !near_contents(golden, length)) && length % 64 > 1) continue;
        ASSERT_EQ(ftruncate(file, static_cast<off_t>(length)), 0);
        RecordingReader::OpenResult opened = RecordingReader::open_descriptor(fcntl(file, F_DUPFD_CLOEXEC, 0));
        if (opened.reader == nullptr) {
            ASSERT_NE(opened.error, "") << length;
            continue;
        }
        ASSERT_FALSE(opened.reader->problems().empty()) << length;
        for (const FileProblem& problem : opened.reader->problems()) ASSERT_LE(problem.offset, length);
        // Reading events takes as long as reading everything else, so it is done around the ends of pages only.
        if (length % 4096 <= 1 || length % 4096 == 4095) {
            std::uint64_t events = 0;
            opened.reader->visit_events([&](const RecordedEvent&) { return ++events > 0; });
            ASSERT_LE(events, complete->event_count());
        }
        ASSERT_LE(opened.reader->total_calls(), complete->total_calls());
    }
    close(file);
}

INSTANTIATE_TEST_SUITE_P(
    Version1, RecordingGolden,
    testing::Values(Golden{"recording_version1_summary.fp32rec", policy::LogLevel::summary, false},
                    Golden{"recording_version1_calls.fp32rec", policy::LogLevel::calls, false},
                    Golden{"recording_version1_results.fp32rec", policy::LogLevel::summary, true}),
    [](const auto& info) {
        const std::string_view name = info.param.name;
        const std::size_t begin = name.rfind('_') + 1;
        return std::string(name.substr(begin, name.find('.') - begin));
    });

/// A golden file with some of its bytes changed.
class ChangedGolden {
  public:
    ChangedGolden() : bytes_(bytes_of(golden_folder + "/recording_version1_calls.fp32rec")) {}

    format::Header& header() { return *reinterpret_cast<format::Header*>(bytes_.data()); }
    template <class Segment>
    Segment& first(format::SegmentKind kind) {
        for (std::size_t offset = format::segment_size;; offset += format::segment_size) {
            auto* segment = reinterpret_cast<Segment*>(bytes_.data() + offset);
            if (segment->header.kind == static_cast<std::uint32_t>(kind)) return *segment;
        }
    }
    RecordingReader::OpenResult open() const {
        const int file = memfd_create("changed", MFD_CLOEXEC);
        EXPECT_EQ(write(file, bytes_.data(), bytes_.size()), static_cast<ssize_t>(bytes_.size()));
        return RecordingReader::open_descriptor(file);
    }
    /// Returns the text of the file's only problem.
    std::string problem() const {
        const RecordingReader::OpenResult opened = open();
        if (opened.reader == nullptr) return opened.error;
        events_of(*opened.reader);
        read_rows_and_objects(*opened.reader);
        EXPECT_EQ(opened.reader->problems().size(), 1U);
        return opened.reader->problems().empty() ? "" : opened.reader->problems()[0].what;
    }

  private:
    std::string bytes_;
};

TEST(RecordingBadInput, ANewerVersionShowsTheFactsAndSaysWhatToDo) {
    ChangedGolden file;
    file.header().version = 2;
    const RecordingReader::OpenResult opened = file.open();
    ASSERT_TRUE(opened.reader);
    EXPECT_EQ(opened.reader->facts().process.host, "node17");
    opened.reader->visit_rows([](const RecordedRow& row) {
        ADD_FAILURE() << row.id;
        return true;
    });
    EXPECT_EQ(opened.reader->problems()[0].offset, 8U);
    EXPECT_NE(file.problem().find("format version 2, but this fp32shim reads version 1"), std::string::npos);
}

TEST(RecordingBadInput, ForeignFilesAreNamedAsSuch) {
    ChangedGolden foreign;
    foreign.header().magic = 0x464c457f;
    EXPECT_NE(foreign.problem().find("offset 0: not an fp32shim recording"), std::string::npos);
    ChangedGolden swapped;
    swapped.header().magic = __builtin_bswap64(format::magic);
    EXPECT_NE(swapped.problem().find("a different byte order"), std::string::npos);
    ChangedGolden unfinished;
    unfinished.header().magic = 0;
    EXPECT_NE(unfinished.problem().find("not a complete recording yet"), std::string::npos);
    EXPECT_NE(RecordingReader::open("/nonexistent").error.find("no such file"), std::string::npos);
    EXPECT_NE(RecordingReader::open("/tmp").error.find("not a regular file"), std::string::npos);
    EXPECT_NE(RecordingReader::open("/dev/null").error.find("not a regular file"), std::string::npos);
}

TEST(RecordingBadInput, WhatIsWrongIsNamedAndTheRestIsStillThere) {
    ChangedGolden text;
    text.header().texts[static_cast<std::size_t>(format::HeaderText::host)] = {0xfffffff0, 0xfffffff0};
    EXPECT_NE(text.problem().find("the header places a text at"), std::string::npos);
    EXPECT_EQ(text.open().reader->facts().process.executable, facts().executable);

    ChangedGolden rate;
    rate.header().ticks_per_second = 0;
    EXPECT_NE(rate.problem().find("the rate of the processor's counter is 0"), std::string::npos);

    ChangedGolden row;
    row.first<format::RowSegment>(format::SegmentKind::rows).entries[1].content.function = 0xffffffff;
    EXPECT_NE(row.problem().find("a text 1048575:65520 that is not in the file"), std::string::npos);
    EXPECT_EQ(row.open().reader->row(1)->decision.call.caller, "libfoo.so");

    ChangedGolden missing;
    missing.first<format::RowSegment>(format::SegmentKind::rows).entries[2].published = 0;
    EXPECT_NE(missing.problem().find("counters name row 2, which is not in the file"), std::string::npos);
    EXPECT_EQ(missing.open().reader->total_calls(), format::EventSegment::capacity + 4);

    ChangedGolden counters;
    counters.first<format::CounterSegment>(format::SegmentKind::counters).entries[1].row_plus_one = 0xffffffff;
    EXPECT_NE(counters.problem().find("counters of row 4294967294"), std::string::npos);

    ChangedGolden kind;
    kind.first<format::EventSegment>(format::SegmentKind::events).header.kind = 99;
    EXPECT_FALSE(kind.open().reader->problems().empty());
    EXPECT_EQ(kind.open().reader->total_calls(), format::EventSegment::capacity + 4);

    ChangedGolden times;
    auto& events = times.first<format::EventSegment>(format::SegmentKind::events);
    events.header.first_time = 5;
    events.header.last_time = 4;
    EXPECT_NE(times.open().reader->problems()[0].what.find("do not follow"), std::string::npos);

    ChangedGolden sums;
    sums.header().start_ticks = UINT64_MAX;
    sums.header().ticks_per_second = 1;
    sums.header().start_realtime_ns = INT64_MIN;
    sums.first<format::CounterSegment>(format::SegmentKind::counters).entries[1].total = UINT64_MAX;
    sums.first<format::EventSegment>(format::SegmentKind::ring).entries[0].duration_row = UINT64_MAX;
    const auto reader = sums.open().reader;
    for (const RecordedEvent& event : events_of(*reader)) EXPECT_GE(event.end_ns, INT64_MIN);
}

}  // namespace
}  // namespace fp32shim::record::test
