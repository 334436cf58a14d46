// The parent's side: starts workers, hands on their rows as they come, and keeps what they found.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gpu_check/sections/findings.hpp"
#include "gpu_check/sections/section.hpp"
#include "gpu_check/workers/process.hpp"

namespace gpu {

/// How sections are measured.
struct Asking {
    std::vector<int> sizes;   ///< ascending
    std::string shim;         ///< libfp32shim.so; variants under it are left out where this file is not there
    Environment environment;  ///< of the workers; each variant adds to it
    unsigned row_seconds = 60;
    Clock::time_point until = Clock::now() + std::chrono::hours(24);  ///< no worker runs on after this
};

/// Gets the cells of each row of a table; the first names the variant, if the section has any.
using RowSink = std::function<void(const std::vector<std::string>& cells)>;

/// Measures a section. Findings of a variant begin with its name and a slash; besides those of the workers, they are
///   failure      why a row, or all of it, was not measured
///   decided      what the shim applied to a recorded product, if the variant keeps a recording in FOLDER;
///   reason       and why, where it was not what was asked for
/// Those under "failures" name the section, and are of sections where a fault is no answer.
/// Throws NoDevice where there is nothing to measure on.
void ask(const Section& section, const Asking& asking, Findings& findings, const RowSink& sink);

/// Failures that are told apart from others.
inline constexpr const char* no_time_left = "no time left";
inline constexpr const char* nothing_recorded = "nothing was recorded";
inline constexpr const char* not_preloaded = "cannot be preloaded";  ///< words of the loader

/// The words that start this program as a worker.
std::vector<std::string> worker_words(const Section& section, const Variant& variant, const Asking& asking,
                                      int first_row = 0);
/// `--worker SECTION --variant NAME --first ROW --row-seconds N --size N,N`: measures. Returns an exit status.
int work(const std::vector<std::string>& words);

/// "64,512" to numbers. Throws std::invalid_argument.
std::vector<int> parse_sizes(const std::string& given);

}  // namespace gpu
