#include "cli/doctor/machine.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sched.h>

#if defined(__x86_64__)
#include <cpuid.h>
#else
#include <sys/auxv.h>
#endif

#include <algorithm>
#include <fstream>

#include "cli/binaries/worker_process.hpp"
#include "system/cpu_features.hpp"

namespace fp32shim::cli {
namespace {

int usable_cores() {
    cpu_set_t set;
    CPU_ZERO(&set);
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}

/// Returns the name that the processor reports. Processors of aarch64 report no name, so the numbers of their
/// implementer and part are returned.
std::string processor_name() {
    std::ifstream file("/proc/cpuinfo");
    std::string implementer, part;
    for (std::string line; std::getline(file, line) && (implementer.empty() || part.empty());) {
        const std::string value = line.substr(std::min(line.find(':') + 1, line.size()));
        if (line.starts_with("model name")) return value.substr(std::min<std::size_t>(1, value.size()));
        if (line.starts_with("CPU implementer")) implementer = value;
        if (line.starts_with("CPU part")) part = value;
    }
    return implementer.empty() ? std::string() : fmt::format("implementer{}, part{}", implementer, part);
}

/// Returns the version of NVIDIA's kernel module, such as `580.65.06`; empty if the module is not loaded.
std::string module_version() {
    std::ifstream file("/sys/module/nvidia/version");
    std::string version;
    std::getline(file, version);
    return version;
}

template <class Function>
Function driver_function(void* library, const char* name) {
    return reinterpret_cast<Function>(dlsym(library, name));
}

/// Asks NVIDIA's driver for its version and GPUs. Runs in a child process. Returns an object with the keys `problem`,
/// `cuda` and `devices`.
Message ask_driver(const Message&) {
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
        return {{"problem", module_version().empty() ? "no NVIDIA driver" : "no libcuda.so.1, the driver's library"}};
    using Ask = int (*)(int*);
    const auto initialise = driver_function<int (*)(unsigned int)>(library, "cuInit");
    const auto get_version = driver_function<Ask>(library, "cuDriverGetVersion");
    const auto get_count = driver_function<Ask>(library, "cuDeviceGetCount");
    const auto get_device = driver_function<int (*)(int*, int)>(library, "cuDeviceGet");
    const auto get_name = driver_function<int (*)(char*, int, int)>(library, "cuDeviceGetName");
    const auto get_attribute = driver_function<int (*)(int*, int, int)>(library, "cuDeviceGetAttribute");
    const auto get_memory = driver_function<int (*)(std::size_t*, int)>(library, "cuDeviceTotalMem_v2");
    if (initialise == nullptr) return {{"problem", "libcuda.so.1 has no cuInit"}};
    int version = 0;
    if (get_version != nullptr) get_version(&version);
    Message answer = {{"cuda", version == 0 ? "" : fmt::format("{}.{}", version / 1000, version % 1000 / 10)}};
    if (const int status = initialise(0); status != 0) {
        answer["problem"] = fmt::format("the NVIDIA driver does not start: cuInit returns {}{}", status,
                                        status == 100 ? " (no device)" : "");
        return answer;
    }
    constexpr int attribute_major = 75;
    constexpr int attribute_minor = 76;
    int count = 0;
    if (get_count != nullptr) get_count(&count);
    answer["devices"] = Message::array();
    for (int i = 0; i < count && get_device != nullptr && get_attribute != nullptr; ++i) {
        int device = 0;
        int major = 0;
        int minor = 0;
        char name[256] = "";
        std::size_t memory = 0;
        if (get_device(&device, i) != 0) continue;
        if (get_name != nullptr) get_name(name, sizeof name, device);
        get_attribute(&major, attribute_major, device);
        get_attribute(&minor, attribute_minor, device);
        if (get_memory != nullptr) get_memory(&memory, device);
        answer["devices"].push_back({{"name", std::string(name)},
                                     {"compute_capability", fmt::format("{}.{}", major, minor)},
                                     {"memory", memory}});
    }
    if (answer["devices"].empty()) answer["problem"] = "the NVIDIA driver shows no device to this process";
    return answer;
}

}  // namespace

bool Processor::has(const std::string& feature) const {
    return std::ranges::count(features, std::pair(feature, true)) > 0;
}

Processor read_processor() {
    Processor processor;
    processor.model = processor_name();
    processor.cores = usable_cores();
#if defined(__x86_64__)
    processor.architecture = "x86-64";
    using system::CpuFeature;
    using system::may_use;
    // When BLAS libraries say AVX-512, they mean its parts F, DQ, CD, BW and VL together.
    constexpr unsigned int avx512_parts = 1U << 16 | 1U << 17 | 1U << 28 | 1U << 30 | 1U << 31;
    unsigned int a = 0, b = 0, c = 0, d = 0;
    const bool has_parts = __get_cpuid_count(7, 0, &a, &b, &c, &d) == 1 && (b & avx512_parts) == avx512_parts;
    processor.features = {{"AVX2", may_use(CpuFeature::avx2)},
                          {"AVX-512", may_use(CpuFeature::avx512f) && has_parts},
                          {"AVX512_BF16", may_use(CpuFeature::avx512_bf16)},
                          {"AMX_BF16", may_use(CpuFeature::amx_bf16)}};
#else
    processor.architecture = "aarch64";
    const unsigned long first = getauxval(AT_HWCAP);
    const unsigned long second = getauxval(AT_HWCAP2);
    processor.features = {{"ASIMD", (first >> 1 & 1) != 0},
                          {"SVE", (first >> 22 & 1) != 0},
                          {"SVE2", (second >> 1 & 1) != 0},
                          {"BF16", (second >> 14 & 1) != 0},
                          {"SME", (second >> 23 & 1) != 0}};
#endif
    return processor;
}

GpuInventory read_gpus() {
    GpuInventory gpus;
    gpus.driver = module_version();
    const WorkerAnswer answer = WorkerProcess(ask_driver, 60).ask();
    if (!answer.problem.empty()) {
        gpus.problem = "the NVIDIA driver was asked for its devices, and " + answer.problem;
        return gpus;
    }
    gpus.problem = answer.value.value("problem", "");
    gpus.cuda = answer.value.value("cuda", "");
    for (const Message& device : answer.value.value("devices", Message::array()))
        gpus.devices.push_back({device.value("name", ""), device.value("compute_capability", ""),
                                device.value("memory", 0.0) / (1024.0 * 1024.0 * 1024.0)});
    return gpus;
}

}  // namespace fp32shim::cli
