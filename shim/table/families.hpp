// Families of functions that have the same operation, operand type and argument list. table/families.def has a row
// for each family. Code reads arguments by a family's positions, so the argument lists of functions with sizes among
// their arguments are written only here.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>

#include "policy/matmul_call.hpp"
#include "shim/level3/level3.hpp"

namespace fp32shim {

/// The meaning of one argument, in the terms of the BLAS reference.
enum class Role : std::uint8_t {
    layout,
    handle,
    side,
    uplo,
    trans_a,
    trans_b,
    diag,
    m,
    n,
    k,
    alpha,
    a,
    lda,
    stride_a,
    b,
    ldb,
    stride_b,
    beta,
    c,
    ldc,
    stride_c,
    batch_count,  ///< the number of products in a strided batch
    group_count,
    group_size,  ///< an array with the number of products in each group; sizes and options are arrays too
    a_type,      ///< the cudaDataType of an operand
    b_type,
    c_type,
    compute_type,
    algorithm,
    other,  ///< an argument that the shim passes on and never reads
    count
};

/// The treatment of a function's calls: the shim decides their precision, or only forwards them. A call is lowered
/// if it runs at a lower precision than the program asked for.
enum class Treatment : std::uint8_t {
    governed,    ///< the precision of each call is decided
    recognised,  ///< logged and forwarded; the shim cannot change how the product runs
    solve,       ///< logged; a triangular solve, which is never lowered but may run in a fixed order of additions
    vector,  ///< logged; a product with a vector, which is never lowered but may run in a fixed order of additions
    opaque,  ///< logged and forwarded; creates kernels or packs operands for later products, which the shim does not
             ///< see
    observed,  ///< logged; the operands, narrower than float32, stay as they are, but cuBLAS may have to add in FP32
    state,     ///< the function multiplies nothing; see StateFamily
};

/// The number of products in one call, and the way in which their operands are passed.
enum class Batching : std::uint8_t {
    single,
    strided,
    groups,    ///< every argument is an array with one entry per group; operands are arrays of pointers
    pointers,  ///< operands are arrays of pointers, and all other arguments apply to all products; cuBLAS only
};

/// The way in which the CBLAS form passes alpha and beta.
enum class ScalarPassing : std::uint8_t {
    real,        ///< by value, in floating-point registers
    by_pointer,  ///< by pointer to a complex number, or to an array with an entry per group
    by_word,     ///< by value, as a half-precision number in an unsigned short
    real_beta,   ///< alpha by pointer, and beta, which is real, by value (her2k)
    unread,      ///< by value, in floating-point registers that the shim does not read (cuBLAS before version 2)
};

/// The way to make a cuBLAS function multiply in another format.
enum class FormatControl : std::uint8_t {
    none,
    compute_type,  ///< by the compute type, which is an argument of the function or of an equivalent function
    math_mode,     ///< by the handle's math mode, which the shim changes during the call
    lt_matmul,     ///< by a changed copy of the descriptor of cublasLt
};

/// The effect of a function of cuBLAS or of the CUDA driver that multiplies nothing.
enum class StateEffect : std::uint8_t {
    handle_created,
    handle_destroyed,
    handle_changed,  ///< changes or tells a setting of the handle other than the math mode
    math_mode_set,
    math_mode_read,
    algorithms_found,  ///< cublasLt: searches algorithms; the shim describes the product in the form in which it will
                       ///< run it
    algorithm_checked,  ///< cublasLt: checks if an algorithm fits a product
    // The effects of functions of the CUDA driver. StateFamily::at is the index of the argument that each line calls
    // `at`.
    image_loaded,     ///< loads a module or library from memory; `at` is the image
    file_loaded,      ///< loads a module or library from a file; `at` is its path
    image_unloaded,   ///< unloads a module or library; `at` is its handle
    kernel_found,     ///< finds a function in a module, or a kernel in a library; `at` is its name
    kernels_listed,   ///< lists all functions of a module, or kernels of a library; `at` is the array for their
                      ///< handles
    module_found,     ///< finds the module of a library in the current context; `at` is the library
    function_found,   ///< finds the function of a kernel in the current context; `at` is the kernel
    kernel_launched,  ///< launches a function or kernel; `at` is its handle
    many_launched,    ///< launches kernels on several devices; the shim does not follow these kernels
    graph_launched,   ///< launches a graph; `at` is the graph
    kernel_in_graph,  ///< adds or changes a kernel node of a graph; `at` is the node's parameters
    node_in_graph,    ///< adds or changes a graph node of any kind; `at` is the node's parameters
    address_found,    ///< looks up a function of the driver; `at` is where its address is stored
};

constexpr int max_words = 24;  ///< the highest number of integer-class arguments that the shim can pass to a function

/// The index of each role among the integer-class arguments (pointers, integers, enums), or -1 if the function has no
/// such argument. Floating-point arguments are not counted, since they travel in registers of their own.
struct ArgumentPositions {
    std::array<std::int8_t, static_cast<int>(Role::count)> word{};
    std::int8_t alpha_float = -1;  ///< the index of alpha among the floating-point arguments
    std::int8_t beta_float = -1;
    std::int8_t words = 0;  ///< the number of integer-class arguments

    constexpr int of(Role role) const { return word[static_cast<std::size_t>(role)]; }
};

/// A group of functions that have one argument list for each name form. It is the base of ProductFamily and
/// StateFamily.
struct FunctionFamily {
    Treatment treatment;
    ArgumentPositions fortran;  ///< equal to `cblas` for functions of cuBLAS
    ArgumentPositions cblas;
};

/// A family of functions that multiply.
struct ProductFamily : FunctionFamily {
    blas::Operation operation;
    policy::Dtype dtype;
    Batching batching;
    FormatControl control = FormatControl::none;
    /// The cuBLAS family that computes the same and takes a compute type (this family, if it takes one), or nullptr.
    const ProductFamily* with_compute_type = nullptr;
};

/// A family of functions that multiply nothing. They belong to cuBLAS and report or change settings of later
/// products, or they belong to the CUDA driver.
struct StateFamily : FunctionFamily {
    StateEffect effect;
    std::int8_t at = 0;  ///< for functions of the driver, the index of the argument that StateEffect names
};

using Roles = std::initializer_list<Role>;

/// Returns the positions of `first`, followed by `roles`. Leaves out `first` if it is Role::other or among `roles`.
/// `scalars` tells if alpha and beta travel in floating-point registers, which are counted separately.
constexpr ArgumentPositions argument_positions(Roles roles, Role first, ScalarPassing scalars) {
    ArgumentPositions result;
    result.word.fill(-1);
    std::int8_t floats = 0;
    const auto add = [&](Role role) {
        if (role != Role::other) result.word[static_cast<std::size_t>(role)] = result.words;
        ++result.words;
    };
    bool lists_first = false;
    for (Role role : roles) lists_first = lists_first || role == first;
    if (first != Role::other && !lists_first) add(first);
    for (Role role : roles) {
        const bool is_scalar = role == Role::alpha || role == Role::beta;
        const bool is_real =
            scalars == ScalarPassing::real || (scalars == ScalarPassing::real_beta && role == Role::beta);
        if (is_scalar && is_real)
            (role == Role::alpha ? result.alpha_float : result.beta_float) = floats++;
        else if (!(is_scalar && scalars == ScalarPassing::unread) && (role != Role::layout || first == Role::layout))
            add(role);
    }
    return result;
}

/// Returns a family of CPU functions. `roles` are their arguments without the layout. In the CBLAS form, the layout
/// comes first if the function takes a matrix.
constexpr ProductFamily blas_family(blas::Operation operation, policy::Dtype dtype, Batching batching,
                                    Treatment treatment, ScalarPassing scalars, Roles roles) {
    const ArgumentPositions fortran = argument_positions(roles, Role::other, ScalarPassing::by_pointer);
    const Role first = blas::has_matrix(operation) ? Role::layout : Role::other;
    return {{treatment, fortran, argument_positions(roles, first, scalars)}, operation, dtype, batching};
}

/// Returns a family of cuBLAS functions. `roles` are their arguments without the handle, which comes first. The
/// positions are the same for both integer widths.
constexpr ProductFamily cublas_family(blas::Operation operation, policy::Dtype dtype, Batching batching,
                                      Treatment treatment, FormatControl control, Roles roles,
                                      const ProductFamily* with_compute_type = nullptr) {
    const ArgumentPositions all = argument_positions(roles, Role::handle, ScalarPassing::by_pointer);
    return {{treatment, all, all}, operation, dtype, batching, control, with_compute_type};
}

/// Returns a family of cuBLAS functions from before version 2, which take no handle.
constexpr ProductFamily legacy_family(blas::Operation operation, policy::Dtype dtype, Roles roles) {
    const ArgumentPositions all = argument_positions(roles, Role::other, ScalarPassing::unread);
    return {{Treatment::recognised, all, all}, operation, dtype, Batching::single};
}

/// Returns a family of cuBLAS functions that multiply nothing and have `words` arguments. The handle is their first
/// argument, unless they create it.
constexpr StateFamily state_family(StateEffect effect, std::int8_t words) {
    ArgumentPositions all = argument_positions({}, effect == StateEffect::handle_created ? Role::other : Role::handle,
                                               ScalarPassing::by_pointer);
    all.words = words;
    return {{Treatment::state, all, all}, effect};
}

// clang-format off
/// The argument lists. Each lacks the first argument, which is the layout in the CBLAS form, and the handle in
/// cuBLAS.
namespace roles {

using enum Role;

inline constexpr Roles
    gemm            = {trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc},
    gemm_groups     = {trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, group_count, group_size},
    gemm_strided    = {trans_a, trans_b, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b, beta, c, ldc, stride_c, batch_count},
    gemm_direct     = {trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, other},
    gemmt           = {uplo, trans_a, trans_b, n, k, alpha, a, lda, b, ldb, beta, c, ldc},
    symm            = {side, uplo, m, n, alpha, a, lda, b, ldb, beta, c, ldc},
    syrk            = {uplo, trans_a, n, k, alpha, a, lda, beta, c, ldc},
    syrk_groups     = {uplo, trans_a, n, k, alpha, a, lda, beta, c, ldc, group_count, group_size},
    syrk_strided    = {uplo, trans_a, n, k, alpha, a, lda, stride_a, beta, c, ldc, stride_c, batch_count},
    syrk_direct     = {uplo, trans_a, n, k, alpha, a, lda, beta, c, ldc, other},
    syr2k           = {uplo, trans_a, n, k, alpha, a, lda, b, ldb, beta, c, ldc},
    trmm            = {side, uplo, trans_a, diag, m, n, alpha, a, lda, b, ldb},
    trmm_oop        = {side, uplo, trans_a, diag, m, n, alpha, a, lda, b, ldb, beta, c, ldc},
    gemv            = {trans_a, m, n, alpha, a, lda, b, ldb, beta, c, ldc},
    symv            = {uplo, n, alpha, a, lda, b, ldb, beta, c, ldc},
    ger             = {m, n, alpha, a, lda, b, ldb, c, ldc},
    syr             = {uplo, n, alpha, a, lda, c, ldc},
    syr2            = {uplo, n, alpha, a, lda, b, ldb, c, ldc},
    trmv            = {uplo, trans_a, diag, n, a, lda, b, ldb},
    axpy            = {k, alpha, a, lda, c, ldc},
    rot             = {k, a, lda, b, ldb, alpha, beta},
    dot             = {k, a, lda, b, ldb},
    dot_sub         = {k, a, lda, b, ldb, c},
    dot_by_pointer  = {c, k, a, lda, b, ldb},  // Fortran functions that return a complex number as Intel's compilers do
    sdsdot          = {k, alpha, a, lda, b, ldb},
    norm            = {k, a, lda},
    trmm_to_c       = {side, uplo, trans_a, diag, m, n, alpha, a, lda, b, ldb, c, ldc},
    trsm_groups     = {side, uplo, trans_a, diag, m, n, alpha, a, lda, b, ldb, group_count, group_size},
    trsm_strided    = {side, uplo, trans_a, diag, m, n, alpha, a, lda, stride_a, b, ldb, stride_b, batch_count},
    trsm_direct     = {side, uplo, trans_a, diag, m, n, alpha, a, lda, b, ldb, other},
    // The first argument is a pointer to the jitter (the handle of a JIT kernel); the layout comes after it.
    jit_create      = {other, layout, trans_a, trans_b, m, n, k, alpha, lda, ldb, beta, ldc},
    pack            = {other, trans_a, m, n, k, alpha, a, lda, c},
    compute         = {trans_a, trans_b, m, n, k, a, lda, b, ldb, beta, c, ldc},
    // The lists from here on are those of cuBLAS only.
    gemm_pointers   = {trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, batch_count},
    gemm_typed      = {trans_a, trans_b, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c, c_type, ldc},
    gemm_ex         = {trans_a, trans_b, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c, c_type, ldc, compute_type, algorithm},
    gemm_batched_ex = {trans_a, trans_b, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c, c_type, ldc, batch_count, compute_type, algorithm},
    gemm_strided_ex = {trans_a, trans_b, m, n, k, alpha, a, a_type, lda, stride_a, b, b_type, ldb, stride_b, beta, c, c_type, ldc, stride_c, batch_count, compute_type, algorithm},
    gemm_grouped_ex = {trans_a, trans_b, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c, c_type, ldc, group_count, group_size, compute_type},
    syrk_typed      = {uplo, trans_a, n, k, alpha, a, a_type, lda, beta, c, c_type, ldc},
    trsm_pointers   = {side, uplo, trans_a, diag, m, n, alpha, a, lda, b, ldb, batch_count},
    // The descriptors among the arguments hold the sizes and types.
    lt_matmul       = {other, other, other, other, other, other, other, other, other, other, other, other, other, other, other};

}  // namespace roles

/// Returns a family of functions of the CUDA driver with `words` arguments. `at` is the index of the argument that
/// StateEffect names.
constexpr StateFamily driver_family(StateEffect effect, std::int8_t words, std::int8_t at) {
    ArgumentPositions all = argument_positions({}, Role::other, ScalarPassing::by_pointer);
    all.words = words;
    return {{Treatment::state, all, all}, effect, at};
}

/// The families. Each row of table/families.def becomes a constant.
namespace families {

#define BLAS(family, operation, dtype, batching, treatment, scalars, list)                                          \
    inline constexpr ProductFamily family = blas_family(blas::Operation::operation, policy::Dtype::dtype,           \
                                                        Batching::batching, Treatment::treatment, ScalarPassing::scalars, \
                                                        roles::list);
#define CUBLAS(family, operation, dtype, batching, treatment, control, list)                                           \
    inline constexpr ProductFamily family = cublas_family(blas::Operation::operation, policy::Dtype::dtype,         \
                                                          Batching::batching, Treatment::treatment, FormatControl::control,     \
                                                          roles::list);
#define BY_COMPUTE_TYPE(family, operation, dtype, batching, list, typed)                                            \
    inline constexpr ProductFamily family = cublas_family(blas::Operation::operation, policy::Dtype::dtype,         \
                                                          Batching::batching,                                       \
                                                          is_half(policy::Dtype::dtype) ? Treatment::observed       \
                                                                                        : Treatment::governed,      \
                                                          FormatControl::compute_type, roles::list, &(typed));
#define LEGACY(family, operation, dtype, list) \
    inline constexpr ProductFamily family = legacy_family(blas::Operation::operation, policy::Dtype::dtype, roles::list);
#define STATE(family, effect, words) inline constexpr StateFamily family = state_family(StateEffect::effect, words);
#define DRIVER(family, effect, words, at) \
    inline constexpr StateFamily family = driver_family(StateEffect::effect, words, at);
#include "shim/table/families.def"

}  // namespace families

/// A family that can replace another family that no library provides. The replacement takes the same arguments or,
/// for a batch, computes one product at a time.
struct StandIn {
    const ProductFamily* missing;
    const ProductFamily* stand_in;
};

/// All stand-ins. If a missing family has several, the first one that a library provides is used.
#define STANDS_IN(missing, stand_in) {&families::missing, &families::stand_in},
#define REAL(missing, stand_in) STANDS_IN(s##missing, s##stand_in) STANDS_IN(d##missing, d##stand_in)
#define COMPLEX(missing, stand_in) STANDS_IN(c##missing, c##stand_in) STANDS_IN(z##missing, z##stand_in)
#define ALL_TYPES(missing, stand_in) REAL(missing, stand_in) COMPLEX(missing, stand_in)
inline constexpr StandIn stand_ins[] = {
    ALL_TYPES(gemmt, gemmtr) ALL_TYPES(gemmtr, gemmt)
    COMPLEX(gemm3m, gemm)
    ALL_TYPES(gemm_batch, gemm)     ALL_TYPES(gemm_batch_strided, gemm)
    COMPLEX(gemm3m_batch, gemm3m)   COMPLEX(gemm3m_batch_strided, gemm3m)
    COMPLEX(gemm3m_batch, gemm)     COMPLEX(gemm3m_batch_strided, gemm)
    ALL_TYPES(syrk_batch, syrk)     ALL_TYPES(syrk_batch_strided, syrk)
    ALL_TYPES(trsm_batch, trsm)     ALL_TYPES(trsm_batch_strided, trsm)
};
#undef STANDS_IN
#undef REAL
#undef COMPLEX
#undef ALL_TYPES
// clang-format on

}  // namespace fp32shim
