// Tests that the stand-in of the driver loads modules, finds their kernels, and launches and counts them.

#include <elf.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "driver/image.hpp"
#include "stand_in_fixture.hpp"

namespace {

constexpr char ptx[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n"
    ".visible .entry first()\n{ ret; }\n.entry second_1(.param .u64 a) { ret; }\n";

class Kernels : public StandIn {
  protected:
    CUmodule load(const char* image = ptx) {
        CUmodule module = nullptr;
        EXPECT_EQ(cuModuleLoadData(&module, image), CUDA_SUCCESS);
        return module;
    }
    CUfunction get(CUmodule module, const char* name) {
        CUfunction function = nullptr;
        EXPECT_EQ(cuModuleGetFunction(&function, module, name), CUDA_SUCCESS);
        return function;
    }
    static CUresult launch(CUfunction function, CUstream stream = nullptr) {
        return cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr);
    }
    static CUresult launch(CUkernel kernel) { return launch(reinterpret_cast<CUfunction>(kernel)); }

    // Runs `action` in a child, and returns what the child wrote to the file of counts.
    template <class Action>
    std::string counted(Action action) {
        char path[] = "/tmp/fp32shim-test-launches-XXXXXX";
        close(mkstemp(path));
        const pid_t child = fork();
        if (child == 0) {
            set("STAND_IN_LAUNCHES", path);
            start();
            action();
            std::exit(HasFailure() ? 1 : 0);
        }
        int status = -1;
        waitpid(child, &status, 0);
        EXPECT_EQ(status, 0);
        std::ifstream file(path);
        unlink(path);
        return std::string(std::istreambuf_iterator<char>(file), {});
    }
};

// A cubin with an empty section for each of these names.
std::string cubin_with(const std::vector<std::string>& names) {
    std::string strings(1, '\0');
    std::vector<Elf64_Shdr> sections(1);
    for (const std::string& name : names) {
        sections.emplace_back().sh_name = static_cast<Elf64_Word>(strings.size());
        strings += name + '\0';
    }
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_shoff = sizeof header;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = static_cast<Elf64_Half>(sections.size());
    sections[0].sh_offset = sizeof header + sections.size() * sizeof(Elf64_Shdr);
    return std::string(reinterpret_cast<const char*>(&header), sizeof header) +
           std::string(reinterpret_cast<const char*>(sections.data()), sections.size() * sizeof(Elf64_Shdr)) +
           strings;
}

// A part of a fatbin: the kind (1: PTX, 2: cubin) and the flags (0x2000: compressed) as fatbinary writes them.
std::string part_of(std::uint16_t kind, std::uint64_t flags, std::string content) {
    std::string header(64, '\0');
    const std::uint32_t header_size = 64;
    const std::uint64_t size = content.size();
    std::memcpy(&header[0], &kind, sizeof kind);
    std::memcpy(&header[4], &header_size, sizeof header_size);
    std::memcpy(&header[8], &size, sizeof size);
    std::memcpy(&header[40], &flags, sizeof flags);
    return header + content;
}

std::string fatbin_with(const std::string& parts) {
    std::string header(16, '\0');
    const std::uint32_t words[] = {0xba55ed50, 16U << 16 | 1U};
    const std::uint64_t size = parts.size();
    std::memcpy(&header[0], words, sizeof words);
    std::memcpy(&header[8], &size, sizeof size);
    return header + parts;
}

using Names = std::vector<std::string>;

TEST(StandInImage, names_are_read_from_ptx_cubins_and_fatbins) {
    EXPECT_EQ(stand_in::read_image(ptx)->kernels, (Names{"first", "second_1"}));
    const std::string cubin = cubin_with({".shstrtab", ".text.one", ".nv.info.one", ".text._Z3twov"});
    EXPECT_EQ(stand_in::read_image(cubin.data())->kernels, (Names{"one", "_Z3twov"}));
    const std::string fatbin = fatbin_with(part_of(2, 0, cubin) + part_of(1, 0, ptx));
    EXPECT_EQ(stand_in::read_image(fatbin.data())->kernels, (Names{"one", "_Z3twov", "first", "second_1"}));
    EXPECT_TRUE(stand_in::read_image(fatbin.data())->names_all);
    struct {
        std::uint32_t magic = 0x466243b1, version = 1;
        const void* data;
        const void* const* linked = nullptr;
    } const wrapper{.data = fatbin.data()};
    EXPECT_EQ(stand_in::read_image(&wrapper)->kernels.size(), 4u);
    EXPECT_FALSE(stand_in::read_image(fatbin_with(part_of(2, 0x2000, "??")).data())->names_all);
}

TEST_F(Kernels, bytes_that_are_no_image_are_refused) {
    start();
    CUmodule module = nullptr;
    CUlibrary library = nullptr;
    for (const char* bytes : {"", "hello",
                              "\x7f"
                              "ELG",
                              "\x50\xed\x55\xbb", "\xb1\x43\x62\x47"}) {
        char image[64] = {};
        std::memcpy(image, bytes, std::strlen(bytes));
        EXPECT_EQ(cuModuleLoadData(&module, image), CUDA_ERROR_INVALID_IMAGE);
        EXPECT_EQ(cuLibraryLoadData(&library, image, nullptr, nullptr, 0, nullptr, nullptr, 0),
                  CUDA_ERROR_INVALID_IMAGE);
    }
    EXPECT_EQ(cuModuleLoad(&module, "/nowhere"), CUDA_ERROR_FILE_NOT_FOUND);
    EXPECT_EQ(cuModuleLoad(&module, "/dev/null"), CUDA_ERROR_INVALID_IMAGE);
}

TEST_F(Kernels, functions_are_found_by_name_and_enumerated) {
    start();
    CUmodule module = load();
    CUfunction function = get(module, "first");
    EXPECT_EQ(get(module, "first"), function);
    const char* name = nullptr;
    EXPECT_EQ(cuFuncGetName(&name, function), CUDA_SUCCESS);
    EXPECT_STREQ(name, "first");
    CUmodule of_function = nullptr;
    EXPECT_EQ(cuFuncGetModule(&of_function, function), CUDA_SUCCESS);
    EXPECT_EQ(of_function, module);
    EXPECT_EQ(cuModuleGetFunction(&function, module, "third"), CUDA_ERROR_NOT_FOUND);
    unsigned count = 0;
    EXPECT_EQ(cuModuleGetFunctionCount(&count, module), CUDA_SUCCESS);
    ASSERT_EQ(count, 2u);
    CUfunction functions[2] = {};
    EXPECT_EQ(cuModuleEnumerateFunctions(functions, 2, module), CUDA_SUCCESS);
    EXPECT_EQ(functions[0], get(module, "first"));
    EXPECT_EQ(functions[1], get(module, "second_1"));
}

TEST_F(Kernels, a_library_has_kernels_and_a_module_with_their_functions) {
    start();
    CUlibrary library = nullptr;
    ASSERT_EQ(cuLibraryLoadData(&library, ptx, nullptr, nullptr, 0, nullptr, nullptr, 0), CUDA_SUCCESS);
    CUkernel kernel = nullptr;
    ASSERT_EQ(cuLibraryGetKernel(&kernel, library, "first"), CUDA_SUCCESS);
    CUkernel kernels[2] = {};
    EXPECT_EQ(cuLibraryEnumerateKernels(kernels, 2, library), CUDA_SUCCESS);
    EXPECT_EQ(kernels[0], kernel);
    CUmodule module = nullptr;
    ASSERT_EQ(cuLibraryGetModule(&module, library), CUDA_SUCCESS);
    CUfunction function = nullptr;
    ASSERT_EQ(cuKernelGetFunction(&function, kernel), CUDA_SUCCESS);
    EXPECT_EQ(function, get(module, "first"));
    EXPECT_NE(static_cast<void*>(function), static_cast<void*>(kernel));
    const char* name = nullptr;
    EXPECT_EQ(cuKernelGetName(&name, kernel), CUDA_SUCCESS);
    EXPECT_STREQ(name, "first");
    EXPECT_EQ(cuFuncGetName(&name, reinterpret_cast<CUfunction>(kernel)), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(launch(kernel), CUDA_SUCCESS);
    EXPECT_EQ(launch(function), CUDA_SUCCESS);
    EXPECT_EQ(cuModuleUnload(module), CUDA_ERROR_NOT_PERMITTED);
    EXPECT_EQ(cuLibraryUnload(library), CUDA_SUCCESS);
    EXPECT_EQ(launch(kernel), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(launch(function), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(Kernels, after_an_unload_the_next_function_has_the_old_address) {
    start();
    CUmodule module = load();
    CUfunction old = get(module, "first");
    ASSERT_EQ(cuModuleUnload(module), CUDA_SUCCESS);
    EXPECT_EQ(cuModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(launch(old), CUDA_ERROR_INVALID_HANDLE);
    CUmodule next = load();
    EXPECT_EQ(next, module);
    EXPECT_EQ(get(next, "second_1"), old);
    EXPECT_EQ(launch(old), CUDA_SUCCESS);
    EXPECT_EQ(launch(static_cast<CUfunction>(nullptr)), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(Kernels, launches_and_replays_are_counted_by_name) {
    EXPECT_EQ(counted([this] {
                  CUmodule module = load();
                  CUfunction first = get(module, "first"), second = get(module, "second_1");
                  CUstream stream = nullptr;
                  cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
                  CUlaunchConfig config{1, 1, 1, 32, 1, 1, 0, stream, nullptr, 0};
                  EXPECT_EQ(launch(first), CUDA_SUCCESS);
                  EXPECT_EQ(cuLaunchKernelEx(&config, first, nullptr, nullptr), CUDA_SUCCESS);
                  EXPECT_EQ(cuLaunchCooperativeKernel(first, 1, 1, 1, 1, 1, 1, 0, stream, nullptr), CUDA_SUCCESS);
                  EXPECT_EQ(cuLaunchKernel(first, 0, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr),
                            CUDA_ERROR_INVALID_VALUE);
                  cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
                  EXPECT_EQ(launch(first, stream), CUDA_SUCCESS);
                  EXPECT_EQ(launch(second, stream), CUDA_SUCCESS);
                  CUgraph graph = nullptr;
                  cuStreamEndCapture(stream, &graph);
                  CUgraphExec exec = nullptr;
                  cuGraphInstantiate(&exec, graph, 0);
                  for (int i = 0; i < 5; ++i) EXPECT_EQ(cuGraphLaunch(exec, stream), CUDA_SUCCESS);
              }),
              "3 5 first\n0 5 second_1\n");
}

TEST_F(Kernels, nodes_of_graphs_launch_kernels_that_can_be_changed) {
    EXPECT_EQ(counted([this] {
                  CUmodule module = load();
                  CUDA_KERNEL_NODE_PARAMS first{}, second{}, found{};
                  first.func = get(module, "first");
                  second.func = get(module, "second_1");
                  CUgraph graph = nullptr, copy = nullptr;
                  CUgraphNode node = nullptr, any = nullptr;
                  CUgraphNodeParams parameters{};
                  parameters.type = CU_GRAPH_NODE_TYPE_KERNEL;
                  parameters.kernel.func = first.func;
                  ASSERT_EQ(cuGraphCreate(&graph, 0), CUDA_SUCCESS);
                  ASSERT_EQ(cuGraphAddKernelNode(&node, graph, nullptr, 0, &first), CUDA_SUCCESS);
                  ASSERT_EQ(cuGraphAddNode(&any, graph, nullptr, nullptr, 0, &parameters), CUDA_SUCCESS);
                  std::size_t count = 3;
                  CUgraphNode nodes[3] = {};
                  ASSERT_EQ(cuGraphGetNodes(graph, nodes, &count), CUDA_SUCCESS);
                  EXPECT_EQ(count, 2u);
                  EXPECT_EQ(nodes[1], any);
                  ASSERT_EQ(cuGraphKernelNodeSetParams(any, &second), CUDA_SUCCESS);
                  ASSERT_EQ(cuGraphKernelNodeGetParams(any, &found), CUDA_SUCCESS);
                  EXPECT_EQ(found.func, second.func);
                  ASSERT_EQ(cuGraphClone(&copy, graph), CUDA_SUCCESS);
                  CUgraphExec exec = nullptr, exec_of_copy = nullptr;
                  ASSERT_EQ(cuGraphInstantiate(&exec, graph, 0), CUDA_SUCCESS);
                  ASSERT_EQ(cuGraphInstantiate(&exec_of_copy, copy, 0), CUDA_SUCCESS);
                  ASSERT_EQ(cuGraphDestroy(copy), CUDA_SUCCESS);
                  EXPECT_EQ(cuGraphLaunch(exec_of_copy, nullptr), CUDA_SUCCESS);
                  ASSERT_EQ(cuGraphExecKernelNodeSetParams(exec, node, &second), CUDA_SUCCESS);
                  EXPECT_EQ(cuGraphExecKernelNodeSetParams(exec_of_copy, node, &second), CUDA_ERROR_INVALID_VALUE);
                  for (int i = 0; i < 10; ++i) EXPECT_EQ(cuGraphLaunch(exec, nullptr), CUDA_SUCCESS);
              }),
              "0 1 first\n0 21 second_1\n");
}

TEST_F(Kernels, child_graphs_and_updates_launch_their_kernels) {
    EXPECT_EQ(counted([this] {
                  CUmodule module = load();
                  CUDA_KERNEL_NODE_PARAMS first{}, second{};
                  first.func = get(module, "first");
                  second.func = get(module, "second_1");
                  CUgraph inner = nullptr, outer = nullptr, other = nullptr, child = nullptr;
                  CUgraphNode node = nullptr;
                  cuGraphCreate(&inner, 0);
                  cuGraphCreate(&outer, 0);
                  cuGraphCreate(&other, 0);
                  ASSERT_EQ(cuGraphAddKernelNode(&node, inner, nullptr, 0, &first), CUDA_SUCCESS);
                  ASSERT_EQ(cuGraphAddKernelNode(&node, other, nullptr, 0, &second), CUDA_SUCCESS);
                  ASSERT_EQ(cuGraphAddChildGraphNode(&node, outer, nullptr, 0, inner), CUDA_SUCCESS);
                  ASSERT_EQ(cuGraphDestroy(inner), CUDA_SUCCESS);
                  CUgraphNodeType type{};
                  EXPECT_EQ(cuGraphNodeGetType(node, &type), CUDA_SUCCESS);
                  EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_GRAPH);
                  ASSERT_EQ(cuGraphChildGraphNodeGetGraph(node, &child), CUDA_SUCCESS);
                  std::size_t count = 1;
                  ASSERT_EQ(cuGraphGetNodes(child, &node, &count), CUDA_SUCCESS);
                  EXPECT_EQ(cuGraphNodeGetType(node, &type), CUDA_SUCCESS);
                  EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_KERNEL);
                  CUgraphExec exec = nullptr;
                  CUDA_GRAPH_INSTANTIATE_PARAMS parameters{};
                  ASSERT_EQ(cuGraphInstantiateWithParams(&exec, outer, &parameters), CUDA_SUCCESS);
                  EXPECT_EQ(cuGraphLaunch(exec, nullptr), CUDA_SUCCESS);
                  CUgraphExecUpdateResultInfo info{};
                  EXPECT_EQ(cuGraphExecUpdate(exec, other, &info), CUDA_SUCCESS);
                  for (int i = 0; i < 3; ++i) EXPECT_EQ(cuGraphLaunch(exec, nullptr), CUDA_SUCCESS);
                  ASSERT_EQ(cuGraphAddKernelNode(&node, other, nullptr, 0, &second), CUDA_SUCCESS);
                  EXPECT_EQ(cuGraphExecUpdate(exec, other, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
                  EXPECT_EQ(cuGraphDestroy(outer), CUDA_SUCCESS);
              }),
              "0 1 first\n0 3 second_1\n");
}

TEST_F(Kernels, a_captured_product_is_work_on_the_host_beside_the_kernel_that_it_launches) {
    set("STAND_IN_CUBLAS_KERNEL", "some_sgemm");
    start();
    CUstream stream = nullptr;
    ASSERT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    cublasSetStream(handle, reinterpret_cast<cudaStream_t>(stream));
    float* a = upload<float>({2});
    ASSERT_EQ(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
    cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, a, 1, a, 1, &zero, a, 1);
    CUgraph graph = nullptr;
    ASSERT_EQ(cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
    CUgraphNode nodes[2] = {};
    std::size_t count = 2;
    ASSERT_EQ(cuGraphGetNodes(graph, nodes, &count), CUDA_SUCCESS);
    ASSERT_EQ(count, 2u);
    const CUgraphNodeType expected[] = {CU_GRAPH_NODE_TYPE_KERNEL, CU_GRAPH_NODE_TYPE_HOST};
    for (std::size_t i = 0; i < 2; ++i) {
        CUgraphNodeType type{};
        EXPECT_EQ(cuGraphNodeGetType(nodes[i], &type), CUDA_SUCCESS);
        EXPECT_EQ(type, expected[i]);
    }
    CUDA_KERNEL_NODE_PARAMS parameters{};
    EXPECT_EQ(cuGraphKernelNodeGetParams(nodes[0], &parameters), CUDA_SUCCESS);
    EXPECT_NE(parameters.func, nullptr);
    EXPECT_EQ(cuGraphKernelNodeGetParams(nodes[1], &parameters), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Kernels, a_name_is_looked_up_by_version_and_default_stream) {
    const auto found = [](const char* name, int version, cuuint64_t flags, CUdriverProcAddressQueryResult expected) {
        void* address = nullptr;
        CUdriverProcAddressQueryResult status{};
        EXPECT_EQ(cuGetProcAddress(name, &address, version, flags, &status), CUDA_SUCCESS);
        EXPECT_EQ(status, expected);
        return address;
    };
    const auto address_of = [](auto* function) { return reinterpret_cast<void*>(function); };
    constexpr auto success = CU_GET_PROC_ADDRESS_SUCCESS;
    EXPECT_EQ(found("cuLaunchKernel", 13000, 0, success), address_of(&cuLaunchKernel));
    EXPECT_EQ(found("cuMemAlloc", 13000, 0, success), address_of(&cuMemAlloc));
    EXPECT_EQ(found("cuGetProcAddress", 13000, 0, success), address_of(&cuGetProcAddress));
    EXPECT_NE(found("cuGetProcAddress", 11030, 0, success), address_of(&cuGetProcAddress));
    EXPECT_NE(found("cuGraphAddNode", 12020, 0, success), address_of(&cuGraphAddNode));
    EXPECT_EQ(found("cuGraphAddKernelNode", 11080, 0, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT), nullptr);
    EXPECT_EQ(found("cuNothing", 13000, 0, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND), nullptr);
    constexpr auto per_thread = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    EXPECT_NE(found("cuLaunchKernel", 13000, per_thread, success), address_of(&cuLaunchKernel));
    EXPECT_EQ(found("cuModuleLoadData", 13000, per_thread, success), address_of(&cuModuleLoadData));
}

TEST_F(Kernels, the_stand_in_has_no_tables_of_functions) {
    const void* table = nullptr;
    const CUuuid id{};
    EXPECT_NE(cuGetExportTable(&table, &id), CUDA_SUCCESS);
    EXPECT_EQ(table, nullptr);
}

TEST_F(Kernels, a_product_launches_the_kernel_that_the_environment_names) {
    EXPECT_EQ(counted([this] {
                  set("STAND_IN_CUBLAS_KERNEL", "some_sgemm");
                  through_sgemm(1);
                  through_gemm_ex(1, CUBLAS_COMPUTE_32F);
              }),
              "2 0 some_sgemm\n");
}

}  // namespace
