// Error messages for wrong arguments, one line each: the option, the value found, the values allowed.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace fp32shim::cli {

/// Returns the message for an error that CLI11 found while parsing.
std::string problem_of(const CLI::App& app, const CLI::ParseError& error);

/// Returns the message for the first word that no option took; empty if there is none.
std::string problem_of_extras(const CLI::App& app);

}  // namespace fp32shim::cli
