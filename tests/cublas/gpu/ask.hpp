// The parent's side: starts workers, prints their rows as they come, and keeps what they found.
#pragma once

#include <string>
#include <vector>

#include "questions.hpp"

namespace gpu {

struct Asking {
    std::vector<int> sizes;
    std::string shim;  // libfp32shim.so; variants under it are left out where this file is not there
};

/// Measures a section and prints its table. Throws NoDevice where there is nothing to measure on.
void ask(const Section& section, const Asking& asking, Findings& findings);

/// Prints a row of a Markdown table.
void print_row(const std::vector<std::string>& cells);
/// Prints the title and the first two lines of a table.
void print_heading(const std::string& title, const std::vector<std::string>& columns);

}  // namespace gpu
