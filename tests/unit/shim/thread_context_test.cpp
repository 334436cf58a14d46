// Tests that a thread's parts are made once, are its own, and go when it ends.
#include "shim/thread/thread_context.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <thread>

namespace fp32shim {
namespace {

struct Numbers {
    int numbers[5000];
};

bool is_mapped(void* page) {
    unsigned char resident = 0;
    return mincore(page, 1, &resident) == 0;
}

TEST(ThreadContext, HasPartsThatAreMadeOnce) {
    auto* const kept = thread_part<Numbers>(ThreadPart::decision_cache);
    ASSERT_NE(kept, nullptr);
    EXPECT_EQ(kept->numbers[4999], 0);
    EXPECT_NE(thread_part<Numbers>(ThreadPart::unwind_cache), kept);
    EXPECT_EQ(thread_part<Numbers>(ThreadPart::decision_cache), kept);
    EXPECT_EQ(make_thread_part(ThreadPart::decision_cache, sizeof(Numbers)), kept);
}

TEST(ThreadContext, IsEachThreadsOwnUntilItsEnd) {
    void* const own = thread_part<Numbers>(ThreadPart::decision_cache);
    void* of_thread[3] = {};
    std::thread([&] {
        of_thread[0] = thread_part<Numbers>(ThreadPart::decision_cache);
        of_thread[1] = thread_part<Numbers>(ThreadPart::unwind_cache);
        of_thread[2] = existing_thread_context();
        for (void* const memory : of_thread) EXPECT_TRUE(is_mapped(memory));
    }).join();
    EXPECT_NE(of_thread[0], own);
    for (void* const memory : of_thread) EXPECT_FALSE(is_mapped(memory));
}

}  // namespace
}  // namespace fp32shim
