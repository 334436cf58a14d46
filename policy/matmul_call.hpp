// Description of a matrix product, made before anything is decided.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace fp32shim::policy {

enum class Device : std::uint8_t { cpu, cuda };

enum class Dtype : std::uint8_t { float32, complex64, float16, bfloat16, float8 };

std::string_view to_string(Device device);
std::string_view to_string(Dtype dtype);

/// Call site of a product in a program or library, in words.
struct CallSite {
    std::string_view text;      ///< `libphysics.so!solve+0x1c4`; without a known function `libphysics.so+0x31c4`
    std::string_view function;  ///< begin of `text` that names object and function: `libphysics.so!solve`
};

/// Lines of Python that led to a call, each put into words when it is asked for: `train.py:41 Model.forward`.
struct CallLines {
    /// Calls `judge(context, line)` with each line until it returns true. Returns true if it did.
    bool (*any)(const CallLines& lines, bool (*judge)(void* context, std::string_view line), void* context) = nullptr;
};

/// Text of the source line that asked for a call, read when a rule asks for it.
struct LineText {
    /// Returns the text without blanks at either end; nullopt: it cannot be read.
    std::optional<std::string_view> (*read_text)(const LineText& line) = nullptr;
};

/// A product whose precision is to be decided. Sizes are those that the library receives, in elements: C is m×n, k is
/// the summed dimension; -1: the function lacks it. Owns nothing: views must outlive the decision.
struct MatmulCall {
    std::string_view function;  ///< symbol that the program called: `cblas_sgemm`
    std::string_view caller;    ///< base name of the library or program that calls; empty when unknown
    /// Labels of the scopes that the thread has opened, outermost first, joined by '/'; empty without any.
    std::string_view scope;
    Dtype dtype = Dtype::float32;
    Device device = Device::cpu;
    std::int32_t device_index = -1;       ///< CUDA ordinal; -1 on the CPU
    std::int32_t compute_capability = 0;  ///< 10·major + minor; 0 when unknown
    char trans_a = 0;                     ///< 'N', 'T', 'C'; 0 if the function has none
    char trans_b = 0;
    std::int64_t m = -1;
    std::int64_t n = -1;
    std::int64_t k = -1;
    std::int64_t batch = 1;  ///< batch_count; 1 for a single product
    /// Number of the call, from 1, among those of the process with the same function, sizes, scope and location; -1:
    /// not known, or no rule asks for it.
    std::int64_t call_number = -1;
    /// Line of the program that asked for the product: `train.py:41 Model.forward`; empty if it is not known.
    std::string_view where = {};
    const LineText* text = nullptr;       ///< of that line; nullptr: not known, or no rule asks for it
    const CallSite* call_site = nullptr;  ///< nullptr: not known, or no rule asks for it
    const CallLines* stack = nullptr;     ///< all lines that led to the call; nullptr: not known, or no rule asks
};

/// Returns false if a size is 0, so that there is nothing to multiply. Unknown sizes count as not 0.
inline bool multiplies(const MatmulCall& call) {
    return call.m != 0 && call.n != 0 && call.k != 0 && call.batch != 0;
}

/// Facts about the process, for conditions of rules.
struct Process {
    std::string_view executable;  ///< base name of the program
    std::string_view command;     ///< the whole argument line, joined by single spaces
    std::string_view host;
};

}  // namespace fp32shim::policy
