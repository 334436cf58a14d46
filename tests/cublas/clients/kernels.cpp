// Loads modules, looks up functions and launches kernels through the driver, in ways that the command line chooses.
// Each argument is a step. Prints one line at the end: the launches that succeeded.
//
//   kernels [--by WAY] [--ptsz] [--threads N] STEP...
//
// WAY: how the program comes by the driver's functions
//   linked   the loader binds them (not in kernels_dlopen)
//   dlsym    dlsym of each name
//   proc     cuGetProcAddress_v2, as libcudart does since CUDA 12; proc_v1: cuGetProcAddress, as it did before
//   asked    the cuGetProcAddress that cuGetProcAddress_v2 answers
// --ptsz: the forms for programs whose default stream is the thread's own
// --threads N: N threads do each launch, launchex, cooperative and replay at the same time
//
// Images are read to memory that is overwritten and freed after the load:
//   load:FILE load_ex:FILE fatbin:FILE     cuModuleLoadData, cuModuleLoadDataEx, cuModuleLoadFatBinary by a wrapper
//   library:FILE library_fatbin:FILE       cuLibraryLoadData, also by a wrapper
// Other loads:
//   file:FILE library_file:FILE            the driver reads the file
//   static static_library                  text of PTX in the program's data, with the kernel `static_kernel`
// Look-ups set the functions that later steps launch:
//   get:NAME                               in the module
//   kernel:NAME                            in the library; the kernel is cast to a function
//   function                               the functions of these kernels
//   module                                 takes the library's module as the module
//   enumerate enumerate_kernels            all of the module or library
// Launches of each of these functions:
//   launch:N launchex:N cooperative:N      N launches
//   refused                                one launch, which must fail: the handle is not valid
//   capture:N                              makes a graph of N launches
//   node:N any_node:N                      adds N nodes to the graph: cuGraphAddKernelNode_v2, cuGraphAddNode_v2
//   set_node set_exec                      makes the first node launch the first function, in the graph or in its
//                                          executable
//   update                                 the same in a copy of the graph, which then updates the executable
//   clone child                            replaces the graph by a copy, or by a graph with the copy as its child
//   capture_replay:N                       replaces the graph by N captured launches of it
//   instantiate_with_params                makes the executable by this function
//   replay:N                               launches the graph N times
//   drop_graph
// By libunseen_driver.so beside the program, so that a preloaded library does not see it:
//   unseen_load:FILE unseen_get:NAME unseen_launch:N
// By libunseen_lookup.so, which looks the driver's function up by dlsym: unseen_lookup_launch:N
// By libdriver_variables.so, which has a variable with the function's name: variable_launch:N
// Other steps: gemm:N (cublasSgemm), capture_gemm:N, sync, unload, fork (a child does the rest, the parent waits)
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "simple_product.hpp"

// Functions of the driver, by the names that it exports.
#define KERNELS_FUNCTIONS(F)             \
    F(cuModuleLoad)                      \
    F(cuModuleLoadData)                  \
    F(cuModuleLoadDataEx)                \
    F(cuModuleLoadFatBinary)             \
    F(cuModuleUnload)                    \
    F(cuModuleGetFunction)               \
    F(cuModuleGetFunctionCount)          \
    F(cuModuleEnumerateFunctions)        \
    F(cuLibraryLoadData)                 \
    F(cuLibraryLoadFromFile)             \
    F(cuLibraryUnload)                   \
    F(cuLibraryGetKernel)                \
    F(cuLibraryGetModule)                \
    F(cuLibraryGetKernelCount)           \
    F(cuLibraryEnumerateKernels)         \
    F(cuKernelGetFunction)               \
    F(cuStreamBeginCapture_v2)           \
    F(cuStreamEndCapture)                \
    F(cuGraphCreate)                     \
    F(cuGraphClone)                      \
    F(cuGraphGetNodes)                   \
    F(cuGraphAddKernelNode_v2)           \
    F(cuGraphAddNode_v2)                 \
    F(cuGraphKernelNodeSetParams_v2)     \
    F(cuGraphExecKernelNodeSetParams_v2) \
    F(cuGraphInstantiateWithFlags)       \
    F(cuGraphAddChildGraphNode)          \
    F(cuGraphExecUpdate_v2)              \
    F(cuGraphExecDestroy)                \
    F(cuGraphDestroy)
// Functions that also have a form for programs whose default stream is the thread's own.
#define KERNELS_LAUNCHES(F)         \
    F(cuLaunchKernel)               \
    F(cuLaunchKernelEx)             \
    F(cuLaunchCooperativeKernel)    \
    F(cuGraphInstantiateWithParams) \
    F(cuGraphLaunch)

// These are null in a program that is not linked with the driver.
#define WEAK(name) extern "C" decltype(::name) name __attribute__((weak));
KERNELS_FUNCTIONS(WEAK)
KERNELS_LAUNCHES(WEAK)
#undef WEAK
#define WEAK(name) extern "C" decltype(::name) name##_ptsz __attribute__((weak));
KERNELS_LAUNCHES(WEAK)
#undef WEAK

namespace clients {
namespace {

enum class Way { linked, dlsym, proc, proc_v1, asked };

[[noreturn]] void fail(const std::string& message) {
    std::fprintf(stderr, "kernels: %s\n", message.c_str());
    std::exit(2);
}

struct Driver {
#define MEMBER(name) decltype(&::name) name = nullptr;
    KERNELS_FUNCTIONS(MEMBER)
    KERNELS_LAUNCHES(MEMBER)
#undef MEMBER

    Driver(Way way, bool ptsz) {
        if (way == Way::linked) {
#define BIND(name) name = &::name;
            KERNELS_FUNCTIONS(BIND)
#undef BIND
#define BIND(name) name = ptsz ? &::name##_ptsz : &::name;
            KERNELS_LAUNCHES(BIND)
#undef BIND
            if (cuLaunchKernel == nullptr) fail("this program is not linked with the driver");
            return;
        }
        void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) fail(dlerror());
        const auto find = [&](const std::string& name) {
            void* const found = way == Way::dlsym ? dlsym(library, name.c_str()) : ask(library, way, name, ptsz);
            if (found == nullptr) fail("the driver has no " + name);
            return found;
        };
#define FIND(name) name = reinterpret_cast<decltype(name)>(find(#name));
        KERNELS_FUNCTIONS(FIND)
#undef FIND
#define FIND(name) name = reinterpret_cast<decltype(name)>(find(ptsz && way == Way::dlsym ? #name "_ptsz" : #name));
        KERNELS_LAUNCHES(FIND)
#undef FIND
    }

  private:
    static void* ask(void* library, Way way, std::string name, bool ptsz) {
        if (name.ends_with("_v2")) name.resize(name.size() - 3);
        void* found = nullptr;
        const cuuint64_t flags =
            ptsz ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM : CU_GET_PROC_ADDRESS_LEGACY_STREAM;
        if (way == Way::proc_v1) {
            using Old = CUresult (*)(const char*, void**, int, cuuint64_t);
            const auto look_up = reinterpret_cast<Old>(dlsym(library, "cuGetProcAddress"));
            require(look_up(name.c_str(), &found, CUDA_VERSION, flags), name.c_str());
            return found;
        }
        auto look_up = reinterpret_cast<decltype(&cuGetProcAddress_v2)>(dlsym(library, "cuGetProcAddress_v2"));
        CUdriverProcAddressQueryResult status{};
        if (way == Way::asked) {
            require(look_up("cuGetProcAddress", &found, CUDA_VERSION, flags, &status), "cuGetProcAddress");
            look_up = reinterpret_cast<decltype(look_up)>(found);
        }
        require(look_up(name.c_str(), &found, CUDA_VERSION, flags, &status), name.c_str());
        return found;
    }
};

// Opens a library beside the program; with RTLD_DEEPBIND, so that its calls bypass preloaded libraries.
void* open_beside(const char* file, int flags) {
    std::string path(4096, '\0');
    const ssize_t length = readlink("/proc/self/exe", path.data(), path.size());
    path.resize(static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
    path = path.substr(0, path.rfind('/') + 1) + file;
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | flags);
    if (library == nullptr) fail(dlerror());
    return library;
}

// libraries/unseen_driver.c
class Unseen {
  public:
    CUresult (*load)(CUmodule*, const void*) = find<decltype(load)>("unseen_load");
    CUresult (*get)(CUfunction*, CUmodule, const char*) = find<decltype(get)>("unseen_get");
    CUresult (*launch)(CUfunction) = find<decltype(launch)>("unseen_launch");

  private:
    template <class Function>
    static Function find(const char* name) {
        static void* const library = open_beside("libunseen_driver.so", RTLD_DEEPBIND);
        return reinterpret_cast<Function>(dlsym(library, name));
    }
};

// The wrapper of a fatbin that nvcc writes, as declared in fatbinary_section.h of the CUDA toolkit.
struct FatbinWrapper {
    std::uint32_t magic = 0x466243b1;
    std::uint32_t version = 1;
    const void* data;
    const void* unused = nullptr;
};

constexpr char static_image[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry static_kernel() { ret; }\n";

// The bytes of a file, and then zero bytes, which end the text of PTX. They are overwritten when they are freed.
class Image {
  public:
    explicit Image(const std::string& path) {
        std::ifstream file(path, std::ios::binary);
        if (!file) fail("cannot read " + path);
        bytes_.assign(std::istreambuf_iterator<char>(file), {});
        bytes_.resize(bytes_.size() + 64);
    }
    ~Image() { explicit_bzero(bytes_.data(), bytes_.size()); }
    Image(const Image&) = delete;
    Image& operator=(const Image&) = delete;
    const void* data() const { return bytes_.data(); }

  private:
    std::vector<char> bytes_;
};

class Program {
  public:
    Program(Way way, bool ptsz, int threads) : driver_(way, ptsz), threads_(threads) {
        require(api().cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    }

    void step(const std::string& name, const std::string& value) {
        const int count = count_of(value);
        if (load(name, value) || look_up(name, value) || unseen(name, value)) return;
        if (name == "launch" || name == "launchex" || name == "cooperative") {
            in_threads([&] { launch(name, count, nullptr); });
            launched_ += static_cast<long>(count) * threads_ * static_cast<long>(functions_.size());
        } else if (name == "refused") {
            for (CUfunction function : functions_)
                if (driver_.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr) !=
                    CUDA_ERROR_INVALID_HANDLE)
                    fail("a launch of a handle that is not valid was not refused");
        } else if (name == "capture") {
            capture([&] { launch("launch", count, stream_); });
        } else if (name == "capture_gemm") {
            capture([&] { multiply(count, stream_); });
        } else if (name == "node" || name == "any_node") {
            add_nodes(name == "any_node", count);
        } else if (name == "set_node" || name == "set_exec") {
            set_first_node(name == "set_exec");
        } else if (name == "update") {
            update_executable();
        } else if (name == "clone" || name == "child") {
            CUgraph copy = nullptr;
            CUgraphNode node = nullptr;
            if (name == "clone") {
                require(driver_.cuGraphClone(&copy, graph()), "cuGraphClone");
            } else {
                require(driver_.cuGraphCreate(&copy, 0), "cuGraphCreate");
                require(driver_.cuGraphAddChildGraphNode(&node, copy, nullptr, 0, graph()),
                        "cuGraphAddChildGraphNode");
            }
            drop_graph();
            graph_ = copy;
        } else if (name == "capture_replay") {
            CUgraphExec captured = std::exchange(executable(), nullptr);
            capture([&] {
                for (int i = 0; i < count; ++i) require(driver_.cuGraphLaunch(captured, stream_), "cuGraphLaunch");
            });
            require(driver_.cuGraphExecDestroy(captured), "cuGraphExecDestroy");
        } else if (name == "instantiate_with_params") {
            CUDA_GRAPH_INSTANTIATE_PARAMS parameters{};
            drop_executable();
            require(driver_.cuGraphInstantiateWithParams(&exec_, graph(), &parameters),
                    "cuGraphInstantiateWithParams");
        } else if (name == "replay") {
            executable();
            in_threads([&] {
                for (int i = 0; i < count; ++i) require(driver_.cuGraphLaunch(exec_, stream_), "cuGraphLaunch");
            });
            replayed_ += static_cast<long>(count) * threads_;
        } else if (name == "drop_graph") {
            drop_graph();
        } else if (name == "gemm") {
            multiply(count, nullptr);
        } else if (name == "sync") {
            require(api().cuCtxSynchronize(), "cuCtxSynchronize");
        } else if (name == "unload") {
            if (module_ != nullptr && library_ == nullptr) require(driver_.cuModuleUnload(module_), "cuModuleUnload");
            if (library_ != nullptr) require(driver_.cuLibraryUnload(library_), "cuLibraryUnload");
            module_ = nullptr;
            library_ = nullptr;
        } else if (name == "fork") {
            if (const pid_t child = fork(); child != 0) {
                int status = 0;
                waitpid(child, &status, 0);
                std::exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
            }
        } else {
            fail("no step " + name);
        }
    }

    void report() const {
        std::printf("launched %ld, graphs launched %ld, products %ld\n", launched_, replayed_, products_);
    }

  private:
    static int count_of(const std::string& value) { return value.empty() ? 1 : std::atoi(value.c_str()); }

    bool load(const std::string& name, const std::string& value) {
        if (name == "file") {
            require(driver_.cuModuleLoad(&module_, value.c_str()), "cuModuleLoad");
        } else if (name == "library_file") {
            require(driver_.cuLibraryLoadFromFile(&library_, value.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0),
                    "cuLibraryLoadFromFile");
        } else if (name == "static") {
            require(driver_.cuModuleLoadData(&module_, static_image), "cuModuleLoadData");
        } else if (name == "static_library") {
            load_library(static_image);
        } else if (name == "load" || name == "load_ex" || name == "fatbin" || name == "library" ||
                   name == "library_fatbin") {
            const Image image(value);
            const FatbinWrapper wrapper{.data = image.data()};
            if (name == "load")
                require(driver_.cuModuleLoadData(&module_, image.data()), "cuModuleLoadData");
            else if (name == "load_ex")
                require(driver_.cuModuleLoadDataEx(&module_, image.data(), 0, nullptr, nullptr),
                        "cuModuleLoadDataEx");
            else if (name == "fatbin")
                require(driver_.cuModuleLoadFatBinary(&module_, &wrapper), "cuModuleLoadFatBinary");
            else
                load_library(name == "library" ? image.data() : &wrapper);
        } else {
            return false;
        }
        return true;
    }

    void load_library(const void* image) {
        require(driver_.cuLibraryLoadData(&library_, image, nullptr, nullptr, 0, nullptr, nullptr, 0),
                "cuLibraryLoadData");
    }

    bool look_up(const std::string& name, const std::string& value) {
        unsigned count = 0;
        if (name == "get") {
            functions_.resize(1);
            require(driver_.cuModuleGetFunction(functions_.data(), module_, value.c_str()), "cuModuleGetFunction");
        } else if (name == "kernel") {
            functions_.resize(1);
            require(
                driver_.cuLibraryGetKernel(reinterpret_cast<CUkernel*>(functions_.data()), library_, value.c_str()),
                "cuLibraryGetKernel");
        } else if (name == "function") {
            for (CUfunction& function : functions_)
                require(driver_.cuKernelGetFunction(&function, reinterpret_cast<CUkernel>(function)),
                        "cuKernelGetFunction");
        } else if (name == "module") {
            require(driver_.cuLibraryGetModule(&module_, library_), "cuLibraryGetModule");
        } else if (name == "enumerate") {
            require(driver_.cuModuleGetFunctionCount(&count, module_), "cuModuleGetFunctionCount");
            functions_.resize(count);
            require(driver_.cuModuleEnumerateFunctions(functions_.data(), count, module_),
                    "cuModuleEnumerateFunctions");
        } else if (name == "enumerate_kernels") {
            require(driver_.cuLibraryGetKernelCount(&count, library_), "cuLibraryGetKernelCount");
            functions_.resize(count);
            require(
                driver_.cuLibraryEnumerateKernels(reinterpret_cast<CUkernel*>(functions_.data()), count, library_),
                "cuLibraryEnumerateKernels");
        } else {
            return false;
        }
        return true;
    }

    bool unseen(const std::string& name, const std::string& value) {
        if (name == "unseen_lookup_launch" || name == "variable_launch") {
            void* const opened = name == "variable_launch" ? open_beside("libdriver_variables.so", 0)
                                                           : open_beside("libunseen_lookup.so", RTLD_DEEPBIND);
            const auto launch = reinterpret_cast<decltype(Unseen::launch)>(dlsym(opened, "launch_by_lookup"));
            for (CUfunction function : functions_)
                for (int i = 0; i < count_of(value); ++i) require(launch(function), "cuLaunchKernel");
            return true;
        }
        if (!name.starts_with("unseen_")) return false;
        static const Unseen library;
        if (name == "unseen_load") {
            const Image image(value);
            require(library.load(&module_, image.data()), "cuModuleLoadData");
        } else if (name == "unseen_get") {
            functions_.resize(1);
            require(library.get(functions_.data(), module_, value.c_str()), "cuModuleGetFunction");
        } else if (name == "unseen_launch") {
            for (CUfunction function : functions_)
                for (int i = 0; i < count_of(value); ++i) require(library.launch(function), "cuLaunchKernel");
        } else {
            return false;
        }
        return true;
    }

    void launch(const std::string& name, int count, CUstream stream) const {
        for (CUfunction function : functions_)
            for (int i = 0; i < count; ++i) {
                if (name == "launchex") {
                    CUlaunchConfig config{};
                    config.gridDimX = config.gridDimY = config.gridDimZ = 1;
                    config.blockDimX = 32;
                    config.blockDimY = config.blockDimZ = 1;
                    config.hStream = stream;
                    require(driver_.cuLaunchKernelEx(&config, function, nullptr, nullptr), "cuLaunchKernelEx");
                } else if (name == "cooperative") {
                    require(driver_.cuLaunchCooperativeKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, nullptr),
                            "cuLaunchCooperativeKernel");
                } else {
                    require(driver_.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr),
                            "cuLaunchKernel");
                }
            }
    }

    // Calls `action` in each of the threads.
    void in_threads(const std::function<void()>& action) const {
        std::vector<std::thread> others;
        for (int i = 1; i < threads_; ++i)
            others.emplace_back([&] {
                device_.make_current();
                action();
            });
        action();
        for (std::thread& other : others) other.join();
    }

    CUgraph graph() {
        if (graph_ == nullptr) require(driver_.cuGraphCreate(&graph_, 0), "cuGraphCreate");
        return graph_;
    }

    CUgraphExec& executable() {
        if (exec_ == nullptr)
            require(driver_.cuGraphInstantiateWithFlags(&exec_, graph(), 0), "cuGraphInstantiateWithFlags");
        return exec_;
    }

    // Called when the graph changes. The next replay makes a new executable.
    void drop_executable() {
        if (exec_ != nullptr) require(driver_.cuGraphExecDestroy(exec_), "cuGraphExecDestroy");
        exec_ = nullptr;
    }

    void drop_graph() {
        drop_executable();
        if (graph_ != nullptr) require(driver_.cuGraphDestroy(graph_), "cuGraphDestroy");
        graph_ = nullptr;
    }

    // Replaces the graph by what `action` launches.
    void capture(const std::function<void()>& action) {
        drop_graph();
        require(driver_.cuStreamBeginCapture_v2(stream_, CU_STREAM_CAPTURE_MODE_RELAXED), "cuStreamBeginCapture_v2");
        action();
        require(driver_.cuStreamEndCapture(stream_, &graph_), "cuStreamEndCapture");
    }

    static CUDA_KERNEL_NODE_PARAMS parameters_of(CUfunction function) {
        CUDA_KERNEL_NODE_PARAMS parameters{};
        parameters.func = function;
        parameters.gridDimX = parameters.gridDimY = parameters.gridDimZ = 1;
        parameters.blockDimX = 32;
        parameters.blockDimY = parameters.blockDimZ = 1;
        return parameters;
    }

    void add_nodes(bool of_any_type, int count) {
        drop_executable();
        for (CUfunction function : functions_)
            for (int i = 0; i < count; ++i) {
                CUgraphNode node = nullptr;
                const CUDA_KERNEL_NODE_PARAMS parameters = parameters_of(function);
                CUgraphNodeParams any{};
                any.type = CU_GRAPH_NODE_TYPE_KERNEL;
                any.kernel.func = function;
                any.kernel.gridDimX = any.kernel.gridDimY = any.kernel.gridDimZ = 1;
                any.kernel.blockDimX = 32;
                any.kernel.blockDimY = any.kernel.blockDimZ = 1;
                if (of_any_type)
                    require(driver_.cuGraphAddNode_v2(&node, graph(), nullptr, nullptr, 0, &any),
                            "cuGraphAddNode_v2");
                else
                    require(driver_.cuGraphAddKernelNode_v2(&node, graph(), nullptr, 0, &parameters),
                            "cuGraphAddKernelNode_v2");
            }
    }

    void set_first_node(bool of_executable) {
        if (!of_executable) drop_executable();
        CUgraphNode node = nullptr;
        std::size_t count = 1;
        require(driver_.cuGraphGetNodes(graph(), &node, &count), "cuGraphGetNodes");
        const CUDA_KERNEL_NODE_PARAMS parameters = parameters_of(functions_.at(0));
        if (of_executable)
            require(driver_.cuGraphExecKernelNodeSetParams_v2(executable(), node, &parameters),
                    "cuGraphExecKernelNodeSetParams_v2");
        else
            require(driver_.cuGraphKernelNodeSetParams_v2(node, &parameters), "cuGraphKernelNodeSetParams_v2");
    }

    void update_executable() {
        CUgraph copy = nullptr;
        CUgraphNode node = nullptr;
        std::size_t count = 1;
        CUgraphExecUpdateResultInfo info{};
        const CUDA_KERNEL_NODE_PARAMS parameters = parameters_of(functions_.at(0));
        require(driver_.cuGraphClone(&copy, graph()), "cuGraphClone");
        require(driver_.cuGraphGetNodes(copy, &node, &count), "cuGraphGetNodes");
        require(driver_.cuGraphKernelNodeSetParams_v2(node, &parameters), "cuGraphKernelNodeSetParams_v2");
        require(driver_.cuGraphExecUpdate_v2(executable(), copy, &info), "cuGraphExecUpdate_v2");
        require(driver_.cuGraphDestroy(copy), "cuGraphDestroy");
    }

    void multiply(int count, CUstream stream) {
        if (cublas_ == nullptr && api().cublasCreate_v2(&cublas_) != CUBLAS_STATUS_SUCCESS)
            fail("cublasCreate failed");
        if (product_ == nullptr) product_ = std::make_unique<SimpleProduct>(Kind::sgemm);
        api().cublasSetStream_v2(cublas_, reinterpret_cast<cudaStream_t>(stream));
        for (int i = 0; i < count; ++i)
            if (product_->multiply(cublas_) != CUBLAS_STATUS_SUCCESS) fail("cublasSgemm failed");
        products_ += count;
    }

    Device device_;
    const Driver driver_;
    const int threads_;
    CUstream stream_ = nullptr;
    CUmodule module_ = nullptr;
    CUlibrary library_ = nullptr;
    std::vector<CUfunction> functions_;
    CUgraph graph_ = nullptr;
    CUgraphExec exec_ = nullptr;
    cublasHandle_t cublas_ = nullptr;
    std::unique_ptr<SimpleProduct> product_;
    long launched_ = 0, replayed_ = 0, products_ = 0;
};

Way way_of(const std::string& name) {
    constexpr const char* names[] = {"linked", "dlsym", "proc", "proc_v1", "asked"};
    for (int i = 0; i < 5; ++i)
        if (name == names[i]) return static_cast<Way>(i);
    fail("no way " + name);
}

int run(char** words) {
    Way way = Way::dlsym;
    bool ptsz = false;
    int threads = 1;
    for (; *words != nullptr && std::strncmp(*words, "--", 2) == 0; ++words) {
        const std::string option = *words;
        if (option == "--ptsz")
            ptsz = true;
        else if (option == "--by" && words[1] != nullptr)
            way = way_of(*++words);
        else if (option == "--threads" && words[1] != nullptr)
            threads = std::max(1, std::atoi(*++words));
        else
            fail("no option " + option);
    }
    Program program(way, ptsz, threads);
    for (; *words != nullptr; ++words) {
        const std::string word = *words;
        const std::size_t colon = word.find(':');
        program.step(word.substr(0, colon), colon == std::string::npos ? "" : word.substr(colon + 1));
    }
    program.report();
    return 0;
}

}  // namespace
}  // namespace clients

int main(int, char** argv) { return clients::run(argv + 1); }
