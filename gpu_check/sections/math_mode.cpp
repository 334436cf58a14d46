#include "gpu_check/products/families.hpp"
#include "gpu_check/sections/section.hpp"

namespace gpu {

namespace {

struct Mode {
    cublasMath_t value;
    const char* name;
};
constexpr Mode shown_modes[] = {
    {CUBLAS_DEFAULT_MATH, "default"},
    {CUBLAS_TENSOR_OP_MATH, "tensor_op"},
    {CUBLAS_PEDANTIC_MATH, "pedantic"},
    {CUBLAS_TF32_TENSOR_OP_MATH, "tf32"},
};

std::vector<std::string> ask_family(Worker& worker, const Family& family, Problem& problem) {
    std::vector<std::string> cells;
    Measured measured;
    double error_of_default = 0;
    for (const Mode& mode : shown_modes) {
        worker.cublas().set_math_mode(mode.value);
        problem.prepare(family.shape);
        const auto status = family.call(worker.cublas(), problem);
        measured = problem.judge(family.shape);
        if (mode.value == CUBLAS_DEFAULT_MATH) error_of_default = measured.error;
        cells.push_back(answer_of(status, measured));
        worker.found(std::string("mode_") + family.name + "_" + mode.name, cells.back());
    }
    worker.cublas().set_math_mode(CUBLAS_DEFAULT_MATH);
    // If a product was refused, there is nothing to measure.
    const bool ran = measured.format != "wrong";
    cells.push_back(ran ? scientific(error_of_default) : "-");
    cells.push_back(ran ? scientific(measured.error) : "-");
    cells.push_back(ran ? measured.match : "-");
    return cells;
}

}  // namespace

void ask_math_modes(Worker& worker) {
    for (const int n : worker.sizes) {
        for (const bool complex : {false, true}) {
            Problem product(worker.device(), n, complex);
            Problem solve(worker.device(), n, complex, Use::solve);
            for (const Family& family : families()) {
                if (family.complex != complex) continue;
                Problem& problem = family.shape == Shape::trsm ? solve : product;
                worker.row({family.function, std::to_string(n)}, [&] { return ask_family(worker, family, problem); });
            }
        }
    }
}

}  // namespace gpu
