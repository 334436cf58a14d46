// A problem that `fp32shim doctor` found.
#pragma once

#include <string>

namespace fp32shim::cli {

/// A problem: its subject, the message, and the remedy.
struct Finding {
    std::string about;    ///< variable, file or library
    std::string message;  ///< problem and its consequence
    std::string remedy;   ///< advice; empty if nothing helps
};

}  // namespace fp32shim::cli
