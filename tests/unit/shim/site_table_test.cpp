// Tests the hash by which entry points find call sites.
#include "shim/sites/site_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

namespace fp32shim {
namespace {

SiteTableHash shape_of(std::size_t ways, const std::vector<std::uintptr_t>& addresses) {
    return find_collision_free_hash(ways, [&](auto accept) {
        for (const std::uintptr_t address : addresses)
            if (!accept(address)) return;
    });
}

std::size_t collisions(SiteTableHash shape, const std::vector<std::uintptr_t>& addresses) {
    std::set<std::size_t> ways;
    for (const std::uintptr_t address : addresses) ways.insert(shape.way_of(address));
    return addresses.size() - ways.size();
}

std::vector<std::uintptr_t> row_of(std::size_t count, std::uintptr_t first, std::uintptr_t stride) {
    std::vector<std::uintptr_t> addresses;
    for (std::size_t i = 0; i < count; ++i) addresses.push_back(first + i * stride);
    return addresses;
}

TEST(SiteTable, TenAddressesAtAnyDistanceHaveTenWaysOfASmallTable) {
    for (int shift = 0; shift <= 43; ++shift) {
        for (const std::uintptr_t odd : {1, 3, 5, 17, 1001}) {
            const auto addresses = row_of(10, 0x7f0000001234, odd << shift);
            const SiteTableHash shape = shape_of(min_ways, addresses);
            EXPECT_EQ(collisions(shape, addresses), 0) << shift << " " << odd;
            EXPECT_LE(shape.mask + 1, 64) << shift << " " << odd;
        }
    }
}

TEST(SiteTable, TenRandomAddressesHaveTenWays) {
    std::mt19937_64 random(1);
    for (int round = 0; round < 10000; ++round) {
        std::vector<std::uintptr_t> addresses;
        const int bits = 8 + round % 40;
        for (int i = 0; i < 10; ++i) addresses.push_back(0x550000000000 + (random() >> (64 - bits)));
        std::sort(addresses.begin(), addresses.end());
        addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
        const SiteTableHash shape = shape_of(min_ways, addresses);
        ASSERT_EQ(collisions(shape, addresses), 0);
        ASSERT_LE(shape.mask + 1, 256);
    }
}

TEST(SiteTable, AddressesThatDifferInOneBitHaveTwoWays) {
    for (int bit = 0; bit < 64; ++bit) {
        const std::vector<std::uintptr_t> addresses{0x555555551234, 0x555555551234 ^ std::uintptr_t{1} << bit};
        EXPECT_EQ(collisions(shape_of(min_ways, addresses), addresses), 0) << bit;
    }
}

TEST(SiteTable, AHundredAddressesHaveAHundredWays) {
    std::mt19937_64 random(2);
    for (int round = 0; round < 100; ++round) {
        std::set<std::uintptr_t> distinct;
        while (distinct.size() < 100) distinct.insert(0x7f0000000000 + random() % (1U << 24));
        const std::vector<std::uintptr_t> addresses(distinct.begin(), distinct.end());
        EXPECT_EQ(collisions(shape_of(min_ways, addresses), addresses), 0);
    }
}

TEST(SiteTable, TooManyAddressesForAnyTableGetTheLargest) {
    const auto addresses = row_of(5 * max_ways, 0x7f0000000000, 24);
    const SiteTableHash shape = shape_of(min_ways, addresses);
    EXPECT_EQ(shape.mask + 1, max_ways);
    EXPECT_LT(collisions(shape, addresses), addresses.size() - max_ways * 99 / 100) << "not spread over all of it";
}

TEST(SiteTable, NoShapeHasFewerWaysThanAreAskedFor) {
    for (std::size_t ways = min_ways; ways <= max_ways; ways *= 2) EXPECT_EQ(shape_of(ways, {0x1234}).mask + 1, ways);
}

}  // namespace
}  // namespace fp32shim
