// The environment that the stand-ins of cuBLAS and cublasLt obey, read once: as the first handle of either is made.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

namespace stand_in {

struct Environment {
    bool tf32_override_off = false;  // NVIDIA_TF32_OVERRIDE=0
    bool emulate_single = false;     // CUBLAS_EMULATE_SINGLE_PRECISION=1
    bool emulate_eagerly = false;    // CUBLAS_EMULATION_STRATEGY=eager
    bool fast_honoured = true;       // STAND_IN_FAST=honoured|ignored: whether permitted formats are really used
    bool fast_lacks_memory = false;  // STAND_IN_FAST=no_memory: gemm in less than FP32 is refused with ALLOC_FAILED
    bool lacks_memory = false;       // STAND_IN_FAST=no_memory_at_all: gemm in FP32, too
    bool graphs_differ = false;      // STAND_IN_GRAPHS=differ: what is captured rounds otherwise
    bool compute = true;             // STAND_IN_KERNELS=compute|none
    std::map<std::string, std::string> assume;  // STAND_IN_ASSUME=row=answer,row=answer
    std::set<std::string, std::less<>> leaks;   // STAND_IN_LEAKS=word,word: where FP32 is TF32, against all promises
};

const Environment& environment();

}  // namespace stand_in
