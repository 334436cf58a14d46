// Implements `fp32shim doctor`, which shows what fp32shim can and cannot observe on this machine.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <memory>

#include "cli/binaries/program_file.hpp"
#include "cli/command_line/commands.hpp"
#include "cli/command_line/options.hpp"
#include "cli/doctor/result.hpp"
#include "cli/output/json.hpp"
#include "cli/output/terminal.hpp"

namespace fp32shim::cli {
namespace {

struct DoctorOptions {
    bool is_json = false;
    bool with_bindings = false;
    std::vector<std::string> words;
};

int doctor(const DoctorOptions& options) {
    if (options.with_bindings && options.words.empty())
        return usage_error("doctor", "--bindings needs a program; see: fp32shim doctor --help");
    std::string program_path;
    if (!options.words.empty()) {
        const ProgramFile file = find_program(options.words.front(), std::getenv("PATH"));
        if (file.lookup != Lookup::found) return usage_error("doctor", fmt::format("{}: {}", file.path, file.cause));
        program_path = file.path;
    }
    DoctorResult result;
    result.processor = read_processor();
    result.gpus = read_gpus();
    result.libraries = find_blas_libraries();
    result.settings = examine_settings(result.gpus);
    if (!options.words.empty()) {
        result.program = run_and_examine_program(program_path, options.words, options.with_bindings);
        if (result.program->has_loaded_files())
            std::erase_if(result.libraries,
                          [&](const BlasLibrary& one) { return !result.program->files.contains(one.file); });
    }
    judge_program_and_machine(result);
    print(options.is_json ? json_text(doctor_json(result)) : wrapped(doctor_text(result)));
    return exit_code_of(result);
}

}  // namespace

Action define_doctor(CLI::App& app) {
    auto options = std::make_shared<DoctorOptions>();
    add_table_or_json(app, options->is_json);
    app.add_flag("--bindings", options->with_bindings,
                 "Also list every BLAS function that the loader bound while the program ran, with its library");
    app.add_option("PROGRAM", options->words,
                   "Program to run once, to its end, and examine; its output goes to stderr");
    return [options] { return doctor(*options); };
}

}  // namespace fp32shim::cli
