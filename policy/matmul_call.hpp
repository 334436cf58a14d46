// Description of a matrix product, made before its precision is decided.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace fp32shim::policy {

enum class Device : std::uint8_t { cpu, cuda };

enum class Dtype : std::uint8_t { float32, complex64, float16, bfloat16, float8, float64, complex128, int8 };

constexpr bool is_complex(Dtype dtype) { return dtype == Dtype::complex64 || dtype == Dtype::complex128; }
/// Returns true for float32 and complex64: all settings apply to products of these types.
constexpr bool is_single(Dtype dtype) { return dtype == Dtype::float32 || dtype == Dtype::complex64; }
/// Returns true for float16 and bfloat16: only `accumulate` applies to products of these types.
constexpr bool is_half(Dtype dtype) { return dtype == Dtype::float16 || dtype == Dtype::bfloat16; }
/// Returns true for float64 and complex128: only rules that name these types apply to their products.
constexpr bool is_double(Dtype dtype) { return dtype == Dtype::float64 || dtype == Dtype::complex128; }

std::string_view to_string(Device device);
std::string_view to_string(Dtype dtype);

/// The call site of a product in a program or library, as text.
struct CallSiteText {
    std::string_view text;  ///< `libphysics.so!solve+0x1c4` or, if the function is unknown, `libphysics.so+0x31c4`
    std::string_view function;  ///< the beginning of `text`, with object and function: `libphysics.so!solve`
    std::string_view offset;    ///< object and offset, `libphysics.so+0x31c4`, even if the function is known
};

/// The lines of Python that led to a call, such as `train.py:41 Model.forward`. The text of a line is made only when
/// `any` is called.
struct PythonStackLines {
    /// Calls `judge(context, line)` with each line until `judge` returns true. Returns true if it did.
    bool (*any)(const PythonStackLines& lines, bool (*judge)(void* context, std::string_view line),
                void* context) = nullptr;
};

/// The text of the source line that asked for a call. It is read only if a rule needs it.
struct SourceLineText {
    /// Returns the text without blanks at either end, or nullopt if the text cannot be read.
    std::optional<std::string_view> (*read_text)(const SourceLineText& line) = nullptr;
};

/// A product whose precision is to be decided. Sizes are in elements, as the library receives them: C is m×n, and k
/// is the summed dimension. A size is -1 if the function has no such argument. The object owns nothing, so its views
/// must outlive the decision.
struct MatmulCall {
    std::string_view function;  ///< the symbol that the program called: `cblas_sgemm`
    std::string_view caller;    ///< the base name of the library or program that calls; empty if it is unknown
    /// Labels of the scopes that are open on the thread, outermost first, joined by '/'; empty if there are none.
    std::string_view scope;
    Dtype dtype = Dtype::float32;
    Device device = Device::cpu;
    std::int32_t device_index = -1;       ///< the CUDA ordinal; -1 on the CPU
    std::int32_t compute_capability = 0;  ///< 10·major + minor; 0 if it is unknown
    char trans_a = 0;                     ///< 'N', 'T' or 'C'; 0 if the function has no such argument
    char trans_b = 0;
    std::int64_t m = -1;
    std::int64_t n = -1;
    std::int64_t k = -1;
    std::int64_t batch = 1;  ///< batch_count; 1 for a single product
    /// Number of the call, from 1, among the process's calls with the same function, sizes, scope and location; -1 if
    /// it is unknown or no rule needs it.
    std::int64_t call_number = -1;
    /// Line of the program that asked for the product: `train.py:41 Model.forward`; empty if it is unknown.
    std::string_view where = {};
    /// The text of the line `where`; nullptr if it is unknown or no rule needs it.
    const SourceLineText* text = nullptr;
    /// The call site in words; nullptr if it is unknown or no rule needs it.
    const CallSiteText* call_site = nullptr;
    const PythonStackLines* stack =
        nullptr;  ///< all lines of Python that led to the call; nullptr if they are unknown or no rule needs them
};

/// Returns false if a size is 0, so that there is nothing to multiply. An unknown size counts as positive.
inline bool multiplies(const MatmulCall& call) {
    return call.m != 0 && call.n != 0 && call.k != 0 && call.batch != 0;
}

/// The names of a process that conditions of rules can match.
struct ProcessDescription {
    std::string_view executable;  ///< base name of the program
    std::string_view command;     ///< the whole argument line, joined by single spaces
    std::string_view host;
};

}  // namespace fp32shim::policy
