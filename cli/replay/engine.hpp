// Runs products of random numbers by a library that is opened for it. In a child process only: a library may crash.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "cli/recordings/product_kinds.hpp"
#include "policy/precision.hpp"

namespace fp32shim::cli {

/// A product to run, in the order of memory that the library takes.
struct GemmTask {
    GemmSizes sizes;
    std::int64_t batch = 1;
    bool is_complex = false;
    policy::Applied format = policy::Applied::fp32;
};

/// Bytes of the three matrices of a task, each for the whole batch.
struct GemmBytes {
    std::size_t a, b, c;
};
/// Returns the bytes that a task needs; nullopt: more than can be addressed.
std::optional<GemmBytes> bytes_of(const GemmTask& task);

/// Returns the leading dimensions of packed matrices: of a column-major product, or of the same sizes row by row.
struct LeadingDimensions {
    std::int64_t a, b, c;
};
LeadingDimensions leading_dimensions(const GemmSizes& sizes, Layout layout);

/// Fills a matrix with numbers between -1 and 1, always the same.
void fill_randomly(float* numbers, std::size_t count);

class ProductEngine {
  public:
    virtual ~ProductEngine() = default;
    /// Returns the order of memory that the tasks must have.
    virtual Layout layout() const = 0;
    /// Makes the operands of a product. Returns the reason why it cannot run; empty on success.
    virtual std::string prepare(const GemmTask& task) = 0;
    /// Runs the product `count` times. Returns nanoseconds for all; nullopt: the library refused it.
    virtual std::optional<double> run(std::uint64_t count) = 0;
    /// Gives the memory of the operands back.
    virtual void release() = 0;
};

/// An engine, or the reason why there is none.
struct OpenedEngine {
    std::unique_ptr<ProductEngine> engine;
    std::string problem;
};
/// Opens a BLAS library for a CPU. `function`: the function that was recorded; its relative for gemm is called.
OpenedEngine open_cpu_engine(const std::string& library, const std::string& function, bool is_complex);
/// Opens cuBLAS, for the first GPU. `library`: empty: the newest that the loader finds.
OpenedEngine open_cuda_engine(const std::string& library);

}  // namespace fp32shim::cli
