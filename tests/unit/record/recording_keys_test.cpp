// Tests the table by which a thread finds the counters of known rows. The table grows, so that no key is forgotten.
#include "record/write/keys.hpp"

#include <algorithm>
#include <random>
#include <vector>

#include "recording_fixture.hpp"

namespace fp32shim::record::test {
namespace {

CountersNumber counters_number(std::size_t i) { return static_cast<CountersNumber>(i % 1000); }

TEST(RecordingKeys, AnEmptyTableKnowsNothing) {
    CountersByKey keys{};
    EXPECT_EQ(keys.find(1), CountersByKey::none);
    EXPECT_EQ(keys.find(UINT64_MAX), CountersByKey::none);
}

TEST(RecordingKeys, EveryKeyIsFoundWhileTheTableGrows) {
    CountersByKey keys{};
    constexpr std::uint64_t count = 200'000;
    const auto key_of = [](std::uint64_t i) { return system::Hash().add(i).value(); };
    for (std::uint64_t i = 0; i < count; ++i) {
        ASSERT_EQ(keys.find(key_of(i)), CountersByKey::none);
        keys.add(key_of(i), counters_number(i));
        ASSERT_EQ(keys.find(key_of(i)), counters_number(i));
        if ((i & (i - 1)) != 0) continue;  // checks some table sizes only
        for (std::uint64_t known = 0; known < i; ++known)
            ASSERT_EQ(keys.find(key_of(known)), counters_number(known)) << known << " of " << i;
    }
    for (std::uint64_t i = 0; i < count; ++i) ASSERT_EQ(keys.find(key_of(i)), counters_number(i));
    EXPECT_GE(keys.capacity(), 2 * count);
    EXPECT_LT(keys.capacity(), 4 * count);
}

TEST(RecordingKeys, KeysOfOneIndexAreToldApart) {
    CountersByKey keys{};
    // Keys that belong to the last entry of the first table, so that the search wraps around to its start.
    std::vector<std::uint64_t> alike;
    for (std::uint64_t key = 1; alike.size() < 101; ++key)
        if (CountersByKey::first_index(key, CountersByKey::first_bits) == (1U << CountersByKey::first_bits) - 1)
            alike.push_back(key);
    for (std::size_t i = 0; i < 100; ++i) keys.add(alike[i], counters_number(i));
    EXPECT_EQ(keys.capacity(), 1U << CountersByKey::first_bits);
    for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(keys.find(alike[i]), counters_number(i));
    EXPECT_EQ(keys.find(alike[100]), CountersByKey::none);
}

TEST(RecordingKeys, KeysAreFoundInAnyOrder) {
    constexpr std::uint32_t count = 3000;
    std::vector<std::uint64_t> order(count);
    for (std::uint32_t i = 0; i < count; ++i) order[i] = i;
    CountersByKey keys{};
    const auto key_of = [](std::uint64_t i) { return system::Hash().add(i).value(); };
    // Numbers of counters skip one in 1024, at the end of each segment, like those of a thread.
    const auto number_of = [](std::uint64_t i) { return static_cast<CountersNumber>(i / 1023 << 10 | i % 1023); };
    for (std::uint32_t i = 0; i < count; ++i) keys.add(key_of(i), number_of(i));
    const auto expect_all = [&](int repeats) {
        for (const std::uint64_t i : order)
            for (int repeat = 0; repeat < repeats; ++repeat) ASSERT_EQ(keys.find(key_of(i)), number_of(i));
        ASSERT_EQ(keys.find(key_of(count)), CountersByKey::none);
    };
    for (const int repeats : {1, 2, 3}) expect_all(repeats);
    std::reverse(order.begin(), order.end());
    expect_all(1);
    std::shuffle(order.begin(), order.end(), std::minstd_rand(1));
    expect_all(2);
}

TEST(RecordingKeys, KeysOfTheSameCountersAreAllFound) {
    CountersByKey keys{};
    // Two call sites for each row, and many keys for the overflow row's counters.
    for (std::uint64_t i = 1; i < 100; ++i)
        for (const std::uint64_t site : {1000, 2000}) keys.add(site + i, static_cast<CountersNumber>(i));
    for (std::uint64_t i = 1; i < 50; ++i) keys.add(3000 + i, 0);
    for (int round = 0; round < 2; ++round) {
        for (std::uint64_t i = 1; i < 100; ++i)
            for (const std::uint64_t site : {1000, 2000}) ASSERT_EQ(keys.find(site + i), i);
        for (std::uint64_t i = 1; i < 50; ++i) ASSERT_EQ(keys.find(3000 + i), 0U);
    }
}

TEST(RecordingKeys, CountersWhoseNumberIsBeyondTheTableAreFound) {
    // Tests a kernel that has no more pages for the table.
    CountersByKey keys{};
    for (std::uint64_t i = 1; i < 10; ++i) keys.add(i, static_cast<CountersNumber>(i << 20));
    for (std::uint64_t i = 1; i < 10; ++i) ASSERT_EQ(keys.find(i), i << 20);
}

TEST(RecordingKeys, KeysOfSizesThatRiseEvenlyAreSpread) {
    // Factors of argument_key.hpp. With some of them, evenly spaced sizes would fall on the same entries again and
    // again.
    for (const std::uint64_t factor : {0x62bba1b9f2757641U, 0x7a6f56d50c7a670dU, 0xbc6aa802aafcc4e7U,
                                       0x6a4a7def0860909fU, 0x66d6a2999d170b6bU, 0x79ba10d3c6bc2c87U})
        for (const std::uint64_t step : {1, 8, 64, 1000}) {
            constexpr std::uint32_t bits = 12, count = 1U << (bits - 1);
            std::vector<int> in_place(std::size_t{1} << bits);
            for (std::uint64_t i = 1; i <= count; ++i)
                ++in_place[CountersByKey::first_index(0x1234567 + i * step * factor, bits)];
            EXPECT_LT(*std::max_element(in_place.begin(), in_place.end()), 10) << factor << " by " << step;
        }
}

TEST(RecordingKeys, BeyondItsLargestSizeTheTableForgetsAndGoesOn) {
    CountersByKey keys{};
    constexpr std::uint64_t largest = std::uint64_t{1} << CountersByKey::largest_bits;
    for (std::uint64_t i = 1; i <= largest; ++i) {  // three quarters of the keys fit
        const std::uint64_t key = i * 0x9e3779b97f4a7c15U;
        keys.add(key, counters_number(i));
        ASSERT_EQ(keys.find(key), counters_number(i));
    }
    EXPECT_EQ(keys.capacity(), largest);
}

TEST(RecordingKeys, AThreadAsksForADecisionOnceHoweverManyThereAre) {
    const TemporaryFolder folder;
    const auto recording = open_recording(folder / "run.fp32rec", {}, policy::LogLevel::summary);
    ThreadWriter* writer = recording->attach_thread();
    constexpr std::int64_t rows = 5000;
    std::int64_t asked = 0;
    for (int round = 0; round < 3; ++round)
        for (std::int64_t m = 1; m <= rows; ++m)
            recording->count(*writer, system::Hash().add(static_cast<std::uint64_t>(m)).value(), 1, 2, false,
                             [&](DecisionEvent& decision) {
                                 ++asked;
                                 describe_square(decision, m);
                             });
    EXPECT_EQ(asked, rows);
    const auto reader = read_recording(folder / "run.fp32rec");
    expect_no_problems(*reader);
    EXPECT_EQ(reader->total_calls(), 3U * rows);
    EXPECT_EQ(calls_of_square(*reader, 4321), 3U);
}

}  // namespace
}  // namespace fp32shim::record::test
