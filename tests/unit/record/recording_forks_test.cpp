// Tests recordings of processes that fork, and of signal handlers that multiply.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "recording_fixture.hpp"

namespace fp32shim::record::test {
namespace {

namespace fs = std::filesystem;

// ---- fork --------------------------------------------------------------------------------------------------------

TEST(RecordingForks, AForkedChildHasAFileOfItsOwnAndTheParentsStaysIntact) {
    for (const std::string name : {"run.%p.fp32rec", "run.fp32rec"}) {
        const TemporaryFolder folder;
        const auto recording = open_recording(folder / name);
        const std::string parents = recording->path();
        ThreadWriter* writer = recording->attach_thread();
        for (int i = 0; i < 5'000; ++i) count_square(*recording, *writer, 1);
        int to_parent[2];
        ASSERT_EQ(pipe(to_parent), 0);
        const int status = in_child([&] {
            // Calls whose rows the parent's caches already had.
            for (int i = 0; i < 6'000; ++i) count_square(*recording, *writer, i % 2 + 1);
            std::thread([&] {
                ThreadWriter* own = recording->attach_thread();
                for (int i = 0; i < 10; ++i) count_square(*recording, *own, 3);
                recording->detach_thread(own);
            }).join();
            const int grandchild = in_child([&] {
                count_square(*recording, *writer, 4);
                return 0;
            });
            const std::string path = recording->path();
            const bool is_told = write(to_parent[1], path.data(), path.size()) == static_cast<ssize_t>(path.size());
            return grandchild == 0 && is_told ? 0 : 1;
        });
        ASSERT_EQ(status, 0);
        for (int i = 0; i < 100; ++i) count_square(*recording, *writer, 1);
        char buffer[4096];
        const std::string childs(buffer, static_cast<std::size_t>(read(to_parent[0], buffer, sizeof buffer)));
        close(to_parent[0]);
        close(to_parent[1]);
        if (name == "run.fp32rec") {
            EXPECT_EQ(childs, folder / "run.1.fp32rec");
        }

        const auto parent = read_recording(parents);
        EXPECT_EQ(parent->total_calls(), 5'100U);
        EXPECT_EQ(events_of(*parent).size(), 5'100U);
        expect_no_problems(*parent);
        const auto child = read_recording(childs);
        EXPECT_EQ(child->total_calls(), 6'010U);
        EXPECT_EQ(events_of(*child).size(), 6'010U);
        EXPECT_EQ(calls_of_square(*child, 2), 3'000U);
        EXPECT_EQ(child->facts().process.forked_from, getpid());
        EXPECT_NE(child->facts().process.pid, getpid());
        EXPECT_EQ(child->facts().process.command, facts().command);
        EXPECT_EQ(child->state(), RecordingState::ended);
        expect_no_problems(*child);
        int files = 0;
        for (const auto& entry : fs::directory_iterator(folder.path())) {
            const auto one = read_recording(entry.path().string());
            ++files;
            if (one->facts().process.forked_from == child->facts().process.pid) {
                EXPECT_EQ(one->total_calls(), 1U);
            }
        }
        EXPECT_EQ(files, 3);
    }
}

TEST(RecordingForks, ForkWhileOtherThreadsAreInTheMiddleOfAnything) {
    if (thread_sanitized) GTEST_SKIP() << "the thread sanitizer does not support threads after a fork with threads";
    const TemporaryFolder folder;
    const auto recording = open_recording(folder / "run.%p.fp32rec");
    std::atomic<bool> is_done{false};
    std::atomic<std::uint64_t> counted{0};
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 3; ++thread)
        threads.emplace_back([&, thread] {
            std::uint64_t own = 0;
            while (!is_done) {
                // Threads start and end, and everything is new: rows, slots, segments.
                ThreadWriter* writer = recording->attach_thread();
                for (int i = 0; i < 50; ++i, ++own)
                    count_square(*recording, *writer, static_cast<std::int64_t>(own) * 3 + thread);
                recording->detach_thread(writer);
            }
            counted += own;
        });
    ThreadWriter* writer = recording->attach_thread();
    constexpr int forks = 60;
    for (int i = 0; i < forks; ++i) {
        count_square(*recording, *writer, 1'000'000'000);
        const int status = in_child([&] {
            for (int j = 0; j < 5'000; ++j) count_square(*recording, *writer, j % 100);
            const auto reader = read_recording(recording->path());
            return reader->total_calls() == 5'000 && events_of(*reader).size() == 5'000 && reader->problems().empty()
                       ? 0
                       : 1;
        });
        EXPECT_EQ(status, 0);
    }
    is_done = true;
    for (std::thread& thread : threads) thread.join();
    const auto reader = read_recording(recording->path());
    EXPECT_EQ(reader->total_calls(), counted + forks);
    EXPECT_EQ(events_of(*reader).size(), counted + forks);
    expect_no_problems(*reader);
}

TEST(RecordingForks, AChildThatCannotHaveAFileSaysSoOnceAndWritesNowhere) {
    const TemporaryFolder folder;
    const auto recording = open_recording(folder / "sub.%p.fp32rec");
    ThreadWriter* writer = recording->attach_thread();
    for (int i = 0; i < 10; ++i) count_square(*recording, *writer, 1);
    const int status = in_child([&] {
        const auto said = stderr_lines(folder, [&] {
            struct rlimit limit {
                1000, 1000
            };
            setrlimit(RLIMIT_FSIZE, &limit);
            for (int i = 0; i < 1'000; ++i) count_square(*recording, *writer, 1);
            ThreadWriter* other = recording->attach_thread();
            count_square(*recording, *other, 1);
            recording->detach_thread(other);
        });
        const bool says_nothing_of_commands = !recording->has_command() && recording->control() == nullptr;
        return said.size() == 1 && said[0].find("this forked process records nothing") != std::string::npos &&
                       recording->path().empty() && says_nothing_of_commands
                   ? 0
                   : 1;
    });
    EXPECT_EQ(status, 0);
    EXPECT_EQ(read_recording(recording->path())->total_calls(), 10U);
    EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 2);  // the recording and the file of stderr
}

// ---- signals -----------------------------------------------------------------------------------------------------

Recording* handlers_recording = nullptr;
ThreadWriter* handlers_writer = nullptr;
std::atomic<std::uint64_t> handlers_calls{0};

TEST(RecordingForks, ASignalHandlerThatMultipliesIsCountedOnceAndDisturbsNothing) {
    const TemporaryFolder folder;
    const auto recording = open_recording(folder / "run.fp32rec");
    handlers_recording = recording.get();
    handlers_writer = recording->attach_thread();
    handlers_calls = 0;
    struct sigaction action {};
    action.sa_handler = [](int) {
        count_square(*handlers_recording, *handlers_writer, 77);
        handlers_calls.fetch_add(1, std::memory_order_relaxed);
    };
    struct sigaction before {};
    sigaction(SIGALRM, &action, &before);
    timer_t timer;
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGALRM;
    ASSERT_EQ(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
    const itimerspec often{{0, 20'000}, {0, 20'000}};
    timer_settime(timer, 0, &often, nullptr);
    std::uint64_t calls = 0;
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
    while (std::chrono::steady_clock::now() < end || handlers_calls < 20)
        for (int i = 0; i < 1000; ++i, ++calls) count_square(*recording, *handlers_writer, i % 3000);
    timer_delete(timer);
    sigaction(SIGALRM, &before, nullptr);
    const auto reader = read_recording(folder / "run.fp32rec");
    const std::vector<RecordedEvent> events = events_of(*reader);
    expect_no_problems(*reader);
    EXPECT_EQ(reader->total_calls(), calls + handlers_calls);
    EXPECT_EQ(events.size() + reader->dropped_events(), calls + handlers_calls);
}

}  // namespace
}  // namespace fp32shim::record::test
