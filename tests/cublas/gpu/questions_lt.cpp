#include <array>

#include "gemm_ex.hpp"
#include "questions.hpp"

namespace gpu {

namespace {

constexpr float one = 1;
constexpr float zero = 0;
constexpr std::size_t workspace_bytes = 32 << 20;

/// cublasLt and the descriptors of one n×n product.
class Lt {
  public:
    explicit Lt(const Session& session, int n, std::size_t offset = 0)
        : problem(session.device, n, false, small_scale, offset), workspace_(session.device, workspace_bytes) {
        check(library.get<decltype(cublasLtCreate)>("cublasLtCreate")(&handle_), "cublasLtCreate");
        check(library.get<decltype(cublasLtMatrixLayoutCreate)>("cublasLtMatrixLayoutCreate")(&layout_, CUDA_R_32F, n,
                                                                                              n, n),
              "cublasLtMatrixLayoutCreate");
        check(library.get<decltype(cublasLtMatmulPreferenceCreate)>("cublasLtMatmulPreferenceCreate")(&preference_),
              "cublasLtMatmulPreferenceCreate");
        check(library.get<decltype(cublasLtMatmulPreferenceSetAttribute)>("cublasLtMatmulPreferenceSetAttribute")(
                  preference_, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace_bytes, sizeof workspace_bytes),
              "cublasLtMatmulPreferenceSetAttribute");
    }
    ~Lt() {
        for (const auto descriptor : descriptors_) {
            library.get<decltype(cublasLtMatmulDescDestroy)>("cublasLtMatmulDescDestroy")(descriptor);
        }
        library.get<decltype(cublasLtMatmulPreferenceDestroy)>("cublasLtMatmulPreferenceDestroy")(preference_);
        library.get<decltype(cublasLtMatrixLayoutDestroy)>("cublasLtMatrixLayoutDestroy")(layout_);
        library.get<decltype(cublasLtDestroy)>("cublasLtDestroy")(handle_);
    }
    Lt(const Lt&) = delete;
    Lt& operator=(const Lt&) = delete;

    cublasStatus_t describe(cublasComputeType_t compute_type, cublasLtMatmulDesc_t& descriptor) {
        const auto status = library.get<decltype(cublasLtMatmulDescCreate)>("cublasLtMatmulDescCreate")(
            &descriptor, compute_type, CUDA_R_32F);
        if (status == CUBLAS_STATUS_SUCCESS) descriptors_.push_back(descriptor);
        return status;
    }

    cublasStatus_t ask_heuristic(cublasLtMatmulDesc_t descriptor, cublasLtMatmulAlgo_t& algorithm) const {
        cublasLtMatmulHeuristicResult_t result{};
        int found = 0;
        const auto status = library.get<decltype(cublasLtMatmulAlgoGetHeuristic)>("cublasLtMatmulAlgoGetHeuristic")(
            handle_, descriptor, layout_, layout_, layout_, layout_, preference_, 1, &result, &found);
        if (status != CUBLAS_STATUS_SUCCESS) return status;
        if (found == 0) return CUBLAS_STATUS_NOT_SUPPORTED;
        algorithm = result.algo;
        return result.state;
    }

    cublasStatus_t check_algorithm(cublasLtMatmulDesc_t descriptor, const cublasLtMatmulAlgo_t& algorithm) const {
        cublasLtMatmulHeuristicResult_t result{};
        return library.get<decltype(cublasLtMatmulAlgoCheck)>("cublasLtMatmulAlgoCheck")(
            handle_, descriptor, layout_, layout_, layout_, layout_, &algorithm, &result);
    }

    /// algorithm: nullptr lets the library choose.
    std::string multiply(cublasLtMatmulDesc_t descriptor, const cublasLtMatmulAlgo_t* algorithm) {
        problem.prepare(Shape::gemm);
        const auto status = library.get<decltype(cublasLtMatmul)>("cublasLtMatmul")(
            handle_, descriptor, &one, problem.a.as<void>(problem.offset), layout_,
            problem.b.as<void>(problem.offset), layout_, &zero, problem.c.as<void>(problem.offset), layout_,
            problem.c.as<void>(problem.offset), layout_, algorithm, workspace_.as<void>(), workspace_bytes, nullptr);
        return answer_of(status, problem.judge(Shape::gemm));
    }

    /// What the library says that an algorithm computes with: CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS in words.
    std::string numerical_flags(const cublasLtMatmulAlgo_t& algorithm) const {
        unsigned long long flags = 0;
        std::size_t written = 0;
        const auto status =
            library.get<decltype(cublasLtMatmulAlgoCapGetAttribute)>("cublasLtMatmulAlgoCapGetAttribute")(
                &algorithm, CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS, &flags, sizeof flags, &written);
        if (status != CUBLAS_STATUS_SUCCESS) return text(status);
        struct Name {
            unsigned long long flag;
            const char* name;
        };
        constexpr std::array names{Name{CUBLASLT_NUMERICAL_IMPL_FLAGS_FMA, "FMA"},
                                   Name{CUBLASLT_NUMERICAL_IMPL_FLAGS_HMMA, "HMMA"},
                                   Name{CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16F, "INPUT_16F"},
                                   Name{CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16BF, "INPUT_16BF"},
                                   Name{CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_TF32, "INPUT_TF32"},
                                   Name{CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_32F, "INPUT_32F"},
                                   Name{CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_16F, "ACCUMULATOR_16F"},
                                   Name{CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_32F, "ACCUMULATOR_32F"}};
        std::string words;
        for (const Name& name : names) {
            if (flags & name.flag) words.append(words.empty() ? "" : " ").append(name.name);
            flags &= ~name.flag;
        }
        if (flags) words.append(words.empty() ? "others: " : " others: ").append(std::to_string(flags));
        return words.empty() ? "none" : words;
    }

    const Library library{"libcublasLt.so.13", "libcublasLt.so.12"};
    Problem problem;

  private:
    Buffer workspace_;
    cublasLtHandle_t handle_ = nullptr;
    cublasLtMatrixLayout_t layout_ = nullptr;
    cublasLtMatmulPreference_t preference_ = nullptr;
    std::vector<cublasLtMatmulDesc_t> descriptors_;
};

const char* row_of(cublasComputeType_t compute_type) {
    for (const ComputeType& type : compute_types) {
        if (type.value == compute_type) return type.row;
    }
    return "unknown";
}

}  // namespace

std::string lt_format(Session& session, cublasComputeType_t compute_type) {
    Lt lt(session, session.sizes.back());
    cublasLtMatmulDesc_t descriptor = nullptr;
    const auto described = lt.describe(compute_type, descriptor);
    if (described != CUBLAS_STATUS_SUCCESS) return text(described);
    cublasLtMatmulAlgo_t algorithm{};
    const auto status = lt.ask_heuristic(descriptor, algorithm);
    return status == CUBLAS_STATUS_SUCCESS ? lt.multiply(descriptor, &algorithm) : text(status);
}

std::string probe_lt_algorithm(Session& session, cublasComputeType_t found_for, cublasComputeType_t used_with) {
    Lt lt(session, session.sizes.back());
    cublasLtMatmulDesc_t asked = nullptr;
    cublasLtMatmulDesc_t used = nullptr;
    check(lt.describe(found_for, asked), "cublasLtMatmulDescCreate");
    check(lt.describe(used_with, used), "cublasLtMatmulDescCreate");
    cublasLtMatmulAlgo_t algorithm{};
    const auto status = lt.ask_heuristic(asked, algorithm);
    if (status != CUBLAS_STATUS_SUCCESS) return std::string("no algorithm: ") + text(status) + ",-";
    const std::string checked = text(lt.check_algorithm(used, algorithm));
    return checked + "," + lt.multiply(used, &algorithm);
}

/// An algorithm for well aligned operands, with operands that are aligned to 4 bytes only.
std::string probe_lt_misaligned(Session& session) {
    Lt lt(session, session.sizes.back(), sizeof(float));
    cublasLtMatmulDesc_t descriptor = nullptr;
    check(lt.describe(CUBLAS_COMPUTE_32F_FAST_TF32, descriptor), "cublasLtMatmulDescCreate");
    cublasLtMatmulAlgo_t algorithm{};
    const auto status = lt.ask_heuristic(descriptor, algorithm);
    return status == CUBLAS_STATUS_SUCCESS ? lt.multiply(descriptor, &algorithm)
                                           : std::string("no algorithm: ") + text(status);
}

void ask_lt(Session& session) {
    Table formats({"compute type", "n", "heuristic", "the algorithm says", "result", "result, algorithm NULL"});
    for (const int n : session.sizes) {
        Lt lt(session, n);
        for (const ComputeType& type : compute_types) {
            cublasLtMatmulDesc_t descriptor = nullptr;
            cublasLtMatmulAlgo_t algorithm{};
            const auto described = lt.describe(type.value, descriptor);
            if (described != CUBLAS_STATUS_SUCCESS) {
                formats.add({type.name, std::to_string(n), text(described), "-", "-", "-"});
                continue;
            }
            const auto status = lt.ask_heuristic(descriptor, algorithm);
            const bool found = status == CUBLAS_STATUS_SUCCESS;
            const std::string says = found ? lt.numerical_flags(algorithm) : "-";
            const std::string result = found ? lt.multiply(descriptor, &algorithm) : text(status);
            formats.add({type.name, std::to_string(n), text(status), says, result, lt.multiply(descriptor, nullptr)});
            std::string& known = session.measurements[std::string("lt_") + type.row];
            known = known.empty() ? result : lower_format(known, result);
        }
    }
    formats.print("cublasLt: what each compute type gives");

    Table foreign({"algorithm found for", "used with", "cublasLtMatmulAlgoCheck", "cublasLtMatmul"});
    constexpr cublasComputeType_t types[] = {CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F_PEDANTIC,
                                             CUBLAS_COMPUTE_32F_FAST_TF32, CUBLAS_COMPUTE_32F_FAST_16BF};
    for (const auto found_for : types) {
        for (const auto used_with : types) {
            if (found_for == used_with) continue;
            const std::string answer =
                in_a_child(session, "lt:" + std::to_string(found_for) + ":" + std::to_string(used_with));
            const auto comma = answer.find(',');
            const std::string checked = answer.substr(0, comma);
            const std::string result = comma == std::string::npos ? "-" : answer.substr(comma + 1);
            foreign.add({row_of(found_for), row_of(used_with), checked, result});
            const std::string row = std::string("lt_algorithm_") + row_of(found_for) + "_on_" + row_of(used_with);
            session.measurements[row + "_check"] = checked;
            session.measurements[row + "_matmul"] = result;
        }
    }
    const std::string misaligned = in_a_child(session, "ltmisaligned");
    foreign.add({"fast_tf32", "fast_tf32, operands at 4 bytes", "-", misaligned});
    session.measurements["lt_misaligned"] = misaligned;
    foreign.print("cublasLt: an algorithm under another compute type than it was found for");
}

}  // namespace gpu
