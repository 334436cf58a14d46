// Sets and unsets variables of the environment between calls of cuBLAS, as `os.environ[...] = ...` does. Each
// argument is a step. A product prints its step, and the format of its result or the status of its failure.
//
//   late_environment [NAME=VALUE | NAME= | create | tf32 | sgemm | gemm_ex | cgemm3m]...
//
// `NAME=` unsets a variable. `create` makes the handle that all later steps use. `tf32` sets its math mode.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "format.hpp"
#include "simple_product.hpp"

namespace clients {
namespace {

int run(char** words) {
    const Device device;
    cublasHandle_t handle = nullptr;
    for (; *words != nullptr; ++words) {
        const std::string word = *words;
        if (const std::size_t equals = word.find('='); equals != std::string::npos) {
            const std::string name = word.substr(0, equals);
            const std::string value = word.substr(equals + 1);
            if ((value.empty() ? unsetenv(name.c_str()) : setenv(name.c_str(), value.c_str(), 1)) != 0) return 2;
        } else if (word == "create") {
            if (api().cublasCreate_v2(&handle) != CUBLAS_STATUS_SUCCESS) return 3;
        } else if (word == "tf32") {
            if (api().cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH) != CUBLAS_STATUS_SUCCESS) return 3;
        } else {
            const SimpleProduct product(word == "sgemm"     ? Kind::sgemm
                                        : word == "gemm_ex" ? Kind::gemm_ex
                                                            : Kind::cgemm3m);
            const cublasStatus_t status = product.multiply(handle);
            if (status == CUBLAS_STATUS_SUCCESS)
                std::printf("%s %s\n", word.c_str(), name_of(product.result().format));
            else
                std::printf("%s status %d\n", word.c_str(), status);
        }
    }
    return 0;
}

}  // namespace
}  // namespace clients

int main(int, char** argv) { return clients::run(argv + 1); }
