// A program that opens a cuBLAS, closes it, and opens another file of the same name; the command line gives both.
// Prints the address of each, and the arguments with which its one product arrived.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#include "counting_cublas.h"

namespace {

constexpr int tf32_mode = 3;

template <class Function>
Function* find(void* library, const char* name) {
    return reinterpret_cast<Function*>(dlsym(library, name));
}

void multiply_with(const char* path) {
    void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        std::fprintf(stderr, "%s\n", dlerror());
        std::exit(2);
    }
    const auto* const calls = static_cast<const CountedCalls*>(dlsym(library, "counted_calls"));
    Dl_info info{};
    dladdr(calls, &info);

    void* handle = nullptr;
    int mode = -1;
    const float one = 1;
    float matrix[4] = {};
    find<int(void**)>(library, "cublasCreate_v2")(&handle);
    find<int(void*, int)>(library, "cublasSetMathMode")(handle, tf32_mode);
    const int status =
        find<int(void*, int, int, int, int, const float*, const float*, int, const float*, float*, int)>(
            library, "cublasSsyrk_v2")(handle, 0, 0, 2, 2, &one, matrix, 2, &one, matrix, 2);
    find<int(void*, int*)>(library, "cublasGetMathMode")(handle, &mode);
    std::printf("%p status %d products %lld in mode %d, then %d\n", info.dli_fbase, status, calls->products,
                calls->last_math_mode, mode);
    find<int(void*)>(library, "cublasDestroy_v2")(handle);
    dlclose(library);
}

}  // namespace

int main(int argc, char** argv) {
    std::setvbuf(stdout, nullptr, _IOLBF, 0);  // the output before a crash is not lost
    for (int i = 1; i < argc; ++i) multiply_with(argv[i]);
    return 0;
}
