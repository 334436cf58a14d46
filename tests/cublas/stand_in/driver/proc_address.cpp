// Stand-in of libcuda.so.1: look-ups of the driver's functions by their names and by the CUDA version of which the
// caller has the header.

#include <dlfcn.h>

#include <cstring>
#include <string>

#include "driver/driver_private.hpp"

namespace stand_in {
namespace {

// The first version of CUDA for which a name means a function with a suffix: cudaTypedefs.h. Functions whose suffix
// is older than CUDA 11.3, the first version with cuGetProcAddress, need no row.
struct Renamed {
    const char* symbol;
    int version;
};
constexpr Renamed renamed[] = {
    {"cuGetProcAddress_v2", 12000},
    {"cuEventElapsedTime_v2", 12080},
    {"cuGraphAddKernelNode_v2", 12000},
    {"cuGraphAddNode_v2", 12030},
    {"cuGraphKernelNodeGetParams_v2", 12000},
    {"cuGraphKernelNodeSetParams_v2", 12000},
    {"cuGraphExecKernelNodeSetParams_v2", 12000},
    {"cuGraphExecUpdate_v2", 12000},
};

bool is_newer(const std::string& symbol, int version) {
    for (const Renamed& each : renamed)
        if (symbol == each.symbol) return version < each.version;
    return false;
}

void* exported(const std::string& symbol) {
    static void* const self = [] {
        Dl_info info;
        return dladdr(reinterpret_cast<void*>(&is_newer), &info) == 0
                   ? nullptr
                   : dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    }();
    return self == nullptr ? nullptr : dlsym(self, symbol.c_str());
}

CUresult look_up(const char* name, void** function, int version, cuuint64_t flags,
                 CUdriverProcAddressQueryResult* status) {
    if (name == nullptr || function == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const bool per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
    CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    *function = nullptr;
    for (const char* suffix : {"_v3", "_v2", ""}) {
        const std::string symbol = std::string(name) + suffix;
        void* address = per_thread ? exported(symbol + "_ptsz") : nullptr;
        if (address == nullptr) address = exported(symbol);
        if (address == nullptr) continue;
        found = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
        if (is_newer(symbol, version)) continue;
        *function = address;
        found = CU_GET_PROC_ADDRESS_SUCCESS;
        break;
    }
    if (status != nullptr) *status = found;
    return *function != nullptr || status != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

}  // namespace
}  // namespace stand_in

#pragma GCC visibility push(default)
extern "C" {

CUresult CUDAAPI cuGetProcAddress_v2(const char* name, void** function, int version, cuuint64_t flags,
                                     CUdriverProcAddressQueryResult* status) {
    return stand_in::look_up(name, function, version, flags, status);
}

// cuda.h renames the old function to the new one.
#undef cuGetProcAddress
CUresult CUDAAPI cuGetProcAddress(const char* name, void** function, int version, cuuint64_t flags) {
    return stand_in::look_up(name, function, version, flags, nullptr);
}

// The tables are not documented. libcudart uses one to ask if the driver is NVIDIA's; the stand-in does not claim it.
CUresult CUDAAPI cuGetExportTable(const void** table, const CUuuid*) {
    if (table != nullptr) *table = nullptr;
    return CUDA_ERROR_NOT_FOUND;
}

}  // extern "C"
#pragma GCC visibility pop
