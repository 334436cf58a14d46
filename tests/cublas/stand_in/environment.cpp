#include "environment.hpp"

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string_view>

namespace stand_in {
namespace {

std::string_view variable(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

/// Returns true if this process may break promises: STAND_IN_ONLY_IF=NAME=VALUE, or NAME, holds in its environment.
/// In other processes the stand-in is correct.
bool may_lie() {
    const std::string_view condition = variable("STAND_IN_ONLY_IF");
    if (condition.empty()) return true;
    const auto equals = condition.find('=');
    const std::string_view value = variable(std::string(condition.substr(0, equals)).c_str());
    return equals == std::string_view::npos ? !value.empty() : value == condition.substr(equals + 1);
}

Environment read() {
    Environment result;
    result.tf32_override_off = variable("NVIDIA_TF32_OVERRIDE") == "0";
    result.tf32_override_on = variable("NVIDIA_TF32_OVERRIDE") == "1";
    result.emulate_single = variable("CUBLAS_EMULATE_SINGLE_PRECISION") == "1";
    result.emulate_double = variable("CUBLAS_EMULATE_DOUBLE_PRECISION") == "1";
    const std::string_view bits = variable("CUBLAS_FIXEDPOINT_EMULATION_MANTISSA_BIT_COUNT");
    if (!bits.empty()) result.fixed_point_bits = std::atoi(bits.data());
    result.emulate_eagerly = variable("CUBLAS_EMULATION_STRATEGY") == "eager";
    const std::string_view fast = may_lie() ? variable("STAND_IN_FAST") : "";
    result.fast_honoured = fast != "ignored";
    result.lacks_memory = fast == "no_memory_at_all";
    result.fast_lacks_memory = fast == "no_memory" || result.lacks_memory;
    std::istringstream leaks{std::string(may_lie() ? variable("STAND_IN_LEAKS") : "")};
    for (std::string word; std::getline(leaks, word, ',');) result.leaks.insert(word);
    result.refuses_half_in_32f = variable("STAND_IN_REFUSES") == "half_in_32f";
    result.graphs_differ = may_lie() && variable("STAND_IN_GRAPHS") == "differ";
    result.compute = variable("STAND_IN_KERNELS") != "none";
    result.finds_algorithms = variable("STAND_IN_SEARCHES") != "none";
    if (const std::string split(variable("STAND_IN_SPLIT_K")); !split.empty())
        result.splits_all_types =
            std::sscanf(split.c_str(), "%d:%d:%u", &result.split_id, &result.split_k, &result.split_reduction) == 3;
    std::istringstream rows{std::string(variable("STAND_IN_ASSUME"))};
    for (std::string row; std::getline(rows, row, ',');) {
        const auto equals = row.find('=');
        if (equals != std::string::npos) result.assume[row.substr(0, equals)] = row.substr(equals + 1);
    }
    return result;
}

}  // namespace

const Environment& environment() {
    static const Environment* const instance = new Environment(read());
    return *instance;
}

}  // namespace stand_in
