// Table of all sub-commands, in the order of `fp32shim --help`.
#pragma once

#include <span>

#include "cli/command.hpp"

namespace fp32shim::cli {

std::span<const Command> commands();

// Each is defined in the file or folder of its name, except ps (top.cpp) and set and reload (set_and_reload.cpp).
Action define_run(CLI::App& app);
Action define_doctor(CLI::App& app);
Action define_explain(CLI::App& app);
Action define_verify(CLI::App& app);
Action define_check(CLI::App& app);
Action define_report(CLI::App& app);
Action define_log(CLI::App& app);
Action define_top(CLI::App& app);
Action define_ps(CLI::App& app);
Action define_set(CLI::App& app);
Action define_reload(CLI::App& app);
Action define_completion(CLI::App& app);

}  // namespace fp32shim::cli
