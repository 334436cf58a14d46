// One product of a program that asks for no particular precision.
#include "gpu_check/products/families.hpp"
#include "gpu_check/sections/section.hpp"

namespace gpu {

void ask_product(Worker& worker) {
    for (const int n : worker.sizes) {
        worker.row({std::to_string(n)}, [&]() -> std::vector<std::string> {
            Problem problem(worker.device(), n, false);
            problem.prepare(Shape::gemm);
            const auto status = families().front().call(worker.cublas(), problem);
            const Measured measured = problem.judge(Shape::gemm);
            const std::string answer = answer_of(status, measured);
            const std::string bits = problem.hash_of_result();
            worker.found("format", answer);
            worker.found("error", scientific(measured.error));
            worker.found("bits", bits);
            return {answer, scientific(measured.error), measured.match, bits};
        });
    }
}

}  // namespace gpu
