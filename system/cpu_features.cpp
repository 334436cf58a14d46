#include "system/cpu_features.hpp"

#include <strings.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cstring>

namespace fp32shim::system {
namespace {

/// Returns the first value of FP32_MATMUL_INSTRUCTIONS in the environment, or nullptr if the variable is not set.
const char* value_of_instructions() {
    constexpr char name[] = "FP32_MATMUL_INSTRUCTIONS=";
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry)
        if (std::strncmp(*entry, name, sizeof name - 1) == 0) return *entry + sizeof name - 1;
    return nullptr;
}

/// Reads FP32_MATMUL_INSTRUCTIONS when this code is loaded, because the program may change its environment later. A
/// process with elevated rights (AT_SECURE) ignores the variable. A wrong word has no effect here;
/// policy/environment.cpp reports it.
__attribute__((constructor)) void read_instructions() {
    const char* const value = value_of_instructions();
    if (value == nullptr || getauxval(AT_SECURE) != 0) return;
    for (const InstructionLevel& level : instruction_levels)
        if (strcasecmp(value, level.word) == 0) chosen_level.store(&level, std::memory_order_relaxed);
}

}  // namespace

constinit std::atomic<const InstructionLevel*> chosen_level{nullptr};

}  // namespace fp32shim::system
