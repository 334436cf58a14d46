// Settings that a program would run under, and variables that contradict them.
#pragma once

#include <string>
#include <vector>

#include "cli/doctor/finding.hpp"
#include "cli/doctor/machine.hpp"
#include "policy/load.hpp"

namespace fp32shim::cli {

/// An entry of LD_PRELOAD or /etc/ld.so.preload.
struct Preload {
    std::string entry;  ///< entry as written: a name or a path
    std::string file;   ///< file that the loader finds; empty: none
    std::string where;  ///< list that has the entry: `LD_PRELOAD` or `/etc/ld.so.preload`
    bool is_shim = false;
};

/// Settings of this process's environment, and the findings about them.
struct ExaminedSettings {
    policy::Loaded loaded;
    std::vector<Preload> preloads;  ///< in the order of loading
    std::vector<Finding> findings;  ///< errors and warnings of the policy, and conflicting variables
};

/// Reads this process's environment as the shim would. `gpus` decide which precisions have an effect.
ExaminedSettings read_settings_in_force(const Gpus& gpus);

}  // namespace fp32shim::cli
