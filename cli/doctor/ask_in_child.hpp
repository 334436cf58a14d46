// Runs code of foreign libraries in a child process: their constructors may crash, hang, start threads or print.
#pragma once

#include <functional>
#include <string>

#include "cli/output/json.hpp"

namespace fp32shim::cli {

/// Answer of a child process.
struct Answer {
    Json value;           ///< null if there is a problem
    std::string problem;  ///< predicate of a sentence: `was killed by signal 11`; empty: none
};

/// Runs `question` in a child process for at most `seconds`, with stdin, stdout and stderr closed, and returns its
/// result.
Answer ask_in_child(const std::function<Json()>& question, unsigned int seconds = 20);

}  // namespace fp32shim::cli
