// The environment of recorded processes: processor, BLAS libraries with version and threads, devices, Python, torch.
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

/// Facts about one process or several, each with all of its values.
class EnvironmentFacts {
  public:
    void add(const std::vector<record::RecordedEnvironmentFact>& facts);

    /// Returns true if nothing is known, as with recordings of older versions.
    bool is_empty() const { return facts_by_subject_.empty(); }
    /// Returns `OpenBLAS 0.3.21` for the library of that name, or its file if it does not tell its version; empty if
    /// neither is known.
    std::string library_text(std::string_view library) const;
    /// Returns the names of a GPU, which differ if a process had several under this number; empty: not known.
    std::set<std::string> names_of_gpu(std::int32_t device) const;
    /// Returns a line about the machine and the program, then one for each library and device.
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
    std::map<std::string, Values, std::less<>>
        facts_by_subject_;  // facts by library or device; the process itself has an empty name
};

/// Returns what differs: `libblas.so.3: OpenBLAS 0.3.21, 2 threads -> BLIS 0.9.0, 1 thread`; empty if nothing does.
/// Precondition: neither is empty.
std::string environment_difference_text(const EnvironmentFacts& a, const EnvironmentFacts& b);

/// Returns the keys of docs/schema.md; null if nothing is known.
Json environment_json(const EnvironmentFacts& environment);

}  // namespace fp32shim::cli
