// Runs products of random numbers with a library that it opens. Must run in a child process, because a library may
// crash.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "cli/recordings/product_kinds.hpp"
#include "policy/precision.hpp"

namespace fp32shim::cli {

/// A product to run, in the memory layout that the library expects.
struct GemmTask {
    GemmSizes sizes;
    std::int64_t batch = 1;
    bool is_complex = false;
    policy::Applied format = policy::Applied::fp32;
};

/// Sizes in bytes of the three matrices of a task, each for the whole batch.
struct GemmBytes {
    std::size_t a, b, c;
};
/// Returns the number of bytes that a task needs; nullopt if it exceeds the address space.
std::optional<GemmBytes> bytes_of(const GemmTask& task);

/// Leading dimensions of packed matrices: lengths of columns for a column-major product, lengths of rows for a
/// row-major one.
struct LeadingDimensions {
    std::int64_t a, b, c;
};
LeadingDimensions leading_dimensions(const GemmSizes& sizes, Layout layout);

/// Fills a matrix with pseudorandom numbers between -1 and 1. They are the same in each call.
void fill_randomly(float* numbers, std::size_t count);

class ProductEngine {
  public:
    virtual ~ProductEngine() = default;
    /// Returns the memory layout that tasks must have.
    virtual Layout layout() const = 0;
    /// Creates the operands of a product. Returns the reason why it cannot run; empty on success.
    virtual std::string prepare(const GemmTask& task) = 0;
    /// Runs the product `count` times. Returns the total time in nanoseconds; nullopt if the library reported an
    /// error.
    virtual std::optional<double> run(std::uint64_t count) = 0;
    /// Frees the memory of the operands.
    virtual void release() = 0;
};

/// An engine, or the reason why it could not be opened.
struct OpenedEngine {
    std::unique_ptr<ProductEngine> engine;
    std::string problem;
};
/// Opens a BLAS library for the CPU. `function` is the recorded function; the library's gemm with the same name form
/// is called.
OpenedEngine open_cpu_engine(const std::string& library, const std::string& function, bool is_complex);
/// Opens cuBLAS for the first GPU. If `library` is empty, takes the newest that the loader finds.
OpenedEngine open_cuda_engine(const std::string& library);

}  // namespace fp32shim::cli
