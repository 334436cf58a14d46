// Reads the fuzzer's inputs without the fuzzer, in every run of the tests and with every compiler.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "sparse_file.hpp"

namespace fp32shim::record::test {
namespace {

namespace fs = std::filesystem;

std::string bytes_of(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream bytes;
    bytes << file.rdbuf();
    return std::move(bytes).str();
}

std::span<const std::uint8_t> as_input(const std::string& bytes) {
    return {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
}

TEST(RecordingCorpus, EveryInputIsReadWithoutACrash) {
    int inputs = 0;
    for (const auto& entry : fs::directory_iterator(FP32SHIM_CORPUS_DIR)) {
        SCOPED_TRACE(entry.path().string());
        read_everything(expand_sparse(as_input(bytes_of(entry.path()))));
        ++inputs;
    }
    EXPECT_GE(inputs, 2);
}

TEST(RecordingCorpus, HoldsTheGoldenFiles) {
    for (const auto& entry : fs::directory_iterator(FP32SHIM_GOLDEN_DIR)) {
        if (entry.path().extension() != ".fp32rec") continue;
        const std::string sparse = make_sparse(bytes_of(entry.path()), 2048);
        const fs::path seed = fs::path(FP32SHIM_CORPUS_DIR) / entry.path().stem();
        if (std::getenv("FP32SHIM_WRITE_GOLDEN") != nullptr) std::ofstream(seed, std::ios::binary) << sparse;
        EXPECT_EQ(bytes_of(seed), sparse) << seed;
    }
}

TEST(RecordingCorpus, AnInputDescribesItsFile) {
    std::string file(200'000, '\0');
    for (const std::size_t at : {0, 1, 9, 70, 65'535, 65'536, 150'000, 199'999})
        file[at] = static_cast<char>(at % 100 + 1);
    EXPECT_EQ(expand_sparse(as_input(make_sparse(file, 65'536))), file);
}

}  // namespace
}  // namespace fp32shim::record::test
