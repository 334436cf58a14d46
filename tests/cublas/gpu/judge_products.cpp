// The judges of gpu-check, for tests: of results, which test_judges.py compares with the judge of frameworks, and of
// the evidence in a report (test_gpu_check.py).
//
//   judge_products operands N KIND USE A B            writes the operands
//   judge_products judge N KIND USE SHAPE C           prints the format of the result C, its rounding, and its error
//   judge_products round FORMAT TIES FILE             rounds the numbers of a file, in place
//   judge_products report FILE                        prints the lines of the verdict on a report's evidence
//
// KIND: real or complex. USE: product or solve. The files have float32, column-major, complex numbers in pairs.
#include <cstdio>
#include <exception>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "gpu_check/checks/judge.hpp"
#include "gpu_check/products/host_problem.hpp"

namespace {

using Words = std::vector<std::string>;

const std::map<std::string, gpu::ProductKind> shapes = {
    {"gemm", gpu::ProductKind::gemm},   {"symm", gpu::ProductKind::symm}, {"hemm", gpu::ProductKind::hemm},
    {"syrk", gpu::ProductKind::syrk},   {"herk", gpu::ProductKind::herk}, {"syr2k", gpu::ProductKind::syr2k},
    {"her2k", gpu::ProductKind::her2k}, {"trmm", gpu::ProductKind::trmm}, {"trsm", gpu::ProductKind::trsm}};
const std::map<std::string, gpu::Rounding::Format> formats = {
    {"tf32", gpu::Rounding::tf32}, {"bf16", gpu::Rounding::bf16}, {"fp16", gpu::Rounding::fp16}};
const std::map<std::string, gpu::Rounding::Ties> ties = {
    {"even", gpu::Rounding::even}, {"away", gpu::Rounding::away}, {"truncate", gpu::Rounding::truncate}};

std::vector<float> read_numbers(const std::string& path) {
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    std::vector<float> numbers(static_cast<std::size_t>(file.tellg()) / sizeof(float));
    file.seekg(0);
    if (!file.read(reinterpret_cast<char*>(numbers.data()),
                   static_cast<std::streamsize>(numbers.size() * sizeof(float))))
        throw std::runtime_error(path + ": cannot be read");
    return numbers;
}

void write_numbers(const std::string& path, const std::vector<float>& numbers) {
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(numbers.data()),
               static_cast<std::streamsize>(numbers.size() * sizeof(float)));
    if (!file.flush()) throw std::runtime_error(path + ": cannot be written");
}

gpu::HostProblem operands_of(const Words& words) {
    const gpu::OperandUse use = words[3] == "solve" ? gpu::OperandUse::solve : gpu::OperandUse::product;
    return {std::stoi(words[1]), words[2] == "complex", use};
}

std::vector<float> numbers_of(const std::vector<std::complex<float>>& matrix, bool complex) {
    std::vector<float> numbers;
    for (const auto& element : matrix) {
        numbers.push_back(element.real());
        if (complex) numbers.push_back(element.imag());
    }
    return numbers;
}

gpu::FindingMap findings_of(const nlohmann::json& evidence) {
    gpu::FindingMap findings;
    for (const auto& [name, values] : evidence.items())
        for (const auto& value : values) findings.add(name, value);
    return findings;
}

void judge_report(const std::string& path) {
    std::ifstream file(path);
    const nlohmann::json report = nlohmann::json::parse(file);
    gpu::JudgementFacts facts;
    facts.compute_capability = std::stoi(report["machine"]["compute_capability"][0].get<std::string>());
    facts.sizes = {512, 2048, 8192};
    for (const char* section : {"product", "opt_ins", "float64_rules", "times", "cost", "graph", "audits"})
        for (const gpu::VerdictLine& line :
             gpu::judge_section(section, findings_of(report["evidence"][section]), facts))
            std::printf("%s\t%s\t%s\n", line.name.c_str(), to_string(line.verdict), line.text.c_str());
}

void run(const Words& words) {
    if (words[0] == "operands") {
        const gpu::HostProblem operands = operands_of(words);
        write_numbers(words.at(4), numbers_of(operands.a, operands.complex));
        write_numbers(words.at(5), numbers_of(operands.b, operands.complex));
    } else if (words[0] == "judge") {
        const gpu::MeasuredRounding measured =
            operands_of(words).judge_result(shapes.at(words.at(4)), read_numbers(words.at(5)).data());
        std::printf("%s\t%s\t%.9g\n", measured.format.c_str(), measured.match.c_str(), measured.error);
    } else if (words[0] == "report") {
        judge_report(words.at(1));
    } else {
        std::vector<float> numbers = read_numbers(words.at(3));
        for (float& number : numbers)
            number = gpu::rounded(number, gpu::Rounding{formats.at(words.at(1)), ties.at(words.at(2))});
        write_numbers(words.at(3), numbers);
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        run(Words(argv + 1, argv + argc));
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "judge_products: %s\n", error.what());
        return 2;
    }
}
