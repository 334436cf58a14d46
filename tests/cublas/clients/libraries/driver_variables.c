// A library that exports variables with the names of the driver's functions. It fills them by dlsym, as NVIDIA's
// samples, cuew and slang-rhi do, so that a program starts without a driver, too.
#include <dlfcn.h>
#include <stddef.h>

#pragma GCC visibility push(default)

int (*cuModuleGetFunction)(void**, void*, const char*);
int (*cuLaunchKernel)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                      void**);

int launch_by_lookup(void* function);
int launch_by_lookup(void* function) {
    void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    *(void**)&cuModuleGetFunction = dlsym(driver, "cuModuleGetFunction");
    *(void**)&cuLaunchKernel = dlsym(driver, "cuLaunchKernel");
    return cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL);
}

#pragma GCC visibility pop
