// Tests parts of the recording in a program that forks, closes descriptors and receives signals.
#include <errno.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "../in_child.hpp"
#include "system/fork_safe_lock.hpp"
#include "system/reentrancy.hpp"
#include "system/signal_hold.hpp"
#include "system/stderr_line.hpp"
#include "system/this_process.hpp"

namespace fp32shim::system {
namespace {

using test::in_child;

TEST(ForkSafeLock, IsFreeInAChildWhoseParentHoldsIt) {
    static ForkSafeLock lock;
    ASSERT_TRUE(lock.acquire());
    EXPECT_EQ(in_child([] {
                  EXPECT_TRUE(lock.acquire());
                  lock.release();
                  EXPECT_TRUE(lock.acquire());
              }),
              0);
    lock.release();
}

TEST(ThisProcess, IsANumberThatNoAncestorHad) {
    static std::uint32_t parent, child;
    parent = fork_generation();
    EXPECT_NE(parent, 0U);
    EXPECT_EQ(fork_generation(), parent);
    EXPECT_EQ(in_child([] {
                  child = fork_generation();
                  EXPECT_GT(child, parent);
                  EXPECT_TRUE(is_forked_child());
                  EXPECT_EQ(in_child([] { EXPECT_GT(fork_generation(), child); }), 0);
              }),
              0);
    EXPECT_EQ(fork_generation(), parent);
}

TEST(ThisProcess, IsThatOfTheParentInAChildThatSharesItsMemory) {
#if defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "the thread sanitizer makes vfork a fork";
#endif
    static volatile std::uint32_t of_child;
    const std::uint32_t parent = fork_generation();
    const pid_t forked = vfork();  // NOLINT(clang-analyzer-security.insecureAPI.vfork)
    if (forked == 0) {
        of_child = fork_generation();
        _exit(0);
    }
    int status = -1;
    waitpid(forked, &status, 0);
    EXPECT_EQ(of_child, parent);
}

TEST(ForkSafeLock, IsWaitedForInVainOnce) {
    ForkSafeLock lock;
    ASSERT_TRUE(lock.acquire());
    const std::int64_t begin = raw::realtime_ns();
    EXPECT_FALSE(lock.acquire());
    const std::int64_t first = raw::realtime_ns() - begin;
    for (int i = 0; i < 1000; ++i) EXPECT_FALSE(lock.acquire());
    EXPECT_LT(raw::realtime_ns() - begin, 100 * first);
    lock.release();
    EXPECT_TRUE(lock.acquire());
    std::thread other([&] {
        usleep(100'000);
        lock.release();
    });
    EXPECT_TRUE(lock.acquire()) << "it was free again: others wait again";
    other.join();
}

TEST(ForkSafeLock, AdmitsOneThreadAtATime) {
    ForkSafeLock lock;
    int count = 0;
    std::vector<std::thread> running;
    for (int t = 0; t < 4; ++t)
        running.emplace_back([&] {
            for (int n = 0; n < 2000; ++n) {
                ASSERT_TRUE(lock.acquire());
                ++count;
                lock.release();
            }
        });
    for (auto& thread : running) thread.join();
    EXPECT_EQ(count, 8000);
}

TEST(SignalHold, LeavesAProgramThatMapsItsMemoryOnDemandItsFaults) {
    EXPECT_EQ(in_child([] {
                  static char* page;
                  page = static_cast<char*>(mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
                  struct sigaction action {};
                  action.sa_handler = [](int) { mprotect(page, 4096, PROT_READ | PROT_WRITE); };
                  sigaction(SIGSEGV, &action, nullptr);
                  const SignalHold hold;
                  *const_cast<volatile char*>(page) = 1;
              }),
              0);
}

TEST(StderrLine, IsOneLineWithThePrefix) {
    testing::internal::CaptureStderr();
    errno = 77;
    stderr_line("rule 3: found `hihg`");
    EXPECT_EQ(errno, 77);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "fp32shim: rule 3: found `hihg`\n");
}

TEST(StderrLine, DoesNoHarmWhereNobodyListens) {
    EXPECT_EQ(in_child([] {
                  signal(SIGPIPE, SIG_DFL);
                  int ends[2];
                  ASSERT_EQ(pipe(ends), 0);
                  dup2(ends[1], STDERR_FILENO);
                  close(ends[0]);
                  stderr_line("x");
                  close(STDERR_FILENO);
                  stderr_line("x");
              }),
              0);
}

TEST(OncePerProcess, IsFirstOnceInEveryProcess) {
    static constinit OncePerProcess said;
    EXPECT_TRUE(said.is_first_call());
    EXPECT_FALSE(said.is_first_call());
    EXPECT_EQ(in_child([] {
                  EXPECT_TRUE(said.is_first_call());
                  EXPECT_FALSE(said.is_first_call());
              }),
              0);
}

[[gnu::noinline]] bool begin_deeper(ReentrancyFlag& thing) {
    char frame[256];
    __asm__ volatile("" : : "r"(frame) : "memory");
    const bool has_begun = thing.begin_use();
    __asm__ volatile("" : : "r"(frame) : "memory");
    return has_begun;
}

TEST(ReentrancyFlag, GivesAThingToOneUserAtATime) {
    ReentrancyFlag thing{};
    ASSERT_TRUE(thing.begin_use());
    EXPECT_FALSE(begin_deeper(thing)) << "as a signal handler would ask";
    thing.end_use();
    EXPECT_TRUE(begin_deeper(thing));
}

TEST(ReentrancyFlag, TakesAUseForEndedOnceItsCodeWasLeft) {
    ReentrancyFlag thing{};
    ASSERT_TRUE(begin_deeper(thing));
    EXPECT_FALSE(thing.is_free());
    EXPECT_TRUE(thing.begin_use());
    thing.end_use();
    EXPECT_TRUE(thing.is_free());
}

TEST(ReentrancyFlag, LeavesAThingToTheCodeThatAHandlerOnAnAlternateStackInterrupted) {
    // Addresses above and below this thread's stack, where the loader and the heap may place the object.
    static ReentrancyFlag thing{};
    static bool has_begun = true;
    for (const bool is_above : {false, true}) {
        char frame[1 << 16];
        static char far_away[1 << 16];
        const stack_t alternate{.ss_sp = is_above ? frame : far_away, .ss_flags = 0, .ss_size = sizeof frame};
        std::thread([&] {
            stack_t before{};  // the alternate stack of a sanitizer
            ASSERT_EQ(sigaltstack(&alternate, &before), 0);
            struct sigaction action {};
            action.sa_flags = SA_ONSTACK;
            action.sa_handler = [](int) { has_begun = thing.begin_use(); };
            ASSERT_EQ(sigaction(SIGUSR1, &action, nullptr), 0);
            ASSERT_TRUE(thing.begin_use());
            pthread_kill(pthread_self(), SIGUSR1);
            thing.end_use();
            ASSERT_EQ(sigaltstack(&before, nullptr), 0);
        }).join();
        EXPECT_FALSE(has_begun);
    }
}

TEST(SignalHold, KeepsAnArrivingSignalForLater) {
    EXPECT_EQ(in_child([] {
                  static volatile sig_atomic_t seen = 0;
                  signal(SIGUSR1, [](int) { seen = seen + 1; });
                  {
                      const SignalHold hold;
                      raise(SIGUSR1);
                      EXPECT_EQ(seen, 0);
                  }
                  usleep(1);  // ThreadSanitizer delivers signals at the next libc call
                  EXPECT_EQ(seen, 1);
              }),
              0);
}

}  // namespace
}  // namespace fp32shim::system
