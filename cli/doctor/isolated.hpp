// Foreign libraries are asked in a child process: their constructors may crash, hang, start threads or print.
#pragma once

#include <functional>
#include <string>

#include "cli/output/json.hpp"

namespace fp32shim::cli {

struct Answer {
    Json value;           ///< null where there is a problem
    std::string problem;  ///< how the child ended, in a few words that go after "it": `was killed by signal 11`
};

/// Runs `question` in a child process, without stdin, stdout and stderr, for at most `seconds`, and returns what it
/// returned.
Answer ask_in_child(const std::function<Json()>& question, unsigned int seconds = 20);

}  // namespace fp32shim::cli
