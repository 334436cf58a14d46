#include "environment.hpp"

#include <cstdlib>
#include <sstream>
#include <string_view>

namespace stand_in {
namespace {

std::string_view variable(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

Environment read() {
    Environment result;
    result.tf32_override_off = variable("NVIDIA_TF32_OVERRIDE") == "0";
    result.emulate_single = variable("CUBLAS_EMULATE_SINGLE_PRECISION") == "1";
    result.emulate_eagerly = variable("CUBLAS_EMULATION_STRATEGY") == "eager";
    result.fast_honoured = variable("STAND_IN_FAST") != "ignored";
    result.lacks_memory = variable("STAND_IN_FAST") == "no_memory_at_all";
    result.fast_lacks_memory = variable("STAND_IN_FAST") == "no_memory" || result.lacks_memory;
    result.compute = variable("STAND_IN_KERNELS") != "none";
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
