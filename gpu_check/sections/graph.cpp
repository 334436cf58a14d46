// Products captured into a graph must have the same nodes and bits, no matter if the program asks for TF32 or the
// shim.
#include <functional>
#include <map>

#include "gpu_check/products/families.hpp"
#include "gpu_check/products/gemm_ex.hpp"
#include "gpu_check/sections/section.hpp"

namespace gpu {

namespace {

/// Returns a text such as "2 x 0, 1 x 2": the number of nodes of each CUgraphNodeType. Type 0 is a kernel, 1 a copy,
/// 2 a fill.
std::string types_of(const Device& device, CUgraph graph, std::size_t& count) {
    const auto get_nodes = device.driver.find<decltype(cuGraphGetNodes)>("cuGraphGetNodes");
    const auto get_type = device.driver.find<decltype(cuGraphNodeGetType)>("cuGraphNodeGetType");
    if (!get_nodes || !get_type) return "absent";
    check(get_nodes(graph, nullptr, &count), "cuGraphGetNodes");
    std::vector<CUgraphNode> nodes(count);
    check(get_nodes(graph, nodes.data(), &count), "cuGraphGetNodes");
    std::map<int, int> types;
    for (const CUgraphNode node : nodes) {
        CUgraphNodeType type{};
        check(get_type(node, &type), "cuGraphNodeGetType");
        ++types[type];
    }
    std::string result;
    for (const auto& [type, number] : types) {
        result += (result.empty() ? "" : ", ") + std::to_string(number) + " x " + std::to_string(type);
    }
    return result;
}

/// Captures the calls that `multiply` makes.
CUgraph capture(const Device& device, CUstream stream, const std::function<void()>& multiply) {
    CUgraph graph = nullptr;
    check(device.driver.get<decltype(cuStreamBeginCapture_v2)>("cuStreamBeginCapture_v2")(
              stream, CU_STREAM_CAPTURE_MODE_GLOBAL),
          "cuStreamBeginCapture");
    multiply();
    check(device.driver.get<decltype(cuStreamEndCapture)>("cuStreamEndCapture")(stream, &graph),
          "cuStreamEndCapture");
    return graph;
}

void replay(const Device& device, CUgraph graph, CUstream stream) {
    using Instantiate = CUresult(CUgraphExec*, CUgraph, unsigned long long);
    CUgraphExec exec = nullptr;
    check(device.driver.get<Instantiate>("cuGraphInstantiateWithFlags")(&exec, graph, 0), "cuGraphInstantiate");
    auto& launch = device.driver.get<decltype(cuGraphLaunch)>("cuGraphLaunch");
    for (int i = 0; i < 2; ++i) check(launch(exec, stream), "cuGraphLaunch");
    device.synchronise();
}

}  // namespace

void ask_graph(Worker& worker) {
    // Without the shim the program asks for TF32 itself.
    const bool asks = worker.variant == "native";
    const Device& device = worker.device();
    const Cublas& cublas = worker.cublas();
    Problem problem(device, worker.sizes.back(), false);
    CUstream stream = nullptr;
    check(device.driver.get<decltype(cuStreamCreate)>("cuStreamCreate")(&stream, CU_STREAM_NON_BLOCKING),
          "cuStreamCreate");
    check(cublas.library.get<decltype(cublasSetStream_v2)>("cublasSetStream_v2")(cublas.handle, stream),
          "cublasSetStream");
    cublas.set_math_mode(asks ? CUBLAS_TF32_TENSOR_OP_MATH : CUBLAS_DEFAULT_MATH);
    const auto multiply = [&](bool ex) {
        const auto status = ex ? gemm_ex(cublas, problem, ExFunction::single,
                                         asks ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F)
                               : families().front().call(cublas, problem);
        check(status.value(), "the product");
    };
    for (const bool ex : {false, true}) {
        worker.row({ex ? "cublasGemmEx" : "cublasSgemm"}, [&]() -> std::vector<std::string> {
            problem.prepare(Shape::gemm);
            multiply(ex);
            const std::string outside = problem.hash_of_result();
            problem.prepare(Shape::gemm);
            device.synchronise();
            CUgraph graph = capture(device, stream, [&] { multiply(ex); });
            std::size_t count = 0;
            const std::string types = types_of(device, graph, count);
            replay(device, graph, stream);
            const std::string format = problem.judge(Shape::gemm).format;
            const std::string bits = problem.hash_of_result();
            const std::string name = ex ? "graph_ex" : "graph_sgemm";
            worker.found(name, types + "; " + format + " " + bits);
            worker.found(name + "_format", format);
            worker.found(name + "_bits", bits == outside ? "as outside a graph" : "others than outside a graph");
            return {std::to_string(count), types, format + " " + bits};
        });
    }
}

}  // namespace gpu
