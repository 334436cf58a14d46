#include "shim/blas/routine.hpp"

#include <algorithm>
#include <cstdint>

#include "shim/loader/elf/readers.hpp"
#include "shim/loader/provider.hpp"
#include "system/kept_state.hpp"

namespace fp32shim::blas {
namespace {

// The argument n of isamax. A library with 32-bit integers reads n = 3, and returns the index of the largest of three
// elements. A library with 64-bit integers reads a negative n, for which reference BLAS returns 0.
constexpr std::int64_t three_or_negative = static_cast<std::int64_t>(0xffffffff00000003U);
// The argument n of scopy. A library with 32-bit integers copies one element. A library with 64-bit integers copies
// none, since n is negative.
constexpr std::int64_t one_or_negative = static_cast<std::int64_t>(0xffffffff00000001U);

constexpr std::int64_t increment = 1;  // a little-endian processor reads 1 in either width

bool isamax_sees_32_bits(void* routine, bool by_value) {
    const float values[3] = {1, 3, 2};
    if (by_value) {
        using ByValue = std::int32_t (*)(std::int64_t, const float*, std::int64_t);
        return reinterpret_cast<ByValue>(routine)(three_or_negative, values, increment) != 0;
    }
    using ByReference = std::int32_t (*)(const std::int64_t*, const float*, const std::int64_t*);
    return reinterpret_cast<ByReference>(routine)(&three_or_negative, values, &increment) != 0;
}

bool scopy_sees_32_bits(void* routine, bool by_value) {
    const float from = 1;
    float to = 0;
    if (by_value) {
        using ByValue = void (*)(std::int64_t, const float*, std::int64_t, float*, std::int64_t);
        reinterpret_cast<ByValue>(routine)(one_or_negative, &from, increment, &to, increment);
    } else {
        using ByReference =
            void (*)(const std::int64_t*, const float*, const std::int64_t*, float*, const std::int64_t*);
        reinterpret_cast<ByReference>(routine)(&one_or_negative, &from, &increment, &to, &increment);
    }
    return to == from;
}

struct WidthProbe {
    std::string_view name;
    bool (*sees_32_bits)(void* routine, bool by_value);
    bool by_value;
};

// Names without a 64-bit suffix come first, since only functions with such names have an unknown width. In a library
// that has both kinds of names (MKL), the two kinds may differ in width. If a library has isamax only with a suffix
// (the OpenBLAS in NumPy's wheels), its functions without a suffix have the same width.
constexpr WidthProbe probes[] = {
    {"isamax_", isamax_sees_32_bits, false},
    {"cblas_isamax", isamax_sees_32_bits, true},
    {"scipy_isamax_", isamax_sees_32_bits, false},
    {"scipy_cblas_isamax", isamax_sees_32_bits, true},
    {"isamax", isamax_sees_32_bits, false},
    {"ISAMAX", isamax_sees_32_bits, false},
    {"scopy_", scopy_sees_32_bits, false},
    {"cblas_scopy", scopy_sees_32_bits, true},
    {"scipy_scopy_", scopy_sees_32_bits, false},
    {"isamax_64_", isamax_sees_32_bits, false},
    {"isamax_64", isamax_sees_32_bits, false},
    {"cblas_isamax64_", isamax_sees_32_bits, true},
    {"cblas_isamax_64", isamax_sees_32_bits, true},
    {"scipy_isamax_64_", isamax_sees_32_bits, false},
    {"scipy_cblas_isamax64_", isamax_sees_32_bits, true},
};

IntegerWidth probe(const LoadedObject& provider) {
    const system::ErrnoAndFloatGuard kept;  // MKL may initialise itself in the call, and change errno
    for (const WidthProbe& candidate : probes)
        if (void* routine = find_symbol_in(provider, candidate.name))
            return candidate.sees_32_bits(routine, candidate.by_value) ? IntegerWidth::bits32 : IntegerWidth::bits64;
    return IntegerWidth::unknown;
}

// Functions without arguments by which libraries tell their number of threads. OpenBLAS and MKL return an int, BLIS a
// 64-bit integer.
constexpr std::string_view thread_counts[] = {
    "openblas_get_num_threads",          "openblas_get_num_threads64_", "scipy_openblas_get_num_threads",
    "scipy_openblas_get_num_threads64_", "MKL_Get_Max_Threads",         "bli_thread_get_num_threads",
};

void* thread_count_in(const LoadedObject& library) {
    for (const std::string_view name : thread_counts)
        if (void* const count = find_symbol_in(library, name)) return count;
    return nullptr;
}

}  // namespace

int library_thread_count(const LoadedObject& library) {
    void* count = thread_count_in(library);
    if (count == nullptr) {  // a library may only pass calls on, as Debian's libblas.so.3 does to libopenblas.so.0
        const elf::ReadGuard reading;
        visit_needed_libraries(
            library, [&](const LoadedObject& needed) { return (count = thread_count_in(needed)) != nullptr; });
    }
    if (count == nullptr) return 1;
    const std::int64_t threads = ForeignFunction<std::int64_t()>(count)();
    return static_cast<int>(std::clamp<std::int64_t>(static_cast<std::int32_t>(threads), 1, 256));
}

void probe_complex_results(LoadedObject& provider, void* address) {
    const system::ErrnoAndFloatGuard kept;
    // A function that returns the result by pointer takes (result, n, x, incx, y, incy); other functions take (n, x,
    // incx, y, incy). So the function reads n from its second argument or from its first one. Both arguments point to
    // -1 in either width of integers, so the vectors are not read, and the result is 0.
    std::int64_t result[2] = {-1, -1};
    const std::int64_t n = -1;
    const std::int64_t ones[2] = {1, 1};
    using Dot = void (*)(void*, const void*, const void*, const void*, const void*, const void*);
    reinterpret_cast<Dot>(address)(result, &n, ones, ones, ones, ones);
    provider.complex_results.store(result[0] == -1 ? ComplexResults::in_registers : ComplexResults::by_pointer,
                                   std::memory_order_relaxed);
}

void probe_real_results(LoadedObject& provider, void* address) {
    const system::ErrnoAndFloatGuard kept;
    const std::int64_t one = 1;
    const float vector[] = {1, 1};
    using OfVectors = double (*)(const void*, const void*, const void*, const void*, const void*);
    const double result = reinterpret_cast<OfVectors>(address)(&one, vector, &one, vector, &one);
    provider.real_results.store(result == 1 ? RealResults::float64 : RealResults::float32, std::memory_order_relaxed);
}

IntegerWidth probe_integer_width(LoadedObject& provider, const Function& function) {
    if (function.width == Width::ilp64) return IntegerWidth::bits64;
    IntegerWidth width = provider.width.load(std::memory_order_relaxed);
    if (width == IntegerWidth::not_probed) {
        width = probe(provider);
        provider.width.store(width, std::memory_order_relaxed);
    }
    return width;
}

}  // namespace fp32shim::blas
