// questions: asks the cuBLAS of this machine what its manual leaves open.
//
//   questions [--size N,N...] [--quick] [--only SECTION,SECTION...] [--rows FILE] [--results FILE] [--shim FILE]
//   [--list]
//
// Prints tables, each row as soon as it is known. --rows writes `row<TAB>answer` lines for the rows of
// tests/cublas/stand_in/semantics.def, --results a line for each experiment, with its decision rule, and --list shows
// the sections. Formats are measured: see format.hpp. Ends with 77 where there is no CUDA device, with 1 where a row
// failed.
#include "questions.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "ask.hpp"

namespace gpu {

std::string answer_of(const std::optional<cublasStatus_t>& status, const Measured& measured) {
    if (!status) return "absent";
    return *status == CUBLAS_STATUS_SUCCESS ? measured.format : text(*status);
}

namespace {

struct Arguments {
    Asking asking{{512, 2048}, std::filesystem::read_symlink("/proc/self/exe").parent_path() / "libfp32shim.so"};
    std::vector<std::string> only;
    std::string rows_file, results_file;
    std::string worker, variant;
    int first_row = 0;
    bool list = false;
};

std::vector<int> parse_sizes(const char* given) {
    std::vector<int> sizes;
    for (const char* text = given; *text;) {
        char* end = nullptr;
        const long size = std::strtol(text, &end, 10);
        if (end == text || size < 16 || size > 16384) {
            throw std::invalid_argument(std::string("--size: found '") + given +
                                        "', expected numbers from 16 to 16384, with commas between them");
        }
        sizes.push_back(static_cast<int>(size));
        text = *end == ',' ? end + 1 : end;
    }
    return sizes;
}

const Section& section_called(const std::string& name) {
    const auto all = sections();
    const auto found = std::find_if(all.begin(), all.end(), [&](const Section& each) { return each.name == name; });
    if (found == all.end()) throw std::invalid_argument("unknown section '" + name + "'; --list shows them");
    return *found;
}

std::vector<std::string> parse_sections(std::string_view given) {
    std::vector<std::string> names;
    while (!given.empty()) {
        const auto comma = given.find(',');
        names.push_back(section_called(std::string(given.substr(0, comma))).name);
        given = comma == std::string_view::npos ? "" : given.substr(comma + 1);
    }
    return names;
}

Arguments parse(int argc, char** argv) {
    Arguments arguments;
    for (int i = 1; i < argc; ++i) {
        const std::string_view argument = argv[i];
        const bool has_value = i + 1 < argc;
        if (argument == "--quick") {
            arguments.asking.sizes = {1024};
        } else if (argument == "--list") {
            arguments.list = true;
        } else if (!has_value) {
            throw std::invalid_argument("questions: found '" + std::string(argument) +
                                        "' without a value; usage: "
                                        "questions [--size N,N...] [--quick] [--only SECTION,...] [--rows FILE] "
                                        "[--results FILE] [--shim FILE] [--list]");
        } else if (argument == "--size") {
            arguments.asking.sizes = parse_sizes(argv[++i]);
        } else if (argument == "--only") {
            arguments.only = parse_sections(argv[++i]);
        } else if (argument == "--rows") {
            arguments.rows_file = argv[++i];
        } else if (argument == "--results") {
            arguments.results_file = argv[++i];
        } else if (argument == "--shim") {
            arguments.asking.shim = argv[++i];
        } else if (argument == "--worker") {
            arguments.worker = argv[++i];
        } else if (argument == "--variant") {
            arguments.variant = argv[++i];
        } else if (argument == "--first") {
            arguments.first_row = std::atoi(argv[++i]);
        } else {
            throw std::invalid_argument("questions: unknown argument '" + std::string(argument) + "'");
        }
    }
    return arguments;
}

int work(const Arguments& arguments) {
    Worker worker(arguments.asking.sizes, arguments.variant, arguments.first_row);
    // Each row begins a count of its own.
    alarm(seconds_for_a_row);
    int status = 0;
    try {
        section_called(arguments.worker).measure(worker);
    } catch (const NoDevice& absent) {
        tell(line::no_device, {absent.what()});
        status = exit_skipped;
    } catch (const std::exception& error) {
        tell(line::failed, {error.what()});
        status = 1;
    }
    // A faulted context's memory cannot be freed, and a sound context ends with its process.
    std::fflush(nullptr);
    _exit(status);
}

void write_rows(const std::string& path, const std::vector<Answer>& answers) {
    std::ofstream rows(path);
    for (const Answer& answer : answers) rows << answer.row << '\t' << answer.answer << '\n';
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

int ask_all(const Arguments& arguments) {
    Findings findings;
    for (const Section& section : sections()) {
        const auto& only = arguments.only;
        if (!only.empty() && std::find(only.begin(), only.end(), section.name) == only.end()) continue;
        ask(section, arguments.asking, findings);
        print_conclusions(conclusions(findings, section.name), arguments.results_file);
        if (!arguments.rows_file.empty()) write_rows(arguments.rows_file, answered_rows(findings));
    }
    if (arguments.only.empty()) {
        print_heading("What the stand-in has to do to be like this device",
                      {"row of semantics.def", "answer", "because"});
        for (const Answer& answer : answered_rows(findings)) print_row({answer.row, answer.answer, answer.because});
    }
    for (const std::string& failure : findings.all("failures")) {
        std::fprintf(stderr, "questions: %s\n", failure.c_str());
    }
    return findings.all("failures").empty() ? 0 : 1;
}

}  // namespace

}  // namespace gpu

int main(int argc, char** argv) {
    try {
        const gpu::Arguments arguments = gpu::parse(argc, argv);
        if (!arguments.worker.empty()) return gpu::work(arguments);
        if (arguments.list) {
            for (const gpu::Section& section : gpu::sections()) std::printf("%s\t%s\n", section.name, section.title);
            return 0;
        }
        return gpu::ask_all(arguments);
    } catch (const gpu::NoDevice& absent) {
        std::fprintf(stderr, "questions: no CUDA device: %s\n", absent.what());
        return gpu::exit_skipped;
    } catch (const std::invalid_argument& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 2;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "questions: %s\n", error.what());
        return 1;
    }
}
