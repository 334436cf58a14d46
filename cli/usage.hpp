// What is wrong with the words of a command, in one line of our own: option, what was found, what is allowed.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace fp32shim::cli {

/// For what CLI11 refuses while it parses.
std::string problem_of(const CLI::App& app, const CLI::ParseError& error);

/// For the first word that no option took; empty where there is none.
std::string problem_of_extras(const CLI::App& app);

}  // namespace fp32shim::cli
