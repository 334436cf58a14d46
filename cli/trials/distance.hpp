// The distance between the output of a run and the output of the exact runs, in which all products are exact.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/output/json_fwd.hpp"
#include "cli/trials/numbers.hpp"

namespace fp32shim::cli {

/// The ways to measure the distance of a run's numbers from the reference numbers of the exact runs.
enum class OutputMetric : std::uint8_t {
    number,  ///< largest relative difference of a number in a text, or of the norm of an array
    norm,    ///< norm of the differences, relative to the norm of the references
    max,     ///< largest difference, relative to the largest reference
    each,    ///< largest relative difference of any number, including the numbers of arrays
    limits   ///< 0 if each number is within the limits, and otherwise infinite
};

/// The settings that say how the numbers of two runs are compared.
struct NumberComparison {
    OutputMetric metric = OutputMetric::number;
    double tolerance = -1;  ///< largest error that is accepted; negative if no such limit is known
    double relative = 0,
           absolute = 0;  ///< with OutputMetric::limits, a number may differ by absolute + relative·|reference|
};

/// A row of numbers that a run changed. A row is either one number of a text, or an array.
struct ChangedRow {
    std::string name{};
    double exact = 0,
           found = 0;  ///< the number in the exact run and in this run; in an array, the number that changed most
    std::string
        worst{};  ///< name of the number of an array that changed most; empty if the row is a number of a text
    double worst_change = 0;  ///< relative change of the number named by `worst`
    double change = 0;        ///< relative change of the number, or of the norm of the array
    double noise = 0;         ///< largest change of the row from the first exact run to another exact run
    bool counts = true;       ///< false if the exact runs differ too much in this row
};

struct OutputDistance {
    double error = 0;  ///< infinite if the numbers cannot be compared, for the reason in `problem`
    std::string problem{};
    bool is_chance =
        false;  ///< some numbers or arrays that count have changed, but none by more than chance explains
    std::uint64_t changed = 0;       ///< number of changed numbers and arrays, including those that do not count
    std::vector<ChangedRow> most{};  ///< rows that changed most: first some that count, largest change first, and
                                     ///< then some that do not count
    bool has_other_words = false;    ///< `problem` is about words that differ

    bool exceeds_chance() const { return error != 0 && !is_chance; }
};

/// Holds the numbers of the exact runs, with which the numbers of other runs are compared.
class ExactRunReference {
  public:
    explicit ExactRunReference(const NumberComparison& comparison);

    /// Adds the numbers of another exact run. Returns the reason why they cannot be compared with the numbers of the
    /// first exact run, or an empty text if they can.
    std::string add_exact_run(const ParsedNumbers& numbers);
    /// Sets the number of runs that will be compared with the exact runs. All exact runs must have been added before.
    void expect_compared_runs(std::size_t count);
    /// Compares the numbers of a run with those of the first exact run. Numbers and words that did not change are
    /// left out of the error.
    OutputDistance distance_of(const ParsedNumbers& found) const;
    /// Returns the largest error of the exact runs in any number or array that counts.
    double exact_run_noise() const;
    /// Returns the largest error that chance explains in any number or array that counts. The result is infinite if
    /// the exact runs differ, but there are too few of them to tell.
    double largest_chance_error() const;

    bool is_empty() const { return first_.values.empty(); }
    std::size_t number_count() const { return first_.values.size(); }
    bool has_run_timestamps() const { return first_.has_run_timestamps; }
    bool has_other_timestamps() const { return first_.has_other_timestamps; }
    const std::vector<double>& values() const { return first_.values; }
    /// Returns the numbers and arrays that do not count because exact runs differ by more than noise_limit() in them.
    std::vector<ChangedRow> rows_left_out() const;
    double noise_limit() const { return largest_noise_; }
    /// Returns true if the metric judges each number of a text and each array separately.
    bool compares_by_row() const { return metric_ == OutputMetric::number || metric_ == OutputMetric::each; }
    bool compares_by_limits() const { return metric_ == OutputMetric::limits; }
    /// Makes all numbers and arrays count, including those that were left out because exact runs differ too much in
    /// them.
    void include_all_rows();

  private:
    bool is_counted(std::size_t row) const { return !leaves_out_ || noise_[row] <= largest_noise_; }
    bool is_explained_by_chance(std::size_t row, double change) const;
    double change_of(const NumberRow& row, const std::vector<double>& found) const;
    ChangedRow changed_row(std::size_t row, const std::vector<double>& found) const;
    std::string difference_of_words_or_count(const ParsedNumbers& found) const;
    void add_distances_of_rows(const std::vector<double>& found, OutputDistance& distance) const;
    double error_by_norm(const std::vector<double>& found) const;
    std::string difference_beyond_limits(const std::vector<double>& found) const;

    OutputMetric metric_;
    double relative_, absolute_;  ///< limits of OutputMetric::limits
    double largest_noise_;
    bool leaves_out_ = true;
    ParsedNumbers first_;
    std::size_t expected_runs_ = 0;
    std::vector<std::vector<double>> others_;  ///< values of all exact runs except the first; filled for
                                               ///< OutputMetric::norm and OutputMetric::max only
    std::vector<std::vector<double>>
        changes_;                ///< for each number or array, its changes in all exact runs except the first
    std::vector<double> noise_;  ///< for each number or array, its largest change from the first exact run to another
    std::vector<double> chance_;         ///< for each number or array, the largest change that chance explains
    std::vector<bool> has_other_words_;  ///< for each number or array, whether the words before it differ between
                                         ///< exact runs; the last entry is for the words after the last number
};

/// These two functions write and read the JSON of a distance, as results of `sensitivity` and state files contain it.
Json to_json(const OutputDistance& distance);
OutputDistance distance_from_json(const Json& json);

}  // namespace fp32shim::cli
