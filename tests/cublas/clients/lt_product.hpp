// One product of cublasLtMatmul: its operands, descriptors and searches, and its result.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "decision_log.hpp"
#include "device.hpp"
#include "reference.hpp"
#include "settings.hpp"

namespace clients {

inline constexpr std::size_t workspace_bytes = 1 << 20;

/// Returns the ids that an algorithm offers. If it offers none, returns a single 0, which means "not set".
inline std::vector<std::uint32_t> offered(const cublasLtMatmulAlgo_t& algo,
                                          cublasLtMatmulAlgoCapAttributes_t attribute) {
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

/// Returns the algorithm in each combination of tile and stages that it offers. AlgoInit sets neither, but every
/// product needs both.
inline std::vector<cublasLtMatmulAlgo_t> configured(const cublasLtMatmulAlgo_t& made) {
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

/// Description of a product for cublasLt.
struct Request {
    Dtype dtype = Dtype::float32;
    char trans_a = 'N', trans_b = 'N';
    std::int64_t m = 37, n = 29, k = 53, batch = 1;
    bool bias = false;
    bool device_scalars = false;
    bool on_the_stack = false;  ///< descriptors are made by Init instead of Create
    bool grouped = false;       ///< sizes, and pointers to matrices, are in arrays on the device
};

template <class T>
void set_preference(cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t attribute, T value) {
    EXPECT_EQ(api().cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof value),
              CUBLAS_STATUS_SUCCESS);
}

inline int id_of(const cublasLtMatmulAlgo_t& algo) {
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
        layout_a_ = request.grouped ? make_grouped(first.a, type, *a_) : make_layout(first.a, type);
        layout_b_ = request.grouped ? make_grouped(first.b, type, *b_) : make_layout(first.b, type);
        layout_c_ = request.grouped ? make_grouped(first.c, result_type, *c_) : make_layout(first.c, result_type);
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
        std::vector<cublasLtMatmulHeuristicResult_t> results;  ///< one result for each that was requested

        Algorithms usable() const {
            Algorithms found;
            for (int i = 0; status == CUBLAS_STATUS_SUCCESS && i < count; ++i)
                if (results[static_cast<std::size_t>(i)].state == CUBLAS_STATUS_SUCCESS)
                    found.push_back(results[static_cast<std::size_t>(i)].algo);
            return found;
        }
    };

    /// Returns the algorithms that the library finds, best first. `begin`: contents of the array before the call.
    Answer search(cublasLtHandle_t handle, int wanted, const Preference& restrict = nullptr,
                  const cublasLtMatmulAlgo_t* begin = nullptr,
                  Heuristic heuristic = api().cublasLtMatmulAlgoGetHeuristic) {
        cublasLtMatmulPreference_t preference = nullptr;
        api().cublasLtMatmulPreferenceCreate(&preference);
        set_preference(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace_bytes);
        if (restrict) restrict(preference);
        Answer answer{CUBLAS_STATUS_NOT_INITIALIZED, -1, {}};
        // One more than requested, to detect a write beyond the end.
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

    /// Returns the heuristic's algorithms, best first.
    Algorithms algorithms(cublasLtHandle_t handle, const Preference& restrict = nullptr) {
        return search(handle, 4, restrict).usable();
    }

    /// Returns, for each algorithm that the library has for this descriptor, its first configuration that fits.
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

    /// Expects that the library accepts the algorithm for this product, by each of its two functions for that check.
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
        const std::array<const DeviceMemory*, 3> matrices{a_.get(), b_.get(), c_.get()};
        std::array<void*, 3> operands{};
        for (std::size_t i = 0; i < matrices.size(); ++i)
            operands[i] = request_.grouped ? arrays_[4 * i + 3].address() : matrices[i]->address();
        return api().cublasLtMatmul(handle, desc_, alpha, operands[0], layout_a_, operands[1], layout_b_, beta,
                                    operands[2], layout_c_, operands[2], layout_c_, algo, workspace_.address(),
                                    workspace_bytes, nullptr);
    }

    /// Returns the algorithm that AlgoInit makes for this product.
    std::optional<cublasLtMatmulAlgo_t> algorithm_of_id(cublasLtHandle_t handle, int id) const {
        const cudaDataType_t type = data_type(request_.dtype), wide = data_type(c_type());
        cublasLtMatmulAlgo_t algo;
        if (api().cublasLtMatmulAlgoInit(handle, compute_type_, wide, type, type, wide, wide, id, &algo) !=
            CUBLAS_STATUS_SUCCESS)
            return std::nullopt;
        return algo;
    }

    /// Measures the worst result of the batch. Fails the test if it is not the right product.
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

    /// Returns a hash of the result's bits.
    std::uint64_t result_hash() {
        api().cuCtxSynchronize();
        std::vector<unsigned char> bytes(c_before_.size());
        c_->read(bytes.data(), bytes.size());
        std::uint64_t hash = 0xcbf29ce484222325;
        for (const unsigned char byte : bytes) hash = (hash ^ byte) * 0x100000001b3;
        return hash;
    }

    cublasComputeType_t described_compute_type() const {
        cublasComputeType_t value{};
        std::size_t written = 0;
        api().cublasLtMatmulDescGetAttribute(desc_, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, &value, sizeof value,
                                             &written);
        return value;
    }

    using GroupedLayoutCreate = cublasStatus_t (*)(cublasLtMatrixLayout_t*, cudaDataType, int, const void*,
                                                   const void*, const void*);
    /// Returns a function that is newer than the headers; null if the library does not have it.
    static GroupedLayoutCreate grouped_layout_create() {
        void* const library = dlopen("libcublasLt.so.13", RTLD_NOW | RTLD_NOLOAD);
        return library == nullptr
                   ? nullptr
                   : reinterpret_cast<GroupedLayoutCreate>(dlsym(library, "cublasLtGroupedMatrixLayoutCreate"));
    }

    const Request& request() const { return request_; }
    cublasComputeType_t compute_type() const { return compute_type_; }

  private:
    using CheckForStream = cublasStatus_t (*)(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              const cublasLtMatmulAlgo_t*, cublasLtMatmulHeuristicResult_t*,
                                              cudaStream_t);

    /// Returns a function that is newer than the headers; null if the library does not have it.
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

    /// Returns a layout with one matrix for each problem. The matrices lie one after the other in `memory`.
    cublasLtMatrixLayout_t make_grouped(const Matrix& matrix, cudaDataType_t type, const DeviceMemory& memory) {
        const std::size_t count = problems_.size();
        for (const std::int64_t size : {matrix.rows, matrix.columns, matrix.ld})
            arrays_.emplace_back(std::vector<std::int32_t>(count, static_cast<std::int32_t>(size)));
        std::vector<void*> pointers;
        for (std::size_t i = 0; i < count; ++i)
            pointers.push_back(memory.address(i * matrix.values.size() * size_of(request_.dtype)));
        arrays_.emplace_back(pointers);
        const DeviceMemory* const last = &arrays_.back() - 3;
        cublasLtMatrixLayout_t layout = nullptr;
        EXPECT_EQ(grouped_layout_create()(&layout, type, static_cast<int>(count), last[0].address(),
                                          last[1].address(), last[2].address()),
                  CUBLAS_STATUS_SUCCESS);
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
    /// Arrays of grouped layouts: for each, rows, columns, leading dimensions, pointers.
    std::vector<DeviceMemory> arrays_;
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

}  // namespace clients
