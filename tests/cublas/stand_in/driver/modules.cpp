// Stand-in of libcuda.so.1: modules, libraries, and the functions and kernels in them.
//
// A handle is the address of an object. After an unload, the next object of that kind gets the same address, as may
// happen with a driver: a tool that keeps what it knew about the old handle then takes one kernel for another.

#include "driver/modules.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <type_traits>
#include <utility>
#include <vector>

#include "driver/driver.hpp"
#include "driver/image.hpp"

struct CUfunc_st {
    CUmodule module = nullptr;
    std::string name;
};

struct CUmod_st {
    stand_in::Image image;
    CUlibrary library = nullptr;  // NULL: the program loaded the module itself
    std::map<std::string, CUfunction> functions = {};
};

struct CUkern_st {
    CUlibrary library = nullptr;
    std::string name;
};

struct CUlib_st {
    stand_in::Image image;
    std::map<std::string, CUkernel> kernels = {};
    std::map<CUcontext, CUmodule> modules = {};
};

namespace stand_in {
namespace {

// The objects of one kind. Keeps their memory forever, so that it is used for no other kind.
template <class T>
class Handles {
  public:
    T* create(T value) {
        if (free_.empty()) free_.push_back(new T);
        T* const handle = free_.back();
        free_.pop_back();
        *handle = std::move(value);
        return *alive_.insert(handle).first;
    }
    void destroy(T* handle) {
        alive_.erase(handle);
        free_.push_back(handle);
    }
    bool alive(T* handle) const { return alive_.contains(handle); }

  private:
    std::set<T*> alive_;
    std::vector<T*> free_;
};

struct Loaded {
    std::mutex mutex;  // guards everything below
    Handles<CUmod_st> modules;
    Handles<CUfunc_st> functions;
    Handles<CUlib_st> libraries;
    Handles<CUkern_st> kernels;
};

// Never destroyed, since programs call the driver from their own destructors.
Loaded& loaded() {
    static Loaded* const instance = new Loaded;
    return *instance;
}

bool has(const Image& image, const std::string& name) {
    return !image.names_all || std::find(image.kernels.begin(), image.kernels.end(), name) != image.kernels.end();
}

CUresult load_module(const void* bytes, CUmodule* module) {
    CUcontext context = nullptr;
    const CUresult result = require_context(&context);
    if (result != CUDA_SUCCESS) return result;
    if (module == nullptr || bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
    auto image = read_image(bytes);
    if (!image) return CUDA_ERROR_INVALID_IMAGE;
    std::lock_guard lock(loaded().mutex);
    *module = loaded().modules.create({std::move(*image)});
    return CUDA_SUCCESS;
}

CUresult load_library(const void* bytes, CUlibrary* library) {
    const CUresult result = require_driver();
    if (result != CUDA_SUCCESS) return result;
    if (library == nullptr || bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
    auto image = read_image(bytes);
    if (!image) return CUDA_ERROR_INVALID_IMAGE;
    std::lock_guard lock(loaded().mutex);
    *library = loaded().libraries.create({std::move(*image)});
    return CUDA_SUCCESS;
}

// Reads a file and loads its bytes. A zero byte follows them, for the text of PTX.
template <class Handle>
CUresult load_file(CUresult (*load)(const void*, Handle*), const char* path, Handle* handle) {
    if (path == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::ifstream file(path, std::ios::binary);
    if (!file) return CUDA_ERROR_FILE_NOT_FOUND;
    std::string bytes(std::istreambuf_iterator<char>(file), {});
    bytes.resize(bytes.size() + 64);  // more than the header of any kind
    return load(bytes.data(), handle);
}

CUresult find_function(CUmodule module, const std::string& name, CUfunction* function) {
    if (!has(module->image, name)) return CUDA_ERROR_NOT_FOUND;
    CUfunction& found = module->functions[name];
    if (found == nullptr) found = loaded().functions.create({module, name});
    *function = found;
    return CUDA_SUCCESS;
}

CUresult find_kernel(CUlibrary library, const std::string& name, CUkernel* kernel) {
    if (!has(library->image, name)) return CUDA_ERROR_NOT_FOUND;
    CUkernel& found = library->kernels[name];
    if (found == nullptr) found = loaded().kernels.create({library, name});
    *kernel = found;
    return CUDA_SUCCESS;
}

void unload(CUmodule module) {
    for (const auto& [name, function] : module->functions) loaded().functions.destroy(function);
    loaded().modules.destroy(module);
}

// A library's module in the current context.
CUresult module_of(CUlibrary library, CUmodule* module) {
    CUcontext context = nullptr;
    const CUresult result = require_context(&context);
    if (result != CUDA_SUCCESS) return result;
    CUmodule& found = library->modules[context];
    if (found == nullptr) found = loaded().modules.create({library->image, library});
    *module = found;
    return CUDA_SUCCESS;
}

// Returns the names of an image's kernels, in its order, and then further names that the program asked for.
template <class Asked>
std::vector<std::string> names_of(const Image& image, const Asked& asked) {
    std::vector<std::string> names = image.kernels;
    for (const auto& [name, handle] : asked)
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    return names;
}

CUresult attribute(CUfunction_attribute attribute, int* value) {
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    switch (attribute) {
        case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
            *value = 1024;
            return CUDA_SUCCESS;
        case CU_FUNC_ATTRIBUTE_NUM_REGS:
            *value = 64;
            return CUDA_SUCCESS;
        default:
            *value = 0;
            return attribute < CU_FUNC_ATTRIBUTE_MAX ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    }
}

bool alive(CUmodule module) { return loaded().modules.alive(module); }
bool alive(CUfunction function) { return loaded().functions.alive(function); }
bool alive(CUlibrary library) { return loaded().libraries.alive(library); }
bool alive(CUkernel kernel) { return loaded().kernels.alive(kernel); }

// Calls `action` with a handle if it is valid.
template <class Handle, class Action>
CUresult with(Handle handle, Action action) {
    const CUresult result = require_driver();
    if (result != CUDA_SUCCESS) return result;
    std::lock_guard lock(loaded().mutex);
    return alive(handle) ? action() : CUDA_ERROR_INVALID_HANDLE;
}

template <class Handle>
CUresult check(Handle handle) {
    return with(handle, [] { return CUDA_SUCCESS; });
}

template <class T>
CUresult give(std::type_identity_t<T> value, T* result) {
    if (result == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *result = value;
    return CUDA_SUCCESS;
}

CUresult active_blocks(int* blocks, CUfunction function, int block_size) {
    if (counts_of(function) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (blocks == nullptr || block_size <= 0) return CUDA_ERROR_INVALID_VALUE;
    *blocks = 1;
    return CUDA_SUCCESS;
}

}  // namespace

LaunchCounts* counts_of(CUfunction function) {
    std::lock_guard lock(loaded().mutex);
    if (loaded().functions.alive(function)) return launch_counts(function->name);
    auto* const kernel = reinterpret_cast<CUkernel>(function);
    return loaded().kernels.alive(kernel) ? launch_counts(kernel->name) : nullptr;
}

}  // namespace stand_in

using stand_in::loaded;
using stand_in::with;

extern "C" {

// ---- modules

CUresult CUDAAPI cuModuleLoad(CUmodule* module, const char* path) {
    return stand_in::load_file(stand_in::load_module, path, module);
}

CUresult CUDAAPI cuModuleLoadData(CUmodule* module, const void* image) {
    return stand_in::load_module(image, module);
}

CUresult CUDAAPI cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned int, CUjit_option*, void**) {
    return stand_in::load_module(image, module);
}

CUresult CUDAAPI cuModuleLoadFatBinary(CUmodule* module, const void* fatbin) {
    return stand_in::load_module(fatbin, module);
}

CUresult CUDAAPI cuModuleUnload(CUmodule module) {
    return with(module, [module] {
        if (module->library != nullptr) return CUDA_ERROR_NOT_PERMITTED;
        stand_in::unload(module);
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
    return stand_in::give(CU_MODULE_LAZY_LOADING, mode);
}

CUresult CUDAAPI cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
    if (function == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return with(module, [=] { return stand_in::find_function(module, name, function); });
}

CUresult CUDAAPI cuModuleGetFunctionCount(unsigned int* count, CUmodule module) {
    if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return with(module, [=] {
        *count = static_cast<unsigned>(stand_in::names_of(module->image, module->functions).size());
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI cuModuleEnumerateFunctions(CUfunction* functions, unsigned int capacity, CUmodule module) {
    if (functions == nullptr || capacity == 0) return CUDA_ERROR_INVALID_VALUE;
    return with(module, [=]() mutable {
        for (const std::string& name : stand_in::names_of(module->image, module->functions))
            if (capacity-- > 0) stand_in::find_function(module, name, functions++);
        return CUDA_SUCCESS;
    });
}

// ---- libraries

CUresult CUDAAPI cuLibraryLoadData(CUlibrary* library, const void* image, CUjit_option*, void**, unsigned int,
                                   CUlibraryOption*, void**, unsigned int) {
    return stand_in::load_library(image, library);
}

CUresult CUDAAPI cuLibraryLoadFromFile(CUlibrary* library, const char* path, CUjit_option*, void**, unsigned int,
                                       CUlibraryOption*, void**, unsigned int) {
    return stand_in::load_file(stand_in::load_library, path, library);
}

CUresult CUDAAPI cuLibraryUnload(CUlibrary library) {
    return with(library, [library] {
        for (const auto& [name, kernel] : library->kernels) loaded().kernels.destroy(kernel);
        for (const auto& [context, module] : library->modules) stand_in::unload(module);
        loaded().libraries.destroy(library);
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
    if (kernel == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return with(library, [=] { return stand_in::find_kernel(library, name, kernel); });
}

CUresult CUDAAPI cuLibraryGetKernelCount(unsigned int* count, CUlibrary library) {
    if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return with(library, [=] {
        *count = static_cast<unsigned>(stand_in::names_of(library->image, library->kernels).size());
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI cuLibraryEnumerateKernels(CUkernel* kernels, unsigned int capacity, CUlibrary library) {
    if (kernels == nullptr || capacity == 0) return CUDA_ERROR_INVALID_VALUE;
    return with(library, [=]() mutable {
        for (const std::string& name : stand_in::names_of(library->image, library->kernels))
            if (capacity-- > 0) stand_in::find_kernel(library, name, kernels++);
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI cuLibraryGetModule(CUmodule* module, CUlibrary library) {
    if (module == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return with(library, [=] { return stand_in::module_of(library, module); });
}

// ---- kernels of libraries

CUresult CUDAAPI cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
    if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return with(kernel, [=] {
        CUmodule module = nullptr;
        const CUresult result = stand_in::module_of(kernel->library, &module);
        return result != CUDA_SUCCESS ? result : stand_in::find_function(module, kernel->name, function);
    });
}

CUresult CUDAAPI cuKernelGetLibrary(CUlibrary* library, CUkernel kernel) {
    return with(kernel, [=] { return stand_in::give(kernel->library, library); });
}

CUresult CUDAAPI cuKernelGetName(const char** name, CUkernel kernel) {
    return with(kernel, [=] { return stand_in::give(kernel->name.c_str(), name); });
}

CUresult CUDAAPI cuKernelGetAttribute(int* value, CUfunction_attribute attribute, CUkernel kernel, CUdevice) {
    return with(kernel, [=] { return stand_in::attribute(attribute, value); });
}

CUresult CUDAAPI cuKernelSetAttribute(CUfunction_attribute, int, CUkernel kernel, CUdevice) {
    return stand_in::check(kernel);
}

// ---- functions

CUresult CUDAAPI cuFuncGetName(const char** name, CUfunction function) {
    return with(function, [=] { return stand_in::give(function->name.c_str(), name); });
}

CUresult CUDAAPI cuFuncGetModule(CUmodule* module, CUfunction function) {
    return with(function, [=] { return stand_in::give(function->module, module); });
}

CUresult CUDAAPI cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function) {
    return with(function, [=] { return stand_in::attribute(attribute, value); });
}

CUresult CUDAAPI cuFuncSetAttribute(CUfunction function, CUfunction_attribute, int) {
    return stand_in::check(function);
}

CUresult CUDAAPI cuFuncSetCacheConfig(CUfunction function, CUfunc_cache) { return stand_in::check(function); }

CUresult CUDAAPI cuFuncLoad(CUfunction function) { return stand_in::check(function); }

CUresult CUDAAPI cuFuncIsLoaded(CUfunctionLoadingState* state, CUfunction function) {
    return with(function, [=] { return stand_in::give(CU_FUNCTION_LOADING_STATE_LOADED, state); });
}

// ---- occupancy: the device has one multiprocessor, which runs one block at a time

CUresult CUDAAPI cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int block_size,
                                                             std::size_t) {
    return stand_in::active_blocks(blocks, function, block_size);
}

CUresult CUDAAPI cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, CUfunction function,
                                                                      int block_size, std::size_t, unsigned int) {
    return stand_in::active_blocks(blocks, function, block_size);
}

CUresult CUDAAPI cuOccupancyMaxActiveClusters(int* clusters, CUfunction function, const CUlaunchConfig* config) {
    return config == nullptr ? CUDA_ERROR_INVALID_VALUE : stand_in::active_blocks(clusters, function, 1);
}

}  // extern "C"
