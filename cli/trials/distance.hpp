// The distance of a run's output from that of the exact run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/output/json_fwd.hpp"
#include "cli/trials/numbers.hpp"

namespace fp32shim::cli {

/// Measures of the distance of some numbers from their references.
enum class OutputMetric : std::uint8_t {
    number,  ///< largest relative difference of a row: of a number in a text, or of the norm of an array
    norm,    ///< norm of the differences, relative to the norm of the references
    max,     ///< largest difference, relative to the largest reference
    each,    ///< largest relative difference of any number, those of arrays too
    limits   ///< 0 if each number is within limits, and else infinite
};

/// How numbers are compared.
struct NumberComparison {
    OutputMetric metric = OutputMetric::number;
    double tolerance = -1;  ///< largest error that is accepted; negative: none is known
    double relative = 0,
           absolute = 0;  ///< OutputMetric::limits: a number may differ by absolute + relative·|reference|
};

/// A row of numbers that a run changed: a number of a text, or an array.
struct ChangedRow {
    std::string name{};
    double exact = 0, found = 0;  ///< values of the number; in an array, of the one that changed most
    std::string worst{};  ///< name of the number of an array that changed most; empty: the row is a number of a text
    double worst_change = 0;  ///< change of the worst number
    double change = 0;        ///< change of the row, relative to the number, or to the norm of the array
    double noise = 0;         ///< largest change of the row between exact runs
    bool counts = true;       ///< false: exact runs differ too much in this row
};

struct OutputDistance {
    double error = 0;  ///< infinite if the numbers cannot be compared, for the reason in `problem`
    std::string problem{};
    bool is_chance = false;          ///< numbers that count changed, none by more than chance explains
    std::uint64_t changed = 0;       ///< rows that changed, those included that do not count
    std::vector<ChangedRow> most{};  ///< some rows that count, the largest change first; then some that do not
    bool has_other_words = false;    ///< `problem` is about words

    bool exceeds_chance() const { return error != 0 && !is_chance; }
};

/// The numbers of the exact runs.
class ExactRunReference {
  public:
    explicit ExactRunReference(const NumberComparison& closeness);

    /// Takes the numbers of a further exact run. Returns the reason why they cannot be compared with those of the
    /// first run; empty if they can.
    std::string add_exact_run(const ParsedNumbers& numbers);
    /// Announces how many runs are to be compared with the exact ones. Precondition: all exact runs have been added.
    void expect_compared_runs(std::size_t count);
    /// Compares a run with the first exact one. Numbers and words that did not change have no part in the error.
    OutputDistance distance_of(const ParsedNumbers& found) const;
    /// Returns the largest error of an exact run in the rows that count.
    double exact_run_noise() const;
    /// Returns the largest error that chance explains in any row that counts; infinite: exact runs differ, and are
    /// too few to tell.
    double largest_chance_error() const;

    bool is_empty() const { return first_.values.empty(); }
    std::size_t number_count() const { return first_.values.size(); }
    bool has_run_timestamps() const { return first_.has_run_timestamps; }
    bool has_other_timestamps() const { return first_.has_other_timestamps; }
    const std::vector<double>& values() const { return first_.values; }
    /// Returns the rows that do not count, because exact runs differ by more than noise_limit() in them.
    std::vector<ChangedRow> rows_left_out() const;
    double noise_limit() const { return largest_noise_; }
    /// Returns true if the metric takes each row by itself.
    bool compares_by_row() const { return metric_ == OutputMetric::number || metric_ == OutputMetric::each; }
    bool compares_by_limits() const { return metric_ == OutputMetric::limits; }
    /// Lets all rows count that were left out.
    void include_all_rows();

  private:
    bool is_counted(std::size_t row) const { return !leaves_out_ || noise_[row] <= largest_noise_; }
    bool is_explained_by_chance(std::size_t row, double change) const;
    double change_of(const NumberRow& row, const std::vector<double>& found) const;
    ChangedRow changed_row(std::size_t row, const std::vector<double>& found) const;
    std::string difference_in_words(const ParsedNumbers& found) const;
    void add_distances_of_rows(const std::vector<double>& found, OutputDistance& distance) const;
    double error_by_norm(const std::vector<double>& found) const;
    std::string difference_beyond_limits(const std::vector<double>& found) const;

    OutputMetric metric_;
    double relative_, absolute_;  ///< OutputMetric::limits
    double largest_noise_;
    bool leaves_out_ = true;
    ParsedNumbers first_;
    std::size_t expected_runs_ = 0;
    std::vector<std::vector<double>>
        others_;  ///< values of all exact runs but the first; none if each row is compared by itself
    std::vector<std::vector<double>> changes_;  ///< changes of all exact runs but the first, by row
    std::vector<double> noise_;                 ///< largest change between exact runs, by row
    std::vector<double> chance_;                ///< largest change that chance explains, by row
    std::vector<bool> has_other_words_;  ///< the words before a row, or after the last one, differ between exact runs
};

/// JSON of a distance, as results of `sensitivity` and states of searches have it. Reading throws Json::exception.
Json to_json(const OutputDistance& distance);
OutputDistance distance_from_json(const Json& json);

}  // namespace fp32shim::cli
