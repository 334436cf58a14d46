#include "cli/doctor/own_library.hpp"

#include <dlfcn.h>

#include <string>

#include "cli/binaries/shim_library.hpp"
#include "cli/doctor/ask_in_child.hpp"

namespace fp32shim::cli {

std::optional<Finding> judge_own_library() {
    const ShimLibrary library = find_shim_library();
    if (!library.problem.empty()) return Finding{"nothing can be preloaded", library.problem, ""};
    const Answer answer = ask_in_child([&]() -> Json {
        return dlopen(library.path.c_str(), RTLD_LAZY | RTLD_LOCAL) == nullptr ? std::string(dlerror()) : "";
    });
    const std::string problem = answer.problem.empty() ? answer.value.get<std::string>() : answer.problem;
    if (problem.empty()) return std::nullopt;
    return Finding{library.path, "this machine's loader refuses it, so nothing can be preloaded: " + problem,
                   "install a build for this system (the wheel and the packages need glibc 2.17 or newer), or set "
                   "FP32SHIM_LIBRARY to one"};
}

}  // namespace fp32shim::cli
