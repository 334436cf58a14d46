// Tests that the shipped policies are valid, and do what their comments promise.
#include <gtest/gtest.h>

#include <filesystem>

#include "policy/decide.hpp"
#include "policy/load.hpp"

namespace fp32shim::policy {
namespace {

const std::filesystem::path folder = CONFIG_FOLDER;

Policy shipped(const std::string& name) {
    const LoadedPolicy loaded = read_policy_file(folder / name);
    for (const auto& error : loaded.errors) ADD_FAILURE() << error.text();
    for (const auto& warning : loaded.warnings) ADD_FAILURE() << warning.text();
    return loaded.policy;
}

Precision decided(const Policy& policy, Device device, std::int64_t size) {
    MatmulCall call;
    call.device = device;
    call.compute_capability = device == Device::cuda ? 90 : 0;
    call.m = call.n = call.k = size;
    return decide(call, ProcessDescription{}, policy, PrecisionOverrides{}).precision;
}

TEST(Config, HoldsNothingButGoodPoliciesNamedAfterTheirFiles) {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        if (entry.path().extension() != ".toml") continue;
        EXPECT_EQ(shipped(entry.path().filename()).name, entry.path().stem());
        ++count;
    }
    EXPECT_GE(count, 5);
}

TEST(Config, ObservesWithoutChangingAnything) {
    const Policy policy = shipped("observe.toml");
    EXPECT_EQ(decided(policy, Device::cuda, 512), Precision::native);
    EXPECT_EQ(decided(policy, Device::cpu, 512), Precision::native);
    EXPECT_EQ(policy.floor, Floor::none);
    EXPECT_TRUE(policy.log_path.ends_with(".fp32rec"));
}

TEST(Config, PinsFp32WithAFloor) {
    const Policy policy = shipped("pin-fp32.toml");
    EXPECT_EQ(decided(policy, Device::cuda, 512), Precision::highest);
    EXPECT_EQ(policy.floor, Floor::fp32);
    EXPECT_FALSE(policy.allow_bf16x9);
}

TEST(Config, TakesTf32WhereThereIsOne) {
    const Policy policy = shipped("tf32-auto.toml");
    EXPECT_EQ(decided(policy, Device::cuda, 512), Precision::high);
    EXPECT_EQ(decided(policy, Device::cpu, 512), Precision::native);
}

TEST(Config, PreviewsTf32OnTheCpu) {
    EXPECT_EQ(decided(shipped("preview-tf32-on-cpu.toml"), Device::cpu, 512), Precision::high);
}

TEST(Config, KeepsSmallProductsExact) {
    const Policy policy = shipped("tf32-exact-small.toml");
    EXPECT_EQ(decided(policy, Device::cuda, 128), Precision::highest);
    EXPECT_EQ(decided(policy, Device::cuda, 129), Precision::high);
}

}  // namespace
}  // namespace fp32shim::policy
