// Tests that lines of oneDNN are understood, and that no line whatever makes the reader look outside of it.
// golden/onednn_lines.txt has lines that libraries printed on an AMD processor with avx512_bf16, each with what it
// says. After a change: FP32SHIM_WRITE_GOLDEN=1 record_tests --gtest_filter='OneDnnLines.*'
#include "record/onednn/line.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace fp32shim::record::test {
namespace {

const std::string golden = FP32SHIM_GOLDEN_DIR "/onednn_lines.txt";

/// Reads a line from memory that ends where the line ends, so that a sanitizer sees each read behind it. Texts that
/// `execution` points to live as long as `memory`.
OneDnnLineKind read(std::string_view line, OneDnnExecution& execution, std::unique_ptr<char[]>& memory) {
    memory = std::make_unique<char[]>(line.size());
    if (!line.empty()) std::memcpy(memory.get(), line.data(), line.size());
    return parse_onednn_line({memory.get(), line.size()}, execution);
}

std::string summary(std::string_view line) {
    OneDnnExecution execution;
    std::unique_ptr<char[]> memory;
    const OneDnnLineKind kind = read(line, execution, memory);
    if (kind != OneDnnLineKind::execution) return kind == OneDnnLineKind::error ? "error" : "other";
    std::ostringstream out;
    out << execution.kind << ' ' << execution.implementation << ' ' << execution.engine << ' ' << execution.fpmath
        << ' ' << execution.source_type << ':' << execution.weights_type << ' ' << execution.shape;
    if (execution.m >= 0)
        out << " m" << execution.m << " n" << execution.n << " k" << execution.k << " batch" << execution.batch;
    out << ' ' << execution.duration_ns << "ns";
    if (!execution.multiplies) out << ", no product";
    if (execution.dtype) out << ", " << to_string(*execution.dtype);
    out << ", applied " << to_string(execution.applied);
    if (execution.actual) out << ", actual " << to_string(*execution.actual);
    if (!execution.doubt.empty()) out << "; " << execution.doubt;
    return out.str();
}

/// Returns the lines in the file that libraries printed.
std::vector<std::string> printed_lines() {
    std::vector<std::string> lines;
    std::ifstream file(golden);
    for (std::string line; std::getline(file, line);)
        if (!line.starts_with('#') && !line.starts_with("    ")) lines.push_back(line);
    return lines;
}

/// A product of float32 on a CPU, in the form of 3.6 and later.
std::string product(
    const std::string& implementation, const std::string& attributes = "",
    const std::string& tensors = "src:f32::blocked:ab::f0 wei:f32::blocked:ab::f0 dst:f32::blocked:ab::f0") {
    return "onednn_verbose,v1,primitive,exec,cpu,matmul," + implementation + ",undef," + tensors + "," + attributes +
           ",,4x5:5x6,0.5";
}

OneDnnExecution execution_of(const std::string& line) {
    OneDnnExecution execution;
    EXPECT_EQ(parse_onednn_line(line, execution), OneDnnLineKind::execution) << line;
    return execution;
}

TEST(OneDnnLines, SayWhatTheLibrariesMeant) {
    std::ifstream file(golden);
    std::stringstream expected, actual;
    for (std::string line; std::getline(file, line);) {
        expected << line << '\n';
        if (line.starts_with("    ")) continue;
        actual << line << '\n';
        if (!line.starts_with('#')) actual << "    " << summary(line) << '\n';
    }
    if (std::getenv("FP32SHIM_WRITE_GOLDEN") != nullptr) std::ofstream(golden) << actual.str();
    EXPECT_EQ(actual.str(), expected.str());
    EXPECT_GT(printed_lines().size(), 50U);
}

TEST(OneDnnLines, OfOtherKindsAreToldApart) {
    for (const auto& [line, expected] : std::vector<std::pair<const char*, const char*>>{
             {"", "other"},
             {"onednn_verbose", "other"},
             {" onednn_verbose,exec,cpu", "other"},
             {"onednn_verbose,info,cpu,runtime:OpenMP,nthr:2\n", "other"},
             {"dnnl_verbose,info,DNNL v1.3.0 (commit N/A)", "other"},
             {"mkldnn_verbose,info,Intel MKL-DNN v0.21.5 (commit N/A)", "other"},
             {"onednn_verbose,v1,common,error,runtime,SYCL cpu devices queried but not found", "error"},
             {"onednn_verbose,cpu,error,acl,unsupported", "error"},
             {"onednn_verbose,v1,primitive,create:cache_miss,cpu,matmul,brg_matmul:avx2", "other"},
             {"onednn_verbose,v1,graph,compile,cache_miss,cpu,1", "other"},
             {"onednn_verbose,v1,primitive,exec:external,CpuGemm,0.5", "other"},
             {"onednn_verbose,v1,17.5,primitive,exec,unknown primitive info,0.5",
              "unknown primitive info   strict :  500000ns, applied unchanged; the line names no type that is known"},
             {"mkldnn_verbose,exec,convolution,jit:avx2,forward_training,fsrc:nChw8c "
              "fwei:OIhw8i8o,alg:direct,mb1,0.1",
              "convolution jit:avx2  strict : mb1 100000ns, applied unchanged; the line names no type that is "
              "known"}})
        EXPECT_EQ(summary(line), expected) << line;
}

TEST(OneDnnLines, OfAmxAreAtTheModesFormat) {
    EXPECT_EQ(execution_of(product("brg_matmul:avx10_1_512_amx", "attr-fpmath:bf16")).actual,
              policy::AppliedFormat::bf16);
    EXPECT_EQ(execution_of(product("brgconv:avx512_core_amx", "attr-fpmath:any ")).actual,
              policy::AppliedFormat::bf16);
    EXPECT_EQ(execution_of(product("brg_matmul:avx10_2_amx_2", "attr-fpmath:tf32")).actual,
              policy::AppliedFormat::tf32);
    EXPECT_EQ(execution_of(product("conv:any+brgconv:avx512_core_amx", "attr-fpmath:any")).actual,
              policy::AppliedFormat::bf16);
}

TEST(OneDnnLines, OfWhatIsNotKnownAreNeverAtFloat32) {
    const std::string wide = "src:f32::blocked:ab::f0 wei:f32::blocked:ab::f0 dst:f32::blocked:ab::f0";
    for (const std::string& line :
         {product("brg_matmul:avx512_core_amx"), product("brgconv:", "attr-fpmath:bf16"), product("something:avx2"),
          product("brg_matmul:avx99"), product("wino:acl"), product("x64:gemm:blas"),
          product("jit:avx2", "attr-fpmath:f4"), product("jit:avx2", "attr-acc-mode:any"),
          product("jit:avx2", "", ""), product("jit:avx2", "", "src:f6_e2m3::blocked:ab::f0 " + wide),
          product("jit:avx2", "", wide + " src:s8::a"),
          product("jit:avx2").substr(0, product("jit:avx2").size() - 4),  // without the time
          std::string("onednn_verbose,exec,gpu:0,matmul,jit:gemm:any,undef,") + wide + ",,,4x5:5x6,0.5",
          std::string("onednn_verbose,v1,graph,exec,cpu,1,sdp,a,,in0_f32:0,fpm:strict,kernel,other_backend,0.5")}) {
        const OneDnnExecution execution = execution_of(line);
        EXPECT_EQ(execution.applied, policy::AppliedFormat::unchanged) << line;
        EXPECT_FALSE(execution.actual) << line;
        EXPECT_FALSE(execution.doubt.empty()) << line;
    }
    const OneDnnExecution maybe = execution_of(product("gemm:acl", "attr-fpmath:bf16"));
    EXPECT_EQ(maybe.applied, policy::AppliedFormat::bf16);
    EXPECT_TRUE(!maybe.actual && !maybe.doubt.empty());
}

TEST(OneDnnLines, AboutJaxAreAtFloat32OnlyWhereThatWasMeasured) {
    const auto of = [](const std::string& implementation, const std::string& types, const std::string& mode) {
        return summary("onednn_verbose,exec,cpu,xla_compiled_dot_general," + implementation + ",," + types + "," +
                       mode + ",8x8:8x8,0");
    };
    const auto ends = [](const std::string& text, std::string_view end) { return text.ends_with(end); };
    EXPECT_TRUE(ends(of("xla", "src:f32 wei:f32 dst:f32", ""), "float32, applied fp32, actual fp32"));
    EXPECT_TRUE(ends(of("xla", "src:c64 wei:c64 dst:c64", ""), "complex64, applied fp32, actual fp32"));
    EXPECT_TRUE(ends(of("xla", "src:c128 wei:f64 dst:c128", ""), "float64, applied fp64, actual fp64"));
    EXPECT_TRUE(ends(of("xla", "src:f32 wei:f32 dst:bf16", ""), "bfloat16, applied unchanged"));
    EXPECT_TRUE(
        ends(of("xla:jaxlib-0.10.2", "src:f32 wei:f32 dst:f32", "attr-fpmath:bf16"), "applied bf16, actual fp32"));
    EXPECT_TRUE(ends(of("xla:jaxlib-9.9", "src:f32 wei:f32 dst:f32", "attr-fpmath:bf16"), "not known in this mode"));
    EXPECT_TRUE(ends(of("xla", "src:f32 wei:f6_e2m3 dst:f32", ""), "the line names no type that is known"));
    EXPECT_TRUE(ends(of("xla", "", ""), "the line names no type that is known"));
}

TEST(OneDnnLines, HaveEqualIdentitiesForEqualExecutionsOnly) {
    const std::string line = product("jit:avx2"),
                      identity = line.substr(line.find("cpu"), line.rfind(',') - line.find("cpu"));
    EXPECT_EQ(execution_of(line).identity, identity);
    EXPECT_EQ(execution_of(line + "1e-05\n").identity, identity);
    EXPECT_NE(execution_of(product("jit:avx")).identity, identity);
}

TEST(OneDnnLines, TellTimesInNanoseconds) {
    const std::string line = "onednn_verbose,exec,cpu,sum,a,b,c,,,4,";
    for (const auto& [time, expected] :
         std::vector<std::pair<const char*, std::int64_t>>{{"0", 0},
                                                           {"7.28784", 7287840},
                                                           {"1e-05", 10},
                                                           {"1.23457e+06", 1234570000000},
                                                           {"1e-09", 0},
                                                           {"", -1},
                                                           {"1e+99", -1},
                                                           {"99999999999999999999", -1},
                                                           {"nan", -1},
                                                           {"-1", -1},
                                                           {"1.5x", -1},
                                                           {"1e", -1},
                                                           {"2.", 2000000}})
        EXPECT_EQ(execution_of(line + time).duration_ns, expected) << time;
}

TEST(OneDnnLines, MayHaveACommaInTheirTime) {
    const std::string line = product("jit:avx2"), before = line.substr(0, line.find(",0.5"));
    for (const auto& [time, expected] : std::vector<std::pair<const char*, std::int64_t>>{
             {",0,5", 500000}, {",12,0441", 12044100}, {",1,5e-05", 15}, {",3", 3000000}}) {
        const std::string timed = before + time;  // the execution refers to it
        const OneDnnExecution execution = execution_of(timed);
        EXPECT_EQ(execution.duration_ns, expected) << time;
        EXPECT_EQ(execution.m, 4) << time;
        EXPECT_EQ(execution.shape, "4x5:5x6") << time;
    }
}

TEST(OneDnnLines, WithHostileShapesHaveNoSizes) {
    const std::string line = product("jit:avx2"), before = line.substr(0, line.find("4x5"));
    for (const char* shape : {"", "x", "4", "4x", "x4:4x4", "4x5:5", "4x5:5x6x7", "9999999999999999999x5:5x6",
                              "4*5:5*6", "1x1x1x1x1x1x1x1x1x1x1x1x1:1", "4294967296x4294967296x4294967296x1:1x1x1x1"})
        EXPECT_EQ(execution_of(before + shape + ",0.5").m, -1) << shape;
    EXPECT_EQ(execution_of(before + "*x5:5x6,0.5").n, -1);
}

/// Returns the number of texts of an execution that lie neither in the line nor among the constants.
int texts_outside(std::string_view line, const OneDnnExecution& execution) {
    int count = 0;
    for (const std::string_view text :
         {execution.kind, execution.implementation, execution.engine, execution.fpmath, execution.shape,
          execution.source_type, execution.weights_type, execution.identity}) {
        const bool is_inside = text.data() >= line.data() && text.data() + text.size() <= line.data() + line.size();
        const bool is_constant = text == "strict" || text == "partition" || text.starts_with('f') || text == "bf16" ||
                                 text.ends_with('8') || text.ends_with('4') || text.ends_with("32");
        count += !text.empty() && !is_inside && !is_constant;
    }
    return count;
}

TEST(OneDnnLines, ThatAreCutOrChangedAnywhereAreReadWithoutHarm) {
    std::vector<std::string> lines = printed_lines();
    lines.push_back("onednn_verbose,v1,primitive,exec,cpu,matmul," + std::string(1 << 20, ':') + ",,,,,");
    lines.push_back("onednn_verbose,exec" + std::string(1 << 20, ','));
    lines.push_back("onednn_verbose,graph,exec" + std::string(4096, ' ') + ",,,,in0_f32,\xff\xfe,fpm:");
    const auto check = [](std::string_view line) {
        OneDnnExecution execution;
        std::unique_ptr<char[]> memory;
        if (read(line, execution, memory) != OneDnnLineKind::execution) return;
        EXPECT_EQ(texts_outside({memory.get(), line.size()}, execution), 0) << line;
        EXPECT_TRUE(execution.doubt.empty() || !execution.actual) << line;
    };
    for (const std::string& line : lines) {
        const std::size_t step = line.size() > 4096 ? line.size() / 7 : 1;
        for (std::size_t at = 0; at < line.size(); at += step) {
            check(std::string_view(line).substr(0, at));
            for (const char other : {',', ':', '_', ' ', '9', '\0', '\xff', '\n'}) {
                std::string changed = line;
                changed[at] = other;
                check(changed);
            }
        }
    }
}

TEST(OneDnnLines, ThatAreCutOffNeverClaimFloat32) {
    const std::string line = product("brg_matmul:avx10_1_512_amx", "attr-fpmath:bf16");
    for (std::size_t size = line.find("exec") + 4; size < line.size(); ++size)
        EXPECT_NE(execution_of(line.substr(0, size)).applied, policy::AppliedFormat::fp32) << size;
}

}  // namespace
}  // namespace fp32shim::record::test
