#include "shim/blas/emulate/scratch.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <set>
#include <thread>
#include <vector>

#include "../in_child.hpp"
#include "emulate_cases.hpp"
#include "naive_level3.hpp"

namespace fp32shim::tests {
namespace {

using blas::EmulationResult;
using blas::Level3;
using blas::OperandRounding;
using blas::release_scratch;
using blas::ScratchMemory;

constexpr std::size_t megabyte = std::size_t{1} << 20;
constexpr std::size_t limit = 256 * megabyte;

/// Takes memory by an address in the caller's frame.
[[gnu::always_inline]] inline ScratchMemory acquire_scratch(std::size_t bytes, std::size_t most) {
    const void* const here = nullptr;
    return blas::acquire_scratch(&here, bytes, most);
}

bool is_mapped(const void* address) {
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    unsigned char resident = 0;
    return mincore(reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(address) & ~(page - 1)), 1, &resident) ==
               0 ||
           errno != ENOMEM;
}

TEST(Scratch, IsAlignedToCacheLinesAndWritableToItsEnd) {
    for (const std::size_t bytes : {std::size_t{64}, std::size_t{100000}, 3 * megabyte, 5 * megabyte}) {
        const ScratchMemory scratch = acquire_scratch(bytes, limit);
        ASSERT_NE(scratch.data, nullptr);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(scratch.data) % (bytes < 2 * megabyte ? 64 : 2 * megabyte), 0U);
        EXPECT_GE(scratch.bytes, bytes);
        scratch.data[0] = 1;
        scratch.data[bytes / sizeof(float) - 1] = 1;
        release_scratch(scratch);
    }
}

TEST(Scratch, IsKeptForTheThreadsNextCall) {
    const ScratchMemory first = acquire_scratch(megabyte, limit);
    release_scratch(first);
    const ScratchMemory second = acquire_scratch(megabyte / 2, limit);
    release_scratch(second);
    EXPECT_EQ(first.data, second.data);
}

TEST(Scratch, IsOtherMemoryForACallThatInterruptsAnother) {
    constexpr std::size_t depth = 20;
    const void* const stack[depth] = {};  // it grows downwards
    std::vector<ScratchMemory> calls;
    for (std::size_t i = 0; i < depth; ++i) {
        calls.push_back(blas::acquire_scratch(stack + depth - 1 - i, megabyte, limit));
        ASSERT_NE(calls.back().data, nullptr);
        for (std::size_t j = 0; j < i; ++j) EXPECT_NE(calls[i].data, calls[j].data);
    }
    while (!calls.empty()) {
        const bool is_kept = calls.back().block != nullptr;
        release_scratch(calls.back());
        EXPECT_EQ(is_mapped(calls.back().data), is_kept);
        calls.pop_back();
    }
}

TEST(Scratch, IsThatOfCallsThatWereLeftByAJump) {
    std::thread([] {
        const void* const stack[1000] = {};
        std::set<const float*> found;
        for (const void* const& user : stack) found.insert(blas::acquire_scratch(&user, megabyte, limit).data);
        EXPECT_LE(found.size(), 8U);
        found.clear();
        for (int i = 0; i < 1000; ++i) found.insert(blas::acquire_scratch(&stack[999], megabyte, limit).data);
        EXPECT_EQ(found.size(), 1U);
    }).join();
}

TEST(Scratch, OfARunningCallOnTheStackOfAFiberIsLeftToIt) {
    std::thread([] {
        const void* stack[100];
        std::set<const float*> found;
        for (const void*& user : stack) {
            user = &user;
            found.insert(blas::acquire_scratch(&user, megabyte, limit).data);
        }
        EXPECT_EQ(found.size(), 100U);
    }).join();
}

/// Threads that go on for some time.
struct SlowHelpers : blas::HelperThreads {
    int refusals;
};

TEST(Scratch, IsOtherMemoryWhileThreadsOfACallThatWasLeftAreAtWork) {
    std::thread([] {
        const void* const user = nullptr;
        SlowHelpers helpers{
            {[](blas::HelperThreads& self) { return static_cast<SlowHelpers&>(self).refusals-- == 0; }, nullptr}, 2};
        const ScratchMemory left = blas::acquire_scratch(&user, megabyte, limit);
        set_helper_threads(left, &helpers);
        for (int i = 0; i < 2; ++i) EXPECT_NE(blas::acquire_scratch(&user, megabyte, limit).data, left.data);
        EXPECT_EQ(blas::acquire_scratch(&user, megabyte, limit).data, left.data);
    }).join();
}

TEST(Scratch, IsReleasedWhenItsThreadEnds) {
    const float* address = nullptr;
    std::thread([&] {
        const ScratchMemory scratch = acquire_scratch(64 * megabyte, limit);
        address = scratch.data;
        release_scratch(scratch);
    }).join();
    EXPECT_FALSE(is_mapped(address));
}

TEST(Scratch, IsEachThreadsOwn) {
    std::vector<std::thread> threads;
    std::vector<int> wrong(8, 0);
    for (int t = 0; t < 8; ++t)
        threads.emplace_back([t, &wrong] {
            for (int round = 0; round < 50; ++round) {
                const ScratchMemory scratch = acquire_scratch(4096U * static_cast<unsigned>(round + 1), limit);
                scratch.data[0] = scratch.data[1000] = static_cast<float>(t);
                std::this_thread::yield();
                wrong[t] += scratch.data[0] != static_cast<float>(t) || scratch.data[1000] != static_cast<float>(t);
                release_scratch(scratch);
            }
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, std::vector<int>(8, 0));
}

TEST(Scratch, WorksOnInAForkedChild) {
    release_scratch(acquire_scratch(megabyte, limit));
    EXPECT_EQ(test::in_child([] {
                  const ScratchMemory scratch = acquire_scratch(2 * megabyte, limit);
                  if (scratch.data == nullptr) return 1;
                  scratch.data[megabyte / sizeof(float)] = 1;
                  release_scratch(scratch);
                  return 0;
              }),
              0);
}

TEST(Scratch, IsNothingWhereTheSystemHasNoMemoryAndIsThereAgainForLess) {
    constexpr std::size_t too_much = std::size_t{1} << 60;
    EXPECT_EQ(acquire_scratch(too_much, too_much).data, nullptr);
    const ScratchMemory less = acquire_scratch(megabyte, limit);
    EXPECT_NE(less.data, nullptr);
    release_scratch(less);
}

void naive_routine(void*, const Level3& product) { naive_level3(product); }

EmulationResult emulate_naively(const Level3& product) {
    return emulate(product, OperandRounding::tf32_away, {naive_routine, nullptr}, {naive_routine, nullptr}, limit);
}

Placed* handlers_product = nullptr;

TEST(Scratch, LetsASignalHandlerMultiplyInTheMiddleOfAProduct) {
    const Case outer_case = plain_gemm(30, 31, 32);
    const Case inner_case = plain_gemm(50, 51, 52);
    Placed outer = place(outer_case);
    Placed inner = place(inner_case);
    handlers_product = &inner;
    std::signal(SIGUSR1, [](int) { emulate_naively(handlers_product->product); });
    const auto interrupted = [](void*, const Level3& product) {
        std::raise(SIGUSR1);
        naive_level3(product);
    };
    EXPECT_EQ(emulate(outer.product, OperandRounding::tf32_away, {interrupted, nullptr}, {}, limit),
              EmulationResult::done);
    std::signal(SIGUSR1, SIG_DFL);
    EXPECT_TRUE(outer.c.has_the_bits_of(expected_after(outer_case, OperandRounding::tf32_away).c));
    EXPECT_TRUE(inner.c.has_the_bits_of(expected_after(inner_case, OperandRounding::tf32_away).c));
}

std::jmp_buf way_out;

TEST(Scratch, ServesAThreadThatLeftARoutineByLongjmp) {
    std::thread([] {
        const Case test_case = plain_gemm(30, 31, 32);
        Placed placed = place(test_case);
        if (setjmp(way_out) == 0)
            emulate(placed.product, OperandRounding::tf32_away,
                    {[](void*, const Level3&) { std::longjmp(way_out, 1); }, nullptr}, {}, limit);
        for (int again = 0; again < 3; ++again) EXPECT_EQ(emulate_naively(placed.product), EmulationResult::done);
        EXPECT_TRUE(placed.c.has_the_bits_of(expected_after(test_case, OperandRounding::tf32_away).c));
    }).join();
}

}  // namespace
}  // namespace fp32shim::tests
