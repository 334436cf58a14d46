// Tests rules that are excluded for a call site in advance. Judging only the other rules must give the same decision
// as judging all.
#include <gtest/gtest.h>

#include <random>

#include "policy/decide.hpp"

namespace fp32shim::policy {
namespace {

constexpr ProcessDescription python = {"python3", "python3 -m train", "node17"};
constexpr std::string_view functions[] = {"sgemm_", "cgemm_", "cblas_sgemm", "cublasSgemm_v2"};
constexpr std::string_view callers[] = {"", "libtorch_cpu.so", "_fblas.so"};
constexpr std::string_view scopes[] = {"", "train", "train/attention"};

class Chance {
  public:
    explicit Chance(unsigned seed) : random_(seed) {}
    std::size_t below(std::size_t limit) { return random_() % limit; }
    bool one_in(std::size_t count) { return below(count) == 0; }
    template <class T, std::size_t size>
    const T& of(const T (&values)[size]) {
        return values[below(size)];
    }

  private:
    std::mt19937 random_;
};

Conditions random_conditions(Chance& chance) {
    static const std::string globs[] = {"*",  "sgemm_", "*gemm*",  "cublas*", "lib*.so",
                                        "_*", "nobody", "python?", "train"};
    Conditions conditions;
    for (auto* list : {&conditions.function, &conditions.caller, &conditions.executable, &conditions.command,
                       &conditions.host, &conditions.scope})
        if (chance.one_in(6)) list->push_back(chance.of(globs));
    for (auto* list :
         {&conditions.m, &conditions.n, &conditions.k, &conditions.batch, &conditions.min_dim, &conditions.max_dim,
          &conditions.flops, &conditions.call_number, &conditions.compute_capability})
        if (chance.one_in(8)) {
            const double low = static_cast<double>(chance.below(100));
            list->push_back({low, low + static_cast<double>(chance.below(100))});
        }
    if (chance.one_in(6)) conditions.device.push_back(chance.one_in(2) ? Device::cpu : Device::cuda);
    if (chance.one_in(6)) conditions.dtype.push_back(chance.one_in(2) ? Dtype::float32 : Dtype::complex64);
    return conditions;
}

Policy random_policy(Chance& chance) {
    constexpr Precision precisions[] = {Precision::native, Precision::highest, Precision::high, Precision::medium};
    Policy policy;
    policy.cpu_mode = CpuMode::emulate;
    policy.rules.resize(chance.below(40));
    for (Rule& rule : policy.rules) {
        rule.precision = chance.of(precisions);
        rule.when = random_conditions(chance);
        if (chance.one_in(3)) rule.unless = random_conditions(chance);
    }
    return policy;
}

MatmulCall random_call(Chance& chance, const CallSiteFacts& site) {
    MatmulCall call;
    call.function = site.function;
    call.caller = site.caller;
    call.device = site.device;
    call.dtype = site.dtype ? *site.dtype : chance.one_in(2) ? Dtype::float32 : Dtype::complex64;
    call.scope = chance.of(scopes);
    if (site.device == Device::cuda) call.compute_capability = chance.one_in(2) ? 80 : 0;
    for (std::int64_t* size : {&call.m, &call.n, &call.k, &call.batch})
        *size = static_cast<std::int64_t>(chance.below(150)) - 1;
    return call;
}

TEST(PolicySiteRules, JudgingOnlyWhatMayMatchIsJudgingAll) {
    std::size_t rules = 0, kept = 0, decided_by_rule = 0;
    for (unsigned seed = 0; seed < 2000; ++seed) {
        Chance chance(seed);
        const Policy policy = random_policy(chance);
        CallSiteFacts site{chance.of(functions), chance.of(callers), Device::cpu, std::nullopt};
        if (site.function.starts_with("cublas")) {
            site.device = Device::cuda;
        } else {
            site.dtype = site.function.starts_with("c") ? Dtype::complex64 : Dtype::float32;
        }
        std::vector<std::uint16_t> may;
        for (std::size_t i = 0; i < policy.rules.size(); ++i)
            if (may_match(policy.rules[i], site, python)) may.push_back(static_cast<std::uint16_t>(i));
        rules += policy.rules.size();
        kept += may.size();
        for (int i = 0; i < 50; ++i) {
            const MatmulCall call = random_call(chance, site);
            const Decision all = decide(call, python, policy, PrecisionOverrides{});
            ASSERT_EQ(decide(call, python, policy, PrecisionOverrides{}, may), all) << "seed " << seed;
            decided_by_rule += all.source == Source::rule ? 1 : 0;
        }
    }
    EXPECT_LT(kept, rules * 2 / 3) << "else the site ruled hardly anything out";
    EXPECT_GT(decided_by_rule, 10'000U);
}

TEST(PolicySiteRules, WhatTheSiteDoesNotSayMayBeAnything) {
    const CallSiteFacts site{"sgemm_", "libfoo.so", Device::cpu, Dtype::float32};
    Rule rule;
    rule.when.m = {{8, 8}};
    rule.when.scope = {"train"};
    EXPECT_TRUE(may_match(rule, site, python));
    rule.unless.scope = {"*"};
    EXPECT_TRUE(may_match(rule, site, python));
    rule.unless = {};
    rule.unless.function = {"sgemm_"};
    EXPECT_FALSE(may_match(rule, site, python)) << "every call is excepted";
    rule.unless.n = {{1, 2}};
    EXPECT_TRUE(may_match(rule, site, python));
    rule.unless = {};
    rule.when.call_site = rule.when.stack = {"nobody"};
    EXPECT_TRUE(may_match(rule, site, python));
    rule.unless.call_site = {"*"};
    EXPECT_TRUE(may_match(rule, site, python));
    rule.when.caller = {"libbar.so"};
    EXPECT_FALSE(may_match(rule, site, python));
}

}  // namespace
}  // namespace fp32shim::policy
