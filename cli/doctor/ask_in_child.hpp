// Runs code of foreign libraries in a child process, because their constructors may crash, hang, start threads or
// print.
#pragma once

#include <functional>
#include <string>

#include "cli/output/json.hpp"

namespace fp32shim::cli {

/// Answer of a child process.
struct Answer {
    Json value;           ///< null if there is a problem
    std::string problem;  ///< end of a sentence: `was killed by signal 11`; empty: none
};

/// Runs `question` in a child process and returns its result. The child may take `seconds`. Its stdin, stdout and
/// stderr are closed.
Answer ask_in_child(const std::function<Json()>& question, unsigned int seconds = 20);

}  // namespace fp32shim::cli
