#include "record/kernels/judge.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "policy/glob.hpp"

namespace fp32shim::record {
namespace {

using policy::AppliedFormat;
using policy::Dtype;

enum class NameRuleKind : std::uint8_t { no_product, product, by_type, silent };

struct NameRule {
    std::string_view pattern;
    NameRuleKind kind;
    Dtype dtype = Dtype::float32;
    AppliedFormat applied = AppliedFormat::unchanged;
};
constexpr NameRule rules[] = {
#define NO_PRODUCT(pattern) {pattern "*", NameRuleKind::no_product},
#define PRODUCT(pattern, dtype, applied) {pattern "*", NameRuleKind::product, Dtype::dtype, AppliedFormat::applied},
#define NARROW(pattern, dtype) PRODUCT(pattern, dtype, unchanged)
#define BY_TYPE(pattern) {pattern "*", NameRuleKind::by_type},
#define SILENT(pattern) {pattern "*", NameRuleKind::silent},
#include "record/kernels/names.def"
};

struct OperandTypePattern {
    std::string_view pattern;
    Dtype dtype;
};
/// Patterns for the mangled names of kernels, each with the type of operands that a matching name shows. The first
/// pattern that matches decides; types narrower than float32 come first. In mangled names (Itanium C++ ABI), `d` is
/// double, `f` float, `a` signed char, `i` int and `l` long.
constexpr OperandTypePattern operand_types[] = {
    {"*__nv_fp8*", Dtype::float8},    {"*__nv_bfloat16*", Dtype::bfloat16},
    {"*__half*", Dtype::float16},     {"*IKa*", Dtype::int8},
    {"*aa[fi][fi]*", Dtype::int8},    {"*I[il]a[fi][fi]*", Dtype::int8},
    {"*double2*", Dtype::complex128}, {"*ComplexIdE*", Dtype::complex128},
    {"*float2*", Dtype::complex64},   {"*ComplexIfE*", Dtype::complex64},
    {"*Id*", Dtype::float64},         {"*I[il]d*", Dtype::float64},
    {"*I[il][il]d*", Dtype::float64}, {"*dddE*", Dtype::float64},
    {"*PKd*", Dtype::float64},        {"*If*", Dtype::float32},
    {"*I[il]f*", Dtype::float32},     {"*I[il][il]f*", Dtype::float32},
    {"*fffE*", Dtype::float32},       {"*PKf*", Dtype::float32}};

/// Patterns for words that name formats below float32, or instructions for these formats. If names.def says that a
/// kernel multiplies in float32, but the kernel's name matches one of these patterns, the format counts as unknown.
constexpr std::string_view lower_formats[] = {"*[tT][fF]32*", "*tfloat32*", "*[bB][fF]16x*", "*[hH][mM][mM][aA]*",
                                              "*[hH][gG][mM][mM][aA]*"};

/// Globs for the names of NVIDIA's libraries that have kernels. A glob is compared with the part of a file name
/// before its first `.` or `-`, because ".so" or a hash from auditwheel follows there. libcudart has no kernels.
constexpr std::string_view libraries[] = {
    "libcublas",   "libcublasLt",   "libcublasMp",  "libcuda",   "libcudnn*",   "libcudss*",
    "libcufft",    "libcufftMp",    "libcufftw",    "libcurand", "libcusolver", "libcusolverM[gp]",
    "libcusparse", "libcusparseLt", "libcutensor*", "libnccl",   "libnpp*",     "libnvblas",
    "libnvinfer*", "libnvJitLink",  "libnvjpeg*",   "libnvrtc*", "libnvshmem*"};

constexpr std::pair<TensorFormats, std::string_view> format_names[] = {
    {tensor_fp16, "FP16"}, {tensor_bf16, "BF16"},       {tensor_tf32, "TF32"},
    {tensor_fp8, "FP8"},   {tensor_integer, "integer"}, {tensor_unknown, "unknown"}};
constexpr TensorFormats below_fp32 = 95;  // all formats in `format_names`

/// A text of at most 120 characters that is composed at compile time.
struct StaticText {
    char text[120] = {};
    std::size_t size = 0;
    constexpr void append(std::string_view more) {
        for (const char c : more) text[size++] = c;
    }
};

/// The values of KernelJudgement::doubt for kernels whose names tell nothing. The clause with the index `set` is for
/// a kernel whose code has instructions of the formats in `set`.
constexpr auto doubt_clauses = [] {
    std::array<StaticText, below_fp32 + 1> all{};
    for (std::size_t set = 1; set < all.size(); ++set) {
        all[set].append("has ");
        for (std::size_t left = set & below_fp32; const auto& [format, name] : format_names) {
            if ((left & format) == 0) continue;
            all[set].append(name);
            left &= ~std::size_t{format};
            all[set].append(std::has_single_bit(left) ? " and " : left != 0 ? ", " : " instructions");
        }
        all[set].append(set == tensor_tf32 ? ", so it multiplies in TF32 or in 3×TF32"
                                           : ": whether its operands are float32 is not known");
    }
    return all;
}();

/// Returns the formats of tensor-core instructions that the code of a kernel may have if `judgement`, made from its
/// name, is right. If there are any, tensor_unknown is one of them.
TensorFormats allowed_by(const KernelJudgement& judgement) {
    const auto [multiplies, dtype, applied, doubt] = judgement;
    TensorFormats allowed = 0;
    if (applied == AppliedFormat::tf32 || applied == AppliedFormat::tf32x3) allowed = tensor_tf32;
    if (applied == AppliedFormat::bf16 || applied == AppliedFormat::bf16x9 || dtype == Dtype::bfloat16)
        allowed = tensor_bf16;
    if (applied == AppliedFormat::fp16 || dtype == Dtype::float16) allowed = tensor_fp16;
    if (applied == AppliedFormat::fp64_emulated) allowed = tensor_integer | tensor_fp8;
    if (dtype == Dtype::float8) allowed = tensor_fp8 | tensor_fp16;
    if (dtype == Dtype::int8) allowed = tensor_integer;
    return multiplies && allowed != 0 ? allowed | tensor_unknown : 0;
}

/// Returns the first row whose pattern matches `name`, or nullptr if no pattern matches.
template <typename Row, std::size_t count>
const Row* first_match(const Row (&rows)[count], std::string_view name) {
    const Row* row = std::ranges::find_if(rows, [&](const Row& r) { return policy::glob_matches(r.pattern, name); });
    return row == std::end(rows) ? nullptr : row;
}

bool matches_any(std::span<const std::string_view> patterns, std::string_view name) {
    return std::ranges::any_of(patterns, [&](std::string_view p) { return policy::glob_matches(p, name); });
}

/// Judges a kernel by its name alone. Returns nullopt if the name tells nothing.
std::optional<KernelJudgement> judge_name(std::string_view name) {
    const NameRule* rule = first_match(rules, name);
    if (rule == nullptr || rule->kind == NameRuleKind::silent) return std::nullopt;
    KernelJudgement judged{rule->kind != NameRuleKind::no_product, rule->dtype, rule->applied, {}};
    if (rule->kind == NameRuleKind::by_type) {
        const OperandTypePattern* type = first_match(operand_types, name);
        if (type == nullptr) return std::nullopt;
        judged.dtype = type->dtype;
        if (policy::is_double(type->dtype)) judged.applied = AppliedFormat::fp64;
        if (policy::is_single(type->dtype)) judged.applied = AppliedFormat::fp32;
    }
    if (judged.applied == AppliedFormat::fp32 && matches_any(lower_formats, name)) return std::nullopt;
    return judged;
}

}  // namespace

KernelJudgement judge_kernel(const KernelEvidence& evidence) {
    const auto doubt = [](std::string_view clause, Dtype dtype = Dtype::float32) {
        return KernelJudgement{true, dtype, AppliedFormat::unchanged, clause};
    };
    const std::optional<KernelJudgement> named = judge_name(evidence.name);
    if (!evidence.formats) return named.value_or(doubt("tells no format by its name, and its code was not read"));
    const TensorFormats formats = *evidence.formats & below_fp32;
    if (!named) {
        if (formats == 0) return {true, Dtype::float32, AppliedFormat::fp32, {}};
        return doubt({doubt_clauses[formats].text, doubt_clauses[formats].size});
    }
    const TensorFormats allowed = allowed_by(*named);
    const bool needs_tensor_cores = allowed != 0 && policy::is_single(named->dtype);
    if ((formats & ~allowed) == 0 && (formats != 0 || !needs_tensor_cores)) return *named;
    if (!named->multiplies) return doubt("multiplies nothing by its name, but has tensor-core instructions");
    if (allowed == 0) return doubt("has no tensor-core format by its name, but by its instructions", named->dtype);
    return doubt("has another format by its name than by its instructions", named->dtype);
}

bool is_nvidia_library(std::string_view file_name) {
    const std::size_t end = std::min(file_name.find_first_of("-."), file_name.size());
    return matches_any(libraries, file_name.substr(0, end));
}

}  // namespace fp32shim::record
