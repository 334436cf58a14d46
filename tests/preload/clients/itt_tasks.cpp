// A program with ITT tasks. It contains a small copy of ITT's static part, which programs link: a table of functions,
// which it passes to the collector that INTEL_LIBITTNOTIFY64 names.
//
//   itt_tasks [BUILD]     BUILD: build number of the static part; default: a recent one
#include <dlfcn.h>

#include <cstdlib>
#include <string>

#include "client.h"
#include "shim/ranges/itt.hpp"

using fp32shim::itt::Domain;
using fp32shim::itt::Function;
using fp32shim::itt::Global;
using fp32shim::itt::Id;
using fp32shim::itt::StringHandle;

static Domain* (*domain_create)(const char*) = nullptr;
static StringHandle* (*string_handle_create)(const char*) = nullptr;
static void (*task_begin)(const Domain*, Id, Id, StringHandle*) = nullptr;
static void (*task_begin_ex)(const Domain*, void*, unsigned long long, Id, Id, StringHandle*) = nullptr;
static void (*task_begin_fn)(const Domain*, Id, Id, void*) = nullptr;
static void (*task_end)(const Domain*) = nullptr;
static void (*task_end_ex)(const Domain*, void*, unsigned long long) = nullptr;
static void (*frame_begin)(const Domain*) = nullptr;

static char before_init, uninstrumented;

template <class Pointer>
static Function function(const char* name, Pointer& pointer) {
    pointer = reinterpret_cast<Pointer>(&before_init);
    return {name, reinterpret_cast<void**>(&pointer), &before_init, &uninstrumented, 0};
}

static bool is_taken(const void* pointer) { return pointer != &before_init && pointer != &uninstrumented; }

static void product(blas_int order) {
    float a[64], b[64], c[64];
    fill(a, 64, 1);
    fill(b, 64, 2);
    cblas_sgemm(column_major, no_trans, no_trans, order, order, order, 1, a, order, b, order, 0, c, order);
}

static void tasks(const Domain* early) {
    const Domain* physics = domain_create("physics");
    std::printf("same domain %d, enabled %d\n", domain_create("physics") == physics, physics->flags);
    std::printf("same string %d\n", string_handle_create("solve") == string_handle_create("solve"));
    product(1);
    task_begin(physics, {}, {}, string_handle_create("solve"));
    product(2);
    StringHandle late{"early handle"};
    task_begin_ex(early, nullptr, 7, {}, {}, &late);
    product(3);
    task_begin_fn(physics, {}, {}, nullptr);
    product(4);
    task_end(physics);
    task_end(physics);
    product(5);
    task_end_ex(early, nullptr, 8);
    task_end(physics);
    task_end(nullptr);
    product(6);
}

int main(int argc, char** argv) {
    Function functions[] = {function("__itt_domain_create", domain_create),
                            function("__itt_string_handle_create", string_handle_create),
                            function("__itt_task_begin", task_begin),
                            function("__itt_task_begin_ex", task_begin_ex),
                            function("__itt_task_begin_fn", task_begin_fn),
                            function("__itt_task_end", task_end),
                            function("__itt_task_end_ex", task_end_ex),
                            function("__itt_frame_begin_v3", frame_begin),
                            {}};
    Global global{{0xed, 0xab, 0xab, 0xec, 0x0d, 0xee, 0xda, 0x30},
                  3,
                  0,
                  argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 20180723,
                  0,
                  0,
                  0,
                  PTHREAD_MUTEX_INITIALIZER,
                  dlopen(std::getenv("INTEL_LIBITTNOTIFY64"), RTLD_LAZY),
                  nullptr,
                  nullptr,
                  functions};
    const auto init = reinterpret_cast<void (*)(Global*, int)>(dlsym(global.library, "__itt_api_init"));
    if (init == nullptr) return 1;
    init(&global, -1);
    for (const Function* each = functions; each->name != nullptr; ++each)
        std::printf("%s: %s\n", each->name,
                    is_taken(*each->pointer)            ? "taken"
                    : *each->pointer == &uninstrumented ? "uninstrumented"
                                                        : "as before");
    Domain early;
    early.name = "early";
    if (is_taken(reinterpret_cast<void*>(task_begin))) tasks(&early);
    return 0;
}
