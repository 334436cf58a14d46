#include "tests/cublas/gpu/questions/questions.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <utility>

#include "gpu_check/checks/cuda_folders.hpp"
#include "gpu_check/workers/ask.hpp"
#include "tests/cublas/gpu/questions/sections.hpp"

namespace gpu {

namespace {

struct Arguments {
    MeasurementSettings settings;
    std::vector<std::string> only, except;
    std::string rows_file, results_file;
};

void print_row(const std::vector<std::string>& cells) {
    for (const std::string& cell : cells) std::printf("| %s ", cell.c_str());
    std::printf("|\n");
    std::fflush(stdout);
}

void print_heading(const std::string& title, const std::vector<std::string>& columns) {
    std::printf("\n### %s\n\n", title.c_str());
    print_row(columns);
    print_row(std::vector<std::string>(columns.size(), "---"));
}

/// Prints a section as a table, each row as soon as it is known. Without a device prints one line instead of a table.
void ask_and_print(const Section& section, const Arguments& arguments, FindingMap& findings) {
    const bool has_variants = !section.variants.empty();
    bool is_titled = false;
    measure_section(section, arguments.settings, findings,
                    [&](const Variant& variant, const std::string& title, const auto& found) {
                        if (!is_titled)
                            print_heading(section.title, has_variants
                                                             ? std::vector<std::string>{"run", "row", "found"}
                                                             : std::vector<std::string>{"row", "found"});
                        is_titled = true;
                        if (has_variants) std::printf("| %s ", variant.name);
                        print_row({title, found});
                    });
}

/// Returns the answers in a file of rows, by row; empty if there is no such file.
std::map<std::string, std::string> read_rows(const std::string& path) {
    std::map<std::string, std::string> answers;
    std::ifstream rows(path);
    for (std::string row, answer; std::getline(rows, row, '\t') && std::getline(rows, answer);) answers[row] = answer;
    return answers;
}

/// Writes the answers into a file of rows. A row without an answer keeps the one that an earlier run found.
void write_rows(const std::string& path, const std::vector<Answer>& answers) {
    std::map<std::string, std::string> known = read_rows(path);
    std::ofstream rows(path);
    for (const Answer& answer : answers) {
        std::string& text = known[answer.row];
        if (text.empty() || answer.answer != "?") text = answer.answer;
        rows << answer.row << '\t' << text << '\n';
    }
    if (!rows.flush()) throw std::runtime_error(path + ": cannot be written");
}

void print_conclusions(const std::vector<Conclusion>& drawn, const std::string& results_file) {
    if (drawn.empty()) return;
    print_heading("What follows", {"experiment", "expected", "seen", "what follows"});
    std::ofstream results;
    if (!results_file.empty()) results.open(results_file, std::ios::app);
    for (const Conclusion& each : drawn) {
        print_row({each.experiment, each.expected, each.seen, each.follows});
        results << each.experiment << '\t' << each.expected << '\t' << each.seen << '\t' << each.follows << std::endl;
    }
    if (!results_file.empty() && !results) throw std::runtime_error(results_file + ": cannot be written");
}

bool is_wanted(const Section& section, const Arguments& arguments) {
    const auto has = [&](const std::vector<std::string>& names) {
        return std::ranges::find(names, section.name) != names.end();
    };
    return (arguments.only.empty() || has(arguments.only)) && !has(arguments.except);
}

int ask_all(const Arguments& arguments) {
    FindingMap findings;
    for (const Section& section : all_sections()) {
        if (!is_wanted(section, arguments)) continue;
        ask_and_print(section, arguments, findings);
        print_conclusions(conclusions(findings, section.name), arguments.results_file);
        if (!arguments.rows_file.empty()) write_rows(arguments.rows_file, answered_rows(findings));
    }
    if (arguments.only.empty()) {
        print_heading("What the stand-in has to do to be like this device",
                      {"row of semantics.def", "answer", "because"});
        for (const Answer& answer : answered_rows(findings)) print_row({answer.row, answer.answer, answer.because});
    }
    for (const std::string& failure : findings.values_of("failures")) {
        std::fprintf(stderr, "gpu-check: %s\n", failure.c_str());
    }
    return findings.values_of("failures").empty() ? 0 : 1;
}

/// Prints the places of CUDA's libraries for scripts: a name and a value a line, separated by a tab.
int print_libraries(const std::string& libraries, const std::string& python) {
    std::vector<std::string> unset;
    MeasurementSettings settings;
    settings.sizes = {256};
    settings.row_seconds = 35;
    settings.until = Clock::now() + std::chrono::seconds(36);
    settings.environment = neutral_environment(unset);
    settings.environment["CUDA_MODULE_LOADING"] = "LAZY";  // loading all of cuBLAS would take seconds
    FindingMap machine;
    const CudaFolders folders = find_working_cublas(libraries, python, settings, machine);
    for (const auto& [name, value] : {std::pair{"driver_at", folders.driver},
                                      {"cublas_at", folders.cublas},
                                      {"lt_at", folders.cublas_lt},
                                      {"cublas_version", std::to_string(folders.major)},
                                      {"search", folders.search}})
        std::printf("%s\t%s\n", name, value.c_str());
    if (!machine.values_of("instead_of_13").empty())
        std::printf("instead_of_13\t%s\n", machine.joined_values("instead_of_13").c_str());
    return 0;
}

void list_sections() {
    for (const Section& section : all_sections()) std::printf("%s\t%s\n", section.name, section.title);
}

int ask_questions(const std::vector<std::string>& words) {
    Arguments arguments;
    std::string sizes = "512,2048";
    bool is_quick = false;
    std::string libraries, python = "python3";
    bool is_list = false, is_of_libraries = false;
    CLI::App app("Asks the cuBLAS of this machine what its manual leaves open, and prints tables.", "gpu-questions");
    app.add_option("--size", sizes, "orders of the matrices, separated by commas");
    app.add_flag("--quick", is_quick, "one size only, and fewer shapes");
    app.add_option("--only", arguments.only, "only these sections")->delimiter(',');
    app.add_option("--except", arguments.except, "all but these sections")->delimiter(',');
    app.add_option("--rows", arguments.rows_file,
                   "file for the answers to rows of semantics.def; what it has of earlier runs stays where there is "
                   "no answer");
    app.add_option("--results", arguments.results_file,
                   "file for a line for each experiment, with its decision rule");
    app.add_option("--shim", arguments.settings.shim, "libfp32shim.so");
    app.add_flag("--list", is_list, "the sections");
    app.add_flag("--only-libraries", is_of_libraries, "only the places of CUDA's libraries");
    app.add_option("--libraries", libraries, "with --only-libraries: the folder of cuBLAS; default: searched for");
    app.add_option("--python", python, "with --only-libraries: the Python whose packages are searched, too");
    try {
        app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : 2;
    }
    if (is_of_libraries) return print_libraries(libraries, python);
    if (is_list) {
        list_sections();
        return 0;
    }
    for (const auto& names : {arguments.only, arguments.except})
        for (const std::string& name : names) question_named(name);
    if (arguments.settings.shim.empty()) arguments.settings.shim = program_folder() + "/libfp32shim.so";
    arguments.settings.sizes = parse_sizes(is_quick ? "1024" : sizes);
    arguments.settings.environment = own_environment();
    return ask_all(arguments);
}

}  // namespace

}  // namespace gpu

int main(int argc, char** argv) { return gpu::run_program(argc, argv, gpu::question_named, gpu::ask_questions); }
