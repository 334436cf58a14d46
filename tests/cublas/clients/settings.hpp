// A client's settings, from the environment: how to call, and what to expect. By default: default math mode,
// COMPUTE_32F, and results in float32.
//
//   CLIENT_LOG=FILE              the decision log of this process; unset where there is no shim
//   CLIENT_EXPECT=FORMAT         what the policy wishes: fp32, tf32, bf16, bf16x9, or native; unset: nobody knows
//   CLIENT_EXACT=1               the library uses whatever it is allowed to: measured format and `applied` are equal
//   CLIENT_ASSUME_ALIGNED=1      the policy lowers batches of pointers too
//   CLIENT_LOWERS_SOLVES=1       and solves
//   CLIENT_MATH_MODE=N           cublasMath_t of the handle
//   CLIENT_COMPUTE_TYPE=N        cublasComputeType_t of the functions that have one
//   CLIENT_ALGO=N                cublasGemmAlgo_t of the functions that have one
#pragma once

#include <optional>
#include <string>

#include "api.hpp"

namespace clients {

struct Settings {
    std::optional<std::string> log;
    std::optional<std::string> expect;
    bool exact = false;
    bool assume_aligned = false;
    bool lowers_solves = false;
    cublasMath_t math_mode = CUBLAS_DEFAULT_MATH;
    cublasComputeType_t compute_type = CUBLAS_COMPUTE_32F;
    cublasGemmAlgo_t algo = CUBLAS_GEMM_DEFAULT;

    /// The format that the policy comes to, if it is known: without a shim, and under `native`, float32, unless the
    /// program asks for less.
    std::optional<std::string> wish() const {
        if (expect && *expect != "native") return expect;
        const bool is_as_asked = expect || !log;
        return is_as_asked && asks_for_float32() ? std::optional<std::string>("fp32") : std::nullopt;
    }

    /// Returns true if the program itself asks for nothing but float32.
    bool asks_for_float32() const {
        return math_mode == CUBLAS_DEFAULT_MATH && compute_type == CUBLAS_COMPUTE_32F && algo == CUBLAS_GEMM_DEFAULT;
    }
};

const Settings& settings();

}  // namespace clients
