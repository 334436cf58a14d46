#include "shim/blas/routine.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "shim/blas/emulate/in_float32.hpp"
#include "shim/blas/product.hpp"
#include "system/mapped_memory.hpp"

namespace fp32shim::blas {
namespace {

// On both architectures, integers and pointers are passed in other registers than real numbers, and the two kinds are
// assigned to registers independently. So one function type can call every routine: first come all integers and
// pointers ("words"), then all real numbers. A routine ignores words after its last argument. A real number is passed
// as a double with the same bits, of which a float32 routine reads the lower half.
using Words = std::array<std::int64_t, max_words>;

/// The number of words that suffices for most routines. sgemm_ has 13 arguments and two hidden text lengths, and
/// strmm_ has 11 arguments and four hidden text lengths.
constexpr int few_words = 17;

/// Calls a routine that takes at most `count` words. word(0), word(1) and so on are the words; `first` and `second`
/// are the real arguments.
template <class Result, class Word>
Result call_words(void* address, int count, const Word& word, double first, double second) {
    const auto call = [&]<int... I>(std::integer_sequence<int, I...>) {
        using Routine = Result (*)(decltype(static_cast<std::int64_t>(I))..., double, double);
        return reinterpret_cast<Routine>(address)(word(I)..., first, second);
    };
    if (count <= few_words) return call(std::make_integer_sequence<int, few_words>{});
    return call(std::make_integer_sequence<int, max_words>{});
}

/// The largest number of hidden arguments in which a Fortran routine takes the lengths of its option texts. Callers
/// written in C leave these arguments out. The shim always passes 1, which is enough to read an option.
constexpr int hidden_lengths = 4;

/// The lower 64 bits of the two registers in which functions return numbers. A float32 fills half of them in the
/// first register; on x86-64, a complex64 fills them all. Copying them as a float64 keeps every bit.
struct ReturnedNumbers {
    double first, second;
};

/// Returns the CBLAS value of an option. Returns an invalid value for '?', so that the library reports the option.
std::int32_t cblas_value(Role role, char letter) {
    const std::size_t first = role == Role::uplo ? 10 : role == Role::diag ? 20 : role == Role::side ? 30 : 0;
    return first_option_of_cblas + static_cast<std::int32_t>(letters_of_cblas.find(letter, first));
}

/// The arguments of a call, placed by role. Arguments that are passed by reference point into this object, so it must
/// not move before the call.
class ArgumentWriter {
  public:
    explicit ArgumentWriter(const Function& function)
        : positions_(function.positions()),
          is_cblas_(function.convention == CallingConvention::cblas),
          in_arrays_(function.product().batching == Batching::groups),
          is_double_(is_double(function.product().dtype)) {}

    void option(Role role, char letter) {
        if (positions_.of(role) < 0) return;
        const std::int32_t value = is_cblas_ ? cblas_value(role, letter) : letter;
        put(role, is_cblas_ && !in_arrays_ ? value : address_of_copy(value));
    }

    void integer(Role role, std::int64_t value) {
        if (positions_.of(role) < 0) return;
        const bool by_value = is_cblas_ && (!in_arrays_ || role == Role::group_count);
        put(role, by_value ? value : address_of_copy(value));
    }

    void pointer(Role role, const void* value) {
        if (positions_.of(role) < 0) return;
        const auto word = reinterpret_cast<std::int64_t>(value);
        put(role, in_arrays_ ? address_of_copy(word) : word);
    }

    /// Sets a scalar. CBLAS takes a real scalar by value. All other scalars are passed by pointer, which also serves
    /// as an array with one element.
    void scalar(Role role, const void* value) {
        const int real = role == Role::alpha ? positions_.alpha_float : positions_.beta_float;
        if (real >= 0)
            std::memcpy(&reals_[static_cast<std::size_t>(real)], value, is_double_ ? sizeof(double) : sizeof(float));
        else if (positions_.of(role) >= 0)
            put(role, reinterpret_cast<std::int64_t>(value));
    }

    void layout(bool row_major) {
        if (is_cblas_) put(Role::layout, row_major ? 101 : 102);
    }

    void call(void* address) {
        int count = positions_.words;
        for (int hidden = 0; !is_cblas_ && hidden < hidden_lengths; ++hidden)
            words_[static_cast<std::size_t>(count++)] = 1;
        call_words<std::int64_t>(
            address, count, [this](int i) { return words_[static_cast<std::size_t>(i)]; }, reals_[0], reals_[1]);
    }

  private:
    void put(Role role, std::int64_t word) { words_[static_cast<std::size_t>(positions_.of(role))] = word; }

    /// Returns the address of a copy of `value`. The copy can be read as a character, a 32-bit or a 64-bit integer,
    /// since the processor is little-endian.
    std::int64_t address_of_copy(std::int64_t value) {
        copies_[copy_count_] = value;
        return reinterpret_cast<std::int64_t>(&copies_[copy_count_++]);
    }

    const ArgumentPositions& positions_;
    bool is_cblas_;
    bool in_arrays_;
    bool is_double_;
    Words words_{};
    Words copies_{};
    std::size_t copy_count_ = 0;
    std::array<double, 2> reals_{};
};

/// Returns a stride for a batch of one product that is no smaller than any matrix of the product with this leading
/// dimension.
std::int64_t span_of(std::int64_t leading_dimension, const Level3& product) {
    std::int64_t largest = product.m > product.n ? product.m : product.n;
    if (product.k > largest) largest = product.k;
    return leading_dimension * largest;
}

Routine routine_by_role(const ProviderRoutine& routine) {
    // Routine::context is not const, since a routine may have a state. A ProviderRoutine has no state.
    return {routine.address == nullptr ? nullptr : call_by_role, const_cast<ProviderRoutine*>(&routine)};
}

}  // namespace

FunctionIndex gemm_of_same_type(const Function& function) {
    switch (function.product().dtype) {
        case policy::Dtype::complex64:
            return find_function(families::cgemm, function.form);
        case policy::Dtype::float64:
            return find_function(families::dgemm, function.form);
        case policy::Dtype::complex128:
            return find_function(families::zgemm, function.form);
        default:
            return find_function(families::sgemm, function.form);
    }
}

FunctionIndex float32_counterpart(const Function& function) {
    // In the table of families, the row of a float64 family comes directly after the row of its float32 family.
    static constexpr const FunctionFamily* rows[] = {
#define BLAS(family, ...) &families::family,
#include "shim/table/families.def"
    };
    const auto* const row = std::find(std::begin(rows), std::end(rows), function.family);
    const bool is_double = row != std::end(rows) && policy::is_double(function.product().dtype);
    return is_double ? find_function(**(row - 1), function.form) : FunctionIndex{-1};
}

RoutineSet routines_of(const Site& site) {
    const auto row = [](FunctionIndex index) { return index < 0 ? nullptr : &functions[index]; };
    const Function* const float32 = row(float32_counterpart(*site.routine));
    return {{site.routine, site.real},
            {row(gemm_of_same_type(*site.function)), site.cpu.gemm},
            {float32, site.cpu.routine_of_float32},
            {float32 == nullptr ? nullptr : row(gemm_of_same_type(*float32)), site.cpu.gemm_of_float32}};
}

EmulationResult emulate_with_routines(const RoutineSet& routines, const Level3& product, Preview preview) {
    if (!preview.in_float32)
        return emulate(product, preview, routine_by_role(routines.same), routine_by_role(routines.gemm),
                       scratch_limit_of_a_product);
    const std::size_t bytes = float32_copy_bytes(product);
    if (bytes > float32_copy_limit) return EmulationResult::scratch_limit;
    const MappedMemory memory(bytes);
    if (memory.bytes().empty()) return EmulationResult::scratch_limit;
    Float32Routine same{routine_by_role(routines.float32), memory.bytes().data()};
    Float32Routine gemm{routine_by_role(routines.float32_gemm), memory.bytes().data()};
    return emulate(product, preview, {call_in_float32, &same},
                   {gemm.single.call == nullptr ? nullptr : call_in_float32, &gemm}, scratch_limit_of_a_product);
}

std::int64_t call_with_frame(const Site& site, Frame& frame) {
    const int count = argument_positions(site).words;
    // Fortran's hidden text lengths follow the arguments. They are always 1, and CBLAS routines ignore them.
    const auto word = [&](int i) { return i < count ? frame.word(i) : 1; };
    const auto first = std::bit_cast<double>(frame.real_bits(0));
    const auto second = std::bit_cast<double>(frame.real_bits(1));
    if (!returns_in_registers(site))
        return call_words<std::int64_t>(site.real, count + hidden_lengths, word, first, second);
    const auto numbers = call_words<ReturnedNumbers>(site.real, count + hidden_lengths, word, first, second);
    frame.set_real_bits(0, std::bit_cast<std::uint64_t>(numbers.first));
    frame.set_real_bits(1, std::bit_cast<std::uint64_t>(numbers.second));
    return 0;
}

void call_by_role(void* context, const Level3& product) {
    const auto& routine = *static_cast<const ProviderRoutine*>(context);
    ArgumentWriter arguments(*routine.function);
    arguments.layout(product.row_major);
    for (const auto& [role, member] : option_members) arguments.option(role, product.*member);
    for (const auto& [role, member] : integer_members) arguments.integer(role, product.*member);
    arguments.scalar(Role::alpha, product.alpha);
    arguments.scalar(Role::beta, product.beta);
    arguments.pointer(Role::a, product.a);
    arguments.pointer(Role::b, product.b);
    arguments.pointer(Role::c, product.c);
    arguments.integer(Role::stride_a, span_of(product.lda, product));
    arguments.integer(Role::stride_b, span_of(product.ldb, product));
    arguments.integer(Role::stride_c, span_of(product.ldc, product));
    for (const Role role : {Role::batch_count, Role::group_count, Role::group_size}) arguments.integer(role, 1);
    arguments.call(routine.address);
}

}  // namespace fp32shim::blas
