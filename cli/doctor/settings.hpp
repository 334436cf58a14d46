// Reads the settings under which a program would run, and finds variables that contradict them.
#pragma once

#include <string>
#include <vector>

#include "cli/doctor/machine.hpp"
#include "policy/load.hpp"

namespace fp32shim::cli {

/// A problem that `doctor` found.
struct Finding {
    std::string about;    ///< the variable, file or library that has the problem
    std::string message;  ///< the problem and its consequence
    std::string remedy;   ///< advice; empty if there is none
};

/// An entry of LD_PRELOAD or /etc/ld.so.preload.
struct PreloadEntry {
    std::string entry;  ///< entry as it is written: a name or a path
    std::string file;   ///< file that the loader finds for the entry; empty if it finds none
    std::string where;  ///< source of the entry: `LD_PRELOAD` or `/etc/ld.so.preload`
    bool is_shim = false;
};

/// The settings that this process's environment gives, and the findings about them.
struct ExaminedSettings {
    policy::LoadedPolicy loaded;
    std::vector<PreloadEntry> preloads;  ///< entries in the order in which they are loaded
    std::vector<Finding> findings;       ///< errors and warnings of the policy, and conflicting variables
};

/// Reads the settings from this process's environment, as the shim would. `gpus` decide which precisions have an
/// effect.
ExaminedSettings examine_settings(const GpuInventory& gpus);

}  // namespace fp32shim::cli
