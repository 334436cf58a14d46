// Makes random products twice on the same memory, and compares the results: once directly, by the library in a linker
// namespace without the shim, and once as any program makes them.
//
//   random_products SEED COUNT [FORMAT [blis]]
//
// FORMAT same (the default): results, inputs, errno and floating-point flags must be bitwise equal. FORMAT
// tf32_away, tf32_even, tf32_truncate or bf16: the direct call gets operands that this program rounds. "blis" leaves
// out calls that BLIS cannot make: it reads beyond its operands, and has no cgemm3m for some matrices.
//
// Call number I of a run depends on SEED + I alone, so the seed that a failure prints repeats it. At the end prints
// the number of calls.

#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cfenv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <set>
#include <string>

#include "call.hpp"
#include "guarded_memory.hpp"

namespace {

using Bits = std::vector<std::uint32_t>;

// ---- rounding by definition --------------------------------------------------------------------------------------

enum class Format { same, tf32_away, tf32_even, tf32_truncate, bf16 };

std::uint32_t rounded(std::uint32_t bits, Format format) {
    if ((bits & 0x7f800000U) == 0x7f800000U) return bits;  // infinities and NaN are not rounded
    switch (format) {
        case Format::same:
            return bits;
        case Format::tf32_away:
            return (bits + 0x1000U) & ~0x1fffU;
        case Format::tf32_even:
            return (bits + 0xfffU + (bits >> 13 & 1U)) & ~0x1fffU;
        case Format::tf32_truncate:
            return bits & ~0x1fffU;
        case Format::bf16:
            return (bits + 0x7fffU + (bits >> 16 & 1U)) & ~0xffffU;
    }
    return bits;
}

Bits rounded(Bits values, Format format) {
    for (std::uint32_t& value : values) value = rounded(value, format);
    return values;
}

bool is_nan(std::uint32_t bits) { return (bits & 0x7fffffffU) > 0x7f800000U; }

// ---- the library -------------------------------------------------------------------------------------------------

class DirectLibrary {
  public:
    explicit DirectLibrary(const char* name) {
        void* loaded = dlopen(name, RTLD_NOW | RTLD_NOLOAD);
        link_map* map = nullptr;
        if (loaded == nullptr || dlinfo(loaded, RTLD_DI_LINKMAP, &map) != 0) fail(dlerror());
        handle_ = dlmopen(LM_ID_NEWLM, map->l_name, RTLD_NOW | RTLD_LOCAL);
        if (handle_ == nullptr) fail(dlerror());
    }

    /// Returns the library's own function; nullptr: it has none of that name.
    Function find(const std::string& name) {
        const auto [entry, is_new] = known_.try_emplace(name, nullptr);
        if (is_new) entry->second = reinterpret_cast<Function>(dlsym(handle_, name.c_str()));
        return entry->second;
    }

  private:
    [[noreturn]] static void fail(const char* why) {
        std::fprintf(stderr, "random_products: %s\n", why);
        std::exit(2);
    }
    void* handle_ = nullptr;
    std::map<std::string, Function> known_;
};

/// Makes the call directly in the library. If the library lacks a batch function, multiplies product by product.
/// Returns false if it cannot make the call.
bool make_directly(const Call& call, DirectLibrary& library, bool is_trial) {
    static const std::map<std::string, std::string> alternatives = {{"sgemmt", "sgemmtr"},
                                                                    {"cgemmt", "cgemmtr"},
                                                                    {"sgemmtr", "sgemmt"},
                                                                    {"cgemmtr", "cgemmt"},
                                                                    {"cgemm3m", "cgemm"}};
    Function function = library.find(call.name());
    if (const auto other = alternatives.find(call.base_name()); function == nullptr && other != alternatives.end())
        function = library.find(call.name_of(other->second));
    if (function != nullptr) {
        if (!is_trial) make(call, function);
        return true;
    }
    if (call.batching == Batching::single) return false;
    for (std::size_t i = 0; i < call.product_count(); ++i)
        if (!make_directly(call.single(i), library, is_trial)) return false;
    return call.product_count() > 0;
}

/// Finds a function in one of the ways of programs: by a reference that the loader bound, or by dlsym.
Function function_of_program(Random& random, const std::string& name) {
    const Function linked = linked_function(name);
    if (linked != nullptr && random() % 4 != 0) return linked;
    auto* asked = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name.c_str()));
    return asked != nullptr ? asked : linked;
}

// ---- one call ----------------------------------------------------------------------------------------------------

struct Operand {
    GuardedMemory memory;
    Bits values;  ///< values before the call
    bool is_output = false;
};

/// Operands of one call. The memory is reused for the next call.
class Operands {
  public:
    Operand& add(Bits values, bool is_output, bool at_the_end) {
        if (used_ == slots_.size()) slots_.emplace_back();
        Operand& operand = slots_[used_++];
        operand.memory.place(values.size(), at_the_end, margin);
        operand.memory.set_bits(values);
        operand.values = std::move(values);
        operand.is_output = is_output;
        return operand;
    }
    void clear() { used_ = 0; }
    std::size_t margin = 0;  ///< distance from an operand to memory that cannot be accessed, in bytes
    void restore() {
        for (std::size_t i = 0; i < used_; ++i) slots_[i].memory.set_bits(slots_[i].values);
    }
    std::size_t count() const { return used_; }
    Operand& operator[](std::size_t index) { return slots_[index]; }

  private:
    std::deque<Operand> slots_;
    std::size_t used_ = 0;
};

constexpr std::size_t largest_margin = 4096;
constexpr std::int64_t operand_limit = (GuardedMemory::capacity - 2 * largest_margin) / sizeof(float);

/// Returns the matrices of a strided batch in one array. The gaps between them must not be read.
Bits strided_values(Random& random, const Shape& shape, std::int64_t stride, std::int64_t count) {
    if (shape.span() == 0 || count == 0) return {};
    Bits all(static_cast<std::size_t>((count - 1) * stride * shape.width + shape.span()), 0x7f812345U);
    for (std::int64_t i = 0; i < count; ++i) {
        const Bits one = random_values(random, shape);
        std::copy(one.begin(), one.end(), all.begin() + static_cast<std::ptrdiff_t>(i * stride * shape.width));
    }
    return all;
}

bool has_batches(Operation operation) {
    return operation == Operation::gemm || operation == Operation::gemm3m || operation == Operation::syrk ||
           operation == Operation::trsm;
}

/// Returns a random call with its operands, which depend on `random` alone.
Call random_call(Random& random, Operands& operands) {
    operands.clear();
    Call call;
    call.is_cblas = random() % 2 == 0;
    const std::uint64_t kind = random() % 16;
    const std::int64_t limit = kind < 2 ? operand_limit / 16 : operand_limit;
    const Product first = random_product(random, call.is_cblas, limit);
    if (has_batches(first.operation) && kind == 0) call.batching = Batching::groups;
    if (has_batches(first.operation) && kind == 1) call.batching = Batching::strided;
    call.groups.push_back(first);
    call.group_sizes.push_back(call.batching == Batching::single ? 1 : static_cast<std::int64_t>(random() % 4));
    while (call.batching == Batching::groups && call.groups.size() < 3 && random() % 2 == 0) {
        call.groups.push_back(random_product(random, call.is_cblas, limit, &first));
        call.group_sizes.push_back(static_cast<std::int64_t>(random() % 4));
    }

    const bool at_the_end = random() % 4 != 0;
    const auto put = [&](std::vector<float*>& pointers, Bits values, bool is_output) {
        pointers.push_back(operands.add(std::move(values), is_output, at_the_end).memory.data());
    };
    const bool b_is_output = first.is_triangular();
    if (call.batching == Batching::strided) {
        const std::int64_t count = call.group_sizes.front();
        const auto stride = [&](const Shape& shape, bool is_output) -> std::int64_t {
            if (!is_output && random() % 4 == 0) return 0;
            return shape.span() / shape.width + static_cast<std::int64_t>(random() % 5);
        };
        call.stride_a = stride(first.a, false);
        call.stride_b = stride(first.b, b_is_output);
        call.stride_c = stride(first.c, true);
        put(call.a, strided_values(random, first.a, call.stride_a, count), false);
        put(call.b, strided_values(random, first.b, call.stride_b, count), b_is_output);
        put(call.c, strided_values(random, first.c, call.stride_c, count), true);
        return call;
    }
    for (std::size_t group = 0; group < call.groups.size(); ++group) {
        const Product& product = call.groups[group];
        for (std::int64_t i = 0; i < call.group_sizes[group]; ++i) {
            put(call.a, random_values(random, product.a), false);
            put(call.b, random_values(random, product.b), b_is_output);
            put(call.c, random_values(random, product.c), true);
        }
    }
    // A product may use one matrix twice, as in a @ a.
    const bool can_share = call.batching == Batching::single && first.has_b() && !b_is_output && first.a.span() > 0 &&
                           first.a.stored == Stored::whole && first.a.rows == first.b.rows &&
                           first.a.columns == first.b.columns;
    if (can_share && random() % 2 == 0) {
        call.groups.front().b = first.a;
        call.b = call.a;
    }
    return call;
}

/// State besides memory that a call may change or depend on.
struct Surroundings {
    int error = 0;
    int flags = 0;
    int rounding = FE_TONEAREST;
};

Surroundings random_surroundings(Random& random) {
    static constexpr int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    return {static_cast<int>(random() % 100), 0, random() % 20 == 0 ? modes[random() % 3] : FE_TONEAREST};
}

template <class Make>
Surroundings in_surroundings(const Surroundings& before, Make make_it) {
    std::fesetround(before.rounding);
    std::feclearexcept(FE_ALL_EXCEPT);
    errno = before.error;
    make_it();
    const Surroundings after{errno, std::fetestexcept(FE_ALL_EXCEPT), std::fegetround()};
    std::fesetround(FE_TONEAREST);
    return after;
}

// ---- the run -----------------------------------------------------------------------------------------------------

char current_call[4096];  // description for the handler of a crash

void say_where_it_crashed(int signal) {
    const char text[] = "random_products: a crash in ";
    (void)!write(2, text, sizeof text - 1);
    (void)!write(2, current_call, std::strlen(current_call));
    (void)!write(2, "\n", 1);
    _exit(128 + signal);
}

[[noreturn]] void fail(const Call& call, std::uint64_t seed, const std::string& why) {
    std::fprintf(stderr, "random_products: %s\n  in %s\n  again: random_products %llu 1\n", why.c_str(),
                 call.description().c_str(), static_cast<unsigned long long>(seed));
    std::exit(1);
}

/// Returns the inputs of products whose alpha is zero. Nothing is multiplied, so nothing is rounded. (Some kernels
/// for small products multiply nevertheless, and get NaN from an operand that rounding makes infinite.)
std::set<const float*> unused_inputs(const Call& call) {
    std::set<const float*> unused, used;
    for (std::size_t i = 0; i < call.a.size(); ++i) {
        const Product product = call.single(i).groups.front();
        const bool has_imaginary = product.is_complex && product.operation != Operation::herk;
        const bool is_zero = product.alpha[0] == 0 && (!has_imaginary || product.alpha[1] == 0);
        for (const auto* pointers : {&call.a, &call.b})
            if (i < pointers->size()) (is_zero ? unused : used).insert((*pointers)[i]);
    }
    std::erase_if(unused, [&](const float* input) { return used.contains(input); });
    return unused;
}

/// Returns the call with rounded inputs in separate memory.
Call with_rounded_inputs(const Call& call, Operands& from, Operands& to, Format format) {
    Call result = call;
    to.clear();
    const std::set<const float*> unused = unused_inputs(call);
    std::map<const float*, float*> copies;
    for (std::size_t i = 0; i < from.count(); ++i) {
        const bool is_b = call.groups.front().is_triangular() && from[i].is_output;
        const bool is_read = (!from[i].is_output || is_b) && !unused.contains(from[i].memory.data());
        Bits values = is_read ? rounded(from[i].values, format) : from[i].values;
        copies[from[i].memory.data()] = to.add(std::move(values), from[i].is_output, true).memory.data();
    }
    for (auto* pointers : {&result.a, &result.b, &result.c})
        for (float*& pointer : *pointers) pointer = copies[pointer];
    return result;
}

void compare(const Call& call, std::uint64_t seed, Operands& operands, const std::vector<Bits>& expected,
             Format format) {
    for (std::size_t i = 0; i < operands.count(); ++i) {
        const Bits found = operands[i].memory.bits();
        const Bits& wanted = operands[i].is_output ? expected[i] : operands[i].values;
        for (std::size_t j = 0; j < found.size(); ++j) {
            if (found[j] == wanted[j]) continue;
            // A sum of two NaNs is either of them, depending on the order of the operands.
            if (format != Format::same && is_nan(found[j]) && is_nan(wanted[j])) continue;
            char text[160];
            std::snprintf(text, sizeof text, "%s %zu, float %zu of %zu: found %08x, expected %08x, before %08x",
                          operands[i].is_output ? "output" : "input", i, j, found.size(), found[j], wanted[j],
                          operands[i].values[j]);
            fail(call, seed, text);
        }
    }
}

/// Makes one call twice and compares. Returns false if the library cannot make the call, and makes none.
bool check_call(std::uint64_t seed, DirectLibrary& library, Format format, bool is_blis) {
    static Operands operands, rounded_operands;
    operands.margin = rounded_operands.margin = is_blis ? largest_margin : 0;
    Random random(seed * 0x9e3779b97f4a7c15U);
    const Call call = random_call(random, operands);
    if (!make_directly(call, library, true)) return false;
    if (is_blis && call.groups.front().operation == Operation::gemm3m) return false;
    const Function function = function_of_program(random, call.name());
    if (function == nullptr) return false;
    std::snprintf(current_call, sizeof current_call, "call %llu: %s", static_cast<unsigned long long>(seed),
                  call.description().c_str());

    const bool rounds = format != Format::same && call.groups.front().operation != Operation::trsm;
    const Call direct = rounds ? with_rounded_inputs(call, operands, rounded_operands, format) : call;
    const Surroundings before = random_surroundings(random);
    const Surroundings wanted = in_surroundings(before, [&] { make_directly(direct, library, false); });
    std::vector<Bits> expected;
    for (std::size_t i = 0; i < operands.count(); ++i)
        expected.push_back((rounds ? rounded_operands : operands)[i].memory.bits());
    operands.restore();

    const Surroundings found = in_surroundings(before, [&] { make(call, function); });
    compare(call, seed, operands, expected, rounds ? format : Format::same);
    if (found.error != wanted.error) fail(call, seed, "errno is " + std::to_string(found.error));
    if (found.rounding != wanted.rounding) fail(call, seed, "the rounding mode is another");
    if (!rounds && found.flags != wanted.flags)
        fail(call, seed, "flags " + std::to_string(found.flags) + ", expected " + std::to_string(wanted.flags));
    return true;
}

}  // namespace

int main(int argc, char** argv) {
    static const std::map<std::string, Format> formats = {{"same", Format::same},
                                                          {"tf32_away", Format::tf32_away},
                                                          {"tf32_even", Format::tf32_even},
                                                          {"tf32_truncate", Format::tf32_truncate},
                                                          {"bf16", Format::bf16}};
    const auto format = formats.find(argc > 3 ? argv[3] : "same");
    const bool is_blis = argc > 4 && std::strcmp(argv[4], "blis") == 0;
    if (argc < 3 || format == formats.end()) {
        std::fprintf(stderr, "usage: random_products SEED COUNT [FORMAT [blis]]\n");
        return 2;
    }
    struct sigaction action {};
    action.sa_handler = say_where_it_crashed;
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigaction(signal, &action, nullptr);

    DirectLibrary library(BLAS_NAME);
    const std::uint64_t seed = std::strtoull(argv[1], nullptr, 10);
    const std::uint64_t count = std::strtoull(argv[2], nullptr, 10);
    std::uint64_t made = 0;
    for (std::uint64_t i = 0; i < count; ++i) made += check_call(seed + i, library, format->second, is_blis) ? 1 : 0;
    std::printf("%llu calls\n", static_cast<unsigned long long>(made));
    return 0;
}
