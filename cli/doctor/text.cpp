// Prints the result of `fp32shim doctor` as text.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "cli/doctor/result.hpp"
#include "cli/output/terminal.hpp"
#include "policy/words.hpp"
#include "system/cpu_features.hpp"
#include "system/inline_text.hpp"

namespace fp32shim::cli {
namespace {

std::string heading(std::string_view text) { return fmt::format("\n{}\n", coloured(text, Colour::bold)); }

std::string line(std::string_view name, std::string_view value) {
    return fmt::format("  {:<14}{}\n", name, printable(value));
}

std::string machine_text(const DoctorResult& result) {
    const Processor& processor = result.processor;
    std::string features;
    for (const auto& [name, is_there] : processor.features)
        (features += features.empty() ? "" : ", ") += (is_there ? "" : "no ") + name;
    if (const auto* level = system::chosen_level.load(); level != nullptr)
        features += fmt::format("; FP32_MATMUL_INSTRUCTIONS leaves at most {}", level->word);
    std::string text = coloured("Machine", Colour::bold) + "\n";
    text += line("processor", fmt::format("{}{}{}, {} core{}", processor.model, processor.model.empty() ? "" : ", ",
                                          processor.architecture, processor.cores, processor.cores == 1 ? "" : "s"));
    text += line("features", features);
    for (const Gpu& gpu : result.gpus.devices)
        text += line("GPU", fmt::format("{}, compute capability {}, {:.0f} GiB", gpu.name, gpu.compute_capability,
                                        gpu.memory_gib));
    if (!result.gpus.devices.empty()) text += line("", "fp32shim gpu-check measures what the shim does on it");
    if (!result.gpus.problem.empty()) text += line("GPU", result.gpus.problem);
    if (!result.gpus.driver.empty() || !result.gpus.cuda.empty())
        text +=
            line("driver", fmt::format("{}{}", result.gpus.driver.empty() ? "version unknown" : result.gpus.driver,
                                       result.gpus.cuda.empty() ? "" : ", up to CUDA " + result.gpus.cuda));
    return text;
}

std::string libraries_text(const std::vector<BlasLibrary>& libraries, bool is_of_program) {
    std::string text = heading(is_of_program ? "BLAS libraries that it loads, of those that programs find by name"
                                             : "BLAS libraries that programs find by name");
    if (libraries.empty()) return text + "  none\n";
    TextTable table({{"  name"}, {"is", false, 12}, {"version"}, {"kernels"}, {"file", false, 30, 1}});
    for (const BlasLibrary& library : libraries)
        table.add({"  " + library.soname, library.problem.empty() ? library.implementation : "it " + library.problem,
                   library.version, library.kernels, library.file});
    return text + table.text();
}

std::string settings_text(const ExaminedSettings& settings) {
    const policy::Policy& policy = settings.loaded.policy;
    std::string text = heading("Settings in force");
    if (policy.disabled) return text + line("", "switched off by FP32_MATMUL_DISABLE=1");
    text += line("precision", fmt::format("{} ({})", policy::to_string(policy.default_precision),
                                          policy::to_string(policy.default_source)));
    text += line("floor", policy::to_string(policy.floor));
    text += line("CPU mode", policy::to_string(policy.cpu_mode));
    text +=
        line("policy", policy.file.empty() ? std::string("none")
                                           : fmt::format("{}{}{}, {} rule{}", policy.file,
                                                         policy.name.empty() ? "" : ": " + policy.name,
                                                         policy.revision.empty() ? "" : " " + policy.revision,
                                                         policy.rules.size(), policy.rules.size() == 1 ? "" : "s"));
    text += line("log", policy.log_path.empty() ? "none" : policy.log_path);
    for (const PreloadEntry& preload : settings.preloads)
        text += line("preload", preload.entry + (preload.file.empty() ? " (not found)"
                                                 : preload.is_shim    ? " (the shim)"
                                                                      : ""));
    return text;
}

std::string findings_text(const std::vector<Finding>& findings) {
    if (findings.empty()) return {};
    std::string text = fmt::format("\n{}\n", coloured("Findings", Colour::yellow));
    for (const Finding& finding : findings) {
        text += fmt::format("  {}: {}\n", printable(finding.about), printable(finding.message));
        if (!finding.remedy.empty()) text += fmt::format("    -> {}\n", printable(finding.remedy));
    }
    return text;
}

std::string program_text(const ExaminedProgram& program) {
    std::string text = heading("Program");
    text += line("file", program.path);
    text += line("preload", program.why_unseen.empty() ? std::string("reaches it")
                                                       : "does not reach it: it " + program.why_unseen + "; not run");
    if (program.was_run)
        text += line("run once", program.ended.exec_error != 0 ? std::strerror(program.ended.exec_error)
                                                               : "it " + program_end_text(program.ended));
    if (!program.not_observed.empty()) text += line("", "not observed: " + program.not_observed);
    std::size_t others = 0;
    std::vector<std::string> names_of_others;
    for (const ExaminedProcess& process : program.processes) {
        if (process.calls.empty() && process.bypasses.empty() && process.notes.empty()) {
            ++others;
            std::string name(system::base_name(process.program));
            if (std::ranges::count(names_of_others, name) == 0) names_of_others.push_back(std::move(name));
            continue;
        }
        text += line("process",
                     fmt::format("{} ({}): {}", process.pid, process.program, counted(process.objects, "object")));
        for (const FileNote& note : process.notes)
            text += fmt::format("  {:<14}{}: {}\n", "", printable(note.about), printable(note.message));
        for (const BoundSymbol& bound : process.bindings)
            text += fmt::format("  {:<14}{} of {} -> {}\n", "bound", printable(bound.symbol), printable(bound.caller),
                                printable(bound.provider));
    }
    if (others > 0) {
        constexpr std::size_t max_names = 5;
        text += line("", fmt::format("{}{} {}: {}", others, others < program.processes.size() ? " other" : "",
                                     others == 1 ? "process in which nothing is known to multiply"
                                                 : "processes in which nothing is known to multiply",
                                     listed(names_of_others, max_names)));
    }
    return text;
}

/// Lists products that the shim does not see. Products with the same remedy are listed together, and the remedy is
/// printed once.
std::string not_seen_text(const std::vector<Finding>& not_seen) {
    std::string text;
    std::set<std::string> said;
    for (const Finding& finding : not_seen) {
        if (finding.remedy.empty()) text += fmt::format("  {}\n", printable(finding.message));
        if (finding.remedy.empty() || !said.insert(finding.remedy).second) continue;
        std::size_t count = 0;
        for (const Finding& other : not_seen) {
            if (other.remedy != finding.remedy) continue;
            text += fmt::format("  {}\n", printable(other.message));
            ++count;
        }
        text += fmt::format("    -> {}{}\n", count > 1 ? fmt::format("for each of these {}: ", count) : "",
                            printable(finding.remedy));
    }
    return text;
}

std::string verdict_text(const DoctorResult& result) {
    std::string text;
    if (!result.seen.empty()) {
        text += fmt::format("\n{}\n", coloured("Seen", Colour::green));
        for (const std::string& seen : result.seen) text += fmt::format("  {}\n", printable(seen));
    }
    if (!result.not_seen.empty()) {
        text += fmt::format("\n{}\n", coloured("Not seen", Colour::red));
        text += not_seen_text(result.not_seen);
    }
    const ExaminedProgram& program = *result.program;
    if (result.seen.empty() && result.not_seen.empty() && program.not_observed.empty())
        text += "\nNothing that it loaded is known to multiply matrices, through a BLAS or otherwise.\n";
    if (program.has_loaded_files())
        text +=
            "\nPrograms that it started were not examined if they are statically linked, setuid or built with musl, "
            "or did not get its environment (sudo, env -i, containers); fp32shim run names most of them.\n";
    return text;
}

}  // namespace

std::string doctor_text(const DoctorResult& result) {
    std::string text = machine_text(result) +
                       libraries_text(result.libraries, result.program && result.program->has_loaded_files()) +
                       settings_text(result.settings);
    if (result.program) text += program_text(*result.program) + verdict_text(result);
    return text + findings_text(result.findings);
}

}  // namespace fp32shim::cli
