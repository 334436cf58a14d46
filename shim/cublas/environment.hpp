// Variables that change what cuBLAS does, above every program setting. cuBLAS reads them itself; the shim only has to
// know what comes of them.
#pragma once

#include "policy/load.hpp"

namespace fp32shim::cublas {

struct Environment {
    bool tf32_is_off = false;    ///< NVIDIA_TF32_OVERRIDE=0
    bool emulates_fp32 = false;  ///< CUBLAS_EMULATE_SINGLE_PRECISION=1
};

/// Of a `NAME=value` list.
Environment read_environment(const policy::Environment& environment);

}  // namespace fp32shim::cublas
