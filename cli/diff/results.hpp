// The results of two runs: products of one aligned with those of the other, and how far their results are apart.
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

/// Numbers for the kinds of products that are aligned with each other: by location without its line, scope, function
/// and sizes.
class ProductKinds {
  public:
    std::uint32_t number_of(const MergedRow& row);

  private:
    using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint64_t, char, char, std::int64_t, std::int64_t,
                           std::int64_t, std::int64_t>;
    std::map<Key, std::uint32_t> numbers_;
};

/// The products with fingerprints of one thread, in their order.
struct ThreadResults {
    std::uint32_t slot = 0;              ///< of the recording
    std::int32_t thread = 0;             ///< its id: threads one after the other share a slot
    std::int64_t first_ns = 0;           ///< return of the first product
    std::vector<std::uint64_t> kinds;    ///< of each product: its number in ProductKinds
    std::vector<std::uint64_t> results;  ///< of each product: a hash of kind and result

    ProductSequence sequence() const { return {kinds, results}; }
};

/// A process, with products that have fingerprints.
struct ProcessResults {
    std::string path;
    std::string program;  ///< name without folders
    std::int32_t pid = 0;
    std::int32_t rank = -1;
    std::int64_t opened_ns = 0;
    std::map<std::uint32_t, std::uint32_t> rows;  ///< index in ResultsOfSide::rows, by the recording's row
    std::vector<ThreadResults> threads;
};

/// One of the two runs.
struct ResultsOfSide {
    std::vector<MergedRow> rows;            ///< the decisions about products with fingerprints
    std::vector<std::uint32_t> kinds;       ///< of each row
    std::vector<ProcessResults> processes;  ///< by time
    std::string command;                    ///< of the first process
    std::uint64_t recordings = 0;
    std::uint64_t calls = 0;
    std::uint64_t fingerprints = 0;
    std::uint64_t lost = 0;  ///< fingerprints that found no room in the recordings

    std::uint64_t without_fingerprint() const { return calls - std::min(calls, fingerprints + lost); }
};

/// Reads one side. Adds what cannot be read to `problems`.
ResultsOfSide read_results(const std::vector<std::string>& paths, ProductKinds& kinds, NativeLocations& locations,
                           std::vector<ReadingProblem>& problems);

/// A product of A and the one of B that is aligned with it.
struct ResultPair {
    std::int64_t end_ns = 0;     ///< return of the call in A
    std::uint64_t number_a = 0;  ///< number of the product, from 1, among those of its thread
    std::uint64_t number_b = 0;
    std::uint32_t row_a = 0;  ///< index in ResultsOfSide::rows
    std::uint32_t row_b = 0;
    std::uint32_t process_a = 0;  ///< index in ResultsOfSide::processes
    std::uint32_t thread_a = 0;   ///< index in ProcessResults::threads
    double difference = 0;  ///< estimate of the norm of the difference, relative to that of A; infinite: A is zero,
                            ///< or only one of the two is finite
    bool same_bits = false;
};

struct AlignedResults {
    std::vector<ResultPair> pairs;  ///< by the time in A
    std::uint64_t unaligned_a = 0;
    std::uint64_t unaligned_b = 0;
};

/// Aligns the products of both sides, process by process and thread by thread, and compares their fingerprints.
AlignedResults align_results(const ResultsOfSide& a, const ResultsOfSide& b, std::vector<ReadingProblem>& problems);

}  // namespace fp32shim::cli
