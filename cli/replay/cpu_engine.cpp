// Runs products on a CPU, with the plain gemm of a BLAS library.
#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <vector>

#include "cli/replay/engine.hpp"
#include "shim/table/functions.hpp"

namespace fp32shim::cli {
namespace {

// Integers of 64 bits are passed, so that libraries with 32-bit and with 64-bit integers read them correctly.
using Integer = std::int64_t;
using FortranGemm = void (*)(const char* trans_a, const char* trans_b, const Integer* m, const Integer* n,
                             const Integer* k, const float* alpha, const float* a, const Integer* lda, const float* b,
                             const Integer* ldb, const float* beta, float* c, const Integer* ldc, Integer length_a,
                             Integer length_b);
using CblasSgemm = void (*)(Integer layout, Integer trans_a, Integer trans_b, Integer m, Integer n, Integer k,
                            float alpha, const float* a, Integer lda, const float* b, Integer ldb, float beta,
                            float* c, Integer ldc);
using CblasCgemm = void (*)(Integer layout, Integer trans_a, Integer trans_b, Integer m, Integer n, Integer k,
                            const float* alpha, const float* a, Integer lda, const float* b, Integer ldb,
                            const float* beta, float* c, Integer ldc);

constexpr Integer row_major = 101;

Integer cblas_letter(char letter) { return letter == 'N' ? 111 : letter == 'T' ? 112 : letter == 'C' ? 113 : 114; }

class CpuEngine : public ProductEngine {
  public:
    CpuEngine(void* address, bool is_cblas) : address_(address), is_cblas_(is_cblas) {}

    Layout layout() const override { return is_cblas_ ? Layout::row_major : Layout::column_major; }

    std::string prepare(const GemmTask& task) override {
        const std::optional<GemmBytes> bytes = bytes_of(task);
        const auto memory =
            static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        if (!bytes || bytes->a / 4 + bytes->b / 4 + bytes->c / 4 > memory / 16)
            return "its matrices need more than a quarter of the memory";
        const GemmSizes& sizes = task.sizes;
        if (std::max({sizes.m, sizes.n, sizes.k}) > INT_MAX) return "its sizes do not fit into 32 bits";
        task_ = task;
        a_.resize(bytes->a / sizeof(float));
        b_.resize(bytes->b / sizeof(float));
        c_.resize(bytes->c / sizeof(float));
        fill_randomly(a_.data(), a_.size());
        fill_randomly(b_.data(), b_.size());
        return {};
    }

    std::optional<double> run(std::uint64_t count) override {
        const auto batch = static_cast<std::size_t>(task_.batch);
        const auto begin = std::chrono::steady_clock::now();
        for (std::uint64_t i = 0; i < count; ++i)
            for (std::size_t product = 0; product < batch; ++product)
                multiply(a_.data() + product * (a_.size() / batch), b_.data() + product * (b_.size() / batch),
                         c_.data() + product * (c_.size() / batch));
        return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
    }

    void release() override {
        for (std::vector<float>* const matrix : {&a_, &b_, &c_}) std::vector<float>().swap(*matrix);
    }

  private:
    void multiply(const float* a, const float* b, float* c) const {
        constexpr float one[2] = {1, 0};
        constexpr float zero[2] = {0, 0};
        const auto& [trans_a, trans_b, m, n, k] = task_.sizes;
        const LeadingDimensions ld = leading_dimensions(task_.sizes, layout());
        if (!is_cblas_)
            return reinterpret_cast<FortranGemm>(address_)(&trans_a, &trans_b, &m, &n, &k, one, a, &ld.a, b, &ld.b,
                                                           zero, c, &ld.c, 1, 1);
        const Integer a_letter = cblas_letter(trans_a), b_letter = cblas_letter(trans_b);
        if (task_.is_complex)
            return reinterpret_cast<CblasCgemm>(address_)(row_major, a_letter, b_letter, m, n, k, one, a, ld.a, b,
                                                          ld.b, zero, c, ld.c);
        reinterpret_cast<CblasSgemm>(address_)(row_major, a_letter, b_letter, m, n, k, 1, a, ld.a, b, ld.b, 0, c,
                                               ld.c);
    }

    void* address_;
    bool is_cblas_;
    GemmTask task_;
    std::vector<float> a_, b_, c_;
};

/// Returns the gemm with the same name form as the recorded function. If there is none, returns any gemm of the
/// library.
const Function* find_gemm(void* library, const std::string& recorded, bool is_complex) {
    const Family& family = is_complex ? static_cast<const Family&>(families::cgemm) : families::sgemm;
    if (const FunctionIndex index = find_function(recorded.c_str()); index >= 0) {
        const FunctionIndex beside = find_function(family, functions[index].form);
        if (beside >= 0 && dlsym(library, std::string(functions[beside].name).c_str()) != nullptr)
            return &functions[beside];
    }
    const auto is_there = [&](const Function& function) {
        return function.family == &family && dlsym(library, std::string(function.name).c_str()) != nullptr;
    };
    const Function* const found = std::ranges::find_if(functions, is_there);
    return found == std::end(functions) ? nullptr : found;
}

}  // namespace

OpenedEngine open_cpu_engine(const std::string& path, const std::string& function, bool is_complex) {
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return {nullptr, dlerror()};
    const Function* const gemm = find_gemm(library, function, is_complex);
    if (gemm == nullptr) return {nullptr, fmt::format("{} has no {}", path, is_complex ? "cgemm" : "sgemm")};
    return {std::make_unique<CpuEngine>(dlsym(library, std::string(gemm->name).c_str()),
                                        gemm->convention == Convention::cblas),
            {}};
}

}  // namespace fp32shim::cli
