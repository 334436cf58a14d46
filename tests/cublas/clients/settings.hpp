// Settings of a client, from the environment: how to call, and what to expect. Defaults: default math mode,
// COMPUTE_32F, and results in float32.
//
//   CLIENT_LOG=FILE              the decision log of this process; unset if there is no shim
//   CLIENT_EXPECT=FORMAT         the policy's format: fp32, tf32, bf16, bf16x9, or native; unset: unknown
//   CLIENT_EXACT=1               the library always uses the permitted format, or the one in CLIENT_USES
//   CLIENT_USES=bf16=tf32,…      formats that the library uses where lower ones are permitted
//   CLIENT_ASSUME_ALIGNED=1      the policy also lowers batches of pointers
//   CLIENT_LOWERS_SOLVES=1       the policy also lowers solves
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
    std::string uses;
    bool assume_aligned = false;
    bool lowers_solves = false;
    cublasMath_t math_mode = CUBLAS_DEFAULT_MATH;
    cublasComputeType_t compute_type = CUBLAS_COMPUTE_32F;
    cublasGemmAlgo_t algo = CUBLAS_GEMM_DEFAULT;

    /// Returns the format that the policy leads to, if it is known. Without a shim, and under `native`, that is
    /// float32, unless the program asks for less.
    std::optional<std::string> wish() const {
        if (expect && *expect != "native") return expect;
        const bool is_as_asked = expect || !log;
        return is_as_asked && asks_for_float32() ? std::optional<std::string>("fp32") : std::nullopt;
    }

    /// Returns the format of a result where the call permits `format`, if `exact` holds.
    std::string used(const std::string& format) const {
        const std::size_t entry = uses.find("," + format + "=");
        if (entry == std::string::npos) return format;
        const std::size_t begin = entry + format.size() + 2;
        return uses.substr(begin, uses.find(',', begin) - begin);
    }

    /// Returns true if the program itself asks for float32 only.
    bool asks_for_float32() const {
        return math_mode == CUBLAS_DEFAULT_MATH && compute_type == CUBLAS_COMPUTE_32F && algo == CUBLAS_GEMM_DEFAULT;
    }
};

const Settings& settings();

}  // namespace clients
