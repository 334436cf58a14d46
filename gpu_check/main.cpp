// gpu-check: shows on a GPU that the library does what it says. `fp32shim gpu-check` starts it.
//
//   gpu-check [OPTION...]             the verdict: checks/
//   gpu-check questions [OPTION...]   what cuBLAS does, as tables: questions/
//   gpu-check --worker SECTION ...    what both start again and again: sections/
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
