// fp32shim kernel: adds a kernel to Jupyter. Programs in this kernel run under the shim. The Python module
// python/fp32shim/kernel.py does the work.
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "cli/binaries/program_file.hpp"
#include "cli/command_line/commands.hpp"
#include "cli/command_line/options.hpp"
#include "cli/output/terminal.hpp"
#include "cli/run/child.hpp"
#include "cli/run/process_environment.hpp"
#include "policy/messages.hpp"

namespace fp32shim::cli {
namespace {

struct KernelOptions {
    std::string action, python, name, display_name, prefix;
    bool user = false;
};

/// Returns the arguments with which Python runs the module fp32shim.kernel. If fp32shim was not installed from a
/// wheel, Python does not find the module by its name, so the argument is the module's file.
std::vector<std::string> module_words() {
    const std::string file = find_installed_file({"../share/fp32shim/python/fp32shim"}, "kernel.py");
    return file.empty() ? std::vector<std::string>{"-m", "fp32shim.kernel"} : std::vector<std::string>{file};
}

/// Returns the path of `python3` in the folder of this command, because that Python belongs to the same environment.
/// If there is none, returns the bare name `python3`.
std::string default_python() {
    const std::string file = find_installed_file({"."}, "python3");
    return file.empty() ? "python3" : file;
}

int kernel(const KernelOptions& options) {
    const std::string name = options.python.empty() ? default_python() : options.python;
    const ProgramFile python = find_program(name, std::getenv("PATH"));
    if (python.lookup != Lookup::found)
        return usage_error("kernel", fmt::format("--python: {}: {}", policy::quoted_path(name), python.cause));
    std::vector<std::string> words = {name};
    for (const std::string& word : module_words()) words.push_back(word);
    words.push_back(options.action);
    if (!options.name.empty()) words.insert(words.end(), {"--name", options.name});
    if (!options.display_name.empty()) words.insert(words.end(), {"--display-name", options.display_name});
    if (!options.prefix.empty()) words.insert(words.end(), {"--prefix", options.prefix});
    if (options.user) words.emplace_back("--user");
    const int error = replace_by_program(python.path, words, ProcessEnvironment::of_this_process().entries());
    return usage_error(
        "kernel", fmt::format("{} cannot be started: {}", policy::quoted_path(python.path), std::strerror(error)));
}

}  // namespace

Action define_kernel(CLI::App& app) {
    auto options = std::make_shared<KernelOptions>();
    add_choice(app, "ACTION", options->action, {"install"}, "install: add the kernel to those that Jupyter lists")
        ->required();
    add_name(app, "--python", options->python, "PROGRAM",
             "The Python of the kernel, which has ipykernel; default: the one beside this command, or python3");
    add_name(app, "--name", options->name, "NAME", "Name of the kernel's folder; default: fp32shim");
    add_name(app, "--display-name", options->display_name, "TITLE",
             "What Jupyter shows; default: Python 3 (fp32shim)");
    CLI::Option* const prefix =
        add_name(app, "--prefix", options->prefix, "FOLDER",
                 "Install into this environment; default: that of the Python if it is a virtual environment");
    app.add_flag("--user", options->user, "Install for this user; default outside of virtual environments")
        ->excludes(prefix);
    return [options] { return kernel(*options); };
}

}  // namespace fp32shim::cli
