#include "system/cpu_features.hpp"

#include <strings.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cstring>

namespace fp32shim::system {
namespace {

/// Returns the first value of FP32_MATMUL_INSTRUCTIONS in the environment; nullptr: there is none.
const char* value_of_instructions() {
    constexpr char name[] = "FP32_MATMUL_INSTRUCTIONS=";
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry)
        if (std::strncmp(*entry, name, sizeof name - 1) == 0) return *entry + sizeof name - 1;
    return nullptr;
}

/// Reads the variable when this code is loaded, since a program may change its environment later. A process with
/// elevated rights ignores the variable, like all others. A wrong word has no effect here; policy/environment.cpp
/// reports it.
__attribute__((constructor)) void read_instructions() {
    const char* const value = value_of_instructions();
    if (value == nullptr || getauxval(AT_SECURE) != 0) return;
    for (const InstructionLevel& level : instruction_levels)
        if (strcasecmp(value, level.word) == 0) chosen_level.store(&level, std::memory_order_relaxed);
}

}  // namespace

constinit std::atomic<const InstructionLevel*> chosen_level{nullptr};

}  // namespace fp32shim::system
