// CUDA as a program finds it that was not linked with it: the driver API and cuBLAS by dlopen.
// Used by the programs of this folder, which ask cuBLAS itself and know nothing of the shim.
#pragma once

#include "gpu_check/cuda/api.hpp"

#include <cstddef>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <vector>

namespace gpu {

/// There is nothing to run on: no driver, no device, or no cuBLAS. Programs say so and end with `exit_skipped`.
struct NoDevice : std::runtime_error {
    using std::runtime_error::runtime_error;
};
constexpr int exit_skipped = 77;

class Library {
  public:
    /// The first of these names that the loader finds. Throws NoDevice with the loader's message about the first.
    explicit Library(std::initializer_list<const char*> names);

    /// nullptr where this version of the library lacks it.
    template <class Function>
    Function* find(const char* name) const {
        return reinterpret_cast<Function*>(address(name));
    }

    /// Returns the function that find() finds; ends the program without it.
    template <class Function>
    Function& get(const char* name) const {
        if (Function* function = find<Function>(name)) return *function;
        throw std::runtime_error(file_ + " has no " + name);
    }

    const std::string& file() const { return file_; }

  private:
    void* address(const char* name) const;

    void* handle_ = nullptr;
    std::string file_;
};

/// libcublas or libcublasLt, of the release that the variable GPU_CUBLAS_MAJOR names; without it 13, or 12 where that
/// is not there.
Library open_cuda_library(const char* name);

/// Device 0, its primary context current on this thread.
class Device {
  public:
    Device();

    void synchronise() const;
    /// For threads that did not make it.
    void make_current() const;
    /// Returns how much memory is free, behind a semicolon; empty where that is unknown.
    std::string free_memory() const;

    const Library driver{"libcuda.so.1"};
    std::string name;
    int devices = 0;             // that this process sees
    int driver_version = 0;      // 13000: the CUDA that this driver supports
    int compute_capability = 0;  // 90 is 9.0

  private:
    CUcontext context_ = nullptr;
};

/// Device memory.
class Buffer {
  public:
    Buffer(const Device& device, std::size_t bytes);
    Buffer(const Device& device, const void* host, std::size_t bytes);
    template <class T>
    Buffer(const Device& device, const std::vector<T>& host) : Buffer(device, host.data(), host.size() * sizeof(T)) {}
    ~Buffer();
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    void upload(const void* host, std::size_t bytes, std::size_t offset = 0);
    /// Every float becomes NaN: what a product does not write is seen.
    void fill_with_nan(std::size_t bytes);
    void download(void* host, std::size_t bytes) const;
    template <class T>
    std::vector<T> download(std::size_t count) const {
        std::vector<T> host(count);
        download(host.data(), count * sizeof(T));
        return host;
    }

    /// The address as the library's prototypes want it; offset in bytes.
    template <class T>
    T* as(std::size_t offset = 0) const {
        return reinterpret_cast<T*>(address_ + offset);
    }

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

    const Library library = open_cuda_library("libcublas");
    cublasHandle_t handle = nullptr;
    std::string version;  // 13.1.0
};

/// CUBLAS_STATUS_NOT_SUPPORTED
const char* text(cublasStatus_t status);
void check(cublasStatus_t status, const char* what);
void check(CUresult result, const char* what);

}  // namespace gpu
