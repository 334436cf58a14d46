// A number that tells different calls from one call site apart. The express lanes (the quick path of recorded calls)
// use it, because they have no time to describe a call.
#pragma once

#include <array>
#include <cstdint>

#include "shim/entry/frame.hpp"
#include "shim/table/functions.hpp"

namespace fp32shim {

/// The offsets of the options and integers among a function's arguments. No other argument affects which row of a
/// recording counts a call, or whether the call's arguments are valid.
struct ArgumentKeyLayout {
    static constexpr std::size_t capacity = 16;
    std::uint8_t count = 0;  ///< the number of arguments; 0 if no key can be made
    std::uint8_t option_count = 0;
    bool by_reference = false;  ///< true if the arguments are pointers to values (to letters for options), not values
    bool is_plain_gemm = false;  ///< true if the arguments are at key::gemm_positions
    /// The byte offsets of the arguments in the frame. The offsets of options come first.
    std::array<std::uint8_t, capacity> offsets{};
};

/// Returns the offsets for a function. Returns a layout with `count` 0 if the function's sizes are in arrays, if it
/// takes scalars by value without a handle (cuBLAS before version 2), if any library may use its name (`sgemm`), or
/// if callers may pass an address for the result before the other arguments (Function::returns_complex).
ArgumentKeyLayout argument_key_layout(const Function& function);

/// Returns a hash of a call's options and integers and of `salt`. The chance that different calls have the same hash
/// is one in 2^64, so the hash may identify a row of a recording, but no decision may depend on it. `is_wide` is true
/// if integers have 64 bits. Returns 0 if an argument that is passed by reference is not a pointer.
[[gnu::always_inline]] inline std::uint64_t argument_key(const ArgumentKeyLayout& arguments, const Frame& frame,
                                                         bool is_wide, std::uint64_t salt);

// ---- details -----------------------------------------------------------------------------------------------------

namespace key {

/// Random odd numbers, one for each argument of a call. The sum of all arguments, each multiplied by its number,
/// tells calls apart as well as a random number would. The processor can do all multiplications at once.
inline constexpr std::uint64_t factors[ArgumentKeyLayout::capacity] = {
    0x62bba1b9f2757641, 0x7a6f56d50c7a670d, 0xbc6aa802aafcc4e7, 0x6a4a7def0860909f,
    0x66d6a2999d170b6b, 0x79ba10d3c6bc2c87, 0xa858043e4ed1959f, 0xcf875d30ea497427,
    0xfb0c5ad0cd4eeeab, 0x1a4392fc58ed74c3, 0x69504dea996e1303, 0x8c7713ff7e06c195,
    0xdce8791d31e6283d, 0xb501afccfb9d3bdf, 0x0b8d2f18aa08672d, 0x6e4eb470480438fb};

// The offsets for gemm are constants, because programs call gemm most often, and often with sizes so small that
// reading the offsets would cost noticeable time.
template <bool by_reference>
inline constexpr const ArgumentPositions& gemm_positions =
    by_reference ? families::sgemm.fortran : families::sgemm.cblas;

/// Reads argument number `number` at the address `argument`, multiplies it by its factor, and adds it to `sum`.
/// Returns false if the argument should be a pointer but is not.
template <class Value, bool by_reference>
[[gnu::always_inline]] inline bool add_argument(const char* argument, std::size_t number, std::uint64_t& sum) {
    if constexpr (by_reference) {
        argument = *reinterpret_cast<const char* const*>(argument);
        if (reinterpret_cast<std::uint64_t>(argument) < 4096) return false;
    }
    sum += static_cast<std::uint64_t>(*reinterpret_cast<const Value*>(argument)) * factors[number];
    return true;
}

/// Adds the arguments with the numbers from `begin` to `end` - 1, each times its factor, to `sum`. Returns false if
/// an argument should be a pointer but is not.
template <class Value, bool by_reference>
[[gnu::always_inline]] inline bool add_arguments(const ArgumentKeyLayout& arguments, const char* frame,
                                                 std::size_t begin, std::size_t end, std::uint64_t& sum) {
    for (std::size_t i = begin; i < end; ++i)
        if (!add_argument<Value, by_reference>(frame + arguments.offsets[i], i, sum)) return false;
    return true;
}

template <bool by_reference>
consteval std::size_t gemm_offset(Role role) {
    return Frame::offset_of(gemm_positions<by_reference>.of(role));
}

/// Adds the arguments of a plain gemm, each times its factor, to `sum`, in the order of ArgumentKeyLayout::offsets.
/// Returns false if an argument should be a pointer but is not.
template <class Integer, bool by_reference>
[[gnu::always_inline]] inline bool add_gemm_arguments(const char* frame, std::uint64_t& sum) {
    using Option = std::conditional_t<by_reference, unsigned char, std::uint32_t>;
    constexpr std::size_t first = by_reference ? 0 : 1;
    if constexpr (!by_reference) add_argument<Option, false>(frame + gemm_offset<false>(Role::layout), 0, sum);
    return add_argument<Option, by_reference>(frame + gemm_offset<by_reference>(Role::trans_a), first, sum) &&
           add_argument<Option, by_reference>(frame + gemm_offset<by_reference>(Role::trans_b), first + 1, sum) &&
           add_argument<Integer, by_reference>(frame + gemm_offset<by_reference>(Role::m), first + 2, sum) &&
           add_argument<Integer, by_reference>(frame + gemm_offset<by_reference>(Role::n), first + 3, sum) &&
           add_argument<Integer, by_reference>(frame + gemm_offset<by_reference>(Role::k), first + 4, sum) &&
           add_argument<Integer, by_reference>(frame + gemm_offset<by_reference>(Role::lda), first + 5, sum) &&
           add_argument<Integer, by_reference>(frame + gemm_offset<by_reference>(Role::ldb), first + 6, sum) &&
           add_argument<Integer, by_reference>(frame + gemm_offset<by_reference>(Role::ldc), first + 7, sum);
}

}  // namespace key

[[gnu::always_inline]] inline std::uint64_t argument_key(const ArgumentKeyLayout& arguments, const Frame& frame,
                                                         bool is_wide, std::uint64_t salt) {
    const auto* bytes = reinterpret_cast<const char*>(&frame);
    const std::size_t options = arguments.option_count;
    const std::size_t count = arguments.count;
    std::uint64_t sum = salt;
    if (arguments.is_plain_gemm && !is_wide) {
        if (!arguments.by_reference) return key::add_gemm_arguments<std::uint32_t, false>(bytes, sum) ? sum : 0;
        return key::add_gemm_arguments<std::uint32_t, true>(bytes, sum) ? sum : 0;
    }
    if (arguments.by_reference) {
        if (!key::add_arguments<unsigned char, true>(arguments, bytes, 0, options, sum)) return 0;
        const bool are_pointers =
            is_wide ? key::add_arguments<std::uint64_t, true>(arguments, bytes, options, count, sum)
                    : key::add_arguments<std::uint32_t, true>(arguments, bytes, options, count, sum);
        return are_pointers ? sum : 0;
    }
    key::add_arguments<std::uint32_t, false>(arguments, bytes, 0, options, sum);
    if (is_wide)
        key::add_arguments<std::uint64_t, false>(arguments, bytes, options, count, sum);
    else
        key::add_arguments<std::uint32_t, false>(arguments, bytes, options, count, sum);
    return sum;
}

}  // namespace fp32shim
