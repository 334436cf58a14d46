// questions: asks the cuBLAS of this machine what its manual leaves open, without the shim.
//
//   questions [--size N,N...] [--rows FILE] [--quick]
//
// Prints tables; --rows writes `row<TAB>answer` lines for the rows of tests/cublas/stand_in/semantics.def. Formats
// are measured: see format.hpp. Ends with 77 where there is no CUDA device.
#include "questions.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string_view>

namespace gpu {

std::string in_a_child(const Session& session, const std::string& probe, const std::string& variables) {
    const std::string command = variables + " '" + std::filesystem::read_symlink("/proc/self/exe").string() +
                                "' --size " + std::to_string(session.sizes.back()) + " --probe '" + probe +
                                "' 2>/dev/null";
    FILE* output = popen(command.c_str(), "r");
    if (!output) throw std::runtime_error("popen: no process could be started");
    std::string answer;
    std::array<char, 256> part;
    while (std::fgets(part.data(), part.size(), output)) answer += part.data();
    const int status = pclose(output);
    while (!answer.empty() && answer.back() == '\n') answer.pop_back();
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && !answer.empty()) return answer;
    return "ended with status " + std::to_string(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

std::string answer_of(const std::optional<cublasStatus_t>& status, const Measured& measured) {
    if (!status) return "absent";
    return *status == CUBLAS_STATUS_SUCCESS ? measured.format : text(*status);
}

std::string lower_format(const std::string& left, const std::string& right) {
    static constexpr std::array<std::string_view, 5> order{"fp32", "tf32", "bf16", "fp16", "wrong"};
    const auto place = [](const std::string& answer) { return std::find(order.begin(), order.end(), answer); };
    return place(left) < place(right) ? right : left;
}

namespace {

struct Arguments {
    std::vector<int> sizes{512, 2048};
    std::string rows_file;
    std::string probe;
};

Arguments parse(int argc, char** argv) {
    Arguments arguments;
    for (int i = 1; i < argc; ++i) {
        const std::string_view argument = argv[i];
        const bool has_value = i + 1 < argc;
        if (argument == "--quick") {
            arguments.sizes = {1024};
        } else if (argument == "--size" && has_value) {
            arguments.sizes.clear();
            for (const char* text = argv[++i]; *text;) {
                char* end = nullptr;
                const long size = std::strtol(text, &end, 10);
                if (end == text || size < 16 || size > 16384) {
                    throw std::invalid_argument(std::string("--size: found '") + argv[i] +
                                                "', expected numbers from 16 to 16384, with commas between them");
                }
                arguments.sizes.push_back(static_cast<int>(size));
                text = *end == ',' ? end + 1 : end;
            }
        } else if (argument == "--rows" && has_value) {
            arguments.rows_file = argv[++i];
        } else if (argument == "--probe" && has_value) {
            arguments.probe = argv[++i];
        } else {
            throw std::invalid_argument("usage: questions [--size N,N...] [--rows FILE] [--quick]");
        }
    }
    return arguments;
}

/// "override", "ltmisaligned", "single:TYPE:OFFSET", "batched:TYPE:OFFSET" or "lt:TYPE:TYPE"
std::string answer_probe(Session& session, const std::string& probe) {
    char kind[16] = "";
    int first = 0;
    int second = 0;
    std::sscanf(probe.c_str(), "%15[a-z]:%d:%d", kind, &first, &second);
    const auto compute_type = static_cast<cublasComputeType_t>(first);
    const std::string_view name = kind;
    if (name == "override") return probe_override(session);
    if (name == "ltmisaligned") return probe_lt_misaligned(session);
    if (name == "lt") return probe_lt_algorithm(session, compute_type, static_cast<cublasComputeType_t>(second));
    if (name == "single" || name == "batched") {
        return probe_alignment(session, name == "batched", compute_type, second);
    }
    throw std::invalid_argument("--probe: unknown '" + probe + "'");
}

void print_machine(const Session& session) {
    Table table({"device", "compute capability", "CUDA of the driver", "cuBLAS", "library"});
    const int capability = session.device.compute_capability;
    const int driver = session.device.driver_version;
    table.add({session.device.name, std::to_string(capability / 10) + "." + std::to_string(capability % 10),
               std::to_string(driver / 1000) + "." + std::to_string(driver % 1000 / 10), session.cublas.version,
               session.cublas.library.file()});
    table.print("Machine");
}

void print_answers(const std::vector<Answer>& answers) {
    Table table({"row of semantics.def", "answer", "because"});
    for (const Answer& answer : answers) table.add({answer.row, answer.answer, answer.because});
    table.print("What the stand-in has to do to be like this device");
}

int run(const Arguments& arguments) {
    const Device device;
    const Cublas cublas(device);
    Session session{device, cublas, arguments.sizes, {}};
    if (!arguments.probe.empty()) {
        std::printf("%s\n", answer_probe(session, arguments.probe).c_str());
        return 0;
    }
    print_machine(session);
    ask_math_modes(session);
    ask_compute_types(session);
    ask_ex_functions(session);
    ask_ties(session);
    ask_override(session);
    ask_alignment(session);
    ask_lt(session);
    const std::vector<Answer> answers = answered_rows(session);
    print_answers(answers);
    if (!arguments.rows_file.empty()) {
        std::ofstream rows(arguments.rows_file);
        for (const Answer& answer : answers) rows << answer.row << '\t' << answer.answer << '\n';
        if (!rows.flush()) throw std::runtime_error(arguments.rows_file + ": cannot be written");
    }
    return 0;
}

}  // namespace

}  // namespace gpu

int main(int argc, char** argv) {
    try {
        return gpu::run(gpu::parse(argc, argv));
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
