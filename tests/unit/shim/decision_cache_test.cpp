// Tests the decisions that a thread keeps: a look-up finds only a decision that was kept for exactly that call.
#include "shim/decision/decision_cache.hpp"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <tuple>

namespace fp32shim {
namespace {

auto as_tuple(const DecisionKey& key) {
    return std::make_tuple(key.site, key.m, key.n, key.k, key.batch, key.compute_capability, key.dtype,
                           key.generation, key.change_count);
}

policy::Decision decision_number(std::int32_t rule) {
    policy::Decision decision;
    decision.rule = rule;
    decision.precision = rule % 2 == 0 ? policy::Precision::high : policy::Precision::medium;
    return decision;
}

TEST(DecisionCache, WhatIsFoundIsWhatWasKeptForThatCall) {
    const auto kept = std::make_unique<DecisionCache>();
    std::map<decltype(as_tuple({})), policy::Decision> all;
    std::mt19937 random(3);
    const auto below = [&](std::uint32_t limit) { return static_cast<std::int32_t>(random() % limit); };
    int found = 0;
    for (std::int32_t i = 0; i < 60'000; ++i) {
        const DecisionKey key{1 + static_cast<std::uint64_t>(below(4)),
                              below(10),
                              below(10),
                              below(2),
                              below(2),
                              below(2) * 80,
                              policy::Dtype(below(2)),
                              1 + static_cast<std::uint32_t>(i / 20'000),
                              static_cast<std::uint32_t>(i / 15'000)};
        const auto known = all.find(as_tuple(key));
        if (const auto decision = kept->find(key)) {
            ASSERT_NE(known, all.end());
            ASSERT_EQ(*decision, known->second);
            ++found;
        } else {
            kept->store(key, decision_number(i));
            all[as_tuple(key)] = decision_number(i);
        }
    }
    EXPECT_GT(found, 10'000);
}

TEST(DecisionCache, AThousandSizesOfASiteAreAllKept) {
    // Programs step through one or all sizes, in steps of one or of another number.
    for (const std::int64_t step : {1, 8, 23, 64, 1000})
        for (const int which : {0, 1, 2, 3}) {
            const auto size = [&](int number, std::int64_t i) {
                return which == number || which == 3 ? i * step : 8;
            };
            const auto key_of = [&](std::int64_t i) {
                return DecisionKey{1, size(0, i), size(1, i), size(2, i), 1, 0, {}, 1, static_cast<unsigned>(step)};
            };
            const auto kept = std::make_unique<DecisionCache>();
            for (std::int32_t i = 1; i <= 1000; ++i) kept->store(key_of(i), decision_number(i));
            int found = 0;
            for (std::int32_t i = 1; i <= 1000; ++i)
                if (const auto decision = kept->find(key_of(i))) found += decision->rule == i ? 1 : 0;
            EXPECT_GE(found, 980) << "sizes " << which << " by " << step;
        }
}

TEST(DecisionCache, OnesOfOtherSettingsGiveWayFirst) {
    const auto kept = std::make_unique<DecisionCache>();
    for (std::uint32_t changes = 1; changes < 100; ++changes)
        for (std::int64_t m = 0; m < 100; ++m) {
            const DecisionKey key{1, m, m, m, 1, 0, {}, changes, changes};
            EXPECT_EQ(kept->find(key), std::nullopt);
            kept->store(key, decision_number(static_cast<std::int32_t>(m)));
            EXPECT_EQ(kept->find(key)->rule, m);
        }
}

}  // namespace
}  // namespace fp32shim
