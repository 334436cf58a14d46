// Measures a section (sections/section.hpp) by worker processes: starts the workers, passes their rows on as they
// arrive, and keeps their findings.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gpu_check/sections/findings.hpp"
#include "gpu_check/sections/section.hpp"
#include "gpu_check/workers/process.hpp"

namespace gpu {

/// Settings for measuring a section.
struct MeasurementSettings {
    std::vector<int> sizes;   ///< sizes of matrices, in ascending order
    std::string shim;         ///< path of libfp32shim.so; if there is no such file, variants that use it are left out
    Environment environment;  ///< environment of the workers; each variant adds to it
    unsigned row_seconds = 60;
    Clock::time_point until = Clock::now() + std::chrono::hours(24);  ///< time at which the last worker is stopped
};

/// Receives a row: the variant, the row's title, and its findings as a text "name value; name value".
using RowHandler = std::function<void(const Variant& variant, const std::string& title, const std::string& found)>;

/// Measures a section. Names of findings begin with the variant's name and a slash. In addition to the workers'
/// findings there are:
///   failure      reason why a row, or the whole section, was not measured
///   decided      format that the shim applied to a recorded product, if the variant keeps a recording in FOLDER
///   reason       reason why that format is not the requested one
/// A failure is also added as a finding called "failures", with the name of the section, unless the section counts
/// faults as answers. Throws NoDeviceError if there is no device to measure.
void measure_section(
    const Section& section, const MeasurementSettings& settings, FindingMap& findings,
    const RowHandler& sink = [](const Variant&, const std::string&, const std::string&) {});

/// Texts of failures that are treated specially.
inline constexpr const char* no_time_left = "no time left";
inline constexpr const char* nothing_recorded = "nothing was recorded";
inline constexpr const char* not_preloaded = "cannot be preloaded";  ///< part of the loader's message

/// Returns the command line that starts this program as a worker.
std::vector<std::string> worker_words(const Section& section, const Variant& variant,
                                      const MeasurementSettings& settings, int first_row = 0);
/// Runs a program that starts itself as a worker. The words `--worker SECTION --variant NAME --first ROW
/// --row-seconds N --size N,N` measure a section that `section_named` returns; all other words are passed to `run`.
/// Returns the exit status. An exception becomes a line on stderr and a status: 77 for NoDeviceError, 2 for wrong
/// arguments, 1 for others.
int run_program(int argc, char** argv, const Section& (*section_named)(const std::string& name),
                int (*run)(const std::vector<std::string>& words));

/// Returns the numbers in a text such as "64,512". Throws std::invalid_argument if the text is malformed or a number
/// is out of range.
std::vector<int> parse_sizes(const std::string& given);

}  // namespace gpu
