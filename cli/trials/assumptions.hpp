// Sentences for the results of searches: assumptions of a result, facts that its runs have not shown, and reasons why
// there is no result.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/product_groups/groups.hpp"
#include "cli/trials/state.hpp"

namespace fp32shim::cli {

/// The regular files of the working folder when this object was made.
class WorkingFolderSnapshot {
  public:
    WorkingFolderSnapshot();

    /// Returns the files that are new or have changed since then, without the file `except`.
    std::vector<std::string> changed_files(const std::string& except) const;

  private:
    /// Size and time of the last change, by name.
    std::map<std::string, std::pair<std::uintmax_t, std::filesystem::file_time_type>> before_;
};

/// Returns the assumption about what runs leave behind. `left_files`: files that changed since the first run.
std::string fresh_start_assumption(const std::vector<std::string>& left_files);

/// Places of products that were asked to run at a lower precision, and did not, or not always.
struct PlacesAtOtherPrecision {
    std::vector<std::string> never;                         ///< always ran at the format in which they were called
    std::map<std::string, std::vector<std::string>> other;  ///< products that ran in another format, by its word
};

/// Returns a sentence about places that were never lowered, and one for each other format at which places ran.
std::string other_precision_text(const PlacesAtOtherPrecision& places, std::string_view precision);

/// Returns a sentence about products of other libraries, which no run lowers, with the lines of oneDNN's.
std::string other_libraries_text(const RecordedProducts& first_run);

/// Returns a sentence about FP32_MATMUL_FLOOR, which limits how low products of float32 run; empty if it is not set.
std::string floor_variable_text();

/// Returns the words of `formats` without the format of `precision`.
std::vector<std::string> formats_other_than(const std::set<std::string>& formats, std::string_view precision);

/// The precision of a run whose output shows whether the command uses its products. Its significand stores two bits.
constexpr std::string_view coarsest_precision = "e5m2";

/// Returns true if some product of a run ran at the coarsest precision.
bool ran_at_coarsest(const RecordedProducts& products);

/// Sentence about runs whose output stayed the same with products lowered.
constexpr std::string_view unchanged_output_text =
    "The output was the same with products lowered as with everything exact: it need not depend on them.\n";

/// Returns the reason, without a full stop, why acceptable runs show nothing: their output stayed the same even at
/// coarsest_precision. `is_equal`: the output stayed exactly the same; false: it changed by no more than chance.
std::string unproven_dependence_text(bool is_equal);

/// Returns a sentence about a run at coarsest_precision that shows that the output depends on products. `effect`:
/// `changed by 0.3`. `is_equal`: no other run changed the output.
std::string proven_dependence_text(std::string_view effect, bool is_equal);

/// CPU mode in which a program that multiplies on a CPU only is tried, if the user chose none.
constexpr std::string_view preview_mode = "emulate";

/// Returns the last lines of a run's output, indented, each with a line feed.
std::string last_lines_of(const std::string& output);

/// Returns the end of a search without products of the tried types.
SearchAborted no_product_seen_error(const RecordedProducts& products, TriedTypes types);

/// Returns the end of a search in which nothing ran below FP32, with the most frequent reason.
SearchAborted nothing_lowered_error(const RecordedProducts& products, std::string_view precision);

}  // namespace fp32shim::cli
