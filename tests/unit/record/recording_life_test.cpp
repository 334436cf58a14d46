// Tests recordings under events in the life of processes: kills, full disks, lost descriptors.
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <random>
#include <thread>

#include "recording_fixture.hpp"

namespace fp32shim::record::test {
namespace {

namespace fs = std::filesystem;

struct SharedCount {
    std::atomic<std::uint64_t> returned[4];
};

SharedCount* shared_count() {
    void* pages = mmap(nullptr, sizeof(SharedCount), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return new (pages) SharedCount{};
}

TEST(RecordingLife, OverwritingSurvivesKills) {
    RecordingSettings settings;
    settings.max_size = smallest_recording;
    settings.on_full = policy::OnFull::overwrite;
    std::minstd_rand random(20261121);
    for (int kill_number = 0; kill_number < 20; ++kill_number) {
        const TemporaryFolder folder;
        SharedCount* count = shared_count();
        const pid_t child = fork();
        if (child == 0) {
            Recording* recording =
                Recording::open(folder / "run.fp32rec", facts(), start(policy::LogLevel::calls), settings).recording;
            if (recording == nullptr) _exit(1);
            std::vector<std::thread> threads;
            for (auto& returned : count->returned)
                threads.emplace_back([&] {
                    ThreadWriter* writer = recording->attach_thread();
                    for (std::int64_t i = 0;; ++i) {
                        count_square(*recording, *writer, i % 3000 < 8 ? i % 8 : 1 + i % 4);
                        returned.store(returned.load(std::memory_order_relaxed) + 1, std::memory_order_release);
                    }
                });
            for (;;) pause();
        }
        while (count->returned[0] == 0) std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 4000));
        kill(child, SIGKILL);
        int status = 0;
        waitpid(child, &status, 0);
        ASSERT_TRUE(WIFSIGNALED(status)) << status;
        std::uint64_t returned = 0;
        for (const auto& one : count->returned) returned += one.load();
        munmap(count, sizeof *count);

        const auto reader = read_recording(folder / "run.fp32rec");
        ASSERT_TRUE(reader);
        const std::vector<RecordedEvent> events = events_of(*reader);
        expect_no_problems(*reader);
        EXPECT_EQ(reader->state(), RecordingState::ended);
        // A call may have been counted without having returned from count(): at most one per thread.
        EXPECT_GE(reader->total_calls(), returned);
        EXPECT_LE(reader->total_calls(), returned + 4);
        const std::uint64_t kept = events.size() + reader->overwritten_events() + reader->dropped_events();
        EXPECT_GE(kept, returned);
        // A ring that was just given up for newer events is still in the file, but also counted as overwritten.
        EXPECT_LE(kept, returned + 4 + 4 * format::EventSegment::capacity);
        for (const RecordedEvent& event : events) ASSERT_NE(reader->row(event.row), nullptr);
    }
}

TEST(RecordingLife, AFullFileDropsEventsAndSaysHowMany) {
    const TemporaryFolder folder;
    RecordingSettings settings;
    settings.max_size = smallest_recording;
    constexpr std::uint64_t calls = 100'000;
    std::unique_ptr<Recording> recording;
    const auto said = stderr_lines(folder, [&] {
        recording = open_recording(folder / "run.fp32rec", settings);
        ThreadWriter* writer = recording->attach_thread();
        for (std::uint64_t i = 0; i < calls; ++i) count_square(*recording, *writer, 1);
    });
    ASSERT_EQ(said.size(), 1U);
    EXPECT_NE(said[0].find("max_size is reached"), std::string::npos) << said[0];
    const auto reader = read_recording(folder / "run.fp32rec");
    const std::vector<RecordedEvent> events = events_of(*reader);
    expect_no_problems(*reader);
    EXPECT_EQ(reader->total_calls(), calls);
    EXPECT_GT(reader->dropped_events(), 0U);
    EXPECT_EQ(events.size() + reader->dropped_events(), calls);
    EXPECT_EQ(reader->overwritten_events(), 0U);
    EXPECT_NE(reader->facts().flags & format::flag_file_full, 0U);
    EXPECT_LE(fs::file_size(folder / "run.fp32rec"), settings.max_size);
    // Later threads still find space.
    std::thread([&] {
        ThreadWriter* writer = recording->attach_thread();
        count_square(*recording, *writer, 2);
    }).join();
    EXPECT_EQ(calls_of_square(*read_recording(folder / "run.fp32rec"), 2), 1U);
}

TEST(RecordingLife, AFullFileOverwritesItsOldestEventsWhereAskedTo) {
    const TemporaryFolder folder;
    RecordingSettings settings;
    settings.max_size = smallest_recording;
    settings.on_full = policy::OnFull::overwrite;
    constexpr std::uint64_t calls = 50'000;
    const auto recording = open_recording(folder / "run.fp32rec", settings);
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 3; ++thread)
        threads.emplace_back([&, thread] {
            ThreadWriter* writer = recording->attach_thread();
            for (std::uint64_t i = 0; i < calls; ++i) count_square(*recording, *writer, thread);
            recording->detach_thread(writer);
        });
    for (std::thread& thread : threads) thread.join();
    const auto reader = read_recording(folder / "run.fp32rec");
    const std::vector<RecordedEvent> events = events_of(*reader);
    expect_no_problems(*reader);
    EXPECT_EQ(reader->total_calls(), 3 * calls);
    EXPECT_GT(reader->overwritten_events(), 0U);
    // Marks of thread changes are overwritten and counted in the same way as calls.
    EXPECT_GE(events.size() + reader->overwritten_events(), 3 * calls);
    EXPECT_LE(events.size() + reader->overwritten_events(), 3 * calls + 3);
    EXPECT_EQ(reader->dropped_events(), 0U);
    EXPECT_LE(fs::file_size(folder / "run.fp32rec"), settings.max_size);
}

TEST(RecordingLife, BeyondTheRowLimitSizesAreFoldedAndNothingIsLost) {
    const TemporaryFolder folder;
    RecordingSettings settings;
    settings.row_limit = 100;
    const auto recording = open_recording(folder / "run.fp32rec", settings, policy::LogLevel::summary);
    ThreadWriter* writer = recording->attach_thread();
    constexpr int distinct = 2000;
    for (int round = 0; round < 2; ++round)
        for (int i = 1; i <= distinct; ++i) count_square(*recording, *writer, i, false);
    const auto reader = read_recording(folder / "run.fp32rec");
    expect_no_problems(*reader);
    EXPECT_EQ(reader->total_calls(), 2ULL * distinct);
    EXPECT_NE(reader->facts().flags & format::flag_rows_folded, 0U);
    EXPECT_EQ(reader->facts().flags & format::flag_rows_overflowed, 0U);
    std::size_t rows = 0;
    reader->visit_rows([&](const RecordedRow&) { return ++rows > 0; });
    EXPECT_LE(rows, 100U);
    std::uint64_t folded = 0;
    for (const auto& [id, counters] : reader->counters()) {
        const RecordedRow* row = reader->row(id);
        if (!row->is_folded) continue;
        folded += counters.calls;
        const auto m = static_cast<std::uint64_t>(row->decision.call.m);
        EXPECT_EQ(m & (m - 1), 0U) << m;
    }
    EXPECT_EQ(folded, 2ULL * (distinct - 74));  // row 0, then 74 rows with exact sizes: three quarters of 100
    EXPECT_EQ(calls_of_square(*reader, 17), 2U);
}

/// A path of 60 frames, of which only the outermost also occurs in other paths.
struct OwnPath : CallStack {
    explicit OwnPath(int own_number) : number(own_number) {
        size = 60;
        read = [](const CallStack& stack, std::size_t index, StackFrame& frame) {
            frame.file = "/home/user/program.py";
            frame.function = "recurse";
            frame.line = index == 0 ? 1 : static_cast<const OwnPath&>(stack).number;
            return true;
        };
    }
    int number;
};

TEST(RecordingLife, PathsThatShareNothingTakeABoundedRoomAndNoCallIsLost) {
    const TemporaryFolder folder;
    const auto recording = open_recording(folder / "run.fp32rec", {}, policy::LogLevel::summary);
    ThreadWriter* writer = recording->attach_thread();
    constexpr int distinct = 40'000;
    for (int i = 1; i <= distinct; ++i) {
        const OwnPath path(i);
        const std::uint64_t now = ticks();
        recording->count(*writer, static_cast<std::uint64_t>(i), now, now, false, [&](DecisionEvent& decision) {
            describe_square(decision, 64);
            decision.stack = &path;
        });
    }
    const auto reader = read_recording(folder / "run.fp32rec");
    expect_no_problems(*reader);
    EXPECT_EQ(reader->total_calls(), distinct);
    std::uint64_t cut = 0;
    for (const auto& [id, counters] : reader->counters()) {
        const RecordedRow* row = reader->row(id);
        if (row->stack_is_cut) cut += counters.calls;
    }
    EXPECT_GT(cut, distinct / 4);
    EXPECT_LT(cut, 3 * distinct / 4);
    EXPECT_LT(fs::file_size(folder / "run.fp32rec"), 40U << 20);
}

TEST(RecordingLife, WhereRowsDoNotSufficeAtAllCallsAreCountedUnderTheOverflowRow) {
    const TemporaryFolder folder;
    RecordingSettings settings;
    settings.row_limit = 50;
    const auto recording = open_recording(folder / "run.fp32rec", settings);
    ThreadWriter* writer = recording->attach_thread();
    for (std::uint64_t i = 0; i < 500; ++i)
        recording->count(*writer, i + 1, 1, 2, true, [&](DecisionEvent& decision) {
            decision.call.scope = i % 2 == 0 ? "a" : "b";
            const std::string name = "function" + std::to_string(i);
            static thread_local std::string kept;
            kept = name;
            decision.call.function = kept;
        });
    const auto reader = read_recording(folder / "run.fp32rec");
    EXPECT_EQ(reader->total_calls(), 500U);
    EXPECT_EQ(events_of(*reader).size(), 500U);
    ASSERT_EQ(reader->counters()[0].row, format::overflow_row);
    EXPECT_TRUE(reader->row(0)->is_overflow);
    EXPECT_EQ(reader->counters()[0].counters.calls, 500U - 49);
    EXPECT_NE(reader->facts().flags & format::flag_rows_overflowed, 0U);
}

TEST(RecordingLife, AFileSizeLimitDropsEventsAndRaisesNoSignal) {
    const TemporaryFolder folder;
    const int status = in_child([&] {
        struct rlimit limit {
            600'000, 600'000
        };
        setrlimit(RLIMIT_FSIZE, &limit);  // SIGXFSZ would end this process
        const auto said = stderr_lines(folder, [&] {
            const auto recording = open_recording(folder / "run.fp32rec");
            ThreadWriter* writer = recording->attach_thread();
            for (int i = 0; i < 60'000; ++i) count_square(*recording, *writer, 1);
        });
        sigset_t pending;
        sigpending(&pending);
        return said.size() == 1 && said[0].find("(EFBIG)") != std::string::npos && sigismember(&pending, SIGXFSZ) == 0
                   ? 0
                   : 1;
    });
    EXPECT_EQ(status, 0);
    const auto reader = read_recording(folder / "run.fp32rec");
    const std::vector<RecordedEvent> events = events_of(*reader);
    expect_no_problems(*reader);
    EXPECT_EQ(reader->total_calls(), 60'000U);
    EXPECT_EQ(events.size() + reader->dropped_events(), 60'000U);
    EXPECT_GT(reader->dropped_events(), 0U);
    EXPECT_EQ(reader->facts().last_error, EFBIG);
}

/// Mounts a disk of 1 MiB that only this process sees. Returns false if mounting is not allowed.
bool mount_small_disk(const fs::path& at) {
    const auto user = std::to_string(geteuid()), group = std::to_string(getegid());
    if (unshare(CLONE_NEWNS) != 0) {
        if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
        std::ofstream("/proc/self/setgroups") << "deny";
        std::ofstream("/proc/self/uid_map") << "0 " + user + " 1";
        std::ofstream("/proc/self/gid_map") << "0 " + group + " 1";
    }
    mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
    return mount("tmpfs", at.c_str(), "tmpfs", 0, "size=1m") == 0;
}

TEST(RecordingLife, AFullDiskDropsEventsUntilThereIsRoomAgain) {
    const TemporaryFolder folder;
    constexpr int no_mount = 77;
    const int status = in_child([&] {
        if (!mount_small_disk(folder.path())) return no_mount;
        std::ofstream(folder / "filler") << std::string(600'000, '.');
        const auto recording = open_recording(folder / "run.fp32rec");
        ThreadWriter* writer = recording->attach_thread();
        const int null = open("/dev/null", O_WRONLY);
        dup2(null, STDERR_FILENO);
        for (int i = 0; i < 50'000; ++i) count_square(*recording, *writer, 1);
        const auto full = read_recording(folder / "run.fp32rec");
        const std::uint64_t dropped = full->dropped_events();
        if (full->total_calls() != 50'000 || dropped == 0 || full->facts().last_error != ENOSPC) return 1;
        if (events_of(*full).size() + dropped != 50'000 || !full->problems().empty()) return 2;
        // Other threads are counted as long as there is space, and nothing is lost unreported.
        std::vector<std::thread> threads;
        for (int thread = 0; thread < 10; ++thread)
            threads.emplace_back([&] {
                ThreadWriter* late = recording->attach_thread();
                for (int i = 0; i < 100; ++i) count_square(*recording, *late, 2);
            });
        for (std::thread& thread : threads) thread.join();
        if (read_recording(folder / "run.fp32rec")->total_calls() != 51'000) return 3;
        unlink((folder / "filler").c_str());
        std::this_thread::sleep_for(std::chrono::milliseconds(1100));
        for (int i = 0; i < 5'000; ++i) count_square(*recording, *writer, 3);
        const auto again = read_recording(folder / "run.fp32rec");
        if (calls_of_square(*again, 3) != 5'000) return 4;
        std::uint64_t events = 0;
        for (const RecordedEvent& event : events_of(*again))
            events += again->row(event.row)->decision.call.m == 3 ? 1 : 0;
        return events == 5'000 && again->problems().empty() ? 0 : 5;
    });
    if (status == no_mount) GTEST_SKIP() << "no tmpfs can be mounted here (unshare or mount was refused)";
    EXPECT_EQ(status, 0);
}

TEST(RecordingLife, WhereNoDescriptorCanBeKeptNoFileIsLeftBehind) {
    const TemporaryFolder folder;
    const int status = in_child([&] {
        close(STDIN_FILENO);  // the new file gets this number, but must not keep it
        struct rlimit limit {
            3, 3
        };
        setrlimit(RLIMIT_NOFILE, &limit);
        const Recording::OpenResult opened = Recording::open(folder / "run.fp32rec", facts(), start(), {});
        return opened.recording == nullptr && opened.error.find("(EMFILE)") != std::string::npos ? 0 : 1;
    });
    EXPECT_EQ(status, 0);
    EXPECT_FALSE(fs::exists(folder / "run.fp32rec"));
}

TEST(RecordingLife, ADeletedFileIsStillWrittenTo) {
    const TemporaryFolder folder;
    const auto recording = open_recording(folder / "run.fp32rec");
    auto reader = read_recording(folder / "run.fp32rec");
    ThreadWriter* writer = recording->attach_thread();
    fs::remove(folder / "run.fp32rec");
    for (int i = 0; i < 10'000; ++i) count_square(*recording, *writer, 1);
    ASSERT_TRUE(reader->read_again());
    EXPECT_EQ(reader->total_calls(), 10'000U);
    EXPECT_EQ(events_of(*reader).size(), 10'000U);
    expect_no_problems(*reader);
}

}  // namespace
}  // namespace fp32shim::record::test
