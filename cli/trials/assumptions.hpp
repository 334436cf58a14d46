// Sentences for the results of searches, which try lower precisions: the assumptions of a result, the facts that the
// runs have not shown, and the reasons why there is no result.
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

/// Records the regular files that the working folder has when this object is made.
class WorkingFolderSnapshot {
  public:
    WorkingFolderSnapshot();

    /// Returns the files that are new or have changed since this object was made, without the file `except`.
    std::vector<std::string> changed_files(const std::string& except) const;

  private:
    /// The size of each file and the time of its last change, by the file's name.
    std::map<std::string, std::pair<std::uintmax_t, std::filesystem::file_time_type>> before_;
};

/// Returns a sentence that says that each run is assumed to start afresh. It names `left_files`, the files that have
/// changed since the first run.
std::string fresh_start_assumption(const std::vector<std::string>& left_files);

/// Lines of source whose products were asked to run at a lower precision, and ran at least once in a format other
/// than that of the requested precision.
struct PlacesAtOtherPrecision {
    std::vector<std::string> never;  ///< lines whose products always ran in the format in which they were called
    std::map<std::string, std::vector<std::string>>
        other;  ///< lines whose products ran in another format, by the name of that format
};

/// Returns a sentence about the lines whose products never ran at a lower precision, and one sentence for each format
/// other than that of `precision` in which products ran.
std::string other_precision_text(const PlacesAtOtherPrecision& places, std::string_view precision);

/// Returns a sentence about products of libraries that no run can lower, with the source lines of oneDNN's products.
std::string other_libraries_text(const RecordedProducts& first_run);

/// Returns a sentence about the environment variable FP32_MATMUL_FLOOR, which limits how low products of float32 run.
/// Returns an empty text if the variable is not set.
std::string floor_variable_text();

/// Returns the names of `formats` without the format of `precision`.
std::vector<std::string> formats_other_than(const std::set<std::string>& formats, std::string_view precision);

/// The precision of a run that shows whether the output of the command depends on its products. Its significand
/// stores two bits.
constexpr std::string_view coarsest_precision = "e5m2";

/// Returns true if some product of a run ran at the coarsest precision.
bool ran_at_coarsest(const RecordedProducts& products);

/// A sentence about a search in which the output stayed the same although products ran at lower precisions.
constexpr std::string_view unchanged_output_text =
    "The output was the same with products lowered as with everything exact: it need not depend on them.\n";

/// Returns the reason, without a full stop, why acceptable runs show nothing: the output did not change even at
/// coarsest_precision. If `is_equal` is true, the output stayed exactly the same; otherwise it changed by no more
/// than chance explains.
std::string unproven_dependence_text(bool is_equal);

/// Returns a sentence about a run at coarsest_precision that shows that the output depends on products. `effect` says
/// how the output changed, such as `changed by 0.3`. `is_equal` is true if no other run changed the output.
std::string proven_dependence_text(std::string_view effect, bool is_equal);

/// The CPU mode of runs of a program that multiplies on a CPU only, unless the user has chosen a CPU mode.
constexpr std::string_view preview_mode = "emulate";

/// Returns the last lines of a run's output. Each line is indented and ends with a line feed.
std::string last_lines_of(const std::string& output);

/// Returns the error that ends a search because no product of `types` was recorded.
SearchAborted no_product_seen_error(const RecordedProducts& products, TriedTypes types);

/// Returns the error that ends a search because no product was lowered. The error names the most frequent reason.
SearchAborted nothing_lowered_error(const RecordedProducts& products, std::string_view precision);

}  // namespace fp32shim::cli
