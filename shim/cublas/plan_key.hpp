// A plan says how the shim changes a call. A call site keeps one plan for its later calls, under a key of what the
// plan depends on. CublasSite::plan packs the key and the plan's number into one word:
//
//     bits 0-15   the lower bits of settings_change_count
//          16-23  the compute capability of the handle's device
//          24-28  the math mode that the program set
//          29-34  the lower bits of Settings::generation, which identifies the settings to which rules belong
//          35-37  the dtype
//          38-42  the compute type minus 63; 0 if the function has no compute type
//          43     1 if the algorithm allows FP16
//          48-59  the number of the plan
//          60     1 if a plan is kept
//          61     1 if calls with this key may take the short path of express.cpp, the express lane
//          62     1 if calls on that path are recorded
#pragma once

#include <cstdint>

namespace fp32shim::cublas {

constexpr int capability_shift = 16;
constexpr int math_mode_shift = 24;
constexpr int generation_shift = 29;
constexpr int dtype_shift = 35;
constexpr int compute_type_shift = 38;
constexpr int algorithm_shift = 43;
constexpr int number_shift = 48;

constexpr std::uint64_t key_mask = (std::uint64_t{1} << number_shift) - 1;
constexpr std::uint64_t generation_mask = std::uint64_t{63} << generation_shift;
constexpr std::uint64_t number_mask = 0xfff;
constexpr std::uint64_t kept_bit = std::uint64_t{1} << 60;
constexpr std::uint64_t express_bit = std::uint64_t{1} << 61;
constexpr std::uint64_t recorded_bit = std::uint64_t{1} << 62;

/// The key of a call that has an unknown property, or a property that does not fit into its bits of the key. No plan
/// is kept under this key.
constexpr std::uint64_t key_unknown = ~std::uint64_t{0};

constexpr std::uint64_t handle_key(std::int32_t compute_capability, std::int32_t math_mode) {
    const auto capability = static_cast<std::uint32_t>(compute_capability);
    const auto mode = static_cast<std::uint32_t>(math_mode);
    if (capability > 255 || mode > 31) return key_unknown;
    return std::uint64_t{capability} << capability_shift | std::uint64_t{mode} << math_mode_shift;
}

constexpr std::uint64_t call_key(std::uint8_t dtype, std::int32_t compute_type, bool algorithm_allows_fp16) {
    const auto type = static_cast<std::uint32_t>(compute_type == 0 ? 0 : compute_type - 63);
    if (dtype > 7 || type > 31) return key_unknown;
    return std::uint64_t{dtype} << dtype_shift | std::uint64_t{type} << compute_type_shift |
           std::uint64_t{algorithm_allows_fp16} << algorithm_shift;
}

constexpr std::uint64_t settings_key(std::uint32_t change_count, std::uint32_t generation) {
    return (change_count & 0xffff) | (std::uint64_t{generation} << generation_shift & generation_mask);
}

constexpr std::uint64_t join_keys(std::uint64_t settings, std::uint64_t handle, std::uint64_t call) {
    return handle == key_unknown || call == key_unknown ? key_unknown : settings | handle | call;
}

static_assert((handle_key(255, 31) & call_key(7, 94, true)) == 0);
static_assert(((handle_key(255, 31) | call_key(7, 94, true)) & settings_key(~0U, ~0U)) == 0);
static_assert((join_keys(settings_key(~0U, ~0U), handle_key(255, 31), call_key(7, 94, true)) & ~key_mask) == 0);

}  // namespace fp32shim::cublas
