// Tests the stack of a thread's scopes: owners close their own scopes only, scopes have labels, and space is limited.
#include "shim/scopes/scopes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <vector>

namespace fp32shim {
namespace {

using policy::Floor;
using policy::Precision;

std::unique_ptr<ScopeStack> no_scopes() { return std::make_unique<ScopeStack>(); }

TEST(ScopeStack, LabelsAreJoinedBySlashes) {
    const auto scopes = no_scopes();
    EXPECT_EQ(scopes->label(), "");
    EXPECT_TRUE(scopes->push({"inference"}));
    EXPECT_TRUE(scopes->push({""}));
    EXPECT_TRUE(scopes->push({"layer3.attn"}));
    EXPECT_EQ(scopes->label(), "inference/layer3.attn");
    EXPECT_TRUE(scopes->pop() && scopes->pop());
    EXPECT_EQ(scopes->label(), "inference");
    EXPECT_TRUE(scopes->pop());
    EXPECT_FALSE(scopes->pop());
    EXPECT_EQ(scopes->label(), "");
}

TEST(ScopeStack, ALabelThatBeginsWithADotFollowsAtOnce) {
    const auto scopes = no_scopes();
    for (const char* label : {"Model", ".encoder", ".layers.3", "step"}) scopes->push({label});
    EXPECT_EQ(scopes->label(), "Model.encoder.layers.3/step");
}

TEST(ScopeStack, AnOwnerClosesItsOwnAlsoFromTheMiddle) {
    const auto scopes = no_scopes();
    EXPECT_EQ(scopes->push_range(default_domain, "a"), 0);
    EXPECT_EQ(scopes->push_range(first_named_domain, "b"), 0);
    EXPECT_EQ(scopes->push_range(default_domain, ".c"), 1);
    EXPECT_TRUE(scopes->push({"d", Precision::high, Floor::tf32}));
    EXPECT_EQ(scopes->label(), "a/b.c/d");
    EXPECT_EQ(scopes->pop_range(first_named_domain), 0);
    EXPECT_EQ(scopes->label(), "a.c/d");
    EXPECT_EQ(scopes->pop_range(default_domain), 1);
    EXPECT_EQ(scopes->pop_range(default_domain), 0);
    EXPECT_EQ(scopes->label(), "d");
    EXPECT_EQ(scopes->innermost().precision, static_cast<int>(Precision::high));
    EXPECT_EQ(scopes->pop_range(default_domain), -1);
    EXPECT_TRUE(scopes->pop());
    EXPECT_TRUE(scopes->is_empty());
}

TEST(ScopeStack, PrecisionAndFloorOfTheRestHoldAfterOneIsClosed) {
    const auto scopes = no_scopes();
    EXPECT_TRUE(scopes->push({"a", Precision::high, Floor::bf16}));
    EXPECT_EQ(scopes->push_range(default_domain, "range"), 0);
    EXPECT_TRUE(scopes->push({"b", Precision::medium, Floor::fp32}));
    EXPECT_EQ(scopes->pop_range(default_domain), 0);
    EXPECT_EQ(scopes->innermost().precision, static_cast<int>(Precision::medium));
    EXPECT_EQ(scopes->innermost().floor, Floor::fp32);
    EXPECT_TRUE(scopes->pop());
    EXPECT_EQ(scopes->innermost().precision, static_cast<int>(Precision::high));
    EXPECT_EQ(scopes->innermost().floor, Floor::bf16);
    EXPECT_EQ(scopes->label(), "a");
}

TEST(ScopeStack, ARangeThatIsTooDeepOrTooLongChangesNothingAndIsBalanced) {
    const auto scopes = no_scopes();
    for (int level = 0; level < 10'000; ++level) ASSERT_EQ(scopes->push_range(default_domain, "r"), level);
    const std::string deepest(scopes->label());
    EXPECT_EQ(deepest.size(), 2U * range_depth_limit - 1);
    EXPECT_TRUE(scopes->push({"api"}));  // scopes of the C API have separate space
    EXPECT_EQ(scopes->label(), deepest + "/api");
    for (int level = 9'999; level >= range_depth_limit; --level) ASSERT_EQ(scopes->pop_range(default_domain), level);
    EXPECT_EQ(scopes->label(), deepest + "/api");
    EXPECT_TRUE(scopes->pop());
    for (int level = range_depth_limit - 1; level >= 0; --level) ASSERT_EQ(scopes->pop_range(default_domain), level);
    EXPECT_TRUE(scopes->is_empty());

    const std::string too_long(scope_label_limit, 'x');
    EXPECT_FALSE(scopes->push({too_long}));
    EXPECT_EQ(scopes->push_range(default_domain, too_long), 0);
    EXPECT_EQ(scopes->key(), 0U);
    EXPECT_EQ(scopes->push_range(default_domain, "short"), 1);
    EXPECT_EQ(scopes->label(), "short");
    EXPECT_EQ(scopes->pop_range(default_domain), 1);
    EXPECT_EQ(scopes->pop_range(default_domain), 0);
}

TEST(ScopeStack, TheCApiHasItsOwnLimit) {
    const auto scopes = no_scopes();
    for (int i = 0; i < 2 * range_depth_limit; ++i) scopes->push_range(default_domain, "");
    int count = 0;
    while (scopes->push({"s"})) ++count;
    EXPECT_EQ(count, scope_depth_limit);
    while (scopes->pop()) --count;
    EXPECT_EQ(count, 0);
}

/// One open scope, in the form that lists store.
struct Open {
    ScopeOwner owner;
    std::string label;
    std::optional<Precision> precision;
    Floor floor;
};

std::string joined(const std::vector<Open>& all) {
    std::string text;
    for (const Open& open : all) {
        if (!text.empty() && !open.label.empty() && open.label[0] != '.') text += '/';
        text += open.label;
    }
    return text;
}

void expect_equal(const ScopeStack& scopes, const std::vector<Open>& all) {
    int precision = -1;
    Floor floor = Floor::none;
    for (const Open& open : all) {
        if (open.precision) precision = static_cast<int>(*open.precision);
        floor = std::max(floor, open.floor);
    }
    ASSERT_EQ(scopes.label(), joined(all));
    ASSERT_EQ(scopes.innermost().precision, precision);
    ASSERT_EQ(scopes.innermost().floor, floor);
    ASSERT_EQ(scopes.is_empty(), all.empty());
}

TEST(ScopeStack, AnyOrderOfOpeningAndClosingAgreesWithAList) {
    const auto scopes = no_scopes();
    std::vector<Open> all;
    std::map<std::uint64_t, std::tuple<std::string, int, Floor>> by_key;
    std::mt19937 random(7);
    const auto below = [&](std::uint32_t limit) { return random() % limit; };
    const char* const labels[] = {"", "a", ".b", "model", ".layers.0", "/", "a/b", "."};
    for (int step = 0; step < 200'000; ++step) {
        const auto owner = static_cast<ScopeOwner>(below(5));
        if (below(2) == 0 && all.size() < 40) {
            Open open{owner, labels[below(8)], std::nullopt, Floor::none};
            if (owner == c_api_owner && below(2) == 0) open.precision = static_cast<Precision>(below(3));
            if (owner == c_api_owner && below(2) == 0) open.floor = static_cast<Floor>(below(4));
            const auto level = std::count_if(all.begin(), all.end(), [&](auto& o) { return o.owner == owner; });
            all.push_back(open);
            if (owner == c_api_owner) {
                ASSERT_TRUE(scopes->push({open.label, open.precision, open.floor}));
            } else {
                ASSERT_EQ(scopes->push_range(owner, open.label), level);
            }
        } else {
            const auto innermost = std::find_if(all.rbegin(), all.rend(), [&](auto& o) { return o.owner == owner; });
            ASSERT_EQ(scopes->pop_range(owner) >= 0, innermost != all.rend());
            if (innermost != all.rend()) all.erase(std::next(innermost).base());
        }
        expect_equal(*scopes, all);
        const std::tuple values{joined(all), int{scopes->innermost().precision}, scopes->innermost().floor};
        ASSERT_EQ(by_key.emplace(scopes->key(), values).first->second, values);
        if (all.empty()) {
            ASSERT_EQ(scopes->key(), 0U);
        }
    }
}

}  // namespace
}  // namespace fp32shim
