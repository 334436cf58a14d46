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
    std::string worst{};          ///< name of that number in an array; empty: the row is a number of a text
    double worst_change = 0;      ///< change of the worst number
    double change = 0;            ///< change of the row, relative to the number, or to the norm of the array
    double noise = 0;             ///< largest change of the row between exact runs
    bool counts = true;           ///< false: exact runs differ too much in this row
};

struct Distance {
    double error = 0;  ///< infinite if the numbers cannot be compared, for the reason in `problem`
    std::string problem{};
    bool is_chance = false;          ///< numbers that count changed, none by more than chance explains
    std::uint64_t changed = 0;       ///< rows that changed, those included that do not count
    std::vector<ChangedRow> most{};  ///< some that count, the largest change first; then some that do not
    bool has_other_words = false;    ///< `problem` is about words

    bool exceeds_chance() const { return error != 0 && !is_chance; }
};

/// The numbers of the exact runs.
class ExactNumbers {
  public:
    explicit ExactNumbers(const NumberComparison& closeness);

    /// Takes the numbers of a further exact run. Returns why they cannot be compared with those of the first.
    std::string add(const Numbers& numbers);
    /// Announces how many runs are to be compared with the exact ones. Precondition: all exact runs have been added.
    void expect_runs(std::size_t count);
    /// Compares a run with the first exact one. Numbers and words that did not change have no part in the error.
    Distance distance(const Numbers& found) const;
    /// Returns the largest error of an exact run in the rows that count.
    double noise() const;
    /// Returns the largest error that chance explains in any row that counts; infinite: exact runs differ, and are
    /// too few to tell.
    double chance() const;

    bool is_empty() const { return first_.values.empty(); }
    std::size_t count() const { return first_.values.size(); }
    bool has_clock() const { return first_.has_clock; }
    bool has_moments() const { return first_.has_moments; }
    const std::vector<double>& values() const { return first_.values; }
    /// Returns the rows that do not count, because exact runs differ by more than largest_noise() in them.
    std::vector<ChangedRow> rows_left_out() const;
    double largest_noise() const { return largest_noise_; }
    /// Returns true if the metric takes each row by itself.
    bool is_by_row() const { return metric_ == OutputMetric::number || metric_ == OutputMetric::each; }
    bool is_by_limits() const { return metric_ == OutputMetric::limits; }
    /// Lets all rows count that were left out.
    void count_all();

  private:
    bool counts(std::size_t row) const { return !leaves_out_ || noise_[row] <= largest_noise_; }
    bool is_explained_by_chance(std::size_t row, double change) const;
    double change_of(const NumberRow& row, const std::vector<double>& found) const;
    ChangedRow changed_row(std::size_t row, const std::vector<double>& found) const;
    std::string difference_in_words(const Numbers& found) const;
    void add_distances_of_rows(const std::vector<double>& found, Distance& distance) const;
    double error_by_norm(const std::vector<double>& found) const;
    std::string difference_beyond_limits(const std::vector<double>& found) const;

    OutputMetric metric_;
    double relative_, absolute_;  ///< OutputMetric::limits
    double largest_noise_;
    bool leaves_out_ = true;
    Numbers first_;
    std::size_t expected_runs_ = 0;
    std::vector<std::vector<double>> others_;   ///< values of the other exact runs; none if the metric is by row
    std::vector<std::vector<double>> changes_;  ///< changes of the other exact runs, by row
    std::vector<double> noise_;                 ///< largest of these changes, by row
    std::vector<double> chance_;                ///< largest change that chance explains, by row
    std::vector<bool> has_other_words_;  ///< the words before a row, or after the last one, differ between exact runs
};

/// JSON of a distance, as results of `sensitivity` and states of searches have it. Reading throws Json::exception.
Json to_json(const Distance& distance);
Distance distance_from_json(const Json& json);

}  // namespace fp32shim::cli
