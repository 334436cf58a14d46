// cublasLtMatmul in all the ways that programs use it: with algorithms from the heuristic, by id, kept from earlier
// or none at all; with descriptors of every origin, a bias, batches and preferences. settings.hpp says what the
// environment can ask.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "decision_log.hpp"
#include "device.hpp"
#include "reference.hpp"
#include "settings.hpp"
#include "shim_api.hpp"

namespace clients {
namespace {

constexpr std::size_t workspace_bytes = 1 << 20;

/// The ids that an algorithm offers; one that says "not set" where it offers none.
std::vector<std::uint32_t> offered(const cublasLtMatmulAlgo_t& algo, cublasLtMatmulAlgoCapAttributes_t attribute) {
    std::size_t bytes = 0;
    std::vector<std::uint32_t> ids(1);
    if (api().cublasLtMatmulAlgoCapGetAttribute(&algo, attribute, nullptr, 0, &bytes) != CUBLAS_STATUS_SUCCESS ||
        bytes < sizeof ids[0])
        return ids;
    ids.resize(bytes / sizeof ids[0]);
    EXPECT_EQ(api().cublasLtMatmulAlgoCapGetAttribute(&algo, attribute, ids.data(), bytes, &bytes),
              CUBLAS_STATUS_SUCCESS);
    return ids;
}

/// What AlgoInit makes has neither tile nor stages, and no product runs with it: each combination that it offers.
std::vector<cublasLtMatmulAlgo_t> configured(const cublasLtMatmulAlgo_t& made) {
    std::vector<cublasLtMatmulAlgo_t> result;
    for (const std::uint32_t tile : offered(made, CUBLASLT_ALGO_CAP_TILE_IDS)) {
        for (const std::uint32_t stages : offered(made, CUBLASLT_ALGO_CAP_STAGES_IDS)) {
            cublasLtMatmulAlgo_t algo = made;
            api().cublasLtMatmulAlgoConfigSetAttribute(&algo, CUBLASLT_ALGO_CONFIG_TILE_ID, &tile, sizeof tile);
            api().cublasLtMatmulAlgoConfigSetAttribute(&algo, CUBLASLT_ALGO_CONFIG_STAGES_ID, &stages, sizeof stages);
            result.push_back(algo);
        }
    }
    return result;
}

/// How one product is described to cublasLt.
struct Request {
    Dtype dtype = Dtype::float32;
    char trans_a = 'N', trans_b = 'N';
    std::int64_t m = 37, n = 29, k = 53, batch = 1;
    bool bias = false;
    bool device_scalars = false;
    bool on_the_stack = false;  ///< descriptors made by Init instead of Create
};

template <class T>
void set_preference(cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t attribute, T value) {
    EXPECT_EQ(api().cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof value),
              CUBLAS_STATUS_SUCCESS);
}

int id_of(const cublasLtMatmulAlgo_t& algo) {
    std::int32_t id = -1;
    std::size_t written = 0;
    api().cublasLtMatmulAlgoConfigGetAttribute(&algo, CUBLASLT_ALGO_CONFIG_ID, &id, sizeof id, &written);
    return id;
}

class LtProduct {
  public:
    explicit LtProduct(const Request& request) : request_(request), device_scalars_(4 * sizeof(double)) {
        for (std::int64_t i = 0; i < request.batch; ++i)
            problems_.push_back(make_problem(static_cast<unsigned>(10 * i)));
        const Problem& first = problems_.front();
        const cudaDataType_t type = data_type(request.dtype);
        const cudaDataType_t result_type = data_type(c_type());
        compute_type_ = request.dtype == Dtype::float64 ? CUBLAS_COMPUTE_64F
                        : is_narrow()                   ? CUBLAS_COMPUTE_32F
                                                        : settings().compute_type;
        if (request.on_the_stack) {
            desc_ = &desc_memory_;
            api().cublasLtMatmulDescInit_internal(desc_, sizeof desc_memory_, compute_type_, result_type);
        } else {
            api().cublasLtMatmulDescCreate(&desc_, compute_type_, result_type);
        }
        set_desc(CUBLASLT_MATMUL_DESC_TRANSA, static_cast<cublasOperation_t>(Option{request.trans_a}));
        set_desc(CUBLASLT_MATMUL_DESC_TRANSB, static_cast<cublasOperation_t>(Option{request.trans_b}));
        a_ = upload(&Problem::a, request.dtype);
        b_ = upload(&Problem::b, request.dtype);
        c_ = upload(&Problem::c, c_type());
        layout_a_ = make_layout(first.a, type);
        layout_b_ = make_layout(first.b, type);
        layout_c_ = make_layout(first.c, result_type);
        if (request.bias) add_bias();
        encode(c_type(), first.alpha, scalars_);
        encode(c_type(), first.beta, scalars_ + 16);
        if (request.device_scalars) {
            set_desc(CUBLASLT_MATMUL_DESC_POINTER_MODE, CUBLASLT_POINTER_MODE_DEVICE);
            device_scalars_.write(scalars_, sizeof scalars_);
        }
    }

    ~LtProduct() {
        if (!request_.on_the_stack) api().cublasLtMatmulDescDestroy(desc_);
        for (auto* layout : {layout_a_, layout_b_, layout_c_}) api().cublasLtMatrixLayoutDestroy(layout);
    }
    LtProduct(const LtProduct&) = delete;
    LtProduct& operator=(const LtProduct&) = delete;

    template <class T>
    void set_desc(cublasLtMatmulDescAttributes_t attribute, T value) {
        EXPECT_EQ(api().cublasLtMatmulDescSetAttribute(desc_, attribute, &value, sizeof value),
                  CUBLAS_STATUS_SUCCESS);
    }

    using Preference = std::function<void(cublasLtMatmulPreference_t)>;
    using Algorithms = std::vector<cublasLtMatmulAlgo_t>;
    using Heuristic = decltype(&cublasLtMatmulAlgoGetHeuristic);

    struct Answer {
        cublasStatus_t status;
        int count;
        std::vector<cublasLtMatmulHeuristicResult_t> results;  ///< as many as were asked for

        Algorithms usable() const {
            Algorithms found;
            for (int i = 0; status == CUBLAS_STATUS_SUCCESS && i < count; ++i)
                if (results[static_cast<std::size_t>(i)].state == CUBLAS_STATUS_SUCCESS)
                    found.push_back(results[static_cast<std::size_t>(i)].algo);
            return found;
        }
    };

    /// What the library finds, best first. `begin`: what the array of results holds before.
    Answer search(cublasLtHandle_t handle, int wanted, const Preference& restrict = nullptr,
                  const cublasLtMatmulAlgo_t* begin = nullptr,
                  Heuristic heuristic = api().cublasLtMatmulAlgoGetHeuristic) {
        cublasLtMatmulPreference_t preference = nullptr;
        api().cublasLtMatmulPreferenceCreate(&preference);
        set_preference(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace_bytes);
        if (restrict) restrict(preference);
        Answer answer{CUBLAS_STATUS_NOT_INITIALIZED, -1, {}};
        // Beyond its end nobody may write.
        answer.results.resize(static_cast<std::size_t>(wanted) + 1);
        for (auto& result : answer.results) {
            if (begin != nullptr) result.algo = *begin;
        }
        std::memset(&answer.results.back(), 0x5a, sizeof answer.results.back());
        const cublasLtMatmulHeuristicResult_t beyond = answer.results.back();
        decision_log().read_new();
        answer.status = heuristic(handle, desc_, layout_a_, layout_b_, layout_c_, layout_c_, preference, wanted,
                                  answer.results.data(), &answer.count);
        EXPECT_TRUE(decision_log().read_new().empty()) << "a question is no product";
        EXPECT_EQ(std::memcmp(&answer.results.back(), &beyond, sizeof beyond), 0);
        answer.results.pop_back();
        api().cublasLtMatmulPreferenceDestroy(preference);
        return answer;
    }

    /// The heuristic's answers, best first.
    Algorithms algorithms(cublasLtHandle_t handle, const Preference& restrict = nullptr) {
        return search(handle, 4, restrict).usable();
    }

    /// Of the algorithms that the library has for this descriptor by id, the first configuration of each that fits.
    std::vector<cublasLtMatmulAlgo_t> algorithms_by_id(cublasLtHandle_t handle) {
        const cudaDataType_t type = data_type(request_.dtype);
        int ids[16];
        int count = 0;
        std::vector<cublasLtMatmulAlgo_t> found;
        if (api().cublasLtMatmulAlgoGetIds(handle, compute_type_, type, type, type, type, type, 16, ids, &count) !=
            CUBLAS_STATUS_SUCCESS)
            return found;
        for (int i = 0; i < count; ++i) {
            cublasLtMatmulAlgo_t made;
            if (api().cublasLtMatmulAlgoInit(handle, compute_type_, type, type, type, type, type, ids[i], &made) !=
                CUBLAS_STATUS_SUCCESS)
                continue;
            const auto all = configured(made);
            const auto fitting =
                std::find_if(all.begin(), all.end(), [&](const auto& algo) { return fits(handle, algo); });
            if (fitting != all.end()) found.push_back(*fitting);
        }
        return found;
    }

    bool fits(cublasLtHandle_t handle, const cublasLtMatmulAlgo_t& algo) const {
        cublasLtMatmulHeuristicResult_t result{};
        return api().cublasLtMatmulAlgoCheck(handle, desc_, layout_a_, layout_b_, layout_c_, layout_c_, &algo,
                                             &result) == CUBLAS_STATUS_SUCCESS &&
               result.workspaceSize <= workspace_bytes;
    }

    /// Whether the library finds the algorithm fit for this product, by either function that it has for the question.
    void expect_fit(cublasLtHandle_t handle, const cublasLtMatmulAlgo_t& algo) const {
        cublasLtMatmulHeuristicResult_t result{};
        EXPECT_EQ(
            api().cublasLtMatmulAlgoCheck(handle, desc_, layout_a_, layout_b_, layout_c_, layout_c_, &algo, &result),
            CUBLAS_STATUS_SUCCESS);
        EXPECT_LE(result.workspaceSize, workspace_bytes);
        if (const auto check = check_for_stream()) {
            EXPECT_EQ(check(handle, desc_, layout_a_, layout_b_, layout_c_, layout_c_, &algo, &result, nullptr),
                      CUBLAS_STATUS_SUCCESS);
        }
    }

    cublasStatus_t multiply(cublasLtHandle_t handle, const cublasLtMatmulAlgo_t* algo) {
        const auto* const host = scalars_;
        const void* const alpha = request_.device_scalars ? device_scalars_.address() : host;
        const void* const beta = request_.device_scalars ? device_scalars_.address(16) : host + 16;
        c_->write(c_before_.data(), c_before_.size());
        return api().cublasLtMatmul(handle, desc_, alpha, a_->address(), layout_a_, b_->address(), layout_b_, beta,
                                    c_->address(), layout_c_, c_->address(), layout_c_, algo, workspace_.address(),
                                    workspace_bytes, nullptr);
    }

    /// As AlgoInit makes it for this product.
    std::optional<cublasLtMatmulAlgo_t> algorithm_of_id(cublasLtHandle_t handle, int id) const {
        const cudaDataType_t type = data_type(request_.dtype);
        cublasLtMatmulAlgo_t algo;
        if (api().cublasLtMatmulAlgoInit(handle, compute_type_, type, type, type, type, type, id, &algo) !=
            CUBLAS_STATUS_SUCCESS)
            return std::nullopt;
        return algo;
    }

    /// What the result shows, the worst of the batch. Fails the test if it is no such product.
    Measured result() {
        api().cuCtxSynchronize();
        std::vector<unsigned char> bytes(c_before_.size());
        c_->read(bytes.data(), bytes.size());
        std::optional<Measured> worst;
        for (std::size_t member = 0; member < problems_.size(); ++member) {
            const Problem& problem = problems_[member];
            const unsigned char* const values = bytes.data() + member * bytes.size() / problems_.size();
            Dense found(problem.m, problem.n);
            for (std::int64_t j = 0; j < problem.n; ++j)
                for (std::int64_t i = 0; i < problem.m; ++i)
                    found.at(i, j) = decode(c_type(), values + static_cast<std::size_t>(i + j * problem.c.ld) *
                                                                   size_of(c_type())) -
                                     (bias_.empty() ? 0.0 : bias_[static_cast<std::size_t>(i)]);
            const Measured measured = measure(problem, found);
            EXPECT_LT(measured.error, 0.02);
            if (!worst || rank_of(name_of(measured.format)) < rank_of(name_of(worst->format))) worst = measured;
        }
        return *worst;
    }

    cublasComputeType_t described_compute_type() const {
        cublasComputeType_t value{};
        std::size_t written = 0;
        api().cublasLtMatmulDescGetAttribute(desc_, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, &value, sizeof value,
                                             &written);
        return value;
    }

    const Request& request() const { return request_; }
    cublasComputeType_t compute_type() const { return compute_type_; }

  private:
    using CheckForStream = cublasStatus_t (*)(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              const cublasLtMatmulAlgo_t*, cublasLtMatmulHeuristicResult_t*,
                                              cudaStream_t);

    /// Newer than the headers: null where the library does not have it.
    static CheckForStream check_for_stream() {
        void* const library = dlopen("libcublasLt.so.13", RTLD_NOW | RTLD_NOLOAD);
        return library == nullptr
                   ? nullptr
                   : reinterpret_cast<CheckForStream>(dlsym(library, "cublasLtMatmulAlgoCheckForStream"));
    }

    bool is_narrow() const { return request_.dtype == Dtype::float16 || request_.dtype == Dtype::bfloat16; }
    Dtype c_type() const { return is_narrow() ? Dtype::float32 : request_.dtype; }

    Problem make_problem(unsigned seed) const {
        const int exponent = is_narrow() ? 0 : -16;
        Problem problem{Operation::gemm,
                        request_.dtype,
                        request_.trans_a,
                        request_.trans_b,
                        'L',
                        'U',
                        'N',
                        request_.m,
                        request_.n,
                        request_.k,
                        0.75,
                        0.5,
                        {},
                        {},
                        {}};
        if (request_.dtype == Dtype::complex64) problem.alpha = {0.75, -0.25};
        const auto operand = [&](std::int64_t rows, std::int64_t columns, char trans, unsigned operand_seed) {
            return trans == 'N' ? random_matrix(request_.dtype, rows, columns, exponent, operand_seed)
                                : random_matrix(request_.dtype, columns, rows, exponent, operand_seed);
        };
        problem.a = operand(request_.m, request_.k, request_.trans_a, seed + 1);
        problem.b = operand(request_.k, request_.n, request_.trans_b, seed + 2);
        problem.c = random_matrix(c_type(), request_.m, request_.n, 2 * exponent + 3, seed + 3);
        return problem;
    }

    std::unique_ptr<DeviceMemory> upload(Matrix Problem::*member, Dtype dtype) {
        std::vector<unsigned char> bytes;
        for (const Problem& problem : problems_) {
            const auto more = bytes_of(dtype, problem.*member);
            bytes.insert(bytes.end(), more.begin(), more.end());
        }
        if (member == &Problem::c) c_before_ = bytes;
        return std::make_unique<DeviceMemory>(bytes);
    }

    cublasLtMatrixLayout_t make_layout(const Matrix& matrix, cudaDataType_t type) const {
        cublasLtMatrixLayout_t layout = nullptr;
        api().cublasLtMatrixLayoutCreate(&layout, type, static_cast<std::uint64_t>(matrix.rows),
                                         static_cast<std::uint64_t>(matrix.columns), matrix.ld);
        if (request_.batch > 1) {
            const auto count = static_cast<std::int32_t>(request_.batch);
            const auto stride = static_cast<std::int64_t>(matrix.values.size());
            api().cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count);
            api().cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride,
                                                   sizeof stride);
        }
        return layout;
    }

    void add_bias() {
        const Matrix values = random_matrix(request_.dtype, request_.m, 1, -29, 99);
        std::vector<float> floats;
        for (std::int64_t i = 0; i < request_.m; ++i) {
            floats.push_back(static_cast<float>(values.at(i, 0).real()));
            bias_.push_back(floats.back());
        }
        bias_memory_ = std::make_unique<DeviceMemory>(floats);
        set_desc(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
        set_desc(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias_memory_->address());
    }

    Request request_;
    std::vector<Problem> problems_;
    std::vector<unsigned char> c_before_;
    std::vector<double> bias_;
    std::unique_ptr<DeviceMemory> a_, b_, c_, bias_memory_;
    DeviceMemory workspace_{workspace_bytes};
    unsigned char scalars_[32] = {};
    DeviceMemory device_scalars_;
    cublasComputeType_t compute_type_{};
    cublasLtMatmulDescOpaque_t desc_memory_{};
    cublasLtMatmulDesc_t desc_ = nullptr;
    cublasLtMatrixLayout_t layout_a_ = nullptr, layout_b_ = nullptr, layout_c_ = nullptr;
};

class Lt : public testing::Test {
  protected:
    void SetUp() override { ASSERT_EQ(api().cublasLtCreate(&handle_), CUBLAS_STATUS_SUCCESS); }
    void TearDown() override { api().cublasLtDestroy(handle_); }

    static const Device& device() {
        static const Device first;
        return first;
    }

    /// One decision that describes the product. Returns it, or null without a shim.
    static nlohmann::json check_description(const Request& request, cublasStatus_t status) {
        constexpr const char* dtypes[] = {"float32", "complex64", "float16", "bfloat16", "float64"};
        const auto decisions = decision_log().read_new();
        if (!DecisionLog::is_there()) return nullptr;
        EXPECT_EQ(decisions.size(), 1U);
        if (decisions.empty()) return nullptr;
        const nlohmann::json& decision = decisions.back();
        SCOPED_TRACE(decision.dump());
        EXPECT_EQ(decision["function"], "cublasLtMatmul");
        EXPECT_EQ(decision["dtype"], dtypes[static_cast<int>(request.dtype)]);
        EXPECT_EQ(decision["device"], "cuda");
        EXPECT_EQ(decision["device_index"], device().index());
        EXPECT_EQ(decision["compute_capability"], device().compute_capability());
        EXPECT_EQ(decision["trans_a"], std::string(1, request.trans_a));
        EXPECT_EQ(decision["trans_b"], std::string(1, request.trans_b));
        EXPECT_EQ(decision["m"], request.m);
        EXPECT_EQ(decision["n"], request.n);
        EXPECT_EQ(decision["k"], request.k);
        EXPECT_EQ(decision["batch"], request.batch);
        EXPECT_EQ(decision["status"], static_cast<int>(status));
        return decision;
    }

    /// Multiplies and checks everything. `expected`: the format that the decision has to name, if it is settled.
    void run(LtProduct& product, const cublasLtMatmulAlgo_t* algo,
             std::optional<std::string> expected = settings().wish()) {
        decision_log().read_new();
        const cublasStatus_t status = product.multiply(handle_, algo);
        EXPECT_EQ(status, CUBLAS_STATUS_SUCCESS);
        EXPECT_EQ(product.described_compute_type(), product.compute_type()) << "the descriptor is the program's";
        const nlohmann::json decision = check_description(product.request(), status);
        const Measured measured = product.result();
        const std::string found = name_of(measured.format);
        if (decision.is_null()) {
            if (expected) {
                EXPECT_GE(rank_of(found), rank_of(*expected));
            }
            return;
        }
        SCOPED_TRACE(decision.dump() + " measured " + found);
        const std::string applied = decision["applied"];
        if (expected) {
            EXPECT_EQ(applied, *expected);
        }
        const std::string rounding = applied == "bf16x9" ? "fp32" : applied;
        EXPECT_GE(rank_of(found), rank_of(rounding));
        if (settings().exact) {
            // Not every algorithm of a fast compute type is fast: the library says which.
            EXPECT_EQ(found, decision["actual"].is_null() ? rounding : decision["actual"].get<std::string>());
        }
    }

    cublasLtHandle_t handle_ = nullptr;
};

// First of all: no search of this process has found that algorithm yet.
TEST_F(Lt, AnAlgorithmThatFitsTheChangedProductIsAskedAboutOnce) {
    device();
    void* const library = dlopen("libcublasLt.so.13", RTLD_NOW | RTLD_NOLOAD);
    const auto* checks =
        library == nullptr ? nullptr : static_cast<const long long*>(dlsym(library, "stand_in_algo_checks"));
    if (checks == nullptr || settings().expect != "tf32") GTEST_SKIP() << "nothing is asked, or nothing counts it";
    LtProduct product({});
    // One of the fast type that rounds nothing: as called, the library refuses it, and for the changed product it
    // fits.
    cublasLtMatmulAlgo_t fast;
    ASSERT_EQ(api().cublasLtMatmulAlgoInit(handle_, CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F,
                                           CUDA_R_32F, CUDA_R_32F, 0, &fast),
              CUBLAS_STATUS_SUCCESS);
    fast = configured(fast).front();
    const long long before = *checks;
    for (int i = 0; i < 5; ++i) run(product, &fast);
    EXPECT_EQ(*checks - before, 1);
}

TEST_F(Lt, HeuristicAndProductAgree) {
    device();
    for (const Request& request :
         {Request{}, Request{.trans_a = 'T'}, Request{.trans_b = 'T'}, Request{.m = 64, .n = 64, .k = 64},
          Request{.dtype = Dtype::complex64, .trans_a = 'C'}, Request{.batch = 3}}) {
        LtProduct product(request);
        const auto algorithms = product.algorithms(handle_);
        EXPECT_FALSE(algorithms.empty());
        for (const auto& algo : algorithms) run(product, &algo);
    }
}

TEST_F(Lt, AlgorithmsOfTheHeuristicPassTheLibrarysOwnCheck) {
    device();
    for (const Request& request : {Request{}, Request{.trans_a = 'T', .batch = 3}, Request{.bias = true},
                                   Request{.dtype = Dtype::complex64}, Request{.on_the_stack = true}}) {
        LtProduct product(request);
        const auto algorithms = product.algorithms(handle_);
        EXPECT_FALSE(algorithms.empty());
        for (const auto& algo : algorithms) product.expect_fit(handle_, algo);
    }
}

TEST_F(Lt, ProductsWithoutAnAlgorithmRun) {
    device();
    for (const Request& request : {Request{}, Request{.dtype = Dtype::complex64}, Request{.batch = 3},
                                   Request{.device_scalars = true}, Request{.on_the_stack = true}}) {
        LtProduct product(request);
        run(product, nullptr);
    }
}

TEST_F(Lt, AlgorithmsByIdRun) {
    device();
    LtProduct product({});
    const auto algorithms = product.algorithms_by_id(handle_);
    EXPECT_FALSE(algorithms.empty());
    for (const auto& algo : algorithms) run(product, &algo);
}

TEST_F(Lt, DescriptorsOnTheStackAreAsGood) {
    device();
    LtProduct product({.on_the_stack = true});
    for (const auto& algo : product.algorithms(handle_)) run(product, &algo);
}

TEST_F(Lt, BiasIsAdded) {
    device();
    LtProduct product({.bias = true});
    run(product, nullptr);
    for (const auto& algo : product.algorithms(handle_)) run(product, &algo);
}

TEST_F(Lt, CachedAlgorithmsOutliveAChangeOfThePolicy) {
    device();
    const ShimApi shim = shim_api();
    if (!shim.is_there()) GTEST_SKIP() << "there is no shim";
    if (settings().compute_type != CUBLAS_COMPUTE_32F) GTEST_SKIP() << "the program asks for a format of its own";
    // Under a floor every step ends in float32.
    const bool lowers = std::stod(device().compute_capability()) >= 8 && std::getenv("FP32_MATMUL_FLOOR") == nullptr;
    const std::pair<const char*, const char*> steps[] = {
        {"highest", "fp32"}, {"high", "tf32"}, {"medium", "bf16"}, {"native", "fp32"}, {"high", "tf32"}};
    for (const Request& request : {Request{}, Request{.bias = true}}) {
        LtProduct product(request);
        for (const auto& [from, _] : steps) {
            ASSERT_EQ(shim.set_precision(from), 0);
            const auto algorithms = product.algorithms(handle_);
            ASSERT_FALSE(algorithms.empty()) << from;
            for (const auto& [to, format] : steps) {
                SCOPED_TRACE(std::string("from ") + from + " to " + to);
                ASSERT_EQ(shim.set_precision(to), 0);
                run(product, &algorithms.front(), lowers ? format : "fp32");
            }
        }
    }
    shim.set_precision(nullptr);
}

/// The function that is newer than the headers, with its stream left out: the default one.
cublasStatus_t heuristic_for_stream(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
                                    cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                    cublasLtMatmulPreference_t preference, int wanted,
                                    cublasLtMatmulHeuristicResult_t results[], int* count) {
    using ForStream =
        cublasStatus_t (*)(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                           cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatmulPreference_t, int,
                           cublasLtMatmulHeuristicResult_t*, int*, cudaStream_t);
    void* const library = dlopen("libcublasLt.so.13", RTLD_NOW | RTLD_NOLOAD);
    static const auto function = reinterpret_cast<ForStream>(
        library == nullptr ? nullptr : dlsym(library, "cublasLtMatmulAlgoGetHeuristicForStream"));
    if (function == nullptr)
        return api().cublasLtMatmulAlgoGetHeuristic(handle, desc, a, b, c, d, preference, wanted, results, count);
    return function(handle, desc, a, b, c, d, preference, wanted, results, count, nullptr);
}

/// What the words of set_precision come to where the device has fast formats.
constexpr std::pair<const char*, const char*> precisions[] = {
    {"highest", "fp32"}, {"high", "tf32"}, {"medium", "bf16"}};

TEST_F(Lt, SearchesFindAsManyAlgorithmsAsTheProgramsOwn) {
    device();
    const ShimApi shim = shim_api();
    if (!shim.is_there()) GTEST_SKIP() << "there is no shim";
    const bool is_fast = std::stod(device().compute_capability()) >= 8 && std::getenv("FP32_MATMUL_FLOOR") == nullptr;
    LtProduct product({});
    for (const LtProduct::Heuristic heuristic : {api().cublasLtMatmulAlgoGetHeuristic, &heuristic_for_stream}) {
        for (const int wanted : {0, 1, 2, 3, 4, 7}) {
            shim.set_precision("native");
            const auto own = product.search(handle_, wanted, nullptr, nullptr, heuristic);
            for (const auto& [precision, format] : precisions) {
                SCOPED_TRACE(std::to_string(wanted) + " wanted under " + precision);
                shim.set_precision(precision);
                const auto found = product.search(handle_, wanted, nullptr, nullptr, heuristic);
                EXPECT_EQ(found.status, own.status);
                EXPECT_EQ(found.count, own.count);
                EXPECT_EQ(found.usable().size(), own.usable().size());
                for (const auto& algo : found.usable()) {
                    product.expect_fit(handle_, algo);
                    run(product, &algo, is_fast ? format : "fp32");
                }
            }
        }
    }
    shim.set_precision(nullptr);
}

TEST_F(Lt, SearchesThatBeginFromAnAlgorithmAreTheProgramsOwn) {
    device();
    const ShimApi shim = shim_api();
    if (!shim.is_there()) GTEST_SKIP() << "there is no shim";
    const bool is_fast = std::stod(device().compute_capability()) >= 8 && std::getenv("FP32_MATMUL_FLOOR") == nullptr;
    const auto by_id = [](cublasLtMatmulPreference_t preference) {
        set_preference(preference, CUBLASLT_MATMUL_PREF_SEARCH_MODE, CUBLASLT_SEARCH_LIMITED_BY_ALGO_ID);
    };
    LtProduct product({});
    int begun = 0;
    for (int id = 0; id < 4; ++id) {
        const auto begin = product.algorithm_of_id(handle_, id);
        if (!begin) continue;
        ++begun;
        shim.set_precision("native");
        const auto own = product.search(handle_, 2, by_id, &*begin);
        for (const auto& [precision, format] : precisions) {
            SCOPED_TRACE(std::to_string(id) + " under " + precision);
            shim.set_precision(precision);
            const auto found = product.search(handle_, 2, by_id, &*begin);
            EXPECT_EQ(found.status, own.status);
            EXPECT_EQ(found.count, own.count);
            for (const auto& algo : found.usable()) {
                EXPECT_EQ(id_of(algo), id);
                run(product, &algo, is_fast ? format : "fp32");
            }
            // One that a changed search found is as good to begin from.
            for (const auto& algo : product.algorithms(handle_)) {
                const auto again = product.search(handle_, 1, by_id, &algo).usable();
                ASSERT_EQ(again.size(), 1U);
                EXPECT_EQ(id_of(again.front()), id_of(algo));
                run(product, &again.front(), is_fast ? format : "fp32");
            }
        }
    }
    EXPECT_GT(begun, 0);
    shim.set_precision(nullptr);
}

TEST_F(Lt, AnotherAlgorithmHasNoMoreWavesThanTheProgramAllows) {
    device();
    const ShimApi shim = shim_api();
    if (!shim.is_there() || !settings().exact || settings().compute_type != CUBLAS_COMPUTE_32F ||
        std::stod(device().compute_capability()) < 8 || std::getenv("FP32_MATMUL_FLOOR") != nullptr)
        GTEST_SKIP() << "only of the stand-in is known which algorithms have how many waves";
    LtProduct product({});
    // Fewer than any algorithm on tensor cores has.
    const auto few_waves = [](cublasLtMatmulPreference_t preference) {
        set_preference(preference, CUBLASLT_MATMUL_PREF_MAX_WAVES_COUNT, 0.75F);
    };
    shim.set_precision("native");
    const auto own = product.algorithms(handle_, few_waves);
    ASSERT_EQ(own.size(), 1U);
    shim.set_precision("high");
    decision_log().read_new();
    EXPECT_EQ(product.multiply(handle_, &own.front()), CUBLAS_STATUS_SUCCESS);
    const auto decisions = decision_log().read_new();
    ASSERT_EQ(decisions.size(), 1U);
    EXPECT_EQ(decisions.front()["actual"], "fp32") << decisions.front().dump();
    EXPECT_EQ(name_of(product.result().format), std::string("fp32"));
    shim.set_precision(nullptr);
}

TEST_F(Lt, TwoThreadsShareADescriptor) {
    device();
    LtProduct product({});
    const auto algorithms = product.algorithms(handle_);
    ASSERT_FALSE(algorithms.empty());
    constexpr int rounds = 25;
    const auto work = [&] {
        device().make_current();
        for (int i = 0; i < rounds; ++i)
            EXPECT_EQ(product.multiply(handle_, i % 2 == 0 ? &algorithms.front() : nullptr), CUBLAS_STATUS_SUCCESS);
    };
    decision_log().read_new();
    std::thread other(work);
    work();
    other.join();
    EXPECT_EQ(product.described_compute_type(), product.compute_type());
    const auto decisions = decision_log().read_new();
    if (!DecisionLog::is_there()) return;
    EXPECT_EQ(decisions.size(), 2U * rounds);
    for (const auto& decision : decisions)
        if (const auto expected = settings().wish()) {
            EXPECT_EQ(decision["applied"], *expected) << decision.dump();
        }
}

TEST_F(Lt, NarrowPreferencesAreKept) {
    device();
    LtProduct product({});
    const auto narrow = [](cublasLtMatmulPreference_t preference) {
        const std::size_t none = 0;
        const std::uint32_t alignment = 4;
        api().cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &none,
                                                   sizeof none);
        for (auto attribute :
             {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
              CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
            api().cublasLtMatmulPreferenceSetAttribute(preference, attribute, &alignment, sizeof alignment);
    };
    const auto algorithms = product.algorithms(handle_, narrow);
    EXPECT_FALSE(algorithms.empty());
    for (const auto& algo : algorithms) run(product, &algo, std::nullopt);
}

TEST_F(Lt, AForbiddenImplementationIsNoError) {
    device();
    LtProduct product({});
    const auto float32_only = [](cublasLtMatmulPreference_t preference) {
        const std::uint64_t mask = CUBLASLT_NUMERICAL_IMPL_FLAGS_FMA | CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_32F |
                                   CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_32F;
        api().cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_IMPL_MASK, &mask, sizeof mask);
    };
    const auto algorithms = product.algorithms(handle_, float32_only);
    EXPECT_FALSE(algorithms.empty()) << "every library has a float32 product";
    for (const auto& algo : algorithms) run(product, &algo, std::nullopt);
}

TEST_F(Lt, ACublasHandleIsACublasLtHandle) {
    device();
    cublasHandle_t cublas = nullptr;
    ASSERT_EQ(api().cublasCreate_v2(&cublas), CUBLAS_STATUS_SUCCESS);
    const cublasLtHandle_t own = handle_;
    handle_ = reinterpret_cast<cublasLtHandle_t>(cublas);
    LtProduct product({});
    run(product, nullptr);
    for (const auto& algo : product.algorithms(handle_)) run(product, &algo);
    handle_ = own;
    api().cublasDestroy_v2(cublas);
}

TEST_F(Lt, NarrowOperandsAreObservedAndWideOnesNotCounted) {
    device();
    for (Dtype dtype : {Dtype::float16, Dtype::bfloat16}) {
        if (dtype == Dtype::bfloat16 && std::stod(device().compute_capability()) < 8) continue;
        Request request;
        request.dtype = dtype;
        LtProduct product(request);
        decision_log().read_new();
        const cublasStatus_t status = product.multiply(handle_, nullptr);
        EXPECT_EQ(status, CUBLAS_STATUS_SUCCESS);
        const nlohmann::json decision = check_description(request, status);
        product.result();
        if (!decision.is_null()) {
            EXPECT_EQ(decision["reason"], "observed");
            EXPECT_EQ(decision["applied"], "unchanged");
            EXPECT_EQ(decision["how"], "forward");
        }
    }
    LtProduct wide({.dtype = Dtype::float64});
    decision_log().read_new();
    EXPECT_EQ(wide.multiply(handle_, nullptr), CUBLAS_STATUS_SUCCESS);
    EXPECT_TRUE(decision_log().read_new().empty());
    wide.result();
}

}  // namespace
}  // namespace clients
