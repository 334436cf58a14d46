// The results of a run: its products with fingerprints, as its recordings have them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

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

/// A product with a fingerprint.
struct Product {
    std::int64_t end_ns = 0;   ///< return of the call
    std::uint64_t offset = 0;  ///< of its fingerprint in the recording
    std::uint64_t result = 0;  ///< a hash of kind and fingerprint
    std::uint32_t row = 0;     ///< index in ResultsOfSide::rows
    std::uint32_t number = 0;  ///< number, from 1, among those of its thread
};

/// The products with fingerprints of one thread, in their order.
struct ThreadResults {
    std::uint32_t process = 0;  ///< index in ResultsOfSide::processes
    std::int32_t id = 0;        ///< threads one after the other share a slot of the recording
    std::size_t first = 0;      ///< index in ResultsOfSide::products of the first one
    std::size_t count = 0;
};

/// A process, with products that have fingerprints.
struct ProcessResults {
    std::string path;
    std::string program;  ///< name without folders
    std::int32_t pid = 0;
    std::int32_t rank = -1;
    std::int64_t opened_ns = 0;
    std::size_t first_thread = 0;  ///< index in ResultsOfSide::threads
    std::size_t threads = 0;       ///< how many
};

/// One of the two runs.
struct ResultsOfSide {
    std::vector<MergedRow> rows;            ///< the decisions about products with fingerprints
    std::vector<std::uint32_t> kinds;       ///< of each row
    std::vector<Product> products;          ///< thread by thread
    std::vector<ThreadResults> threads;     ///< process by process
    std::vector<ProcessResults> processes;  ///< by time
    std::string command;                    ///< of the first process
    std::uint64_t recordings = 0;
    std::uint64_t calls = 0;
    std::uint64_t lost = 0;  ///< fingerprints that found no room in the recordings

    std::uint64_t fingerprints() const { return products.size(); }
    std::uint64_t without_fingerprint() const { return calls - std::min(calls, fingerprints() + lost); }
    const MergedRow& row_of(std::size_t product) const { return rows[products[product].row]; }
    std::uint32_t kind_of(std::size_t product) const { return kinds[products[product].row]; }
    const ThreadResults& thread_of(std::size_t product) const;
    const ProcessResults& process_of(std::size_t product) const { return processes[thread_of(product).process]; }
};

/// Reads one side. Adds what cannot be read to `problems`.
ResultsOfSide read_results(const std::vector<std::string>& paths, ProductKinds& kinds, NativeLocations& locations,
                           std::vector<ReadingProblem>& problems);

}  // namespace fp32shim::cli
