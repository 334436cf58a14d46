// Compares the results of two runs: aligns the products of one run with those of the other, and estimates the
// differences of their results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "cli/diff/align.hpp"
#include "cli/recordings/merged_calls.hpp"
#include "cli/recordings/native_locations.hpp"
#include "cli/recordings/recordings.hpp"

namespace fp32shim::cli {

/// Numbers the kinds of products that can be aligned with each other. A kind has a location without its line, a
/// scope, a function and sizes.
class ProductKinds {
  public:
    std::uint32_t number_of(const MergedRow& row);

  private:
    using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint64_t, char, char, std::int64_t, std::int64_t,
                           std::int64_t, std::int64_t>;
    std::map<Key, std::uint32_t> numbers_;
};

/// Products of one thread that have fingerprints, in their order.
struct ThreadResults {
    std::uint32_t slot = 0;              ///< slot of the thread in the recording
    std::int32_t thread = 0;             ///< id of the thread, since successive threads share a slot
    std::int64_t first_ns = 0;           ///< time at which the first product returned
    std::vector<std::uint64_t> kinds;    ///< for each product, its number in ProductKinds
    std::vector<std::uint64_t> results;  ///< for each product, a hash of kind and result

    ProductSequence sequence() const { return {kinds, results}; }
};

/// A process that has products with fingerprints.
struct ProcessResults {
    std::string path;
    std::string program;  ///< name without folders
    std::int32_t pid = 0;
    std::int32_t rank = -1;
    std::int64_t opened_ns = 0;
    std::map<std::uint32_t, std::uint32_t> rows;  ///< indices in ResultsOfSide::rows, by id of the recording's row
    std::vector<ThreadResults> threads;
};

/// One of the two runs.
struct ResultsOfSide {
    std::vector<MergedRow> rows;            ///< decisions about products with fingerprints
    std::vector<std::uint32_t> kinds;       ///< for each row, its number in ProductKinds
    std::vector<ProcessResults> processes;  ///< sorted by time
    std::string command;                    ///< command of the first process
    std::uint64_t recordings = 0;
    std::uint64_t calls = 0;
    std::uint64_t fingerprints = 0;
    std::uint64_t lost = 0;  ///< number of fingerprints for which recordings had no room

    std::uint64_t without_fingerprint() const { return calls - std::min(calls, fingerprints + lost); }
};

/// Reads the results of one side. Adds unreadable parts to `problems`.
ResultsOfSide read_results(const std::vector<std::string>& paths, ProductKinds& kinds, NativeLocations& locations,
                           std::vector<ReadingProblem>& problems);

/// A product of A and the aligned product of B.
struct ResultPair {
    std::int64_t end_ns = 0;     ///< time at which the call in A returned
    std::uint64_t number_a = 0;  ///< number of the product in its thread, from 1
    std::uint64_t number_b = 0;
    std::uint32_t row_a = 0;  ///< index in ResultsOfSide::rows
    std::uint32_t row_b = 0;
    std::uint32_t process_a = 0;  ///< index in ResultsOfSide::processes
    std::uint32_t thread_a = 0;   ///< index in ProcessResults::threads
    double difference = 0;  ///< estimated norm of the difference, relative to the norm of A; infinite if A is zero or
                            ///< only one of the two is finite
    bool same_bits = false;
};

struct AlignedResults {
    std::vector<ResultPair> pairs;  ///< sorted by time in A
    std::uint64_t unaligned_a = 0;
    std::uint64_t unaligned_b = 0;
};

/// Aligns the products of both sides, process by process and thread by thread, and compares their fingerprints.
AlignedResults align_results(const ResultsOfSide& a, const ResultsOfSide& b, std::vector<ReadingProblem>& problems);

}  // namespace fp32shim::cli
