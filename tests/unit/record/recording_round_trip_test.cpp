// Tests that everything counted is read back: record/write/writer.hpp and record/read/reader.hpp together.
#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <map>
#include <set>
#include <thread>

#include "record/pinned_variables.hpp"
#include "record/processor.hpp"
#include "recording_fixture.hpp"
#include "system/small_files.hpp"

namespace fp32shim::record::test {
namespace {

TEST(RecordingRoundTrip, AFreshRecordingHasItsFactsAndNothingElse) {
    const TemporaryFolder folder;
    ProcessFacts who = facts();
    who.rank = 3;
    who.rank_from = "SLURM_PROCID";
    who.job_id = "4711";
    who.job_id_from = "SLURM_JOB_ID";
    StartEvent what = start(policy::LogLevel::summary);
    what.policy_name = "prod-a100";
    what.policy_revision = "2026-11-21.3";
    what.policy_sha256 = std::string(64, 'a');
    what.floor = policy::Floor::tf32;
    what.cpu_mode = policy::CpuMode::emulate;
    what.tf32_rounding = policy::Tf32Rounding::even;
    who.pins = pins_known | pin_nvidia;
    const std::int64_t before = system::raw::realtime_ns();
    const Recording::OpenResult opened = Recording::open(folder / "run.%p.fp32rec", who, what, {});
    ASSERT_EQ(opened.error, "");
    const std::unique_ptr<Recording> recording(opened.recording);
    EXPECT_EQ(recording->path(), folder / ("run." + std::to_string(getpid()) + ".fp32rec"));

    const auto reader = read_recording(recording->path());
    ASSERT_TRUE(reader);
    expect_no_problems(*reader);
    const RecordingFacts& read = reader->facts();
    EXPECT_EQ(read.format_version, 1U);
    EXPECT_EQ(read.process.pid, getpid());
    EXPECT_EQ(read.process.host, who.host);
    EXPECT_EQ(read.process.rank, 3);
    EXPECT_EQ(read.process.rank_from, "SLURM_PROCID");
    EXPECT_EQ(read.process.job_id, "4711");
    EXPECT_EQ(read.process.job_id_from, "SLURM_JOB_ID");
    EXPECT_EQ(read.process.executable, who.executable);
    EXPECT_EQ(read.process.command, who.command);
    EXPECT_EQ(read.process.start_ns, who.start_ns);
    EXPECT_EQ(read.process.pins, who.pins);
    EXPECT_EQ(read.start.version, "0.1.0");
    EXPECT_EQ(read.start.policy_name, "prod-a100");
    EXPECT_EQ(read.start.policy_revision, "2026-11-21.3");
    EXPECT_EQ(read.start.policy_sha256, std::string(64, 'a'));
    EXPECT_EQ(read.start.default_precision, policy::Precision::high);
    EXPECT_EQ(read.start.floor, policy::Floor::tf32);
    EXPECT_EQ(read.start.cpu_mode, policy::CpuMode::emulate);
    EXPECT_EQ(read.start.tf32_rounding, policy::Tf32Rounding::even);
    EXPECT_EQ(read.start.log_level, policy::LogLevel::summary);
    EXPECT_EQ(read.process.forked_from, 0);
    EXPECT_EQ(read.max_size, 1ULL << 30);
    EXPECT_EQ(read.flags, 0U);
    EXPECT_NEAR(static_cast<double>(read.opened_ns), static_cast<double>(before), 5e9);
    EXPECT_EQ(reader->state(), RecordingState::live);
    EXPECT_EQ(reader->total_calls(), 0U);
    EXPECT_TRUE(reader->counters().empty());
    EXPECT_TRUE(events_of(*reader).empty());
    EXPECT_TRUE(reader->changes().empty());
}

TEST(RecordingRoundTrip, TheProcessorIsKnownFromTheBeginningAndItsPermissionForAmxAtTheEnd) {
    const TemporaryFolder folder;
    const Recording::OpenResult opened = Recording::open(folder / "a.fp32rec", facts(), start(), {});
    ASSERT_EQ(opened.error, "");
    const std::unique_ptr<Recording> recording(opened.recording);
    const std::string path = recording->path();
    using Facts = std::vector<std::pair<EnvironmentFact, std::string>>;
    const auto noted = [&] {
        Facts found;
        const auto reader = read_recording(path);
        for (const RecordedEnvironmentFact& each : reader->environment()) found.emplace_back(each.fact, each.value);
        return found;
    };
    Facts expected{{EnvironmentFact::features, feature_names(processor_feature_word())}};
    EXPECT_EQ(noted(), expected);
    errno = 4711;
    const std::uint16_t permission = query_amx_permission();
    EXPECT_EQ(errno, 4711);
    recording->record_exit();
    EXPECT_EQ(read_recording(path)->facts().processor, processor_feature_word() | permission);
    EXPECT_EQ(noted().size(), (permission & amx_was_asked) != 0 ? 2U : 1U);
    for (const bool is_permitted : {false, true}) {
        const auto word = static_cast<std::uint16_t>(processor_feature_word() | amx_was_asked |
                                                     (is_permitted ? amx_is_permitted : 0));
        std::fstream(path, std::ios::in | std::ios::out | std::ios::binary)
            .seekp(offsetof(format::Header, processor))
            .write(reinterpret_cast<const char*>(&word), sizeof word);
        expected.resize(1);
        expected.emplace_back(EnvironmentFact::amx, is_permitted ? "permitted" : "not permitted");
        EXPECT_EQ(noted(), expected);
    }
}

TEST(Processor, HasNamesForItsFeaturesAndNoneForWhatIsNotKnown) {
    EXPECT_EQ(feature_names(0), "");
    EXPECT_EQ(feature_names(has_avx512bw), "");
    EXPECT_EQ(feature_names(processor_is_x86_64), "none");
    EXPECT_EQ(feature_names(processor_is_x86_64 | has_avx512bw | has_avx_ne_convert | amx_was_asked),
              "avx512bw avx_ne_convert");
    EXPECT_EQ(feature_names(processor_is_aarch64 | 1U), "asimdhp");
    EXPECT_EQ(feature_names(processor_is_x86_64 | 0xfff),
              "avx512bw avx512_bf16 avx512_fp16 avx10_2 avx_ne_convert amx_bf16 amx_fp16 amx_tf32");
    EXPECT_EQ(feature_names(processor_is_aarch64 | 0xfff),
              "asimdhp asimdfhm bf16 i8mm svebf16 sveb16b16 sme smef16f32 smeb16f32 smef16f16 smeb16b16");
}

TEST(Processor, IsNotAskedForAmxOnceAFilterOfSystemCallsMayBeThere) {
    EXPECT_EQ(in_child([] {
                  stop_amx_queries();
                  return query_amx_permission() == 0 ? 0 : 1;
              }),
              0);
}

TEST(RecordingRoundTrip, TheEnvironmentHasEachValueOfAFactOnceAndNoMoreThanThereIsRoomFor) {
    const TemporaryFolder folder;
    const Recording::OpenResult opened = Recording::open(folder / "a.fp32rec", facts(), start(), {});
    ASSERT_EQ(opened.error, "");
    const std::unique_ptr<Recording> recording(opened.recording);
    EnvironmentFactList& list = *recording->environment();
    EXPECT_TRUE(list.begin_once_per_process());
    EXPECT_FALSE(list.begin_once_per_process());
    list.add_fact(EnvironmentFact::processor, {}, "A processor");
    list.add_fact(EnvironmentFact::python, {}, "");
    for (int i = 0; i < 2; ++i)
        for (const char* threads : {"1", "2"}) list.add_fact(EnvironmentFact::threads, "libblas.so.3", threads);
    for (int i = 0; i < 100; ++i) list.add_fact(EnvironmentFact::gpu, "cuda:0", std::to_string(i));

    const auto reader = read_recording(recording->path());
    ASSERT_TRUE(reader);
    expect_no_problems(*reader);
    const std::vector<RecordedEnvironmentFact>& read = reader->environment();
    ASSERT_EQ(read.size(), format::environment_limit + 1);
    EXPECT_EQ(read[0].fact, EnvironmentFact::processor);
    EXPECT_EQ(read[0].subject + "|" + read[0].value, "|A processor");
    EXPECT_EQ(read[1].subject + "|" + read[1].value, "libblas.so.3|1");
    EXPECT_EQ(read[2].value, "2");
    EXPECT_EQ(read[3].fact, EnvironmentFact::gpu);
    EXPECT_EQ(read.back().fact, EnvironmentFact::features);
    EXPECT_EQ(in_child([&] {
                  EnvironmentFactList* own = recording->environment();
                  return own != nullptr && own->begin_once_per_process() && !own->begin_once_per_process() ? 0 : 1;
              }),
              0);
}

/// A decision in which every field that a recording stores differs from its default.
DecisionEvent full_decision() {
    DecisionEvent full;
    full.call.function = "cublasGemmEx";
    full.call.caller = "libtorch_cuda.so";
    full.call.scope = "inference/layer3";
    full.call.dtype = policy::Dtype::complex64;
    full.call.device = policy::Device::cuda;
    full.call.device_index = 2;
    full.call.compute_capability = 90;
    full.call.trans_a = 'C';
    full.call.trans_b = 'N';
    full.call.m = 1LL << 40;
    full.call.n = 5;
    full.call.k = -1;
    full.call.batch = 16;
    full.provider = "libcublas.so.13";
    full.requested = policy::Precision::bf16x9;
    full.source = policy::Source::rule;
    full.rule = "small products";
    full.applied = policy::AppliedFormat::bf16x9;
    full.actual = policy::AppliedFormat::tf32;
    full.how = How::compute_type;
    full.reason = policy::Reason::protected_call;
    full.detail = "détail";
    full.status = -7;
    return full;
}

void expect_same_fields(const DecisionEvent& read, const DecisionEvent& full) {
    EXPECT_EQ(read.call.function, full.call.function);
    EXPECT_EQ(read.call.caller, full.call.caller);
    EXPECT_EQ(read.call.scope, full.call.scope);
    EXPECT_EQ(read.call.dtype, full.call.dtype);
    EXPECT_EQ(read.call.device, full.call.device);
    EXPECT_EQ(read.call.device_index, 2);
    EXPECT_EQ(read.call.compute_capability, 90);
    EXPECT_EQ(read.call.trans_a, 'C');
    EXPECT_EQ(read.call.trans_b, 'N');
    EXPECT_EQ(read.call.m, 1LL << 40);
    EXPECT_EQ(read.call.n, 5);
    EXPECT_EQ(read.call.k, -1);
    EXPECT_EQ(read.call.batch, 16);
    EXPECT_EQ(read.provider, full.provider);
    EXPECT_EQ(read.requested, full.requested);
    EXPECT_EQ(read.source, full.source);
    EXPECT_EQ(read.rule, full.rule);
    EXPECT_EQ(read.applied, full.applied);
    EXPECT_EQ(read.actual, full.actual);
    EXPECT_EQ(read.how, full.how);
    EXPECT_EQ(read.reason, full.reason);
    EXPECT_EQ(read.detail, full.detail);
    EXPECT_EQ(read.status, -7);
    EXPECT_EQ(read.host_ns, -1);
}

TEST(RecordingRoundTrip, EveryFieldOfADecisionComesBack) {
    const TemporaryFolder folder;
    const auto recording = open_recording(folder / "run.fp32rec");
    ThreadWriter* writer = recording->attach_thread();
    const DecisionEvent full = full_decision();
    recording->count(*writer, 17, 1000, 5000, true, [&](DecisionEvent& decision) { decision = full; });
    recording->count(*writer, 18, 6000, 7000, true, [&](DecisionEvent& decision) { describe_square(decision, 8); });

    const auto reader = read_recording(folder / "run.fp32rec");
    expect_no_problems(*reader);
    const std::vector<RecordedEvent> events = events_of(*reader);
    ASSERT_EQ(events.size(), 2U);
    const RecordedRow* row = reader->row(events[0].row);
    ASSERT_NE(row, nullptr);
    expect_same_fields(row->decision, full);
    EXPECT_FALSE(row->is_folded || row->is_overflow);
    const DecisionEvent& plain = reader->row(events[1].row)->decision;
    EXPECT_FALSE(plain.status || plain.actual);
    EXPECT_EQ(plain.call.device_index, -1);
    EXPECT_EQ(plain.rule, "");
}

TEST(RecordingRoundTrip, CountersHaveCallsAndTimesInNanoseconds) {
    const TemporaryFolder folder;
    const auto recording = open_recording(folder / "run.fp32rec", {}, policy::LogLevel::summary);
    ThreadWriter* writer = recording->attach_thread();
    const std::uint64_t now = ticks();
    const auto describe = [](DecisionEvent& decision) { describe_square(decision, 8); };
    for (const std::uint64_t duration : {3'000'000U, 1'000'000U, 2'000'000U})
        recording->count(*writer, 1, now, now + duration, false, describe);
    recording->count(*writer, 1, now, now - 50, false, describe);  // a counter that ran backwards

    const auto reader = read_recording(folder / "run.fp32rec");
    ASSERT_EQ(reader->counters().size(), 1U);
    const RecordedCounters& counters = reader->counters()[0].counters;
    const double ns = 1e9 / static_cast<double>(reader->facts().ticks_per_second);
    EXPECT_EQ(counters.calls, 4U);
    EXPECT_NEAR(static_cast<double>(counters.total_ns), 6e6 * ns, 2);
    EXPECT_EQ(counters.shortest_ns, 0U);
    EXPECT_NEAR(static_cast<double>(counters.longest_ns), 3e6 * ns, 2);
    EXPECT_NEAR(static_cast<double>(counters.first_ns), static_cast<double>(system::raw::realtime_ns()), 60e9);
    EXPECT_TRUE(events_of(*reader).empty());
    EXPECT_EQ(reader->total_calls(), 4U);
}

TEST(RecordingRoundTrip, EventsOfManyRingsAreInTheOrderOfTheirReturn) {
    const TemporaryFolder folder;
    const auto recording = open_recording(folder / "run.fp32rec");
    ThreadWriter* writer = recording->attach_thread();
    constexpr int calls = 3 * static_cast<int>(format::EventSegment::capacity) + 100;
    for (int i = 0; i < calls; ++i) count_square(*recording, *writer, i % 5);

    const auto reader = read_recording(folder / "run.fp32rec");
    const std::vector<RecordedEvent> events = events_of(*reader);
    expect_no_problems(*reader);
    ASSERT_EQ(events.size(), static_cast<std::size_t>(calls));
    EXPECT_EQ(reader->event_count(), events.size());
    for (std::size_t i = 0; i < events.size(); ++i) {
        ASSERT_EQ(reader->row(events[i].row)->decision.call.m, static_cast<std::int64_t>(i % 5));
        ASSERT_EQ(events[i].thread, gettid());
        if (i > 0) {
            ASSERT_GT(events[i].ticks, events[i - 1].ticks);
        }
    }
    // Continues after the last event that was seen.
    const std::uint64_t seen = events[5000].ticks;
    MergedEventCursor later = reader->events({seen});
    for (std::size_t i = 5001; i < events.size(); ++i) ASSERT_EQ(later.next().value().ticks, events[i].ticks);
    EXPECT_FALSE(later.next());
}

TEST(RecordingRoundTrip, TimesRiseWhereTheCounterDoesNot) {
    const TemporaryFolder folder;
    const auto recording = open_recording(folder / "run.fp32rec");
    ThreadWriter* writer = recording->attach_thread();
    const std::uint64_t now = ticks();
    for (const int offset : {0, 0, -1000, 5})
        recording->count(*writer, 1, now - 2000, now + static_cast<std::uint64_t>(offset), true,
                         [](DecisionEvent& decision) { describe_square(decision, 8); });
    const auto reader = read_recording(folder / "run.fp32rec");
    std::vector<std::uint64_t> times;
    for (const RecordedEvent& event : events_of(*reader)) times.push_back(event.ticks - now);
    EXPECT_EQ(times, (std::vector<std::uint64_t>{0, 1, 2, 5}));
}

TEST(RecordingRoundTrip, ACallOfAnHourIsStoredAsTheLongestThatFits) {
    const TemporaryFolder folder;
    const auto recording = open_recording(folder / "run.fp32rec");
    ThreadWriter* writer = recording->attach_thread();
    recording->count(*writer, 1, 1, std::uint64_t{1} << 50, true,
                     [](DecisionEvent& decision) { describe_square(decision, 8); });
    const auto reader = read_recording(folder / "run.fp32rec");
    ASSERT_EQ(events_of(*reader).size(), 1U);
    EXPECT_NE(reader->row(events_of(*reader)[0].row), nullptr);
    EXPECT_GT(reader->counters()[0].counters.longest_ns, events_of(*reader)[0].duration_ns);
}

TEST(RecordingRoundTrip, ManyThreadsAreCountedOnceEachAndSlotsAreUsedAgain) {
    const TemporaryFolder folder;
    const auto recording = open_recording(folder / "run.fp32rec");
    constexpr int rounds = 6, threads = 8, calls = 9000;
    for (int round = 0; round < rounds; ++round) {
        std::vector<std::thread> running;
        for (int thread = 0; thread < threads; ++thread)
            running.emplace_back([&, thread] {
                ThreadWriter* writer = recording->attach_thread();
                for (int i = 0; i < calls; ++i) count_square(*recording, *writer, i % 7 + 10 * (thread % 3));
                recording->detach_thread(writer);
            });
        // A reader at the same time sees complete entries only.
        const auto reader = read_recording(folder / "run.fp32rec");
        expect_no_problems(*reader);
        for (const RecordedEvent& event : events_of(*reader)) ASSERT_NE(reader->row(event.row), nullptr);
        for (std::thread& thread : running) thread.join();
    }
    const auto reader = read_recording(folder / "run.fp32rec");
    expect_no_problems(*reader);
    EXPECT_EQ(reader->total_calls(), static_cast<std::uint64_t>(rounds * threads * calls));
    EXPECT_LE(reader->slot_count(), static_cast<std::size_t>(threads));
    std::map<std::uint32_t, std::uint64_t> by_row;
    std::map<std::uint32_t, std::uint64_t> last_of_slot;
    std::map<std::int32_t, int> by_thread;
    std::int64_t last_end = 0;
    for (const RecordedEvent& event : events_of(*reader)) {
        ++by_row[event.row];
        ++by_thread[event.thread];
        ASSERT_GT(event.ticks, last_of_slot[event.slot]);
        ASSERT_GE(event.end_ns, last_end);
        last_of_slot[event.slot] = event.ticks;
        last_end = event.end_ns;
    }
    for (const auto& [row, counters] : reader->counters()) EXPECT_EQ(by_row[row], counters.calls);
    EXPECT_EQ(by_thread.size(), static_cast<std::size_t>(rounds * threads));
    for (const auto& [thread, events] : by_thread) EXPECT_EQ(events, calls) << thread;
    std::uint64_t row_calls = 0;
    for (const auto& [row, counters] : reader->counters()) row_calls += counters.calls;
    EXPECT_EQ(row_calls, reader->total_calls());
}

TEST(RecordingRoundTrip, ThreadsThatMeetANewDecisionAtOnceShareItsRow) {
    const TemporaryFolder folder;
    const auto recording = open_recording(folder / "run.fp32rec", {}, policy::LogLevel::summary);
    constexpr int threads = 8, distinct = 3000;
    std::vector<std::thread> running;
    std::atomic<int> ready{0};
    for (int thread = 0; thread < threads; ++thread)
        running.emplace_back([&] {
            ThreadWriter* writer = recording->attach_thread();
            ++ready;
            while (ready < threads) std::this_thread::yield();
            for (int i = 0; i < distinct; ++i) count_square(*recording, *writer, i, false);
            recording->detach_thread(writer);
        });
    for (std::thread& thread : running) thread.join();
    const auto reader = read_recording(folder / "run.fp32rec");
    expect_no_problems(*reader);
    EXPECT_EQ(reader->counters().size(), static_cast<std::size_t>(distinct));
    std::set<std::int64_t> sizes;
    for (const auto& [id, counters] : reader->counters()) {
        ASSERT_EQ(counters.calls, static_cast<std::uint64_t>(threads));
        sizes.insert(reader->row(id)->decision.call.m);
    }
    EXPECT_EQ(sizes.size(), static_cast<std::size_t>(distinct));
}

TEST(RecordingRoundTrip, ManyDecisionsOfOneThreadNeedSeveralSegmentsOfEveryKind) {
    const TemporaryFolder folder;
    const auto recording = open_recording(folder / "run.fp32rec", {}, policy::LogLevel::summary);
    ThreadWriter* writer = recording->attach_thread();
    constexpr int distinct = 5000;
    for (int round = 0; round < 2; ++round)
        for (int i = 0; i < distinct; ++i) {
            const std::string scope = "step " + std::to_string(i) + std::string(40, '.');
            recording->count(*writer, system::Hash().add(scope).value(), 1, 2, false, [&](DecisionEvent& decision) {
                describe_square(decision, 4);
                decision.call.scope = scope;
            });
        }
    const auto reader = read_recording(folder / "run.fp32rec");
    expect_no_problems(*reader);
    EXPECT_EQ(reader->counters().size(), static_cast<std::size_t>(distinct));
    for (const auto& [row, counters] : reader->counters()) ASSERT_EQ(counters.calls, 2U);
    bool is_last_there = false;
    reader->visit_rows([&](const RecordedRow& row) {
        is_last_there |= row.decision.call.scope == "step 4999" + std::string(40, '.');
        return true;
    });
    EXPECT_TRUE(is_last_there);
}

TEST(RecordingRoundTrip, ALongTextIsCutBetweenTwoCharacters) {
    const TemporaryFolder folder;
    const auto recording = open_recording(folder / "run.fp32rec");
    ThreadWriter* writer = recording->attach_thread();
    std::string text;
    while (text.size() < 5000) text += "ü";
    recording->count(*writer, 1, 1, 2, false, [&](DecisionEvent& decision) { decision.call.scope = text; });
    const auto reader = read_recording(folder / "run.fp32rec");
    const std::string_view read = reader->row(reader->counters()[0].row)->decision.call.scope;
    EXPECT_LE(read.size(), format::string_limit);
    EXPECT_GE(read.size(), format::string_limit - 4);
    EXPECT_TRUE(read.ends_with("ü…"));
}

TEST(RecordingRoundTrip, TenThousandFilesOfThatNameAreNoReasonToRecordNothing) {
    const TemporaryFolder folder;
    const auto occupy = [&](const std::string& name) {
        const int descriptor = open((folder / name).c_str(), O_CREAT | O_WRONLY | O_EXCL | O_CLOEXEC, 0600);
        ASSERT_GE(descriptor, 0) << name;
        close(descriptor);
    };
    occupy("run.fp32rec");
    const int own = getpid();
    for (int i = 1; i < 10'000; ++i)
        if (i != own) occupy("run." + std::to_string(i) + ".fp32rec");
    const auto by_process = open_recording(folder / "run.fp32rec");
    ASSERT_TRUE(by_process);
    EXPECT_EQ(by_process->path(), folder / ("run." + std::to_string(own) + ".fp32rec"));
    // A second file, as a process with the same id in another PID namespace would make it.
    const auto by_chance = open_recording(folder / "run.fp32rec");
    ASSERT_TRUE(by_chance);
    const std::string name = by_chance->path().substr((folder / "run.").size());
    EXPECT_EQ(name.size(), std::string("1234567890.fp32rec").size()) << name;
    EXPECT_EQ(name.find_first_not_of("0123456789"), name.find(".fp32rec"))
        << "a number, which run and report look for";
}

TEST(RecordingRoundTrip, AProcessTriesFewNamesHoweverManyAreTaken) {
    for (int attempt = 0; attempt < 16; ++attempt) EXPECT_EQ(number_of_attempt(attempt, 4711), attempt + 0U);
    EXPECT_EQ(number_of_attempt(16, 4711), 4711U);
    std::set<std::uint64_t> random;
    for (int attempt = 17; attempt < attempt_limit; ++attempt) random.insert(number_of_attempt(attempt, 4711));
    EXPECT_EQ(random.size(), static_cast<std::size_t>(attempt_limit - 17));
    EXPECT_GE(*random.begin(), 1'000'000'000U) << "longer than any process id";
    EXPECT_LT(*random.rbegin(), 10'000'000'000U);
}

TEST(RecordingRoundTrip, ASmallRecordingTakesFiveSegmentsOfTheDisk) {
    const TemporaryFolder folder;
    const auto recording = open_recording(folder / "run.fp32rec", {}, policy::LogLevel::summary);
    ThreadWriter* writer = recording->attach_thread();
    for (int m = 1; m <= 10; ++m) count_square(*recording, *writer, m, false);
    for (int i = 0; i < 10; ++i)
        recording->objects()->add({"/usr/lib/library" + std::to_string(i) + ".so", {}, false});
    struct stat status {};
    ASSERT_EQ(stat(recording->path().c_str(), &status), 0);
    EXPECT_EQ(status.st_size, 5 * static_cast<off_t>(format::segment_size));
    EXPECT_GE(status.st_blocks * 512, status.st_size) << "so a full disk cannot become SIGBUS";
    expect_no_problems(*read_recording(recording->path()));
}

TEST(RecordingRoundTrip, EntriesGoOnInFurtherSegments) {
    const TemporaryFolder folder;
    const auto recording = open_recording(folder / "run.fp32rec", {}, policy::LogLevel::summary);
    ThreadWriter* writer = recording->attach_thread();
    constexpr int count = 2000;  // enough to go beyond the first segments of all kinds
    for (int i = 0; i < count; ++i) {
        count_square(*recording, *writer, i + 1, false);
        recording->objects()->add({"/usr/lib/library" + std::to_string(i) + ".so", {}, false});
        if ((i & (i + 1)) != 0) continue;  // checks only some of the sizes
        const auto reader = read_recording(recording->path());
        expect_no_problems(*reader);
        EXPECT_EQ(reader->total_calls(), i + 1U);
        EXPECT_EQ(reader->counters().size(), i + 1U);
        EXPECT_EQ(reader->objects().all.size(), i + 1U);
        EXPECT_EQ(reader->objects().all.back().path, "/usr/lib/library" + std::to_string(i) + ".so");
    }
}

TEST(RecordingRoundTrip, OpeningWaitsForNothing) {
    // Earlier versions waited a millisecond when opening, to measure the processor's counter.
    const TemporaryFolder folder;
    long fewest_waits = 1000;
    for (int i = 0; i < 20; ++i) {
        struct rusage before {
        }, after{};
        getrusage(RUSAGE_THREAD, &before);
        const auto recording = open_recording(folder / ("run" + std::to_string(i) + ".fp32rec"));
        getrusage(RUSAGE_THREAD, &after);
        fewest_waits = std::min(fewest_waits, after.ru_nvcsw - before.ru_nvcsw);
    }
    EXPECT_EQ(fewest_waits, 0);
}

TEST(RecordingRoundTrip, TheRateOfTheClockBecomesExactWhileTheSameCallsGoOn) {
    const TemporaryFolder folder;
    const auto recording = open_recording(folder / "run.fp32rec", {}, policy::LogLevel::summary);
    ThreadWriter* writer = recording->attach_thread();
    const auto rate_in_file = [&] {
        format::Header header{};
        std::ifstream(recording->path(), std::ios::binary).read(reinterpret_cast<char*>(&header), sizeof header);
        return static_cast<double>(header.ticks_per_second);
    };
    const ClockReading begun = read_clocks();
    const double first = rate_in_file();
    count_square(*recording, *writer, 1, false);
    for (int i = 0; i < 40; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        count_square(*recording, *writer, 1, false);
    }
    const auto exact = static_cast<double>(ticks_per_second(begun, read_clocks()));
    EXPECT_NEAR(first / exact, 1, 0.02);  // half of the measured times may contain an interruption
    EXPECT_NEAR(rate_in_file() / exact, 1, 1e-4);
}

TEST(RecordingRoundTrip, GroupsAreFoundByNameAndNumber) {
    for (const char* const path : {system::groups_file, system::users_file}) {
        const std::string file = system::read_small_file(path);
        EXPECT_EQ(system::find_account_id(file, "0"), 0);
        EXPECT_EQ(system::find_account_id(file, "root"), 0);
        EXPECT_EQ(system::find_account_id(file, "daemon"), 1);
        EXPECT_EQ(system::find_account_id(file, "no such group"), -1);
        EXPECT_EQ(system::find_account_id(file, ""), -1);
    }
}

TEST(RecordingRoundTrip, TheDescriptorIsOutOfTheWayAndClosedOnExec) {
    const TemporaryFolder folder;
    const auto recording = open_recording(folder / "run.fp32rec");
    DIR* open = opendir("/proc/self/fd");
    int found = 0;
    while (const dirent* entry = readdir(open)) {
        char target[4096];
        const std::string link = std::string("/proc/self/fd/") + entry->d_name;
        const ssize_t size = readlink(link.c_str(), target, sizeof target);
        if (size <= 0 || std::string(target, static_cast<std::size_t>(size)) != recording->path()) continue;
        ++found;
        EXPECT_GE(std::atoi(entry->d_name), 100);
        EXPECT_NE(fcntl(std::atoi(entry->d_name), F_GETFD) & FD_CLOEXEC, 0);
    }
    closedir(open);
    EXPECT_EQ(found, 1);
}

TEST(RecordingRoundTrip, SettingsThatCannotWorkAreRefusedWithWhatToDo) {
    const TemporaryFolder folder;
    const auto error_of = [&](const std::string& path, const RecordingSettings& settings) {
        const Recording::OpenResult opened = Recording::open(path, facts(), start(), settings);
        EXPECT_EQ(opened.recording, nullptr);
        return opened.error;
    };
    RecordingSettings small;
    small.max_size = 100;
    EXPECT_NE(error_of(folder / "a.fp32rec", small).find("at least 1048576: raise [log] max_size"),
              std::string::npos);
    RecordingSettings group;
    group.group = "no such group";
    EXPECT_NE(error_of(folder / "a.fp32rec", group).find("is not in /etc/group"), std::string::npos);
    EXPECT_NE(error_of(folder / "a.%x.fp32rec", {}).find("`%x` is not a placeholder"), std::string::npos);
    EXPECT_NE(error_of(folder / "none/a.fp32rec", {}).find("no such directory (ENOENT)"), std::string::npos);
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace fp32shim::record::test
