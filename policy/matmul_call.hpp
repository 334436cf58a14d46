// One matrix product, as the shim describes it before anything is decided.
#pragma once

#include <cstdint>
#include <string_view>

namespace fp32shim::policy {

enum class Device : std::uint8_t { cpu, cuda };

enum class Dtype : std::uint8_t { float32, complex64, float16, bfloat16, float8 };

std::string_view to_string(Device device);
std::string_view to_string(Dtype dtype);

/// The call that `decide` judges. Sizes are what the *library* received: m×n is C, k the summed dimension, in
/// elements; -1 where a function has no such size. Owns nothing: all views outlive the decision.
struct MatmulCall {
    std::string_view function;  ///< the symbol, as the program named it: `cblas_sgemm`
    std::string_view caller;    ///< base name of the calling object; empty when unknown
    /// The labels that this thread has pushed, outermost first, joined by '/'; empty when none.
    std::string_view scope;
    Dtype dtype = Dtype::float32;
    Device device = Device::cpu;
    std::int32_t device_index = -1;       ///< CUDA ordinal; -1 on the CPU
    std::int32_t compute_capability = 0;  ///< 10·major + minor; 0 when unknown
    char trans_a = 0;                     ///< 'N', 'T', 'C'; 0 where the function has none
    char trans_b = 0;
    std::int64_t m = -1;
    std::int64_t n = -1;
    std::int64_t k = -1;
    std::int64_t batch = 1;  ///< batch_count; 1 for a single product
};

/// What is the same for every call of a process.
struct Process {
    std::string_view executable;  ///< base name of the program
    std::string_view command;     ///< the whole argument line, joined by single spaces
    std::string_view host;
};

}  // namespace fp32shim::policy
