// Compares the model of tensor cores with results of real GPUs (tensor_cores/README.md), bit for bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "policy/words.hpp"
#include "shim/blas/emulate/tensor_core.hpp"

namespace fp32shim::tests {
namespace {

using blas::OperandRounding;
using blas::TensorCoreModel;
using policy::AccumulationModel;

/// D = C + a · b, as a GPU gave it.
struct Result {
    std::vector<float> a, b;
    float c = 0, d = 0;
};
struct ResultsOfGpu {
    std::string name;
    std::vector<Result> results;
};

std::string folder_of_results() {
    const char* const folder = std::getenv("FP32SHIM_TENSOR_CORE_RESULTS");
    return folder == nullptr ? TENSOR_CORE_RESULTS : folder;
}

float float_of(std::string digits) {
    digits.resize(8, '0');
    return std::bit_cast<float>(static_cast<std::uint32_t>(std::stoul(digits, nullptr, 16)));
}
float whole_float_of(const std::string& word) { return word == "0" ? 0.0F : float_of(word); }

std::vector<std::string> words_of(const std::string& line) {
    std::istringstream stream(line);
    std::vector<std::string> words;
    for (std::string word; stream >> word;) words.push_back(word);
    return words;
}

/// Reads a file. Its first line has GPUs with the number of products that they added, "A100:8 H100:16"; each further
/// line has the operands of the most products, a and then b, and c and d of each GPU.
std::vector<ResultsOfGpu> results_in(const std::string& file) {
    std::ifstream stream(folder_of_results() + "/" + file);
    std::string line;
    std::getline(stream, line);
    std::vector<ResultsOfGpu> gpus;
    std::vector<std::size_t> counts;
    for (const std::string& word : words_of(line)) {
        const std::size_t colon = word.find(':');
        gpus.push_back({word.substr(0, colon), {}});
        counts.push_back(std::stoul(word.substr(colon + 1)));
    }
    while (std::getline(stream, line)) {
        const std::vector<std::string> words = words_of(line);
        const std::size_t longest = (words.size() - 2 * gpus.size()) / 2;
        for (std::size_t gpu = 0; gpu < gpus.size(); ++gpu) {
            Result result;
            for (std::size_t i = 0; i < counts[gpu]; ++i) {
                result.a.push_back(float_of(words[i]));
                result.b.push_back(float_of(words[longest + i]));
            }
            result.c = whole_float_of(words[2 * longest + 2 * gpu]);
            result.d = whole_float_of(words[2 * longest + 2 * gpu + 1]);
            gpus[gpu].results.push_back(result);
        }
    }
    return gpus;
}

float model_of(const Result& result, const TensorCoreModel& core) {
    float sums[blas::sums_at_once] = {result.c};
    const auto block = static_cast<std::size_t>(core.step.products);
    for (std::size_t first = 0; first < result.a.size(); first += block) {
        const std::size_t count = std::min(block, result.a.size() - first);
        blas::LeftFactors left;
        blas::RightFactors right;
        for (std::size_t i = 0; i < count; ++i) {
            left.set_factor(static_cast<int>(i), 0, result.a[first + i], core);
            for (int j = 0; j < blas::sums_at_once; ++j)
                right.set_factor(static_cast<int>(i), j, result.b[first + i], core);
        }
        blas::add_product_block(left, right, static_cast<int>(count), false, core, sums);
    }
    return sums[0];
}

std::size_t agreeing(const ResultsOfGpu& of, AccumulationModel gpu, OperandRounding rounding) {
    const TensorCoreModel core = blas::tensor_core_model(gpu, rounding).value();
    return static_cast<std::size_t>(std::ranges::count_if(of.results, [&](const Result& result) {
        return std::bit_cast<std::uint32_t>(model_of(result, core)) == std::bit_cast<std::uint32_t>(result.d);
    }));
}

struct Format {
    std::string file;
    OperandRounding rounding;
};
const Format formats[] = {{"tf32.txt", OperandRounding::tf32_away},
                          {"bf16.txt", OperandRounding::bf16_even},
                          {"fp16.txt", OperandRounding::fp16_even},
                          {"e4m3.txt", OperandRounding::e4m3_even},
                          {"e5m2.txt", OperandRounding::e5m2_even}};

TEST(TensorCoreResults, AllResultsOfRealGpusAreThoseOfTheModelOfTheirName) {
    for (const Format& format : formats) {
        const std::vector<ResultsOfGpu> gpus = results_in(format.file);
        ASSERT_GE(gpus.size(), 5U) << format.file;
        for (const ResultsOfGpu& gpu : gpus) {
            ASSERT_GE(gpu.results.size(), 100U) << format.file;
            const AccumulationModel word = policy::parse_word(policy::accumulation_words, gpu.name).value();
            EXPECT_EQ(agreeing(gpu, word, format.rounding), gpu.results.size()) << gpu.name << ' ' << format.file;
        }
    }
}

TEST(TensorCoreResults, TellTheModelsApart) {
    constexpr AccumulationModel models[] = {AccumulationModel::v100, AccumulationModel::a100,
                                            AccumulationModel::hopper};
    for (const ResultsOfGpu& gpu : results_in("fp16.txt"))
        EXPECT_EQ(std::ranges::count_if(models,
                                        [&](AccumulationModel model) {
                                            return agreeing(gpu, model, OperandRounding::fp16_even) ==
                                                   gpu.results.size();
                                        }),
                  1)
            << gpu.name;
    // E4M3's products are too short for more than this; E5M2 has a result that shows how C joins.
    for (const Format& format : {formats[3], formats[4]})
        for (const ResultsOfGpu& gpu : results_in(format.file))
            EXPECT_LT(agreeing(gpu, gpu.name == "B200" ? AccumulationModel::b200_tcgen05 : AccumulationModel::b200,
                               format.rounding),
                      gpu.results.size())
                << gpu.name << ' ' << format.file;
}

}  // namespace
}  // namespace fp32shim::tests
