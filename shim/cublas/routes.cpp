#include "shim/cublas/routes.hpp"

#include <utility>

#include "shim/cublas/api.hpp"
#include "shim/cublas/formats.hpp"
#include "shim/cublas/handles.hpp"
#include "shim/cublas/product.hpp"

namespace fp32shim::cublas {
namespace {

template <std::size_t>
using Word = std::int64_t;

template <const auto& called>
std::int64_t call_unchanged(void* address, const Frame& frame) {
    const auto call = [&]<std::size_t... I>(std::index_sequence<I...>) {
        return reinterpret_cast<std::int64_t (*)(Word<I>...)>(address)(frame.word(static_cast<int>(I))...);
    };
    return call(std::make_index_sequence<static_cast<std::size_t>(called.cblas.words)>{});
}

constexpr Role role_at(const ArgumentPositions& positions, int word) {
    for (int role = 0; role < static_cast<int>(Role::count); ++role)
        if (positions.word[static_cast<std::size_t>(role)] == word) return static_cast<Role>(role);
    return Role::other;
}

/// Returns argument number `word` of a call of the family `form`, which replaces the program's call of the family
/// `called`. The argument is the program's argument with the same role, or a substitute for its compute type,
/// algorithm or operand type.
template <const auto& called, const auto& form, int word>
std::int64_t argument(const Frame& frame, const Substitution& substitution) {
    constexpr Role role = role_at(form.cblas, word);
    constexpr int position = called.cblas.of(role);
    if constexpr (role == Role::compute_type) {
        return substitution.compute_type;
    } else if constexpr (role == Role::algorithm) {
        if constexpr (position >= 0)
            if (!substitution.replaces_algorithm) return frame.word(position);
        return gemm_default;
    } else if constexpr (position < 0) {
        static_assert(role == Role::a_type || role == Role::b_type || role == Role::c_type);
        return called.dtype == policy::Dtype::complex64 ? type_c_32f
               : called.dtype == policy::Dtype::float16 ? type_r_16f
                                                        : type_r_32f;
    } else {
        return frame.word(position);
    }
}

template <const auto& called, const auto& form>
std::int64_t call_with_compute_type(void* address, const Frame& frame, const Substitution& substitution) {
    const auto call = [&]<std::size_t... I>(std::index_sequence<I...>) {
        return reinterpret_cast<std::int64_t (*)(Word<I>...)>(address)(
            argument<called, form, static_cast<int>(I)>(frame, substitution)...);
    };
    return call(std::make_index_sequence<static_cast<std::size_t>(form.cblas.words)>{});
}

template <const auto& called>
std::uint64_t key(const Frame& frame) {
    constexpr int type_position = called.cblas.of(Role::a_type);
    constexpr int compute_type_position = called.cblas.of(Role::compute_type);
    constexpr int algorithm_position = called.cblas.of(Role::algorithm);
    policy::Dtype dtype = called.dtype;
    std::int32_t compute_type = 0;
    bool allows_fp16 = false;
    if constexpr (type_position >= 0) {
        const OperandType type = operand_type(static_cast<std::int32_t>(frame.word(type_position)));
        if (type.treatment != OperandTreatment::governed && type.treatment != OperandTreatment::as_called)
            return key_unknown;
        dtype = type.dtype;
    }
    if constexpr (compute_type_position >= 0) {
        compute_type = static_cast<std::int32_t>(frame.word(compute_type_position));
        if (compute_type == 0) return key_unknown;
    }
    if constexpr (algorithm_position >= 0) {
        const auto algorithm = static_cast<std::int32_t>(frame.word(algorithm_position));
        if (!is_known_algorithm(algorithm)) return key_unknown;
        allows_fp16 = is_tensor_op_algorithm(algorithm);
    }
    return call_key(static_cast<std::uint8_t>(dtype), compute_type, allows_fp16);
}

template <const auto& called>
bool multiplies(const Frame& frame, bool is_ilp64) {
    if constexpr (called.batching == Batching::groups) {
        policy::MatmulCall unused;
        return describe_groups({called.cblas, frame, is_ilp64}, unused);
    }
    bool result = true;
    const auto look_at = [&]<Role role>() {
        constexpr int position = called.cblas.of(role);
        if constexpr (position >= 0) {
            const std::int64_t word = frame.word(position);
            result = result && (is_ilp64 ? word : static_cast<std::int32_t>(word)) != 0;
        }
    };
    look_at.template operator()<Role::m>();
    look_at.template operator()<Role::n>();
    look_at.template operator()<Role::k>();
    look_at.template operator()<Role::batch_count>();
    return result;
}

template <const auto& called>
constexpr Route plain() {
    return {&called, call_unchanged<called>, nullptr, key<called>, multiplies<called>};
}

template <const auto& called, const auto& form>
constexpr Route by_compute_type() {
    return {&called, call_unchanged<called>, call_with_compute_type<called, form>, key<called>, multiplies<called>};
}

template <const auto& called>
constexpr Route state() {
    return {&called, call_unchanged<called>, nullptr, nullptr, nullptr};
}

using namespace families;

constexpr Route routes[] = {
#define CUBLAS(family, ...) plain<family>(),
#define BY_COMPUTE_TYPE(family, operation, dtype, batching, roles, typed) by_compute_type<family, typed>(),
#define STATE(family, ...) state<family>(),
#include "shim/table/families.def"
};

}  // namespace

const Route* route_of(const FunctionFamily& family) {
    for (const Route& route : routes)
        if (route.family == &family) return &route;
    return nullptr;
}

}  // namespace fp32shim::cublas
