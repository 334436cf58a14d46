// What a program of this folder prints: Markdown tables, which people read and docs/gpu-results.md takes as they are.
#pragma once

#include <string>
#include <vector>

namespace gpu {

class Table {
  public:
    explicit Table(std::vector<std::string> heading) : rows_{std::move(heading)} {}

    void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
    /// Markdown, columns padded to one width.
    void print(const char* title) const;

  private:
    std::vector<std::vector<std::string>> rows_;
};

/// 2.9e-04
std::string scientific(double value);

}  // namespace gpu
