// fp32shim gpu-check: starts another program, gpu_check/, which checks on a GPU that the shim works as documented.
#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "cli/binaries/program_file.hpp"
#include "cli/binaries/shim_library.hpp"
#include "cli/command_line/commands.hpp"
#include "cli/command_line/options.hpp"
#include "cli/output/terminal.hpp"
#include "cli/run/child.hpp"
#include "cli/run/process_environment.hpp"
#include "policy/messages.hpp"

namespace fp32shim::cli {
namespace {

struct GpuCheckOptions {
    double seconds = 120;
    std::string python = "python3", output, libraries;
};

int gpu_check(const GpuCheckOptions& options) {
    const ShimLibrary library = find_shim_library();
    if (!library.problem.empty()) return usage_error("gpu-check", library.problem);
    // The program gpu-check is in the folder of this command, in libexec/fp32shim of the installation, or in
    // libexec/fp32shim of the build folder.
    const std::string program =
        find_installed_file({".", FP32SHIM_INSTALL_LIBEXECDIR "/fp32shim", "../libexec/fp32shim"}, "gpu-check");
    if (program.empty())
        return usage_error(
            "gpu-check",
            "the program libexec/fp32shim/gpu-check is missing from this installation; install all of fp32shim");
    std::vector<std::string> words = {
        program, "--shim", library.path, "--seconds", fmt::format("{}", options.seconds), "--python", options.python};
    if (!options.output.empty()) words.insert(words.end(), {"--output", options.output});
    if (!options.libraries.empty()) words.insert(words.end(), {"--libraries", options.libraries});
    const int error = replace_by_program(program, words, ProcessEnvironment::of_this_process().entries());
    return usage_error("gpu-check",
                       fmt::format("{} cannot be started: {}", policy::quoted_path(program), std::strerror(error)));
}

}  // namespace

Action define_gpu_check(CLI::App& app) {
    auto options = std::make_shared<GpuCheckOptions>();
    add_seconds(app, "--seconds", options->seconds, 10, "Time for all checks; default: 120");
    add_name(app, "--python", options->python, "PROGRAM",
             "The Python that has PyTorch, CuPy or JAX; default: python3");
    add_name(app, "-o,--output", options->output, "FILE", "The report; default: gpu-check-DATE-TIME.json");
    add_name(app, "--libraries", options->libraries, "FOLDER", "Folder of cuBLAS; default: searched for");
    return [options] { return gpu_check(*options); };
}

}  // namespace fp32shim::cli
