// What `fp32shim doctor` found to be wrong, or out of sight.
#pragma once

#include <string>

namespace fp32shim::cli {

struct Finding {
    std::string about;    ///< the variable, file or library
    std::string message;  ///< what was found, and what follows from it
    std::string remedy;   ///< what to do; empty where nothing helps
};

}  // namespace fp32shim::cli
