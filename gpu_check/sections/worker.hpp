// A worker is a process that measures one section, and sends each row to its parent as soon as it is known. After a
// device has faulted, its process can no longer use it. The parent then starts another worker, which begins with the
// next row, so a fault costs one row only. The same happens to a row that hangs.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gpu_check/cuda/libraries.hpp"

namespace gpu {

/// Messages from worker to parent: lines of a word and fields, separated by tabs. The comments name the fields.
namespace line {
inline constexpr const char* begins = "begins";        // the row's title, and the beginning of its findings' names
inline constexpr const char* found = "found";          // name and value of a finding
inline constexpr const char* ends = "ends";            // none
inline constexpr const char* failed = "failed";        // reason of the failure
inline constexpr const char* no_device = "no device";  // reason why there is no device
}  // namespace line

class Worker {
  public:
    /// variant: the parent's name for this environment. sizes: ascending; libraries choose kernels by size.
    /// first_row: number of rows that earlier workers have begun. row_seconds: a row that takes longer ends the
    /// worker by SIGALRM.
    Worker(std::vector<int> sizes, std::string variant, int first_row, unsigned row_seconds);

    /// Returns cuBLAS, and starts it and the device at the first call. They are in use until the process ends.
    const Cublas& cublas();
    const Device& device();

    /// Measures one row by `measure`, unless an earlier worker has begun the row. prefix: the beginning of the names
    /// of its findings.
    void measure_row(const std::string& title, const std::string& prefix, const std::function<void()>& measure);
    /// Sends a finding of the row to the parent. A name may have several values.
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
