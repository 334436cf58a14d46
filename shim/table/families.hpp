// What a family of functions has in common: operation, dtype, treatment, and where each argument stands.
// `describe` reads arguments through these positions; nothing else in the shim knows an argument list.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "policy/matmul_call.hpp"
#include "shim/blas/emulate/level3.hpp"

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
    k,  //
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
    batch_count,  // strided batches
    group_count,
    group_size,  // batches of pointer arrays: every other argument is an array, per group or per product
    a_type,      // cudaDataType of an operand
    b_type,
    c_type,
    compute_type,
    algorithm,
    other,  // passed on, not looked at
    count
};

/// What the shim does with a function.
enum class Treatment : std::uint8_t {
    governed,    ///< decided per call
    recognised,  ///< counted and logged, always forwarded: solves, or has no reduced-precision path
    opaque,      ///< the same, and what is multiplied later is not seen: hands out kernels, packs operands
    observed,    ///< narrower inputs: counted, never altered
    state,       ///< no product, but says or changes what a later one does: handles, math modes, descriptors
};

enum class Batching : std::uint8_t {
    single,
    strided,
    groups,    ///< every argument is an array, one entry per group; operands are arrays of pointers
    pointers,  ///< operands are arrays of pointers, all else is the same for all products: cuBLAS only
};

/// How scalars (alpha, beta) of the CBLAS form arrive.
enum class Scalars : std::uint8_t {
    real,        ///< float32 by value, in floating-point registers
    by_pointer,  ///< complex: by pointer
    by_word,     ///< half precision as an unsigned short
    real_beta,   ///< her2k: alpha by pointer, beta float32 by value
};

enum class Convention : std::uint8_t {
    fortran,  ///< all arguments by reference
    cblas,    ///< options and sizes by value, layout first
    bare,     ///< fortran, under a name that can be anybody's function
    cublas,   ///< options (cuBLAS's enums) and sizes by value, scalars by pointer, handle first; also cublasXt,
              ///< cublasLt
    legacy,   ///< cuBLAS before version 2: no handle, options as characters, scalars by value, no status
};
enum class Width : std::uint8_t { probe, lp64, ilp64 };

constexpr bool is_of_cublas(Convention convention) {
    return convention == Convention::cublas || convention == Convention::legacy;
}

/// How a cuBLAS function can be made to multiply in another format.
/// For functions that are no products: what they do to what the shim knows.
enum class Road : std::uint8_t {
    none,          ///< it cannot
    compute_type,  ///< it has a compute type, or there is a function that does the same with one
    math_mode,     ///< by the handle's math mode around the call
    lt_matmul,     ///< cublasLt: by a copy of the descriptor
    lt_heuristic,  ///< cublasLt: finds algorithms for such a copy
    lt_check,      ///< cublasLt: asks whether an algorithm, which was found for such a copy, fits
    handle_created,
    handle_destroyed,
    math_mode_set,
    math_mode_read,
    handle_changed,  ///< another setting of the handle
};

constexpr int max_words = 24;  ///< integer-class arguments that `call_words` can pass

/// Where each role stands among the integer-class arguments (pointers, integers, enums), or -1. Floating-point
/// arguments travel in registers of their own, in order, and do not count.
struct Positions {
    std::array<std::int8_t, static_cast<int>(Role::count)> word{};
    std::int8_t alpha_float = -1;  ///< index among the floating-point arguments
    std::int8_t beta_float = -1;
    std::int8_t words = 0;  ///< number of integer-class arguments

    constexpr int of(Role role) const { return word[static_cast<int>(role)]; }
};

struct Family {
    std::string_view name;
    blas::Operation operation;
    policy::Dtype dtype;
    Treatment treatment;
    Batching batching;
    Positions fortran;
    Positions cblas;
    Road road = Road::none;
    /// cuBLAS: the name of the function that does the same with a compute type; empty where there is none.
    std::string_view with_compute_type{};
};

constexpr Positions positions(std::initializer_list<Role> roles, bool cblas, Scalars scalars) {
    Positions result;
    result.word.fill(-1);
    std::int8_t word = 0;
    std::int8_t floats = 0;
    if (cblas) result.word[static_cast<int>(Role::layout)] = word++;
    for (Role role : roles) {
        const bool by_value =
            cblas && (scalars == Scalars::real || (scalars == Scalars::real_beta && role == Role::beta));
        if (role == Role::alpha && by_value) {
            result.alpha_float = floats++;
        } else if (role == Role::beta && by_value) {
            result.beta_float = floats++;
        } else {
            if (role != Role::other) result.word[static_cast<int>(role)] = word;
            ++word;
        }
    }
    result.words = word;
    return result;
}

constexpr Family family(std::string_view name, blas::Operation operation, policy::Dtype dtype, Scalars scalars,
                        std::initializer_list<Role> roles, Batching batching = Batching::single,
                        Treatment treatment = Treatment::governed) {
    // Arrays of scalars arrive by pointer in both conventions.
    if (batching == Batching::groups) scalars = Scalars::by_pointer;
    return {name,
            operation,
            dtype,
            treatment,
            batching,
            positions(roles, false, scalars),
            positions(roles, true, scalars)};
}

/// A family of cuBLAS. Roles are all integer-class arguments, in order; positions are the same for both widths.
constexpr Family cublas_family(std::string_view name, blas::Operation operation, policy::Dtype dtype,
                               std::initializer_list<Role> roles, Road road, Batching batching = Batching::single,
                               Treatment treatment = Treatment::governed, std::string_view with_compute_type = {}) {
    const Positions all = positions(roles, false, Scalars::by_pointer);
    return {name, operation, dtype, treatment, batching, all, all, road, with_compute_type};
}

// clang-format off
namespace families {

using enum Role;
using enum Treatment;
using enum Batching;
using enum Scalars;
using blas::Operation;
using policy::Dtype;

#define GEMM_ROLES    {trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc}
#define GEMMT_ROLES   {uplo, trans_a, trans_b, n, k, alpha, a, lda, b, ldb, beta, c, ldc}
#define SYMM_ROLES    {side, uplo, m, n, alpha, a, lda, b, ldb, beta, c, ldc}
#define SYRK_ROLES    {uplo, trans_a, n, k, alpha, a, lda, beta, c, ldc}
#define SYR2K_ROLES   {uplo, trans_a, n, k, alpha, a, lda, b, ldb, beta, c, ldc}
#define TRMM_ROLES    {side, uplo, trans_a, diag, m, n, alpha, a, lda, b, ldb}
#define TRMM_OOP_ROLES {side, uplo, trans_a, diag, m, n, alpha, a, lda, b, ldb, beta, c, ldc}

inline constexpr Family sgemm   = family("sgemm",   Operation::gemm,  Dtype::float32,   real,       GEMM_ROLES);
inline constexpr Family cgemm   = family("cgemm",   Operation::gemm,  Dtype::complex64, by_pointer, GEMM_ROLES);
inline constexpr Family cgemm3m = family("cgemm3m", Operation::gemm,  Dtype::complex64, by_pointer, GEMM_ROLES);
inline constexpr Family sgemmt  = family("sgemmt",  Operation::gemmt, Dtype::float32,   real,       GEMMT_ROLES);
inline constexpr Family cgemmt  = family("cgemmt",  Operation::gemmt, Dtype::complex64, by_pointer, GEMMT_ROLES);
inline constexpr Family sgemmtr = family("sgemmtr", Operation::gemmt, Dtype::float32,   real,       GEMMT_ROLES);
inline constexpr Family cgemmtr = family("cgemmtr", Operation::gemmt, Dtype::complex64, by_pointer, GEMMT_ROLES);
inline constexpr Family ssymm   = family("ssymm",   Operation::symm,  Dtype::float32,   real,       SYMM_ROLES);
inline constexpr Family csymm   = family("csymm",   Operation::symm,  Dtype::complex64, by_pointer, SYMM_ROLES);
inline constexpr Family chemm   = family("chemm",   Operation::hemm,  Dtype::complex64, by_pointer, SYMM_ROLES);
inline constexpr Family ssyrk   = family("ssyrk",   Operation::syrk,  Dtype::float32,   real,       SYRK_ROLES);
inline constexpr Family csyrk   = family("csyrk",   Operation::syrk,  Dtype::complex64, by_pointer, SYRK_ROLES);
inline constexpr Family cherk   = family("cherk",   Operation::herk,  Dtype::complex64, real,       SYRK_ROLES);
inline constexpr Family ssyr2k  = family("ssyr2k",  Operation::syr2k, Dtype::float32,   real,       SYR2K_ROLES);
inline constexpr Family csyr2k  = family("csyr2k",  Operation::syr2k, Dtype::complex64, by_pointer, SYR2K_ROLES);
inline constexpr Family cher2k  = family("cher2k",  Operation::her2k, Dtype::complex64, real_beta,  SYR2K_ROLES);
inline constexpr Family strmm   = family("strmm",   Operation::trmm,  Dtype::float32,   real,       TRMM_ROLES);
inline constexpr Family ctrmm   = family("ctrmm",   Operation::trmm,  Dtype::complex64, by_pointer, TRMM_ROLES);
// A triangular solve divides: rounding its operands would preview nothing.
inline constexpr Family strsm   = family("strsm",   Operation::trsm,  Dtype::float32,   real,       TRMM_ROLES, single, recognised);
inline constexpr Family ctrsm   = family("ctrsm",   Operation::trsm,  Dtype::complex64, by_pointer, TRMM_ROLES, single, recognised);

#define GEMM_GROUPS_ROLES   {trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, group_count, group_size}
#define GEMM_STRIDED_ROLES  {trans_a, trans_b, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b, beta, c, ldc, stride_c, batch_count}
#define SYRK_GROUPS_ROLES   {uplo, trans_a, n, k, alpha, a, lda, beta, c, ldc, group_count, group_size}
#define SYRK_STRIDED_ROLES  {uplo, trans_a, n, k, alpha, a, lda, stride_a, beta, c, ldc, stride_c, batch_count}
#define TRSM_GROUPS_ROLES   {side, uplo, trans_a, diag, m, n, alpha, a, lda, b, ldb, group_count, group_size}
#define TRSM_STRIDED_ROLES  {side, uplo, trans_a, diag, m, n, alpha, a, lda, stride_a, b, ldb, stride_b, batch_count}

inline constexpr Family sgemm_batch           = family("sgemm_batch",           Operation::gemm, Dtype::float32,   real,       GEMM_GROUPS_ROLES,  groups);
inline constexpr Family cgemm_batch           = family("cgemm_batch",           Operation::gemm, Dtype::complex64, by_pointer, GEMM_GROUPS_ROLES,  groups);
inline constexpr Family cgemm3m_batch         = family("cgemm3m_batch",         Operation::gemm, Dtype::complex64, by_pointer, GEMM_GROUPS_ROLES,  groups);
inline constexpr Family ssyrk_batch           = family("ssyrk_batch",           Operation::syrk, Dtype::float32,   real,       SYRK_GROUPS_ROLES,  groups);
inline constexpr Family csyrk_batch           = family("csyrk_batch",           Operation::syrk, Dtype::complex64, by_pointer, SYRK_GROUPS_ROLES,  groups);
inline constexpr Family strsm_batch           = family("strsm_batch",           Operation::trsm, Dtype::float32,   real,       TRSM_GROUPS_ROLES,  groups, recognised);
inline constexpr Family ctrsm_batch           = family("ctrsm_batch",           Operation::trsm, Dtype::complex64, by_pointer, TRSM_GROUPS_ROLES,  groups, recognised);
inline constexpr Family sgemm_batch_strided   = family("sgemm_batch_strided",   Operation::gemm, Dtype::float32,   real,       GEMM_STRIDED_ROLES, strided);
inline constexpr Family cgemm_batch_strided   = family("cgemm_batch_strided",   Operation::gemm, Dtype::complex64, by_pointer, GEMM_STRIDED_ROLES, strided);
inline constexpr Family cgemm3m_batch_strided = family("cgemm3m_batch_strided", Operation::gemm, Dtype::complex64, by_pointer, GEMM_STRIDED_ROLES, strided);
inline constexpr Family ssyrk_batch_strided   = family("ssyrk_batch_strided",   Operation::syrk, Dtype::float32,   real,       SYRK_STRIDED_ROLES, strided);
inline constexpr Family csyrk_batch_strided   = family("csyrk_batch_strided",   Operation::syrk, Dtype::complex64, by_pointer, SYRK_STRIDED_ROLES, strided);
inline constexpr Family strsm_batch_strided   = family("strsm_batch_strided",   Operation::trsm, Dtype::float32,   real,       TRSM_STRIDED_ROLES, strided, recognised);
inline constexpr Family ctrsm_batch_strided   = family("ctrsm_batch_strided",   Operation::trsm, Dtype::complex64, by_pointer, TRSM_STRIDED_ROLES, strided, recognised);

inline constexpr Family strmm_oop = family("strmm_oop", Operation::trmm, Dtype::float32,   real,       TRMM_OOP_ROLES);
inline constexpr Family ctrmm_oop = family("ctrmm_oop", Operation::trmm, Dtype::complex64, by_pointer, TRMM_OOP_ROLES);
inline constexpr Family strsm_oop = family("strsm_oop", Operation::trsm, Dtype::float32,   real,       TRMM_OOP_ROLES, single, recognised);
inline constexpr Family ctrsm_oop = family("ctrsm_oop", Operation::trsm, Dtype::complex64, by_pointer, TRMM_OOP_ROLES, single, recognised);

#define GEMM_DIRECT_ROLES {trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, other}
#define SYRK_DIRECT_ROLES {uplo, trans_a, n, k, alpha, a, lda, beta, c, ldc, other}
#define TRSM_DIRECT_ROLES {side, uplo, trans_a, diag, m, n, alpha, a, lda, b, ldb, other}

inline constexpr Family sgemm_direct   = family("sgemm_direct",   Operation::gemm, Dtype::float32,   real,       GEMM_DIRECT_ROLES, single, recognised);
inline constexpr Family cgemm_direct   = family("cgemm_direct",   Operation::gemm, Dtype::complex64, by_pointer, GEMM_DIRECT_ROLES, single, recognised);
inline constexpr Family cgemm3m_direct = family("cgemm3m_direct", Operation::gemm, Dtype::complex64, by_pointer, GEMM_DIRECT_ROLES, single, recognised);
inline constexpr Family ssyrk_direct   = family("ssyrk_direct",   Operation::syrk, Dtype::float32,   real,       SYRK_DIRECT_ROLES, single, recognised);
inline constexpr Family csyrk_direct   = family("csyrk_direct",   Operation::syrk, Dtype::complex64, by_pointer, SYRK_DIRECT_ROLES, single, recognised);
inline constexpr Family strsm_direct   = family("strsm_direct",   Operation::trsm, Dtype::float32,   real,       TRSM_DIRECT_ROLES, single, recognised);
inline constexpr Family ctrsm_direct   = family("ctrsm_direct",   Operation::trsm, Dtype::complex64, by_pointer, TRSM_DIRECT_ROLES, single, recognised);

// mkl_jit_create_?gemm(jitter, [layout,] transa, transb, m, n, k, alpha, lda, ldb, beta, ldc). The jitter comes
// before the layout, so the CBLAS form names its layout itself: see `jit_create`.
constexpr Family jit_create(std::string_view name, Dtype dtype, Scalars scalars) {
    Family result = family(name, Operation::gemm, dtype, scalars,
                           {other, trans_a, trans_b, m, n, k, alpha, lda, ldb, beta, ldc}, single, opaque);
    result.cblas.word[static_cast<int>(layout)] = 1;
    return result;
}
inline constexpr Family jit_create_sgemm = jit_create("jit_create_sgemm", Dtype::float32, real);
inline constexpr Family jit_create_cgemm = jit_create("jit_create_cgemm", Dtype::complex64, by_pointer);

inline constexpr Family sgemm_pack    = family("sgemm_pack",    Operation::gemm, Dtype::float32, real, {other, trans_a, m, n, k, alpha, a, lda, c}, single, opaque);
inline constexpr Family sgemm_compute = family("sgemm_compute", Operation::gemm, Dtype::float32, real, {trans_a, trans_b, m, n, k, a, lda, b, ldb, beta, c, ldc}, single, opaque);

inline constexpr Family sbgemm           = family("sbgemm",           Operation::gemm, Dtype::bfloat16, real,    GEMM_ROLES, single, observed);
inline constexpr Family shgemm           = family("shgemm",           Operation::gemm, Dtype::float16,  real,    GEMM_ROLES, single, observed);
inline constexpr Family gemm_bf16bf16f32 = family("gemm_bf16bf16f32", Operation::gemm, Dtype::bfloat16, real,    GEMM_ROLES, single, observed);
inline constexpr Family gemm_f16f16f32   = family("gemm_f16f16f32",   Operation::gemm, Dtype::float16,  real,    GEMM_ROLES, single, observed);
inline constexpr Family hgemm            = family("hgemm",            Operation::gemm, Dtype::float16,  by_word, GEMM_ROLES, single, observed);

// cuBLAS. Data types are read per call where the function has them; the dtype here is then only what to call the row.
#define CUBLAS_GEMM_ROLES          {handle, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc}
#define CUBLAS_GEMM_POINTERS_ROLES {handle, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, batch_count}
#define CUBLAS_GEMM_STRIDED_ROLES  {handle, trans_a, trans_b, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b, beta, c, ldc, stride_c, batch_count}
#define CUBLAS_GEMM_GROUPED_ROLES  {handle, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, group_count, group_size}
#define CUBLAS_GEMM_TYPED_ROLES    {handle, trans_a, trans_b, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c, c_type, ldc}
#define CUBLAS_SYMM_ROLES          {handle, side, uplo, m, n, alpha, a, lda, b, ldb, beta, c, ldc}
#define CUBLAS_SYRK_ROLES          {handle, uplo, trans_a, n, k, alpha, a, lda, beta, c, ldc}
#define CUBLAS_SYRK_TYPED_ROLES    {handle, uplo, trans_a, n, k, alpha, a, a_type, lda, beta, c, c_type, ldc}
#define CUBLAS_SYR2K_ROLES         {handle, uplo, trans_a, n, k, alpha, a, lda, b, ldb, beta, c, ldc}
#define CUBLAS_TRMM_ROLES          {handle, side, uplo, trans_a, diag, m, n, alpha, a, lda, b, ldb, c, ldc}
#define CUBLAS_TRSM_ROLES          {handle, side, uplo, trans_a, diag, m, n, alpha, a, lda, b, ldb}
#define CUBLAS_TRSM_POINTERS_ROLES {handle, side, uplo, trans_a, diag, m, n, alpha, a, lda, b, ldb, batch_count}

inline constexpr Family cublas_gemm_ex          = cublas_family("cublas_gemm_ex",          Operation::gemm, Dtype::float32, {handle, trans_a, trans_b, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c, c_type, ldc, compute_type, algorithm}, Road::compute_type, single, governed, "cublasGemmEx");
inline constexpr Family cublas_gemm_batched_ex  = cublas_family("cublas_gemm_batched_ex",  Operation::gemm, Dtype::float32, {handle, trans_a, trans_b, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c, c_type, ldc, batch_count, compute_type, algorithm}, Road::compute_type, pointers, governed, "cublasGemmBatchedEx");
inline constexpr Family cublas_gemm_strided_ex  = cublas_family("cublas_gemm_strided_ex",  Operation::gemm, Dtype::float32, {handle, trans_a, trans_b, m, n, k, alpha, a, a_type, lda, stride_a, b, b_type, ldb, stride_b, beta, c, c_type, ldc, stride_c, batch_count, compute_type, algorithm}, Road::compute_type, strided, governed, "cublasGemmStridedBatchedEx");
inline constexpr Family cublas_gemm_grouped_ex  = cublas_family("cublas_gemm_grouped_ex",  Operation::gemm, Dtype::float32, {handle, trans_a, trans_b, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c, c_type, ldc, group_count, group_size, compute_type}, Road::compute_type, groups, governed, "cublasGemmGroupedBatchedEx");

inline constexpr Family cublas_sgemm            = cublas_family("cublas_sgemm",            Operation::gemm, Dtype::float32,   CUBLAS_GEMM_ROLES,          Road::compute_type, single,   governed, "cublasGemmEx");
inline constexpr Family cublas_cgemm            = cublas_family("cublas_cgemm",            Operation::gemm, Dtype::complex64, CUBLAS_GEMM_ROLES,          Road::compute_type, single,   governed, "cublasGemmEx");
inline constexpr Family cublas_sgemm_batched    = cublas_family("cublas_sgemm_batched",    Operation::gemm, Dtype::float32,   CUBLAS_GEMM_POINTERS_ROLES, Road::compute_type, pointers, governed, "cublasGemmBatchedEx");
inline constexpr Family cublas_cgemm_batched    = cublas_family("cublas_cgemm_batched",    Operation::gemm, Dtype::complex64, CUBLAS_GEMM_POINTERS_ROLES, Road::compute_type, pointers, governed, "cublasGemmBatchedEx");
inline constexpr Family cublas_sgemm_strided    = cublas_family("cublas_sgemm_strided",    Operation::gemm, Dtype::float32,   CUBLAS_GEMM_STRIDED_ROLES,  Road::compute_type, strided,  governed, "cublasGemmStridedBatchedEx");
inline constexpr Family cublas_cgemm_strided    = cublas_family("cublas_cgemm_strided",    Operation::gemm, Dtype::complex64, CUBLAS_GEMM_STRIDED_ROLES,  Road::compute_type, strided,  governed, "cublasGemmStridedBatchedEx");
inline constexpr Family cublas_sgemm_grouped    = cublas_family("cublas_sgemm_grouped",    Operation::gemm, Dtype::float32,   CUBLAS_GEMM_GROUPED_ROLES,  Road::compute_type, groups,   governed, "cublasGemmGroupedBatchedEx");
inline constexpr Family cublas_sgemm_typed      = cublas_family("cublas_sgemm_typed",      Operation::gemm, Dtype::float32,   CUBLAS_GEMM_TYPED_ROLES,    Road::compute_type, single,   governed, "cublasGemmEx");
inline constexpr Family cublas_cgemm_typed      = cublas_family("cublas_cgemm_typed",      Operation::gemm, Dtype::complex64, CUBLAS_GEMM_TYPED_ROLES,    Road::compute_type, single,   governed, "cublasGemmEx");

inline constexpr Family cublas_cgemm3m          = cublas_family("cublas_cgemm3m",          Operation::gemm,  Dtype::complex64, CUBLAS_GEMM_ROLES,          Road::math_mode);
inline constexpr Family cublas_cgemm3m_batched  = cublas_family("cublas_cgemm3m_batched",  Operation::gemm,  Dtype::complex64, CUBLAS_GEMM_POINTERS_ROLES, Road::math_mode, pointers);
inline constexpr Family cublas_cgemm3m_strided  = cublas_family("cublas_cgemm3m_strided",  Operation::gemm,  Dtype::complex64, CUBLAS_GEMM_STRIDED_ROLES,  Road::math_mode, strided);
inline constexpr Family cublas_cgemm3m_typed    = cublas_family("cublas_cgemm3m_typed",    Operation::gemm,  Dtype::complex64, CUBLAS_GEMM_TYPED_ROLES,    Road::math_mode);
inline constexpr Family cublas_ssymm            = cublas_family("cublas_ssymm",            Operation::symm,  Dtype::float32,   CUBLAS_SYMM_ROLES,          Road::math_mode);
inline constexpr Family cublas_csymm            = cublas_family("cublas_csymm",            Operation::symm,  Dtype::complex64, CUBLAS_SYMM_ROLES,          Road::math_mode);
inline constexpr Family cublas_chemm            = cublas_family("cublas_chemm",            Operation::hemm,  Dtype::complex64, CUBLAS_SYMM_ROLES,          Road::math_mode);
inline constexpr Family cublas_ssyrk            = cublas_family("cublas_ssyrk",            Operation::syrk,  Dtype::float32,   CUBLAS_SYRK_ROLES,          Road::math_mode);
inline constexpr Family cublas_csyrk            = cublas_family("cublas_csyrk",            Operation::syrk,  Dtype::complex64, CUBLAS_SYRK_ROLES,          Road::math_mode);
inline constexpr Family cublas_cherk            = cublas_family("cublas_cherk",            Operation::herk,  Dtype::complex64, CUBLAS_SYRK_ROLES,          Road::math_mode);
inline constexpr Family cublas_csyrk_typed      = cublas_family("cublas_csyrk_typed",      Operation::syrk,  Dtype::complex64, CUBLAS_SYRK_TYPED_ROLES,    Road::math_mode);
inline constexpr Family cublas_cherk_typed      = cublas_family("cublas_cherk_typed",      Operation::herk,  Dtype::complex64, CUBLAS_SYRK_TYPED_ROLES,    Road::math_mode);
inline constexpr Family cublas_ssyr2k           = cublas_family("cublas_ssyr2k",           Operation::syr2k, Dtype::float32,   CUBLAS_SYR2K_ROLES,         Road::math_mode);
inline constexpr Family cublas_csyr2k           = cublas_family("cublas_csyr2k",           Operation::syr2k, Dtype::complex64, CUBLAS_SYR2K_ROLES,         Road::math_mode);
inline constexpr Family cublas_cher2k           = cublas_family("cublas_cher2k",           Operation::her2k, Dtype::complex64, CUBLAS_SYR2K_ROLES,         Road::math_mode);
inline constexpr Family cublas_strmm            = cublas_family("cublas_strmm",            Operation::trmm,  Dtype::float32,   CUBLAS_TRMM_ROLES,          Road::math_mode);
inline constexpr Family cublas_ctrmm            = cublas_family("cublas_ctrmm",            Operation::trmm,  Dtype::complex64, CUBLAS_TRMM_ROLES,          Road::math_mode);
inline constexpr Family cublas_strsm            = cublas_family("cublas_strsm",            Operation::trsm,  Dtype::float32,   CUBLAS_TRSM_ROLES,          Road::math_mode);
inline constexpr Family cublas_ctrsm            = cublas_family("cublas_ctrsm",            Operation::trsm,  Dtype::complex64, CUBLAS_TRSM_ROLES,          Road::math_mode);
inline constexpr Family cublas_strsm_batched    = cublas_family("cublas_strsm_batched",    Operation::trsm,  Dtype::float32,   CUBLAS_TRSM_POINTERS_ROLES, Road::math_mode, pointers);
inline constexpr Family cublas_ctrsm_batched    = cublas_family("cublas_ctrsm_batched",    Operation::trsm,  Dtype::complex64, CUBLAS_TRSM_POINTERS_ROLES, Road::math_mode, pointers);

// Half precision by name.
inline constexpr Family cublas_hgemm            = cublas_family("cublas_hgemm",            Operation::gemm,  Dtype::float16,   CUBLAS_GEMM_ROLES,          Road::none, single,   observed);
inline constexpr Family cublas_hgemm_batched    = cublas_family("cublas_hgemm_batched",    Operation::gemm,  Dtype::float16,   CUBLAS_GEMM_POINTERS_ROLES, Road::none, pointers, observed);
inline constexpr Family cublas_hgemm_strided    = cublas_family("cublas_hgemm_strided",    Operation::gemm,  Dtype::float16,   CUBLAS_GEMM_STRIDED_ROLES,  Road::none, strided,  observed);

// cublasXt keeps its handles, and their math modes, to itself.
inline constexpr Family xt_sgemm  = cublas_family("xt_sgemm",  Operation::gemm,  Dtype::float32,   CUBLAS_GEMM_ROLES,  Road::none, single, recognised);
inline constexpr Family xt_cgemm  = cublas_family("xt_cgemm",  Operation::gemm,  Dtype::complex64, CUBLAS_GEMM_ROLES,  Road::none, single, recognised);
inline constexpr Family xt_ssymm  = cublas_family("xt_ssymm",  Operation::symm,  Dtype::float32,   CUBLAS_SYMM_ROLES,  Road::none, single, recognised);
inline constexpr Family xt_csymm  = cublas_family("xt_csymm",  Operation::symm,  Dtype::complex64, CUBLAS_SYMM_ROLES,  Road::none, single, recognised);
inline constexpr Family xt_chemm  = cublas_family("xt_chemm",  Operation::hemm,  Dtype::complex64, CUBLAS_SYMM_ROLES,  Road::none, single, recognised);
inline constexpr Family xt_ssyrk  = cublas_family("xt_ssyrk",  Operation::syrk,  Dtype::float32,   CUBLAS_SYRK_ROLES,  Road::none, single, recognised);
inline constexpr Family xt_csyrk  = cublas_family("xt_csyrk",  Operation::syrk,  Dtype::complex64, CUBLAS_SYRK_ROLES,  Road::none, single, recognised);
inline constexpr Family xt_cherk  = cublas_family("xt_cherk",  Operation::herk,  Dtype::complex64, CUBLAS_SYRK_ROLES,  Road::none, single, recognised);
inline constexpr Family xt_ssyr2k = cublas_family("xt_ssyr2k", Operation::syr2k, Dtype::float32,   CUBLAS_SYR2K_ROLES, Road::none, single, recognised);
inline constexpr Family xt_csyr2k = cublas_family("xt_csyr2k", Operation::syr2k, Dtype::complex64, CUBLAS_SYR2K_ROLES, Road::none, single, recognised);
inline constexpr Family xt_cher2k = cublas_family("xt_cher2k", Operation::her2k, Dtype::complex64, CUBLAS_SYR2K_ROLES, Road::none, single, recognised);
inline constexpr Family xt_strmm  = cublas_family("xt_strmm",  Operation::trmm,  Dtype::float32,   CUBLAS_TRMM_ROLES,  Road::none, single, recognised);
inline constexpr Family xt_ctrmm  = cublas_family("xt_ctrmm",  Operation::trmm,  Dtype::complex64, CUBLAS_TRMM_ROLES,  Road::none, single, recognised);
inline constexpr Family xt_strsm  = cublas_family("xt_strsm",  Operation::trsm,  Dtype::float32,   CUBLAS_TRSM_ROLES,  Road::none, single, recognised);
inline constexpr Family xt_ctrsm  = cublas_family("xt_ctrsm",  Operation::trsm,  Dtype::complex64, CUBLAS_TRSM_ROLES,  Road::none, single, recognised);

// Before version 2: alpha and beta are passed by value, in floating-point registers, and are not looked at.
inline constexpr Family legacy_sgemm  = cublas_family("legacy_sgemm",  Operation::gemm,  Dtype::float32,   {trans_a, trans_b, m, n, k, a, lda, b, ldb, c, ldc},       Road::none, single, recognised);
inline constexpr Family legacy_cgemm  = cublas_family("legacy_cgemm",  Operation::gemm,  Dtype::complex64, {trans_a, trans_b, m, n, k, a, lda, b, ldb, c, ldc},       Road::none, single, recognised);
inline constexpr Family legacy_ssymm  = cublas_family("legacy_ssymm",  Operation::symm,  Dtype::float32,   {side, uplo, m, n, a, lda, b, ldb, c, ldc},                Road::none, single, recognised);
inline constexpr Family legacy_csymm  = cublas_family("legacy_csymm",  Operation::symm,  Dtype::complex64, {side, uplo, m, n, a, lda, b, ldb, c, ldc},                Road::none, single, recognised);
inline constexpr Family legacy_chemm  = cublas_family("legacy_chemm",  Operation::hemm,  Dtype::complex64, {side, uplo, m, n, a, lda, b, ldb, c, ldc},                Road::none, single, recognised);
inline constexpr Family legacy_ssyrk  = cublas_family("legacy_ssyrk",  Operation::syrk,  Dtype::float32,   {uplo, trans_a, n, k, a, lda, c, ldc},                     Road::none, single, recognised);
inline constexpr Family legacy_csyrk  = cublas_family("legacy_csyrk",  Operation::syrk,  Dtype::complex64, {uplo, trans_a, n, k, a, lda, c, ldc},                     Road::none, single, recognised);
inline constexpr Family legacy_cherk  = cublas_family("legacy_cherk",  Operation::herk,  Dtype::complex64, {uplo, trans_a, n, k, a, lda, c, ldc},                     Road::none, single, recognised);
inline constexpr Family legacy_ssyr2k = cublas_family("legacy_ssyr2k", Operation::syr2k, Dtype::float32,   {uplo, trans_a, n, k, a, lda, b, ldb, c, ldc},             Road::none, single, recognised);
inline constexpr Family legacy_csyr2k = cublas_family("legacy_csyr2k", Operation::syr2k, Dtype::complex64, {uplo, trans_a, n, k, a, lda, b, ldb, c, ldc},             Road::none, single, recognised);
inline constexpr Family legacy_cher2k = cublas_family("legacy_cher2k", Operation::her2k, Dtype::complex64, {uplo, trans_a, n, k, a, lda, b, ldb, c, ldc},             Road::none, single, recognised);
inline constexpr Family legacy_strmm  = cublas_family("legacy_strmm",  Operation::trmm,  Dtype::float32,   {side, uplo, trans_a, diag, m, n, a, lda, b, ldb},         Road::none, single, recognised);
inline constexpr Family legacy_ctrmm  = cublas_family("legacy_ctrmm",  Operation::trmm,  Dtype::complex64, {side, uplo, trans_a, diag, m, n, a, lda, b, ldb},         Road::none, single, recognised);
inline constexpr Family legacy_strsm  = cublas_family("legacy_strsm",  Operation::trsm,  Dtype::float32,   {side, uplo, trans_a, diag, m, n, a, lda, b, ldb},         Road::none, single, recognised);
inline constexpr Family legacy_ctrsm  = cublas_family("legacy_ctrsm",  Operation::trsm,  Dtype::complex64, {side, uplo, trans_a, diag, m, n, a, lda, b, ldb},         Road::none, single, recognised);

// cublasLt: what is multiplied lies in descriptors. shim/cublas/lt.cpp names the arguments.
inline constexpr Family lt_matmul               = cublas_family("lt_matmul",               Operation::gemm, Dtype::float32, {handle, other, other, other, other, other, other, other, other, other, other, other, other, other, other, other}, Road::lt_matmul);
inline constexpr Family lt_check                = cublas_family("lt_check",                Operation::gemm, Dtype::float32, {handle, other, other, other, other, other, other, other},        Road::lt_check, single, state);
inline constexpr Family lt_check_for_stream     = cublas_family("lt_check_for_stream",     Operation::gemm, Dtype::float32, {handle, other, other, other, other, other, other, other, other}, Road::lt_check, single, state);
inline constexpr Family lt_heuristic            = cublas_family("lt_heuristic",            Operation::gemm, Dtype::float32, {handle, other, other, other, other, other, other, other, other, other},        Road::lt_heuristic, single, state);
inline constexpr Family lt_heuristic_for_stream = cublas_family("lt_heuristic_for_stream", Operation::gemm, Dtype::float32, {handle, other, other, other, other, other, other, other, other, other, other}, Road::lt_heuristic, single, state);

inline constexpr Family handle_create  = cublas_family("handle_create",  Operation::gemm, Dtype::float32, {other},         Road::handle_created,   single, state);
inline constexpr Family handle_destroy = cublas_family("handle_destroy", Operation::gemm, Dtype::float32, {handle},        Road::handle_destroyed, single, state);
inline constexpr Family math_mode_set  = cublas_family("math_mode_set",  Operation::gemm, Dtype::float32, {handle, other}, Road::math_mode_set,    single, state);
inline constexpr Family math_mode_read = cublas_family("math_mode_read", Operation::gemm, Dtype::float32, {handle, other}, Road::math_mode_read,   single, state);
inline constexpr Family handle_change  = cublas_family("handle_change",  Operation::gemm, Dtype::float32, {handle, other}, Road::handle_changed,   single, state);

}  // namespace families
// clang-format on

/// What does a function's work where no library provides it: with the same arguments, or, for a batch, one product at
/// a time. In order of preference.
struct StandIn {
    std::string_view missing;
    std::string_view stand_in;
};

// clang-format off
inline constexpr StandIn stand_ins[] = {
    {"sgemmt", "sgemmtr"}, {"sgemmtr", "sgemmt"}, {"cgemmt", "cgemmtr"}, {"cgemmtr", "cgemmt"}, {"cgemm3m", "cgemm"},
    {"sgemm_batch", "sgemm"},           {"sgemm_batch_strided", "sgemm"},
    {"cgemm_batch", "cgemm"},           {"cgemm_batch_strided", "cgemm"},
    {"cgemm3m_batch", "cgemm3m"},       {"cgemm3m_batch_strided", "cgemm3m"},
    {"cgemm3m_batch", "cgemm"},         {"cgemm3m_batch_strided", "cgemm"},
    {"ssyrk_batch", "ssyrk"},           {"ssyrk_batch_strided", "ssyrk"},
    {"csyrk_batch", "csyrk"},           {"csyrk_batch_strided", "csyrk"},
    {"strsm_batch", "strsm"},           {"strsm_batch_strided", "strsm"},
    {"ctrsm_batch", "ctrsm"},           {"ctrsm_batch_strided", "ctrsm"},
};
// clang-format on

}  // namespace fp32shim
