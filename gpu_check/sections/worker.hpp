// A worker is a process that measures one section, which is a table of measurements, and sends each row to its parent
// as soon as the row is measured. After a device has faulted, the process can no longer use it. The parent then
// starts another worker, which begins with the next row, so that a fault costs only one row. The parent does the same
// if a row hangs.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gpu_check/cuda/libraries.hpp"

namespace gpu {

/// Messages from a worker to its parent. Each is a line with a word and fields, separated by tabs. The comments name
/// the fields.
namespace line {
inline constexpr const char* begins = "begins";  // title of the row, and the beginning of the names of its findings
inline constexpr const char* found = "found";    // name and value of a finding
inline constexpr const char* ends = "ends";      // no fields
inline constexpr const char* failed = "failed";  // reason of the failure
inline constexpr const char* no_device = "no device";  // reason why there is no device
}  // namespace line

class Worker {
  public:
    /// `variant` is the parent's name for this environment. `sizes` are in ascending order; libraries choose kernels
    /// by size. `first_row` is the number of rows that earlier workers have begun. If a row takes longer than
    /// `row_seconds`, SIGALRM ends the worker.
    Worker(std::vector<int> sizes, std::string variant, int first_row, unsigned row_seconds);

    /// Returns cuBLAS. The first call starts the device and cuBLAS, which are then used until the process ends.
    const Cublas& cublas();
    const Device& device();

    /// Measures one row by `measure`, unless an earlier worker has begun the row. The names of its findings begin
    /// with `prefix`.
    void measure_row(const std::string& title, const std::string& prefix, const std::function<void()>& measure);
    /// Sends a finding of the current row to the parent. Several values may be sent for one name.
    void report_finding(const std::string& name, const std::string& value) const;

    const std::vector<int> sizes;
    const std::string variant;

  private:
    int first_row_;
    unsigned row_seconds_;
    int next_row_ = 0;
    std::string prefix_;
    std::unique_ptr<Device> device_;
    std::unique_ptr<Cublas> cublas_;
};

/// Sends one message to the parent. Tabs and line ends within a field become blanks.
void send_message(const char* word, const std::vector<std::string>& fields);

}  // namespace gpu
