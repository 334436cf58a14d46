#include <cmath>
#include <memory>

#include "families.hpp"
#include "questions.hpp"

namespace gpu {

namespace {

struct Mode {
    cublasMath_t value;
    const char* name;
};
constexpr Mode modes[] = {
    {CUBLAS_DEFAULT_MATH, "default"},
    {CUBLAS_TENSOR_OP_MATH, "tensor_op"},
    {CUBLAS_PEDANTIC_MATH, "pedantic"},
    {CUBLAS_TF32_TENSOR_OP_MATH, "tf32"},
};

}  // namespace

void ask_math_modes(Session& session) {
    Table table({"function", "n", "DEFAULT", "TENSOR_OP", "PEDANTIC", "TF32", "error, DEFAULT", "error, TF32",
                 "what TF32 did"});
    std::map<std::string, std::string> lowest;
    for (const int n : session.sizes) {
        // A solve divides by its matrix: larger elements would let the solution grow beyond float32.
        const double scale_of_solve = 1 / std::sqrt(n);
        for (const bool complex : {false, true}) {
            Problem product(session.device, n, complex, small_scale);
            Problem solve(session.device, n, complex, scale_of_solve);
            for (const Family& family : families()) {
                if (family.complex != complex) continue;
                Problem& problem = family.shape == Shape::trsm ? solve : product;
                std::vector<std::string> row{family.function, std::to_string(n)};
                Measured measured;
                double error_of_default = 0;
                for (const Mode& mode : modes) {
                    session.cublas.set_math_mode(mode.value);
                    problem.prepare(family.shape);
                    const auto status = family.call(session.cublas, problem);
                    measured = problem.judge(family.shape);
                    if (mode.value == CUBLAS_DEFAULT_MATH) error_of_default = measured.error;
                    const std::string answer = answer_of(status, measured);
                    row.push_back(answer);
                    std::string& known = lowest[std::string(family.name) + "_" + mode.name];
                    known = known.empty() ? answer : lower_format(known, answer);
                }
                // A refused product leaves nothing to measure.
                const bool ran = measured.format != "wrong";
                row.push_back(ran ? scientific(error_of_default) : "-");
                row.push_back(ran ? scientific(measured.error) : "-");
                row.push_back(ran ? measured.match : "-");
                table.add(row);
            }
        }
    }
    session.cublas.set_math_mode(CUBLAS_DEFAULT_MATH);
    table.print("Functions without a compute type, under each math mode of the handle");
    for (const auto& [name, answer] : lowest) session.measurements["mode_" + name] = answer;
}

}  // namespace gpu
