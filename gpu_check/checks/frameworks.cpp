#include "gpu_check/checks/frameworks.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "gpu_check/checks/judge.hpp"

namespace gpu {

namespace {

using nlohmann::json;

struct Run {
    const char* name;
    const char* own;  // what the program asks for
    const char* setting;
    const char* value;
    const char* expected;
};
constexpr Run runs[] = {{"high", "fp32", "FP32_MATMUL_PRECISION", "high", "tf32"},
                        {"floor", "tf32", "FP32_MATMUL_FLOOR", "fp32", "fp32"}};

/// A framework that takes longer than this hangs; in less time, a slow machine may only have loaded it.
constexpr auto enough_time = std::chrono::seconds(60);

/// The folder with frameworks/*.py: beside this program, or in share/ of an installation.
std::string scripts_folder() {
    for (const char* const folder : {"/frameworks", "/../../share/fp32shim/gpu-check"})
        if (const std::string path = own_folder() + folder; std::filesystem::exists(path + "/products.py"))
            return path;
    return {};
}

/// A folder that goes with the object.
class Folder {
  public:
    Folder() : path_((std::filesystem::temp_directory_path() / "fp32shim-gpu-check-XXXXXX").string()) {
        if (mkdtemp(path_.data()) == nullptr) throw std::runtime_error(path_ + ": cannot be made");
    }
    ~Folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    const std::string& path() const { return path_; }

  private:
    std::string path_;
};

std::string last_line(const std::string& text) {
    std::string last;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
        if (!line.empty()) last = line;
    constexpr std::string_view own = "products.py: ";
    return last.starts_with(own) ? last.substr(own.size()) : last;
}

struct ProductsAnswer {
    Verdict verdict = Verdict::shown;  ///< not_tried or failed: `problem` says why
    std::string problem;
    json operations = json::array();
    std::string version;
};

/// Runs products.py once.
ProductsAnswer run_products(const Framework& framework, const Run& run, const std::string& python,
                            const Asking& asking, bool expects_tf32, bool with_kernels) {
    const std::string scripts = scripts_folder();
    if (scripts.empty()) return {Verdict::failed, "products.py is not beside this program", {}, {}};
    const Folder folder;
    const std::string log = folder.path() + "/log.jsonl";
    Environment environment = asking.environment;
    environment["LD_PRELOAD"] = asking.shim;
    environment[run.setting] = run.value;
    environment["FP32_MATMUL_LOG"] = log;
    // Else XLA multiplies by kernels of its own, which no library sees.
    if (framework.name == std::string(jax.name)) environment["XLA_FLAGS"] = "--xla_gpu_enable_triton_gemm=false";
    std::vector<std::string> words = {
        python, "-B",     scripts + "/products.py", framework.name, "--own", run.own, "--log",
        log,    "--json", "--must-be-seen"};
    words.insert(words.end(), {"--expect", expects_tf32 ? run.expected : "fp32"});
    words.insert(words.end(), {"--size", std::to_string(asking.sizes.back())});
    if (with_kernels) words.emplace_back("--kernels");
    ProductsAnswer answer;
    const auto begun = Clock::now();
    if (begun >= asking.until) return {Verdict::not_tried, no_time_left, {}, {}};
    const Ended ended = run_process(words, environment, asking.until, [&](const std::string& text) {
        json line = json::parse(text, nullptr, false);
        if (line.is_discarded()) return;
        if (line.contains("version"))
            answer.version = line["version"];
        else if (line.contains("operation"))
            answer.operations.push_back(std::move(line));
    });
    if (ended.exit_status() == exit_skipped || ended.exit_status() == 127)
        return {Verdict::not_tried, last_line(ended.errors), {}, {}};
    if (ended.timed_out) {
        const auto used = Clock::now() - begun;
        const std::string text = how_it_ended(ended, used);
        if (used < enough_time) return {Verdict::not_tried, text + ": --seconds may give it more", {}, {}};
        return {Verdict::failed, text, answer.operations, answer.version};
    }
    if (ended.exit_status() != 0 && answer.operations.empty())
        return {Verdict::failed, last_line(ended.errors), answer.operations, answer.version};
    return answer;
}

/// "4 of 4 tf32", or the first fault. An operation that the framework cannot do here does not count.
std::string summary_of(const json& operations, const char* expected, bool& is_wrong) {
    int ran = 0;
    for (const json& operation : operations) {
        if (operation["measured"].is_null()) continue;
        ++ran;
        if (!operation["fails"].get<bool>()) continue;
        is_wrong = true;
        return operation["operation"].get<std::string>() + ": " + operation["verdict"].get<std::string>();
    }
    if (ran == 0) is_wrong = true;
    return std::to_string(ran) + " of " + std::to_string(operations.size()) + " products " + expected;
}

}  // namespace

Line check_framework(const Framework& framework, const std::string& python, const Asking& asking, bool expects_tf32,
                     json& evidence) {
    std::string text;
    bool is_wrong = false;
    for (const Run& run : runs) {
        const ProductsAnswer answer = run_products(framework, run, python, asking, expects_tf32, false);
        if (answer.verdict != Verdict::shown)
            return {framework.title, answer.verdict, (text.empty() ? "" : text + "; ") + answer.problem};
        evidence[run.name] = answer.operations;
        evidence["version"] = answer.version;
        if (text.empty()) text = answer.version;
        text += std::string("; ") + run.name + ": " +
                summary_of(answer.operations, expects_tf32 ? run.expected : "fp32", is_wrong);
    }
    return {framework.title, is_wrong ? Verdict::wrong : Verdict::shown, text};
}

Line check_kernels(const std::string& python, const Asking& asking, bool expects_tf32, json& evidence) {
    constexpr const char* name = "kernels";
    std::string text = "by torch.profiler";
    Verdict verdict = Verdict::shown;
    for (const Run& run : runs) {
        const std::string expected = expects_tf32 ? run.expected : "fp32";
        const ProductsAnswer answer = run_products(torch, run, python, asking, expects_tf32, true);
        if (answer.verdict != Verdict::shown) return {name, answer.verdict, answer.problem};
        evidence[run.name] = answer.operations;
        int named = 0;
        int all = 0;
        std::string example;
        for (const json& operation : answer.operations) {
            for (const json& kernel : operation.value("kernels", json::array())) {
                const std::string format = kernel["format"];
                if (format == "none") continue;  // it multiplies nothing
                ++all;
                if (format == "unknown") continue;
                ++named;
                example = kernel["name"];
                if (format != expected)
                    return {name, Verdict::wrong,
                            std::string("at ") + run.name + " the kernel " + example + " is one for " + format};
            }
        }
        if (named == 0) verdict = Verdict::measured;
        text += std::string("; ") + run.name + ": " + std::to_string(named) + " of " + std::to_string(all) +
                " kernels say " + expected + (example.empty() ? "" : " (" + example.substr(0, 60) + ")");
    }
    return {name, verdict, text};
}

}  // namespace gpu
