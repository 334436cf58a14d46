// What a family of functions has in common: operation, dtype, treatment, and where each argument stands.
// `describe` reads arguments through these positions; nothing else in the shim knows an argument list.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "policy/matmul_call.hpp"
#include "shim/blas/level3.hpp"

namespace fp32shim {

/// The meaning of one argument, in the terms of the BLAS reference.
enum class Role : std::uint8_t {
    layout,
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
    other,       // passed on, not looked at
    count
};

/// What the shim does with a function.
enum class Treatment : std::uint8_t {
    governed,    ///< decided per call
    recognised,  ///< counted and logged, always forwarded: solves, or has no reduced-precision path
    opaque,      ///< the same, and what is multiplied later is not seen: hands out kernels, packs operands
    observed,    ///< narrower inputs: counted, never altered
};

enum class Batching : std::uint8_t { single, strided, groups };

/// How scalars (alpha, beta) of the CBLAS form arrive.
enum class Scalars : std::uint8_t {
    real,        ///< float32 by value, in floating-point registers
    by_pointer,  ///< complex: by pointer
    by_word,     ///< half precision as an unsigned short
    real_beta,   ///< her2k: alpha by pointer, beta float32 by value
};

enum class Convention : std::uint8_t { fortran, cblas, bare };
enum class Width : std::uint8_t { probe, ilp64 };

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
