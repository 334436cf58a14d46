#include "cli/run/reproducible.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>

#include "record/reproducible_variables.hpp"
#include "system/cpu_features.hpp"

namespace fp32shim::cli {
namespace {

using record::threads_of_openblas;

bool can_run_haswell_code() {
#if defined(__x86_64__)
    return system::processor_has(system::CpuFeature::avx2) && system::processor_has(system::CpuFeature::fma);
#else
    return true;
#endif
}

/// Returns the number of threads that a library would take from the environment, or else from the system.
std::string default_threads(const ProcessEnvironment& environment) {
    const std::string asked(environment.get("OMP_NUM_THREADS"));
    const std::size_t digits = std::min(asked.find_first_not_of("0123456789"), asked.size());
    if (const int count = digits == 0 || digits > 3 ? 0 : std::stoi(asked.substr(0, digits)); count > 0)
        return std::to_string(std::min(count, 256));
    cpu_set_t allowed;
    const bool is_known = sched_getaffinity(0, sizeof allowed, &allowed) == 0;
    return std::to_string(is_known ? std::clamp(CPU_COUNT(&allowed), 1, 256) : 1);
}

}  // namespace

std::vector<std::string> make_reproducible(ProcessEnvironment& environment) {
    environment.set("FP32_MATMUL_CPU", "reproducible");
    std::string set;
    std::string kept;
    std::string threads;
    for (const record::LibraryCodeVariable& code : record::library_codes) {
        if (code.value().empty() || !can_run_haswell_code()) continue;
        const bool is_set = !environment.get(code.name).empty();
        if (!is_set) environment.set(code.name, code.value());
        if (!is_set && code.name == threads_of_openblas && environment.get("FP32_MATMUL_THREADS").empty()) {
            environment.set("FP32_MATMUL_THREADS", default_threads(environment));
            threads = environment.get("FP32_MATMUL_THREADS");
        }
        (is_set ? kept : set) += fmt::format(" {}={}", code.name, environment.get(code.name));
    }
    std::vector<std::string> lines{
        "products of the CPU run in a fixed order, those with a vector and solves too; this does not cover products "
        "inside LAPACK (numpy.linalg), other functions of BLAS, sums and element-wise functions (numpy.exp)"};
    if (!set.empty())
        lines.push_back(
            "set, so that libraries that read them choose the same code for these on most machines (MKL's LAPACK and "
            "PyTorch for equal numbers of threads; numpy's element-wise functions read none):" +
            set);
    if (!threads.empty())
        lines.push_back(
            "set, so that the products of fp32shim keep the number of threads that OpenBLAS would take: "
            "FP32_MATMUL_THREADS=" +
            threads);
    if (!kept.empty())
        lines.push_back("not set, because the environment has them; they must be the same on all machines:" + kept);
    if (!can_run_haswell_code())
        lines.emplace_back("this processor lacks AVX2: libraries were left to choose their code for these");
    return lines;
}

}  // namespace fp32shim::cli
