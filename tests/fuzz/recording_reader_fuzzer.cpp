// Tests that record/read/reader.hpp reads any file without crashing.
//
//     cmake -B build/fuzz -G Ninja -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_C_COMPILER=clang -DFP32SHIM_FUZZ=ON
//     cmake --build build/fuzz --target recording_reader_fuzzer
//     build/fuzz/bin/recording_reader_fuzzer -max_total_time=600 NEW_INPUTS tests/fuzz/corpus
//
// An input that caused a crash is added to corpus/, which fuzz.RecordingCorpus reads in every run of the tests.
#include "sparse_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace fp32shim::record::test;
    read_everything(expand_sparse({data, size}));
    return 0;
}
