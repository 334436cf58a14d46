// Measures products that are captured into a CUDA graph and replayed.
#include <array>
#include <map>

#include "gpu_check/products/problem.hpp"
#include "gpu_check/sections/findings.hpp"
#include "gpu_check/sections/section.hpp"

namespace gpu {
namespace {

/// Returns the number of nodes of each CUgraphNodeType, such as "2 x 0, 1 x 2". Type 0 is a kernel, 1 a copy, 2 a
/// fill. Returns "absent" if the driver lacks the functions that list nodes.
std::string types_of(const Device& device, CUgraph graph) {
    const auto get_nodes = device.driver.find<decltype(cuGraphGetNodes)>("cuGraphGetNodes");
    const auto get_type = device.driver.find<decltype(cuGraphNodeGetType)>("cuGraphNodeGetType");
    if (get_nodes == nullptr || get_type == nullptr) return "absent";
    std::size_t count = 0;
    throw_on_error(get_nodes(graph, nullptr, &count), "cuGraphGetNodes");
    std::vector<CUgraphNode> nodes(count);
    throw_on_error(get_nodes(graph, nodes.data(), &count), "cuGraphGetNodes");
    std::map<int, int> types;
    for (const CUgraphNode node : nodes) {
        CUgraphNodeType type{};
        throw_on_error(get_type(node, &type), "cuGraphNodeGetType");
        ++types[type];
    }
    std::vector<std::string> texts;
    for (const auto& [type, number] : types) texts.push_back(std::to_string(number) + " x " + std::to_string(type));
    return joined(texts, ", ");
}

}  // namespace

CUstream use_own_stream(const Cublas& cublas) {
    CUstream stream = nullptr;
    CHECKED(cublas.device.driver, cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
    CHECKED(cublas.library, cublasSetStream_v2, cublas.handle, stream);
    return stream;
}

CUgraph capture_graph(const Device& device, CUstream stream, const std::function<void()>& multiply) {
    CUgraph graph = nullptr;
    CHECKED(device.driver, cuStreamBeginCapture_v2, stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    multiply();
    CHECKED(device.driver, cuStreamEndCapture, stream, &graph);
    return graph;
}

void replay_graph_twice(const Device& device, CUgraph graph, CUstream stream) {
    CUgraphExec executable = nullptr;
    CHECKED(device.driver, cuGraphInstantiateWithFlags, &executable, graph, 0);
    for (int i = 0; i < 2; ++i) CHECKED(device.driver, cuGraphLaunch, executable, stream);
    device.synchronise();
}

/// Sends the nodes, format and bits of captured products, in TF32 that the program requests (variant `native`) or
/// that the shim sets (variant `high`).
void measure_captured_products(Worker& worker) {
    const bool asks = worker.variant == "native";
    const Device& device = worker.device();
    const Cublas& cublas = worker.cublas();
    Float32Problem problem(device, worker.sizes.back());
    const CUstream stream = use_own_stream(cublas);
    cublas.set_math_mode(asks ? CUBLAS_TF32_TENSOR_OP_MATH : CUBLAS_DEFAULT_MATH);
    CallArguments call = problem.call_arguments();
    if (asks) call.type = CUBLAS_COMPUTE_32F_FAST_TF32;
    using Product = std::array<const char*, 3>;
    for (const auto& [title, name, function] :
         {Product{"cublasSgemm", "graph_sgemm", "sgemm"}, {"cublasGemmEx", "graph_ex", "gemm_ex"}})
        worker.measure_row(title, name, [&] {
            const auto multiply = [&] {
                throw_on_error(function_named(function)(cublas, call).value(), "the product");
            };
            problem.prepare_output(ProductKind::gemm);
            multiply();
            const std::string outside = problem.hash_of_result();
            problem.prepare_output(ProductKind::gemm);
            const CUgraph graph = capture_graph(device, stream, multiply);
            const std::string types = types_of(device, graph);
            replay_graph_twice(device, graph, stream);
            const std::string format = problem.judge_result(ProductKind::gemm).format;
            const std::string bits = problem.hash_of_result();
            worker.report_finding("", types + "; " + format + " " + bits);
            worker.report_finding("_format", format);
            worker.report_finding("_bits", bits == outside ? "as outside a graph" : "others than outside a graph");
        });
}

}  // namespace gpu
