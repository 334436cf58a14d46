// A table is measured by a process of its own, the worker, which tells its parent each row as soon as it has it. A
// device that faulted is of no more use to its process: then the parent starts another worker, from the next row on,
// and the fault has cost one row. So has a row that hangs.
#pragma once

#include <unistd.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gpu_check/cuda/libraries.hpp"

namespace gpu {

/// The lines between worker and parent: a word, and fields behind tabs.
namespace line {
inline constexpr const char* begins = "begins";        // the row's first cells
inline constexpr const char* found = "found";          // name, value
inline constexpr const char* ends = "ends";            // the row's other cells
inline constexpr const char* failed = "failed";        // why
inline constexpr const char* no_device = "no device";  // why
}  // namespace line

class Worker {
  public:
    /// variant: what the parent calls this environment. sizes: ascending; libraries choose their kernels by size.
    /// first_row: an earlier worker has come as far. row_seconds: SIGALRM ends a worker whose row takes longer.
    Worker(std::vector<int> sizes, std::string variant, int first_row, unsigned row_seconds)
        : sizes(std::move(sizes)), variant(std::move(variant)), first_row_(first_row), row_seconds_(row_seconds) {
        alarm(row_seconds_);
    }

    /// Made when first asked for. The device of a process is never given back: it ends with it.
    const Device& device();
    const Cublas& cublas();

    /// One row: `measure` returns the cells behind these. Left out where an earlier worker has come past it.
    void row(const std::vector<std::string>& first_cells, const std::function<std::vector<std::string>()>& measure);
    /// Tells what conclusions are drawn from. A name may have many values.
    void found(const std::string& name, const std::string& value) const;

    const std::vector<int> sizes;
    const std::string variant;

  private:
    int first_row_;
    unsigned row_seconds_;
    int next_row_ = 0;
    std::unique_ptr<Device> device_;
    std::unique_ptr<Cublas> cublas_;
};

/// Prints a line of that protocol. Tabs and ends of lines within a field become blanks.
void tell(const char* word, const std::vector<std::string>& fields);

}  // namespace gpu
