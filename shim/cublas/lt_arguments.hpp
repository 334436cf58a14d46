// The arguments of cublasLtMatmul.
#pragma once

#include "shim/cublas/library.hpp"

namespace fp32shim::cublas {

/// Indices, from 0, of the arguments of cublasLtMatmul.
enum Argument {
    argument_handle = 0,
    argument_desc = 1,
    argument_alpha = 2,
    argument_a = 3,
    argument_a_layout = 4,
    argument_b = 5,
    argument_b_layout = 6,
    argument_beta = 7,
    argument_c = 8,
    argument_c_layout = 9,
    argument_d = 10,
    argument_d_layout = 11,
    argument_algorithm = 12,
    argument_workspace_size = 14,
    argument_stream = 15,
};

/// The handle, descriptor and layouts of a product: the program's own, except for a descriptor that the shim copied.
struct Parts {
    Handle handle;
    const void* desc;
    const void* a_layout;
    const void* b_layout;
    const void* c_layout;
    const void* d_layout;
};

}  // namespace fp32shim::cublas
