// Describes the environment of recorded processes: processor, BLAS libraries with version and threads, devices,
// Python, torch.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/output/json_fwd.hpp"
#include "record/environment.hpp"
#include "record/read/reader.hpp"

namespace fp32shim::cli {

/// The facts about the environment of one or several processes. Each fact has all values that it had in these
/// processes.
class EnvironmentFacts {
  public:
    void add(const std::vector<record::RecordedEnvironmentFact>& facts);

    /// Returns true if nothing is known, as with recordings of older versions.
    bool is_empty() const { return facts_by_subject_.empty(); }
    /// Returns true if a process noted its environment, as it does at its first product.
    bool is_noted() const { return values_about("").contains(record::EnvironmentFact::instructions); }
    /// Returns the name and the version of a library, such as `OpenBLAS 0.3.21`, or its file if the library does not
    /// tell its version; empty if neither is known.
    std::string library_identity(std::string_view library) const;
    /// Returns the names of the GPU with the number `device`. There are several names if processes had different GPUs
    /// under this number. Returns an empty set if no name is known.
    std::set<std::string> names_of_gpu(std::int32_t device) const;
    /// Returns a line about the machine and the program, then a line for each library and each device.
    std::vector<std::string> text_lines() const;

    bool operator==(const EnvironmentFacts&) const = default;

  private:
    friend std::string environment_difference_text(const EnvironmentFacts&, const EnvironmentFacts&);
    friend Json environment_json(const EnvironmentFacts&);
    using Values = std::map<record::EnvironmentFact, std::set<std::string>>;

    /// Returns the facts about a library or device; about the process if `subject` is empty.
    const Values& values_about(std::string_view subject) const;
    static std::string text_of(const Values& values, bool with_files);
    static std::string process_difference_text(const Values& a, const Values& b);
    // The facts by library or device; the process itself has an empty name.
    std::map<std::string, Values, std::less<>> facts_by_subject_;
};

/// Returns the differences between two environments as text: `libblas.so.3: OpenBLAS 0.3.21, 2 threads -> BLIS 0.9.0,
/// 1 thread`; empty if there are none. Precondition: neither environment is empty.
std::string environment_difference_text(const EnvironmentFacts& a, const EnvironmentFacts& b);

/// Returns the environment as a JSON object with the keys of docs/schema.md; null if nothing is known.
Json environment_json(const EnvironmentFacts& environment);

}  // namespace fp32shim::cli
