// Tests that record/kernels/image.hpp reads any image of GPU code without crashing.
//
//     cmake -B build/fuzz -G Ninja -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_C_COMPILER=clang -DFP32SHIM_FUZZ=ON
//     cmake --build build/fuzz --target kernel_image_fuzzer
//     build/fuzz/bin/kernel_image_fuzzer -max_total_time=600 NEW_INPUTS tests/unit/record/kernel_images
//
// An input that caused a crash is added to kernel_images/, whose files record.KernelImages reads in every run of the
// tests.
#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "record/kernels/image.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace fp32shim::record;
    const auto image = std::as_bytes(std::span(data, size));
    for (const int device : {80, 90, 100}) {
        std::size_t letters = 0;
        const auto visit = [](void* context, std::string_view name, TensorFormats) {
            *static_cast<std::size_t*>(context) +=
                static_cast<std::size_t>(std::count(name.begin(), name.end(), 'x'));
        };
        if (!scan_image(image, device, {visit, &letters}).has_code && letters > 0) std::abort();
    }
    if (image_size(image) > 0 && image_size(image.first(std::min<std::size_t>(size, 64))) == 0) std::abort();
    return 0;
}
