// The types of Intel's Instrumentation and Tracing Technology that a collector needs. Source: ittnotify_config.h of
// the static part, which is linked into programs. Version 3 has had these types since build 20111111.
#pragma once

#include <pthread.h>

#include <cstdint>

namespace fp32shim::itt {

struct Function {  ///< __itt_api_info
    const char* name;
    void** pointer;        ///< the pointer that the program calls through
    void* before_init;     ///< value of `*pointer` before the collector was loaded
    void* uninstrumented;  ///< value of `*pointer` if no collector wants the call
    int group;
};

struct Global {  ///< __itt_global, only the part that is read here
    unsigned char magic[8];
    unsigned long version_major, version_minor, version_build;
    volatile long api_initialized, mutex_initialized, atomic_counter;
    pthread_mutex_t mutex;
    void* library;
    void* error_handler;
    const char** library_path;
    Function* functions;  ///< ends with an entry without a name
};

struct Domain {              ///< __itt_domain
    volatile int flags = 1;  ///< 0: the program makes no calls for this domain
    const char* name = nullptr;
    void* wide_name = nullptr;
    int extra1 = 0;
    void* extra2 = nullptr;
    Domain* next = nullptr;
};

struct StringHandle {  ///< __itt_string_handle
    const char* text = nullptr;
    void* wide_text = nullptr;
    int extra1 = 0;
    void* extra2 = nullptr;
    StringHandle* next = nullptr;
};

struct Id {  ///< __itt_id
    unsigned long long words[3];
};

}  // namespace fp32shim::itt
