// Declares the table of sections. A section is a measurement, which is made by worker processes: one for each variant
// of the section.
//
// A worker is a process that measures one section, which is a table of measurements, and sends each row to its parent
// as soon as the row is measured. After a device has faulted, the process can no longer use it. The parent then
// starts another worker, which begins with the next row, so that a fault costs only one row. The parent does the same
// if a row hangs.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gpu_check/cuda/libraries.hpp"
#include "gpu_check/products/functions.hpp"

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

/// An environment in which a section is measured.
struct Variant {
    const char* name;
    /// Text "NAME=value ...", where SHIM means the shim's path and FOLDER the variant's own folder.
    const char* variables;
    /// Precision that a rule in the variant's own policy file gives to products; nullptr if there is no rule. The
    /// rule is for all products, or only for float64 products if no other type has this precision.
    const char* rule = nullptr;
};

/// A measurement and the way to make it.
struct Section {
    const char* name;
    const char* title;
    void (*measure)(Worker& worker);
    std::vector<Variant> variants = {};  // a section without variants is measured once, in the caller's environment;
                                         // a variant may be listed several times, to take turns
    bool faults_are_answers = false;     // if false, a row that fails makes the whole section fail
};

/// Returns all sections. gpu-check measures them in the order of checks/gpu_check.cpp instead.
std::span<const Section> verdict_sections();
/// Returns the section called `name`. Throws std::invalid_argument if there is none.
const Section& section_named(const std::string& name);

inline constexpr std::size_t audited_products = 6;  ///< number of products that measure_audit_errors() compares

// Functions in formats.cpp:
void measure_default_product(Worker& worker);
void measure_lowering_requests(Worker& worker);
void measure_float64_formats(Worker& worker);
// Functions in speed.cpp:
void measure_machine(Worker& worker);
void measure_product_times(Worker& worker);
/// Returns the median time of one call, in milliseconds.
double median_milliseconds(Worker& worker, const CublasFunction& function, const CallArguments& product,
                           cublasMath_t mode);
// Functions in host_time.cpp:
void measure_recording_cost(Worker& worker);
// Functions in graph.cpp:
void measure_captured_products(Worker& worker);
/// Makes a stream that does not wait for other streams, and sets it as the stream of the handle.
CUstream use_own_stream(const Cublas& cublas);
/// Captures the calls that `multiply` makes on `stream` into a graph.
CUgraph capture_graph(const Device& device, CUstream stream, const std::function<void()>& multiply);
/// Replays a graph twice, and waits for the end of the second replay.
void replay_graph_twice(const Device& device, CUgraph graph, CUstream stream);
// Functions in audits.cpp:
void measure_audit_errors(Worker& worker);

}  // namespace gpu
