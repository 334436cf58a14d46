// Reads the recordings of a run: its calls, and the results of those products that have fingerprints.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "cli/recordings/call_paths.hpp"
#include "cli/recordings/filter.hpp"
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

/// Bits for the operands that differ between two products. `operands_unknown` stands alone.
enum OperandBits : std::uint8_t {
    operand_a = 1,
    operand_b = 2,
    operand_c = 4,
    operand_scalars = 8,
    operand_any = 16,
    operands_unknown = 128
};

/// Hashes of what a product read, in little memory.
struct KeptOperands {
    std::uint64_t all = 0;                   ///< hash of all of them; 0: not recorded
    std::array<std::uint16_t, 4> each = {};  ///< parts of the hashes of A, B, C and the scalars

    /// Returns OperandBits; 0 if what both products read has the same bits.
    std::uint8_t differing_from(const KeptOperands& other) const;
};

/// A product with a fingerprint.
struct Product {
    std::int64_t end_ns = 0;   ///< time at which the call returned
    std::uint64_t offset = 0;  ///< offset of its fingerprint in the recording
    std::uint64_t result = 0;  ///< a hash of kind and fingerprint
    std::uint32_t row = 0;     ///< index in ResultsOfSide::rows
    std::uint32_t number = 0;  ///< number of the product in its thread, from 1
    KeptOperands operands;
};

/// Products of one thread that have fingerprints, in their order.
struct ThreadResults {
    std::uint32_t process = 0;  ///< index in ResultsOfSide::processes
    std::int32_t id = 0;        ///< id of the thread, since successive threads share a slot
    std::size_t first = 0;      ///< index of the first product in ResultsOfSide::products
    std::size_t count = 0;
};

/// A process that has products with fingerprints.
struct ProcessResults {
    std::string path;
    std::string program;  ///< name without folders
    std::int32_t pid = 0;
    std::int32_t rank = -1;
    std::int64_t opened_ns = 0;
    std::size_t first_thread = 0;  ///< index in ResultsOfSide::threads
    std::size_t threads = 0;       ///< number of threads
};

/// One of the two runs. Calls that a filter leaves out are missing.
struct ResultsOfSide {
    ResultsOfSide(const CallFilter& filter, NativeLocator& locations)
        : calls(&filter, MergedCalls::Objects::left_out), paths(&locations) {}

    MergedCalls calls;                      ///< all calls, with fingerprints or without
    CallPathTree paths;                     ///< their paths, if they were asked for
    std::vector<MergedRow> rows;            ///< decisions about products with fingerprints
    std::vector<std::uint32_t> kinds;       ///< for each row, its number in ProductKinds
    std::vector<Product> products;          ///< sorted by thread
    std::vector<std::uint32_t> row_hashes;  ///< Fingerprint::rows of each product
    std::vector<ThreadResults> threads;     ///< sorted by process
    std::vector<ProcessResults> processes;  ///< sorted by time
    EnvironmentFacts environment;           ///< environment of the processes
    std::uint64_t lost = 0;                 ///< number of fingerprints for which recordings had no room

    std::uint64_t fingerprints() const { return products.size(); }
    /// Returns true if there are calls, but the options select none of them.
    bool selects_nothing() const { return calls.total().calls == 0 && calls.calls_before_filter() > 0; }
    std::uint64_t without_fingerprint() const {
        return calls.total().calls - std::min(calls.total().calls, fingerprints() + lost);
    }
    const MergedRow& row_of(std::size_t product) const { return rows[products[product].row]; }
    std::uint32_t kind_of(std::size_t product) const { return kinds[products[product].row]; }
    const ThreadResults& thread_of(std::size_t product) const;
    const ProcessResults& process_of(std::size_t product) const { return processes[thread_of(product).process]; }
};

/// Selects the parts of a run that are read.
struct WantedResults {
    const CallFilter& filter;
    bool call_paths = false;
};
/// Reads one run. Adds unreadable parts to `problems`.
ResultsOfSide read_results(const std::vector<std::string>& files, const WantedResults& wanted, ProductKinds& kinds,
                           NativeLocator& locations, std::vector<ReadingProblem>& problems);

}  // namespace fp32shim::cli
