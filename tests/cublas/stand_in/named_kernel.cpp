#include "named_kernel.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <string>

namespace stand_in {
namespace {

class NamedKernel {
  public:
    NamedKernel() {
        const char* const name = std::getenv("STAND_IN_CUBLAS_KERNEL");
        void* const driver = name == nullptr ? nullptr : dlopen("libcuda.so.1", RTLD_LAZY);
        if (driver == nullptr) return;
        const auto look_up = reinterpret_cast<decltype(&cuGetProcAddress_v2)>(dlsym(driver, "cuGetProcAddress_v2"));
        const auto ask = [look_up]<class Function>(const char* symbol, Function& function) {
            void* address = nullptr;
            look_up(symbol, &address, CUDA_VERSION, CU_GET_PROC_ADDRESS_DEFAULT, nullptr);
            function = reinterpret_cast<Function>(address);
        };
        decltype(&cuLibraryLoadData) load = nullptr;
        decltype(&cuLibraryGetKernel) get = nullptr;
        ask("cuLibraryLoadData", load);
        ask("cuLibraryGetKernel", get);
        ask("cuLaunchKernel", launch_);
        text_ =
            ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry " + std::string(name) + "() { ret; }\n";
        CUlibrary library = nullptr;
        if (load(&library, text_.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0) == CUDA_SUCCESS)
            get(&kernel_, library, name);
    }
    void launch(CUstream stream) const {
        if (kernel_ != nullptr)
            launch_(reinterpret_cast<CUfunction>(kernel_), 1, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr);
    }

  private:
    std::string text_;
    CUkernel kernel_ = nullptr;
    decltype(&cuLaunchKernel) launch_ = nullptr;
};

}  // namespace

void launch_named_kernel(CUstream stream) {
    static const NamedKernel* const kernel = new NamedKernel;
    kernel->launch(stream);
}

}  // namespace stand_in
