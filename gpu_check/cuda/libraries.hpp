// Opens CUDA's driver API and cuBLAS by dlopen, so that programs can be built and started without CUDA. Products are
// called as in any program, so LD_PRELOAD alone decides whether the shim sees them.
#pragma once

#include "gpu_check/cuda/api.hpp"

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace gpu {

/// Is thrown if there is no driver, no device, or no cuBLAS. Programs report the message and end with status
/// `exit_skipped`.
struct NoDeviceError : std::runtime_error {
    using std::runtime_error::runtime_error;
};
constexpr int exit_skipped = 77;

class Library {
  public:
    /// Opens the first library of `names` that the loader finds. If it finds none, throws NoDeviceError with the
    /// loader's message about the first library.
    explicit Library(std::initializer_list<const char*> names);

    /// Returns the function `name`; nullptr if this version of the library does not have it.
    template <class Function>
    Function* find(const char* name) const {
        return reinterpret_cast<Function*>(address(name));
    }

    /// Returns the function `name`. Throws std::runtime_error if the library does not have it.
    template <class Function>
    Function& get(const char* name) const {
        if (Function* function = find<Function>(name)) return *function;
        throw std::runtime_error(file_ + " has no " + name);
    }

    /// Returns the function `name` of the library itself. find() uses dlsym, which may return a preloaded library's
    /// function instead.
    template <class Function>
    Function* find_own(const char* name) const {
        return reinterpret_cast<Function*>(address_in_library(name));
    }

    const std::string& file_name() const { return file_; }

  private:
    void* address(const char* name) const;
    void* address_in_library(const char* name) const;

    void* handle_ = nullptr;
    std::string file_;
};

/// Returns the build id of the loaded library whose file name begins with `name`, in hexadecimal; "unknown" if there
/// is none.
std::string build_id_of(std::string_view name);

/// Opens libcublas or libcublasLt, in the major version that the variable GPU_CUBLAS_MAJOR names. If the variable is
/// not set, opens version 13, or 12 if version 13 is missing.
Library open_cuda_library(const char* name);

/// CUDA device 0. Its primary context is current on the thread that made the object.
class Device {
  public:
    Device();

    void synchronise() const;
    /// Makes the device's context current on the calling thread.
    void make_current() const;
    /// Returns the amount of free memory as the end of a message, after a semicolon; empty if the amount is unknown.
    std::string free_memory_text() const;

    const Library driver{"libcuda.so.1"};
    std::string name;
    int devices = 0;             // number of devices that this process sees
    int driver_version = 0;      // newest CUDA version that this driver supports; 13000 means 13.0
    int compute_capability = 0;  // 10·major + minor, so that 90 means 9.0

  private:
    CUcontext context_ = nullptr;
};

/// Returns the time of one call in milliseconds, by the device's own clock. It is the mean of `repeats` calls in a
/// row.
double measure_milliseconds(const Device& device, int repeats, const std::function<void()>& call);

/// A buffer in device memory.
class DeviceBuffer {
  public:
    DeviceBuffer(const Device& device, std::size_t bytes);
    DeviceBuffer(const Device& device, const void* host, std::size_t bytes);
    template <class T>
    DeviceBuffer(const Device& device, const std::vector<T>& host)
        : DeviceBuffer(device, host.data(), host.size() * sizeof(T)) {}
    ~DeviceBuffer();
    DeviceBuffer(const DeviceBuffer&) = delete;
    DeviceBuffer& operator=(const DeviceBuffer&) = delete;

    void upload(const void* host, std::size_t bytes, std::size_t offset = 0);
    /// Fills the buffer with NaN, which shows the elements that a product does not write.
    void fill_with_nan(std::size_t bytes);
    void download(void* host, std::size_t bytes) const;
    template <class T>
    std::vector<T> download(std::size_t count) const {
        std::vector<T> host(count);
        download(host.data(), count * sizeof(T));
        return host;
    }

    /// Returns the address `offset` bytes behind the beginning of the buffer.
    void* address(std::size_t offset = 0) const { return reinterpret_cast<void*>(address_ + offset); }

  private:
    const Device& device_;
    CUdeviceptr address_ = 0;
};

/// A cuBLAS handle on a device.
class Cublas {
  public:
    explicit Cublas(const Device& device);
    ~Cublas();
    Cublas(const Cublas&) = delete;
    Cublas& operator=(const Cublas&) = delete;

    void set_math_mode(cublasMath_t mode) const;

    const Device& device;
    const Library library = open_cuda_library("libcublas");
    cublasHandle_t handle = nullptr;
    std::string version;  // version of cuBLAS, such as 13.1.0
};

/// Returns the name of a status without its prefix: NOT_SUPPORTED for CUBLAS_STATUS_NOT_SUPPORTED.
const char* status_name(cublasStatus_t status);
void throw_on_error(cublasStatus_t status, const char* what);
void throw_on_error(CUresult result, const char* what);

/// CHECKED(library, name of the function, arguments...) calls a function that must succeed. Otherwise it throws
/// std::runtime_error with the function's name and the status.
#define CHECKED(library, function, ...) \
    ::gpu::throw_on_error((library).get<decltype(::gpu::function)>(#function)(__VA_ARGS__), #function)

}  // namespace gpu
