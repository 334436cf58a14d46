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

/// Gives a number to each kind of products that can be aligned with each other. Products of one kind have the same
/// location (without its line), scope, function, transposes and sizes.
class ProductKindNumbering {
  public:
    std::uint32_t number_of(const MergedRow& row);

  private:
    using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint64_t, char, char, std::int64_t, std::int64_t,
                           std::int64_t, std::int64_t>;
    std::map<Key, std::uint32_t> numbers_;
};

/// Bits for the operands that differ between two products. `operands_unknown` is never combined with other bits.
enum OperandBits : std::uint8_t {
    operand_a = 1,
    operand_b = 2,
    operand_c = 4,
    operand_scalars = 8,
    operand_any = 16,
    operands_unknown = 128
};

/// Hashes of a product's operands. All except `all` are shortened to save memory.
struct ShortOperandHashes {
    std::uint64_t all = 0;                   ///< hash of all operands; 0 if it was not recorded
    std::array<std::uint16_t, 4> each = {};  ///< low 16 bits of the hashes of A, B, C and the scalars

    /// Returns the OperandBits of the operands that differ, or 0 if all operands of both products have the same bits.
    std::uint8_t differing_operands(const ShortOperandHashes& other) const;
};

/// A product whose recording has a fingerprint of the result.
struct FingerprintedProduct {
    std::int64_t end_ns = 0;   ///< time at which the call returned
    std::uint64_t offset = 0;  ///< offset of the product's fingerprint in the recording
    std::uint64_t result = 0;  ///< hash of the product's kind and fingerprint
    std::uint32_t row = 0;     ///< index of the product's decision in DiffSide::rows
    std::uint32_t number = 0;  ///< number of the product in its thread, counted from 1
    ShortOperandHashes operands;
};

/// The products of one thread that have fingerprints, in their order.
struct ThreadResults {
    std::uint32_t process = 0;  ///< index in DiffSide::processes
    std::int32_t id =
        0;  ///< id of the thread; a part of the recording may have products of several threads, one after the other
    std::size_t first = 0;  ///< index of the first product in DiffSide::products
    std::size_t count = 0;
};

/// A process that has products with fingerprints.
struct ProcessResults {
    std::string path;
    std::string program;  ///< name of the program without its folders
    std::int32_t pid = 0;
    std::int32_t rank = -1;
    std::int64_t opened_ns = 0;
    std::size_t first_thread = 0;  ///< index of the first thread in DiffSide::threads
    std::size_t threads = 0;       ///< number of threads
};

/// One of the two compared runs, without the calls that a filter leaves out.
struct DiffSide {
    DiffSide(const CallFilter& filter, NativeLocator& locations)
        : calls(&filter, MergedCalls::Objects::left_out), paths(&locations) {}

    MergedCalls calls;                           ///< all calls, with or without fingerprints
    CallPathTree paths;                          ///< call paths of all calls, if DiffSelection::call_paths is set
    std::vector<MergedRow> rows;                 ///< distinct decisions about the products with fingerprints
    std::vector<std::uint32_t> kinds;            ///< for each of `rows`, its number in ProductKindNumbering
    std::vector<FingerprintedProduct> products;  ///< sorted by the thread that made the products
    std::vector<std::uint32_t> row_hashes;       ///< for each product, the sum of its row hashes (Fingerprint::rows)
    std::vector<ThreadResults> threads;          ///< sorted by the process of the thread
    std::vector<ProcessResults> processes;       ///< sorted by the time at which their recordings were opened
    EnvironmentFacts environment;                ///< environments in which the processes ran
    std::uint64_t lost = 0;                      ///< number of fingerprints for which recordings had no room

    std::uint64_t fingerprint_count() const { return products.size(); }
    /// Returns true if the run has calls, but the filter options select none of them.
    bool filter_selects_nothing() const { return calls.total().calls == 0 && calls.calls_before_filter() > 0; }
    std::uint64_t calls_without_fingerprint() const {
        return calls.total().calls - std::min(calls.total().calls, fingerprint_count() + lost);
    }
    const MergedRow& row_of(std::size_t product) const { return rows[products[product].row]; }
    std::uint32_t kind_of(std::size_t product) const { return kinds[products[product].row]; }
    const ThreadResults& thread_of(std::size_t product) const;
    const ProcessResults& process_of(std::size_t product) const { return processes[thread_of(product).process]; }
};

/// Says which parts of a run are to be read.
struct DiffSelection {
    const CallFilter& filter;
    bool call_paths = false;
};
/// Reads one run from its recordings. Adds the parts that cannot be read to `problems`.
DiffSide read_diff_side(const std::vector<std::string>& files, const DiffSelection& wanted,
                        ProductKindNumbering& kinds, NativeLocator& locations, std::vector<ReadingProblem>& problems);

}  // namespace fp32shim::cli
