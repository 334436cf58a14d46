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

// On both architectures, integer-class and floating-point arguments travel in separate registers, each class in its
// own order. So one function type can call every routine: all words, then all reals. A routine ignores words after
// its last argument. A real travels as a double with the same bits: a routine of float32 reads the lower half of the
// register.
using Words = std::array<std::int64_t, max_words>;

template <std::size_t... I>
std::int64_t call_with_words(void* address, const Words& words, double first, double second,
                             std::index_sequence<I...>) {
    using Routine = std::int64_t (*)(decltype(static_cast<std::int64_t>(I))..., double, double);
    return reinterpret_cast<Routine>(address)(words[I]..., first, second);
}

constexpr int few_words = 17;  // sgemm_: 13 arguments and two lengths; strmm_: 11 and four

std::int64_t call_words(void* address, const Words& words, int count, double first, double second) {
    if (count <= few_words)
        return call_with_words(address, words, first, second, std::make_index_sequence<few_words>{});
    return call_with_words(address, words, first, second, std::make_index_sequence<max_words>{});
}

/// Fortran routines get up to four hidden lengths of option texts, which callers written in C leave out. They are
/// always 1 here, enough to read an option.
constexpr int hidden_lengths = 4;

/// The registers in which functions return numbers. A float32 is in the lower half of the first one, and so is, on
/// x86-64, a complex64. Copies of a float64 keep all bits.
struct Numbers {
    double first, second;
};

/// Passes `count` words of a frame on, and then hidden lengths, which routines of CBLAS ignore.
template <class Result, std::size_t... I>
Result call_frame(void* address, const Frame& frame, int count, std::index_sequence<I...>) {
    const auto word = [&](int i) { return i < count ? frame.word(i) : 1; };
    using Routine = Result (*)(decltype(static_cast<std::int64_t>(I))..., double, double);
    return reinterpret_cast<Routine>(address)(word(static_cast<int>(I))..., std::bit_cast<double>(frame.real_bits(0)),
                                              std::bit_cast<double>(frame.real_bits(1)));
}

std::int32_t cblas_value(Role role, char letter) {
    switch (role) {
        case Role::uplo:
            return letter == 'U' ? 121 : 122;
        case Role::diag:
            return letter == 'N' ? 131 : 132;
        case Role::side:
            return letter == 'L' ? 141 : 142;
        default:
            return letter == 'N' ? 111 : letter == 'T' ? 112 : letter == 'C' ? 113 : 114;
    }
}

/// The arguments of a call, placed by role. Arguments by reference point into this object, so it must not move before
/// the call.
class ArgumentWriter {
  public:
    explicit ArgumentWriter(const Function& function)
        : positions_(function.positions()),
          is_cblas_(function.convention == CallingConvention::cblas),
          in_arrays_(function.product().batching == Batching::groups),
          is_double_(is_double(function.product().dtype)) {}

    void option(Role role, char letter) {
        if (positions_.of(role) < 0) return;
        if (is_cblas_ && !in_arrays_) {
            put(role, cblas_value(role, letter));
        } else {
            put(role, address_of_copy(is_cblas_ ? cblas_value(role, letter) : letter));
        }
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

    /// Sets a scalar. CBLAS takes a real one by value; all others are passed by pointer, which also serves as an
    /// array of one.
    void scalar(Role role, const void* value) {
        const int real = role == Role::alpha ? positions_.alpha_float : positions_.beta_float;
        if (real >= 0) {
            std::memcpy(&reals_[static_cast<std::size_t>(real)], value, is_double_ ? sizeof(double) : sizeof(float));
        } else if (positions_.of(role) >= 0) {
            put(role, reinterpret_cast<std::int64_t>(value));
        }
    }

    void layout(bool row_major) {
        if (is_cblas_) put(Role::layout, row_major ? 101 : 102);
    }

    void call(void* address) {
        int count = positions_.words;
        for (int hidden = 0; !is_cblas_ && hidden < hidden_lengths; ++hidden)
            words_[static_cast<std::size_t>(count++)] = 1;
        call_words(address, words_, count, reals_[0], reals_[1]);
    }

  private:
    void put(Role role, std::int64_t word) { words_[static_cast<std::size_t>(positions_.of(role))] = word; }

    /// Returns the address of a copy that can be read as a character, a 32-bit or a 64-bit integer (little-endian).
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

/// Returns a number larger than any operand of this product, for use as the stride in a batch of one.
std::int64_t span_of(std::int64_t leading_dimension, const Level3& product) {
    std::int64_t largest = product.m > product.n ? product.m : product.n;
    if (product.k > largest) largest = product.k;
    return leading_dimension * largest;
}

Routine routine_by_role(const BoundRoutine& routine) {
    // Routine::context is not const, since a Routine may have a state; this one has none.
    return {routine.address == nullptr ? nullptr : call_by_role, const_cast<BoundRoutine*>(&routine)};
}

}  // namespace

FunctionIndex gemm_beside(const Function& function) {
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

FunctionIndex float32_beside(const Function& function) {
    // The table has the row of float64 just after that of float32.
    static constexpr const FunctionFamily* rows[] = {
#define BLAS(family, ...) &families::family,
#include "shim/table/families.def"
    };
    const auto* const row = std::find(std::begin(rows), std::end(rows), function.family);
    const bool is_double = row != std::end(rows) && policy::is_double(function.product().dtype);
    return is_double ? find_function(**(row - 1), function.form) : FunctionIndex{-1};
}

Routines routines_of(const Site& site) {
    const auto row = [](FunctionIndex index) { return index < 0 ? nullptr : &functions[index]; };
    const Function* const float32 = row(float32_beside(*site.routine));
    return {{site.routine, site.real},
            {row(gemm_beside(*site.function)), site.cpu.gemm},
            {float32, site.cpu.routine_of_float32},
            {float32 == nullptr ? nullptr : row(gemm_beside(*float32)), site.cpu.gemm_of_float32}};
}

EmulationResult emulate_by(const Routines& routines, const Level3& product, Preview preview) {
    if (!preview.in_float32)
        return emulate(product, preview, routine_by_role(routines.same), routine_by_role(routines.gemm),
                       scratch_limit_of_a_product);
    const std::size_t bytes = bytes_in_float32(product);
    if (bytes > limit_in_float32) return EmulationResult::scratch_limit;
    const MappedMemory memory(bytes);
    if (memory.bytes().empty()) return EmulationResult::scratch_limit;
    InFloat32 same{routine_by_role(routines.float32), memory.bytes().data()};
    InFloat32 gemm{routine_by_role(routines.float32_gemm), memory.bytes().data()};
    return emulate(product, preview, {call_in_float32, &same},
                   {gemm.single.call == nullptr ? nullptr : call_in_float32, &gemm}, scratch_limit_of_a_product);
}

std::int64_t call_with_frame(const Site& site, Frame& frame) {
    const int count = positions_of(site).words;
    if (returns_in_registers(site)) {
        const auto numbers = call_frame<Numbers>(site.real, frame, count, std::make_index_sequence<few_words>{});
        frame.set_real_bits(0, std::bit_cast<std::uint64_t>(numbers.first));
        frame.set_real_bits(1, std::bit_cast<std::uint64_t>(numbers.second));
        return 0;
    }
    if (count + hidden_lengths <= few_words)
        return call_frame<std::int64_t>(site.real, frame, count, std::make_index_sequence<few_words>{});
    return call_frame<std::int64_t>(site.real, frame, count, std::make_index_sequence<max_words>{});
}

void call_by_role(void* context, const Level3& product) {
    const auto& routine = *static_cast<const BoundRoutine*>(context);
    ArgumentWriter arguments(*routine.function);
    arguments.layout(product.row_major);
    arguments.option(Role::side, product.side);
    arguments.option(Role::uplo, product.uplo);
    arguments.option(Role::trans_a, product.trans_a);
    arguments.option(Role::trans_b, product.trans_b);
    arguments.option(Role::diag, product.diag);
    arguments.integer(Role::m, product.m);
    arguments.integer(Role::n, product.n);
    arguments.integer(Role::k, product.k);
    arguments.scalar(Role::alpha, product.alpha);
    arguments.pointer(Role::a, product.a);
    arguments.integer(Role::lda, product.lda);
    arguments.integer(Role::stride_a, span_of(product.lda, product));
    arguments.pointer(Role::b, product.b);
    arguments.integer(Role::ldb, product.ldb);
    arguments.integer(Role::stride_b, span_of(product.ldb, product));
    arguments.scalar(Role::beta, product.beta);
    arguments.pointer(Role::c, product.c);
    arguments.integer(Role::ldc, product.ldc);
    arguments.integer(Role::stride_c, span_of(product.ldc, product));
    arguments.integer(Role::batch_count, 1);
    arguments.integer(Role::group_count, 1);
    arguments.integer(Role::group_size, 1);
    arguments.call(routine.address);
}

}  // namespace fp32shim::blas
