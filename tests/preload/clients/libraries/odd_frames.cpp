// Multiplies for a Python script while the frames of the calling thread are damaged: test_where_bad_input.py.
#include <dlfcn.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "shim/where/python/frames.hpp"

extern "C" void sgemm_(const char*, const char*, const int*, const int*, const int*, const float*, const float*,
                       const int*, const float*, const int*, const float*, float*, const int*);

using namespace fp32shim::where;

namespace {

void multiply() {
    const float a[4] = {1, 2, 3, 4}, one = 1, zero = 0;
    float c[4] = {};
    const int n = 2;
    sgemm_("N", "N", &n, &n, &n, &one, a, &n, a, &n, &zero, c, &n);
}

void* find_symbol(const char* name) { return dlsym(RTLD_DEFAULT, name); }
bool can_read(const char*, std::size_t) { return true; }

/// Returns the place in the innermost frame of the calling thread that holds the address of the calling frame.
/// `version`: sys.hexversion.
char* slot_of_caller(unsigned version, const char*& frame) {
    const auto layout = python_layout_of(version, find_symbol("_PyRuntime"));
    PythonStack stack;
    PythonReader::find_interpreter(find_symbol, can_read)->read_stack(stack);
    frame = stack.frames[0];
    return const_cast<char*>(frame) + layout->frame_previous;
}

template <class Function>
Function* python_function(const char* name) {
    return reinterpret_cast<Function*>(find_symbol(name));
}

}  // namespace

/// Multiplies while the innermost frame has `number` as the address of its caller; 0: the frame's own address.
extern "C" void multiply_called_by(unsigned version, std::uintptr_t number) {
    const char *frame = nullptr, *caller = nullptr;
    char* const slot = slot_of_caller(version, frame);
    std::memcpy(&caller, slot, sizeof caller);
    std::memcpy(slot, number == 0 ? static_cast<const void*>(&frame) : &number, sizeof number);
    multiply();
    std::memcpy(slot, &caller, sizeof caller);
}

/// Multiplies on a thread whose thread state another thread has used and deleted. The state's memory then holds
/// invalid addresses. Call it without the GIL.
extern "C" void multiply_after_deletion() {
    static void* state = nullptr;
    std::thread([] {
        const auto main_interpreter = python_function<void*()>("PyInterpreterState_Main");
        state = python_function<void*(void*)>("PyThreadState_New")(main_interpreter());
        std::thread([] {
            python_function<void(void*)>("PyEval_AcquireThread")(state);
            python_function<int(const char*)>("PyRun_SimpleString")("sum([1])");
            python_function<void(void*)>("PyThreadState_Clear")(state);
            python_function<void()>("PyThreadState_DeleteCurrent")();
        }).join();
        for (int i = 0; i < 100'000; ++i) {
            const std::size_t words = 25 + static_cast<std::size_t>(i % 40) * 2;
            auto* const memory = static_cast<std::uintptr_t*>(std::malloc(words * sizeof(std::uintptr_t)));
            std::fill_n(memory, words, 0x7f0000000008);
        }
        for (int i = 0; i < 1000; ++i) multiply();
    }).join();
}

/// Multiplies repeatedly for a time, without returning to Python.
extern "C" void multiply_for(int milliseconds) {
    timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        multiply();
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1'000'000 < milliseconds);
}
