// Environment variables of the stand-ins of cuBLAS and cublasLt. They are read once, when the first handle is made.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

namespace stand_in {

struct Environment {
    bool tf32_override_off = false;    // set by NVIDIA_TF32_OVERRIDE=0
    bool tf32_override_on = false;     // set by NVIDIA_TF32_OVERRIDE=1
    bool emulate_single = false;       // set by CUBLAS_EMULATE_SINGLE_PRECISION=1
    bool emulate_double = false;       // set by CUBLAS_EMULATE_DOUBLE_PRECISION=1
    int fixed_point_bits = 0;          // CUBLAS_FIXEDPOINT_EMULATION_MANTISSA_BIT_COUNT; 0: not set
    bool emulate_eagerly = false;      // set by CUBLAS_EMULATION_STRATEGY=eager
    bool fast_honoured = true;         // STAND_IN_FAST=honoured|ignored: true if permitted formats are really used
    bool fast_lacks_memory = false;    // STAND_IN_FAST=no_memory: gemm below FP32 is refused with ALLOC_FAILED
    bool lacks_memory = false;         // STAND_IN_FAST=no_memory_at_all: gemm in FP32 is refused, too
    bool refuses_half_in_32f = false;  // STAND_IN_REFUSES=half_in_32f: products of half operands with COMPUTE_32F
    bool graphs_differ = false;        // STAND_IN_GRAPHS=differ: captured products round differently
    bool compute = true;               // STAND_IN_KERNELS=compute|none: false if kernels compute nothing
    bool finds_algorithms = true;      // STAND_IN_SEARCHES=none: the heuristic of cublasLt finds nothing
    int split_id = 3;                  // STAND_IN_SPLIT_K=ID:PARTS:SCHEME: algorithm 3 is called ID, and it
    int split_k = 2;                   // splits sums into PARTS parts,
    unsigned split_reduction = 2;      // which it adds by this cublasLtReductionScheme_t,
    bool splits_all_types = false;     // and it exists for all types
    std::map<std::string, std::string> assume;  // STAND_IN_ASSUME=row=answer,row=answer: answers to rows of
                                                // semantics.def
    std::set<std::string, std::less<>> leaks;   // STAND_IN_LEAKS=word,word: calls that run in TF32 although cuBLAS
                                                // promises FP32
};

const Environment& environment();

}  // namespace stand_in
