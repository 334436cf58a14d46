// gpu-check tests on a real GPU that the library works as documented. `fp32shim gpu-check` starts this program.
//
//   gpu-check [OPTION...]             gives the verdict: checks/
//   gpu-check questions [OPTION...]   shows the behaviour of cuBLAS, as tables: questions/
//   gpu-check --worker SECTION ...    measures one section, as a child of the other two: sections/
#include <cstdio>
#include <exception>
#include <stdexcept>

#include "gpu_check/checks/gpu_check.hpp"
#include "gpu_check/cuda/libraries.hpp"
#include "gpu_check/questions/questions.hpp"
#include "gpu_check/workers/ask.hpp"

int main(int argc, char** argv) {
    std::vector<std::string> words(argv + (argc > 0), argv + argc);
    try {
        if (!words.empty() && words.front() == "--worker") return gpu::work(words);
        if (words.empty() || words.front() != "questions") return gpu::check_gpu(words);
        words.erase(words.begin());
        return gpu::ask_questions(words);
    } catch (const gpu::NoDevice& absent) {
        std::fprintf(stderr, "gpu-check: %s\n", absent.what());
        return gpu::exit_skipped;
    } catch (const std::invalid_argument& error) {
        std::fprintf(stderr, "gpu-check: %s\n", error.what());
        return 2;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "gpu-check: %s\n", error.what());
        return 1;
    }
}
