// How a thread finds the counters of the rows that it met: a table that grows, so that it never asks twice.
#include "record/recording_keys.hpp"

#include <algorithm>
#include <random>
#include <vector>

#include "recording_fixture.hpp"

namespace fp32shim::record::test {
namespace {

/// Never looked at: which counters a key has is told by the address alone.
format::CounterRecord* counters_number(std::size_t i) {
    static std::vector<format::CounterRecord> memory(1000);
    return &memory[i % memory.size()];
}

TEST(RecordingKeys, AnEmptyTableKnowsNothing) {
    const KnownKeys keys{};
    EXPECT_EQ(keys.find(1), nullptr);
    EXPECT_EQ(keys.find(UINT64_MAX), nullptr);
}

TEST(RecordingKeys, EveryKeyIsFoundWhileTheTableGrows) {
    KnownKeys keys{};
    constexpr std::uint64_t count = 200'000;
    const auto key_of = [](std::uint64_t i) { return Hash().add(i).value(); };
    for (std::uint64_t i = 0; i < count; ++i) {
        ASSERT_EQ(keys.find(key_of(i)), nullptr);
        keys.add(key_of(i), counters_number(i));
        ASSERT_EQ(keys.find(key_of(i)), counters_number(i));
        if ((i & (i - 1)) != 0) continue;  // some table sizes
        for (std::uint64_t known = 0; known < i; ++known)
            ASSERT_EQ(keys.find(key_of(known)), counters_number(known)) << known << " of " << i;
    }
    for (std::uint64_t i = 0; i < count; ++i) ASSERT_EQ(keys.find(key_of(i)), counters_number(i));
    EXPECT_GE(keys.capacity(), 2 * count);
    EXPECT_LT(keys.capacity(), 4 * count);
}

TEST(RecordingKeys, KeysOfOnePlaceAreToldApart) {
    KnownKeys keys{};
    // Of the last place of the first table, so that the search goes on at its begin.
    std::vector<std::uint64_t> alike;
    for (std::uint64_t key = 1; alike.size() < 101; ++key)
        if (KnownKeys::first_place(key, KnownKeys::first_bits) == (1U << KnownKeys::first_bits) - 1)
            alike.push_back(key);
    for (std::size_t i = 0; i < 100; ++i) keys.add(alike[i], counters_number(i));
    EXPECT_EQ(keys.capacity(), 1U << KnownKeys::first_bits);
    for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(keys.find(alike[i]), counters_number(i));
    EXPECT_EQ(keys.find(alike[100]), nullptr);
}

TEST(RecordingKeys, KeysOfSizesThatRiseEvenlyAreSpread) {
    // Factors of argument_key.hpp; some of them step around the table evenly, and come back to the same places.
    for (const std::uint64_t factor : {0x62bba1b9f2757641U, 0x7a6f56d50c7a670dU, 0xbc6aa802aafcc4e7U,
                                       0x6a4a7def0860909fU, 0x66d6a2999d170b6bU, 0x79ba10d3c6bc2c87U})
        for (const std::uint64_t step : {1, 8, 64, 1000}) {
            constexpr std::uint32_t bits = 12, count = 1U << (bits - 1);
            std::vector<int> in_place(std::size_t{1} << bits);
            for (std::uint64_t i = 1; i <= count; ++i)
                ++in_place[KnownKeys::first_place(0x1234567 + i * step * factor, bits)];
            EXPECT_LT(*std::max_element(in_place.begin(), in_place.end()), 10) << factor << " by " << step;
        }
}

TEST(RecordingKeys, BeyondItsLargestSizeTheTableForgetsAndGoesOn) {
    KnownKeys keys{};
    constexpr std::uint64_t largest = std::uint64_t{1} << KnownKeys::largest_bits;
    for (std::uint64_t i = 1; i <= largest; ++i) {  // three quarters of them fit
        const std::uint64_t key = i * 0x9e3779b97f4a7c15U;
        keys.add(key, counters_number(i));
        ASSERT_EQ(keys.find(key), counters_number(i));
    }
    EXPECT_EQ(keys.capacity(), largest);
}

TEST(RecordingKeys, AThreadAsksForADecisionOnceHoweverManyThereAre) {
    const TemporaryFolder folder;
    const auto recording = open_recording(folder / "run.fp32rec", {}, policy::LogLevel::summary);
    ThreadWriter* writer = recording->attach();
    constexpr std::int64_t rows = 5000;
    std::int64_t asked = 0;
    for (int round = 0; round < 3; ++round)
        for (std::int64_t m = 1; m <= rows; ++m)
            recording->count(*writer, Hash().add(static_cast<std::uint64_t>(m)).value(), 1, 2, false,
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
