// Stand-in of libcuda.so.1: launches of kernels, and nodes of graphs that launch them. The kernels do nothing.

#include <algorithm>

#include "driver/driver.hpp"
#include "driver/modules.hpp"

namespace stand_in {
namespace {

struct Extents {
    unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
};

CUresult launch(CUfunction function, CUstream stream, Extents extents) {
    const CUresult result = require_stream(&stream);
    if (result != CUDA_SUCCESS) return result;
    LaunchCounts* const launches = counts_of(function);
    if (launches == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    const auto [grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes] = extents;
    if (std::min({grid_x, grid_y, grid_z, block_x, block_y, block_z}) == 0) return CUDA_ERROR_INVALID_VALUE;
    return driver().scheduler.launch_named(stream, launches,
                                           {function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes,
                                            nullptr, nullptr, nullptr, nullptr});
}

CUresult launch(const CUlaunchConfig* config, CUfunction function) {
    if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return launch(function, config->hStream,
                  {config->gridDimX, config->gridDimY, config->gridDimZ, config->blockDimX, config->blockDimY,
                   config->blockDimZ, config->sharedMemBytes});
}

// Returns the counts of a node's kernel, which is a function, or a kernel of a library.
LaunchCounts* node_counts(const CUDA_KERNEL_NODE_PARAMS& parameters) {
    return counts_of(parameters.func != nullptr ? parameters.func : reinterpret_cast<CUfunction>(parameters.kern));
}

CUresult add_node(CUgraphNode* node, CUgraph graph, const CUDA_KERNEL_NODE_PARAMS* parameters) {
    if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
    LaunchCounts* const launches = node_counts(*parameters);
    return launches == nullptr ? CUDA_ERROR_INVALID_HANDLE
                               : driver().scheduler.add_node(graph, launches, *parameters, node);
}

// Adds a node that is described by its type and the parameters for it. Only nodes for kernels are supported.
CUresult add_node(CUgraphNode* node, CUgraph graph, const CUgraphNodeParams* parameters) {
    if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (parameters->type != CU_GRAPH_NODE_TYPE_KERNEL) return CUDA_ERROR_NOT_SUPPORTED;
    const CUDA_KERNEL_NODE_PARAMS_v3& kernel = parameters->kernel;
    const CUDA_KERNEL_NODE_PARAMS same = {kernel.func,      kernel.gridDimX,       kernel.gridDimY,
                                          kernel.gridDimZ,  kernel.blockDimX,      kernel.blockDimY,
                                          kernel.blockDimZ, kernel.sharedMemBytes, kernel.kernelParams,
                                          kernel.extra,     kernel.kern,           kernel.ctx};
    return add_node(node, graph, &same);
}

}  // namespace
}  // namespace stand_in

#define LAUNCH_PARAMETERS                                                                                     \
    CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z, unsigned int block_x, \
        unsigned int block_y, unsigned int block_z, unsigned int shared_bytes, CUstream stream, void **
#define LAUNCH stand_in::launch(function, stream, {grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes})

#pragma GCC visibility push(default)
extern "C" {

CUresult CUDAAPI cuLaunchKernel(LAUNCH_PARAMETERS, void**) { return LAUNCH; }

CUresult CUDAAPI cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void**, void**) {
    return stand_in::launch(config, function);
}

CUresult CUDAAPI cuLaunchCooperativeKernel(LAUNCH_PARAMETERS) { return LAUNCH; }

// The forms for programs whose default stream is the thread's own. In the stand-in it is the legacy one.
CUresult CUDAAPI cuLaunchKernel_ptsz(LAUNCH_PARAMETERS, void**) { return LAUNCH; }

CUresult CUDAAPI cuLaunchKernelEx_ptsz(const CUlaunchConfig* config, CUfunction function, void**, void**) {
    return stand_in::launch(config, function);
}

CUresult CUDAAPI cuLaunchCooperativeKernel_ptsz(LAUNCH_PARAMETERS) { return LAUNCH; }

// ---- graphs

CUresult CUDAAPI cuGraphCreate(CUgraph* graph, unsigned int) {
    return stand_in::driver().scheduler.create_graph(graph);
}

CUresult CUDAAPI cuGraphClone(CUgraph* copy, CUgraph original) {
    return stand_in::driver().scheduler.clone(original, copy);
}

CUresult CUDAAPI cuGraphAddKernelNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode*, std::size_t,
                                         const CUDA_KERNEL_NODE_PARAMS* parameters) {
    return stand_in::add_node(node, graph, parameters);
}

CUresult CUDAAPI cuGraphAddNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode*, const CUgraphEdgeData*,
                                   std::size_t, CUgraphNodeParams* parameters) {
    return stand_in::add_node(node, graph, parameters);
}

// cuda.h renames the old function, which has no data of edges, to the new one.
#undef cuGraphAddNode
CUresult CUDAAPI cuGraphAddNode(CUgraphNode* node, CUgraph graph, const CUgraphNode*, std::size_t,
                                CUgraphNodeParams* parameters) {
    return stand_in::add_node(node, graph, parameters);
}

CUresult CUDAAPI cuGraphAddChildGraphNode(CUgraphNode* node, CUgraph graph, const CUgraphNode*, std::size_t,
                                          CUgraph child) {
    return stand_in::driver().scheduler.add_child(graph, child, node);
}

CUresult CUDAAPI cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph* child) {
    return stand_in::driver().scheduler.child_of(node, child);
}

CUresult CUDAAPI cuGraphGetNodes(CUgraph graph, CUgraphNode* nodes, std::size_t* count) {
    return stand_in::driver().scheduler.nodes(graph, nodes, count);
}

CUresult CUDAAPI cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType* type) {
    return stand_in::driver().scheduler.node_type(node, type);
}

CUresult CUDAAPI cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* parameters) {
    return stand_in::driver().scheduler.get_parameters(node, parameters);
}

CUresult CUDAAPI cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* parameters) {
    if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
    auto* const launches = stand_in::node_counts(*parameters);
    return launches == nullptr ? CUDA_ERROR_INVALID_HANDLE
                               : stand_in::driver().scheduler.set_parameters(node, launches, *parameters);
}

CUresult CUDAAPI cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                                   const CUDA_KERNEL_NODE_PARAMS* parameters) {
    if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
    auto* const launches = stand_in::node_counts(*parameters);
    return launches == nullptr ? CUDA_ERROR_INVALID_HANDLE
                               : stand_in::driver().scheduler.set_kernel(exec, node, launches);
}

CUresult CUDAAPI cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo* info) {
    const CUresult result = stand_in::driver().scheduler.update(exec, graph);
    if (info != nullptr)
        *info = {result == CUDA_SUCCESS ? CU_GRAPH_EXEC_UPDATE_SUCCESS : CU_GRAPH_EXEC_UPDATE_ERROR, nullptr,
                 nullptr};
    return result;
}

CUresult CUDAAPI cuGraphInstantiateWithParams(CUgraphExec* exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS*) {
    return stand_in::driver().scheduler.instantiate(graph, exec);
}

CUresult CUDAAPI cuGraphInstantiateWithParams_ptsz(CUgraphExec* exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS*) {
    return stand_in::driver().scheduler.instantiate(graph, exec);
}

}  // extern "C"
#pragma GCC visibility pop
