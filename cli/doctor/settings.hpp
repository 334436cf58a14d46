// The settings that a program would run under, and variables that work against them.
#pragma once

#include <string>
#include <vector>

#include "cli/doctor/finding.hpp"
#include "cli/doctor/machine.hpp"
#include "policy/load.hpp"

namespace fp32shim::cli {

struct Preload {
    std::string entry;  ///< as LD_PRELOAD or /etc/ld.so.preload has it
    std::string file;   ///< where the loader finds it; empty: it does not
    bool is_shim = false;
};

struct Settings {
    policy::Loaded loaded;
    std::vector<Preload> preloads;  ///< in the loader's order
    std::vector<Finding> findings;  ///< errors and warnings of the policy, and conflicts
};

/// Reads this process's environment as the shim would. `gpus`: what precisions can be run on.
Settings read_settings_in_force(const Gpus& gpus);

}  // namespace fp32shim::cli
