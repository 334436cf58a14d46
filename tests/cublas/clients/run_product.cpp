#include "run_product.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "answers.hpp"
#include "decision_log.hpp"
#include "reference.hpp"
#include "settings.hpp"

namespace clients {
namespace {

// Exponent of operands: small enough that FP16 loses bits which TF32 keeps, but not so small that products underflow.
constexpr int operand_exponent = -16;
constexpr int result_exponent = 2 * operand_exponent + 3;

bool is_rank_k(Operation operation) { return operation >= Operation::syrk && operation <= Operation::herkx; }
bool is_triangular(Operation operation) { return operation == Operation::trmm || operation == Operation::trsm; }
bool has_k(Operation operation) { return operation == Operation::gemm || is_rank_k(operation); }

Dtype result_type(const ProductCase& product) {
    // Narrow products with a compute type accumulate in float32, and write float32.
    return product.road == Road::observed && product.function.find("Hgemm") == std::string::npos ? Dtype::float32
                                                                                                 : product.dtype;
}

/// Returns B = A·D with a real diagonal D of powers of two. Then A·Bᵀ is symmetric and A·Bᴴ Hermitian, however the
/// operands are rounded. The manual requires this of the operands of syrkx and herkx.
Matrix scaled_by_diagonal(const Matrix& a, char trans) {
    Matrix b = a;
    for (std::int64_t j = 0; j < a.columns; ++j) {
        for (std::int64_t i = 0; i < a.rows; ++i) {
            const std::int64_t summed = trans == 'N' ? j : i;
            b.at(i, j) *= summed % 3 == 0 ? 0.5 : summed % 3 == 1 ? 1.0 : 2.0;
        }
    }
    return b;
}

/// Returns a well conditioned triangular matrix, so that a solve adds no larger error than its operands have.
Matrix triangle(Dtype dtype, std::int64_t order, char uplo, char diag, unsigned seed) {
    Matrix result = random_matrix(dtype, order, order, -4, seed);
    const Matrix diagonal = random_matrix(dtype, order, 1, 1, seed + 1);
    for (std::int64_t i = 0; i < order; ++i) result.at(i, i) = diagonal.at(i, 0);
    keep_triangle(result, uplo, diag == 'N');
    return result;
}

Problem make_problem(const ProductCase& product, const Variant& variant, unsigned seed) {
    Problem problem{product.operation,
                    product.dtype,
                    variant.trans_a,
                    variant.trans_b,
                    variant.side,
                    variant.uplo,
                    variant.diag,
                    variant.m,
                    variant.n,
                    variant.k,
                    {0.75, 0},
                    {0.5, 0},
                    {},
                    {},
                    {}};
    const Operation operation = product.operation;
    const int exponent = product.road == Road::observed ? 0 : operand_exponent;
    const int exponent_a = variant.small_a ? -122 : exponent;
    const int exponent_b = variant.small_a ? 2 * operand_exponent - exponent_a : exponent;
    if (is_complex(product.dtype)) {
        if (operation != Operation::herk) problem.alpha = {0.75, -0.25};
        if (operation != Operation::herk && operation != Operation::her2k && operation != Operation::herkx)
            problem.beta = {0.5, 0.125};
        if (operation == Operation::herkx) problem.alpha = 0.75;  // a real factor keeps the product Hermitian
    }
    if (variant.zero_beta || is_triangular(operation)) problem.beta = 0;
    if (is_rank_k(operation)) problem.m = problem.n;

    const auto operand = [&](std::int64_t rows, std::int64_t columns, char trans, int magnitude,
                             unsigned operand_seed) {
        return trans == 'N' ? random_matrix(product.dtype, rows, columns, magnitude, operand_seed)
                            : random_matrix(product.dtype, columns, rows, magnitude, operand_seed);
    };
    const std::int64_t order = variant.side == 'L' ? variant.m : variant.n;
    if (operation == Operation::gemm) {
        problem.a = operand(problem.m, problem.k, variant.trans_a, exponent_a, seed);
        problem.b = operand(problem.k, problem.n, variant.trans_b, exponent_b, seed + 1);
    } else if (is_rank_k(operation)) {
        problem.a = operand(problem.n, problem.k, variant.trans_a, exponent_a, seed);
        problem.b = operation == Operation::syrkx || operation == Operation::herkx
                        ? scaled_by_diagonal(problem.a, variant.trans_a)
                        : operand(problem.n, problem.k, variant.trans_a, exponent_b, seed + 1);
    } else if (is_triangular(operation)) {
        problem.a = triangle(product.dtype, order, variant.uplo, variant.diag, seed);
        problem.b = operand(problem.m, problem.n, 'N', exponent, seed + 2);
    } else {
        problem.a = operand(order, order, 'N', exponent_a, seed);
        keep_triangle(problem.a, variant.uplo, true);
        problem.b = operand(problem.m, problem.n, 'N', exponent_b, seed + 1);
    }
    const int c_exponent = product.road == Road::observed ? 0 : result_exponent;
    problem.c = random_matrix(result_type(product), problem.m, problem.n, c_exponent, seed + 3);
    if (variant.zero_beta)
        for (Number& value : problem.c.values) value = std::numeric_limits<double>::quiet_NaN();
    return problem;
}

/// Returns the problems of a batch. A grouped batch has two sizes; two of its three members have the larger one.
std::vector<Problem> make_batch(const ProductCase& product, const Variant& variant) {
    std::vector<Problem> result;
    for (std::int64_t i = 0; i < variant.batch; ++i) {
        Variant single = variant;
        if (product.batching == Batching::groups && i == 2) {
            single.m -= 5;
            single.k -= 9;
        }
        result.push_back(make_problem(product, single, static_cast<unsigned>(10 * i + 1)));
    }
    return result;
}

/// Operands of a batch in memory: on the device, or for cublasXt on the host.
class Operand {
  public:
    Operand(const ProductCase& product, Dtype dtype, const std::vector<Problem>& problems, Matrix Problem::*member)
        : is_on_host_(product.form == Form::xt) {
        for (const Problem& problem : problems) {
            offsets_.push_back(before_.size());
            const std::vector<unsigned char> bytes = bytes_of(dtype, problem.*member);
            before_.insert(before_.end(), bytes.begin(), bytes.end());
            // Strides are those of the first member. Members of a batch of pointers are aligned for every kernel.
            if (product.batching != Batching::strided) before_.resize((before_.size() + 255) / 256 * 256);
        }
        if (is_on_host_) {
            host_ = before_;
        } else {
            device_.emplace(before_);
        }
        if (product.batching == Batching::arrays || product.batching == Batching::groups) {
            std::vector<void*> pointers;
            for (std::size_t offset : offsets_) pointers.push_back(device_->address(offset));
            array_.emplace(pointers);
        }
    }

    Pointer argument() {
        if (array_) return {array_->address()};
        return {is_on_host_ ? host_.data() : device_->address()};
    }

    const std::vector<unsigned char>& before() const { return before_; }
    std::size_t offset(std::size_t member) const { return offsets_[member]; }

    std::vector<unsigned char> after() const {
        if (is_on_host_) return host_;
        std::vector<unsigned char> result(before_.size());
        device_->read(result.data(), result.size());
        return result;
    }

  private:
    bool is_on_host_;
    std::vector<unsigned char> before_, host_;
    std::vector<std::size_t> offsets_;
    std::optional<DeviceMemory> device_, array_;
};

void set_scalar(Scalar& scalar, Number value, Dtype dtype) {
    scalar.value = value;
    encode(dtype, value, scalar.bytes);
    scalar.address = scalar.bytes;
}

/// Returns the type of alpha or beta: that of the result, except that some factors of Hermitian products are real.
Dtype scalar_type(const ProductCase& product, bool is_beta) {
    const bool is_real =
        product.operation == Operation::herk ||
        (is_beta && (product.operation == Operation::her2k || product.operation == Operation::herkx));
    return is_real ? Dtype::float32 : result_type(product);
}

Groups make_groups(const std::vector<Problem>& problems) {
    Groups groups;
    for (std::size_t first = 0; first < problems.size();) {
        const Problem& problem = problems[first];
        std::size_t last = first;
        while (last < problems.size() && problems[last].m == problem.m) ++last;
        const auto operation = [](char letter) { return static_cast<cublasOperation_t>(Option{letter}); };
        groups.trans_a.push_back(operation(problem.trans_a));
        groups.trans_b.push_back(operation(problem.trans_b));
        groups.m.push_back(problem.m);
        groups.n.push_back(problem.n);
        groups.k.push_back(problem.k);
        groups.lda.push_back(problem.a.ld);
        groups.ldb.push_back(problem.b.ld);
        groups.ldc.push_back(problem.c.ld);
        groups.size.push_back(static_cast<std::int64_t>(last - first));
        groups.alpha.push_back(static_cast<float>(problem.alpha.real()));
        groups.beta.push_back(static_cast<float>(problem.beta.real()));
        ++groups.count;
        first = last;
    }
    return groups;
}

/// Returns the format that the decision must name, if policy and function determine it.
std::optional<std::string> expected_applied(const ProductCase& product) {
    if (product.road == Road::observed) return "unchanged";
    // A mode with bits that no header names may allow anything.
    if (product.road == Road::as_called) return (settings().math_mode & ~31) == 0 ? "fp64" : "unchanged";
    // These functions have no math mode: only the environment can change their format.
    const bool emulates = std::getenv("CUBLAS_EMULATE_SINGLE_PRECISION") != nullptr;
    if (product.road == Road::not_governable) return emulates ? std::nullopt : std::optional<std::string>("fp32");
    // These functions refuse the PEDANTIC mode, which alone keeps emulation away.
    if (emulates && product.function.find("k3mEx") != std::string::npos) return std::nullopt;
    const auto wish = settings().wish();
    if (!wish || *wish == "fp32") return wish;
    const bool is_of_pointers = product.batching == Batching::arrays || product.batching == Batching::groups;
    const bool is_protected = product.operation == Operation::trsm && !settings().lowers_solves;
    if (is_protected || (is_of_pointers && !settings().assume_aligned))
        return settings().asks_for_float32() ? std::optional<std::string>("fp32") : std::nullopt;
    // No cuBLAS is known to use TF32 in these functions, so the shim does not ask for it.
    const bool ignores_tf32_mode = product.road == Road::math_mode && product.operation != Operation::gemm &&
                                   product.operation != Operation::trsm;
    if (ignores_tf32_mode && (*wish == "tf32" || *wish == "bf16"))
        return settings().asks_for_float32() ? std::optional<std::string>("fp32") : std::nullopt;
    const bool has_tf32_only = product.road == Road::math_mode || product.batching == Batching::groups;
    if (has_tf32_only && *wish == "bf16") return "tf32";
    if (has_tf32_only && *wish == "bf16x9") return std::nullopt;
    return wish;
}

/// Returns true if the function accepts the compute type. Grouped batches accept fewer than others.
bool takes_compute_type(const ProductCase& product, cublasComputeType_t compute_type) {
    return product.batching != Batching::groups || compute_type == CUBLAS_COMPUTE_32F ||
           compute_type == CUBLAS_COMPUTE_32F_PEDANTIC || compute_type == CUBLAS_COMPUTE_32F_FAST_TF32;
}

nlohmann::json letter_or_null(bool has_it, char letter) {
    return has_it ? nlohmann::json(std::string(1, letter)) : nlohmann::json(nullptr);
}

void check_description(const Device& device, const ProductCase& product, const Variant& variant,
                       const nlohmann::json& decision) {
    constexpr const char* dtypes[] = {"float32", "complex64", "float16", "bfloat16", "float64"};
    const Operation operation = product.operation;
    EXPECT_EQ(decision["function"], product.function);
    EXPECT_EQ(decision["dtype"], dtypes[static_cast<int>(product.dtype)]);
    EXPECT_EQ(decision["device"], "cuda");
    if (product.form == Form::plain) {
        EXPECT_EQ(decision["device_index"], device.index());
        EXPECT_EQ(decision["compute_capability"], device.compute_capability());
    }
    EXPECT_EQ(decision["batch"], variant.batch);
    // Without groups there are neither sizes nor options.
    if (product.batching == Batching::groups && variant.batch == 0) return;
    const std::int64_t order = variant.side == 'L' ? variant.m : variant.n;
    EXPECT_EQ(decision["m"], is_rank_k(operation) ? variant.n : variant.m);
    EXPECT_EQ(decision["n"], variant.n);
    EXPECT_EQ(decision["k"], has_k(operation) ? variant.k : order);
    const bool is_symm = operation == Operation::symm || operation == Operation::hemm;
    EXPECT_EQ(decision["trans_a"], letter_or_null(!is_symm, variant.trans_a));
    EXPECT_EQ(decision["trans_b"], letter_or_null(operation == Operation::gemm, variant.trans_b));
}

/// Expects exactly one decision, which describes the call and its outcome. Returns its `applied`; absent without a
/// shim.
std::optional<std::string> check_decision(const Device& device, const ProductCase& product, const Variant& variant,
                                          cublasStatus_t status) {
    const auto decisions = decision_log().read_new();
    if (!DecisionLog::is_there()) return std::nullopt;
    EXPECT_EQ(decisions.size(), 1U);
    if (decisions.empty()) return std::nullopt;
    const nlohmann::json& decision = decisions.back();
    SCOPED_TRACE(decision.dump());
    check_description(device, product, variant, decision);
    EXPECT_EQ(decision["status"], product.has_status() ? nlohmann::json(static_cast<int>(status)) : nullptr);

    const std::string applied = decision["applied"];
    if (product.road == Road::not_governable) {
        EXPECT_EQ(decision["reason"], "not_governable");
        EXPECT_EQ(decision["how"], "forward");
    } else if (product.road == Road::observed) {
        EXPECT_EQ(decision["reason"], "observed");
        EXPECT_EQ(decision["how"], "forward");
    } else if (!variant.multiplies(product.operation)) {
        EXPECT_EQ(decision["reason"], "no_product");
        return applied;
    }
    if (const auto expected = expected_applied(product)) {
        EXPECT_EQ(applied, *expected);
    }
    return applied;
}

/// Expects that bytes which the call must not write are unchanged.
void check_unwritten(const Problem& problem, Dtype dtype, const unsigned char* before, const unsigned char* after) {
    const Matrix& c = problem.c;
    const std::size_t size = size_of(dtype);
    for (std::int64_t j = 0; j < c.columns; ++j) {
        for (std::int64_t i = 0; i < c.ld; ++i) {
            if (i < c.rows && is_written(problem, i, j)) continue;
            const std::size_t offset = static_cast<std::size_t>(i + j * c.ld) * size;
            ASSERT_TRUE(std::equal(before + offset, before + offset + size, after + offset))
                << "C(" << i << ", " << j << ") was written";
        }
    }
}

void check_format(const ProductCase& product, const Measured& measured, const std::optional<std::string>& applied) {
    const std::string found = name_of(measured.format);
    const std::string numbers =
        found + ", error " + std::to_string(measured.error) + ", " + std::to_string(measured.distance) + " from it";
    // A forwarded call may have run in any format, but the result must still be the product.
    EXPECT_LT(measured.error, 0.02);
    if (product.road == Road::observed || product.road == Road::as_called) return;
    if (applied && *applied != "unchanged") {
        const std::string rounding = *applied == "bf16x9" ? "fp32" : *applied;
        EXPECT_GE(rank_of(found), rank_of(rounding)) << numbers;
        if (settings().exact) {
            if (product.operation == Operation::trsm) {
                // Products inside a solve round intermediate results, so no reference is close.
                EXPECT_EQ(found == "fp32", rounding == "fp32") << numbers;
            } else {
                EXPECT_EQ(found, settings().used(rounding)) << numbers;
            }
        }
    } else if (const auto wish = settings().wish(); wish && !applied) {
        EXPECT_GE(rank_of(found), rank_of(*wish)) << numbers;
    }
}

/// Sets everything in a call except its operands and groups. Sizes are those of the batch's first member. A call must
/// not be copied: it points to its own scalars.
void fill_call(Call& call, const ProductCase& product, const Variant& variant, const Problem& first) {
    const Matrix& c = product.is_in_place() ? first.b : first.c;
    call.trans_a = {variant.trans_a};
    call.trans_b = {variant.trans_b};
    call.side = {variant.side};
    call.uplo = {variant.uplo};
    call.diag = {variant.diag};
    call.m = first.m;
    call.n = first.n;
    call.k = first.k;
    call.lda = first.a.ld;
    call.ldb = first.b.ld;
    call.ldc = c.ld;
    call.stride_a = static_cast<std::int64_t>(first.a.values.size());
    call.stride_b = static_cast<std::int64_t>(first.b.values.size());
    call.stride_c = static_cast<std::int64_t>(first.c.values.size());
    call.batch = variant.batch;
    call.type = data_type(product.dtype);
    call.type_c = data_type(result_type(product));
    if (product.road == Road::compute_type && takes_compute_type(product, settings().compute_type)) {
        call.compute_type = settings().compute_type;
        call.algo = settings().algo;
    }
    set_scalar(call.alpha, first.alpha, scalar_type(product, false));
    set_scalar(call.beta, first.beta, scalar_type(product, true));
}

/// Copies alpha and beta to the device and makes the call read them there. They exist as long as the returned memory.
DeviceMemory put_scalars_on_device(Call& call) {
    std::vector<unsigned char> bytes(sizeof call.alpha.bytes + sizeof call.beta.bytes);
    std::copy_n(call.alpha.bytes, sizeof call.alpha.bytes, bytes.begin());
    std::copy_n(call.beta.bytes, sizeof call.beta.bytes, bytes.begin() + sizeof call.alpha.bytes);
    DeviceMemory scalars(bytes);
    call.alpha.address = scalars.address();
    call.beta.address = scalars.address(sizeof call.alpha.bytes);
    api().cublasSetPointerMode_v2(call.handle, CUBLAS_POINTER_MODE_DEVICE);
    return scalars;
}

/// Expects that the handle has the modes that the program set. Then sets the pointer mode back to the host's.
void check_modes(cublasHandle_t handle, const Variant& variant) {
    cublasMath_t math_mode = CUBLAS_DEFAULT_MATH;
    cublasPointerMode_t pointer_mode = CUBLAS_POINTER_MODE_HOST;
    api().cublasGetMathMode(handle, &math_mode);
    api().cublasGetPointerMode_v2(handle, &pointer_mode);
    EXPECT_EQ(math_mode, settings().math_mode);
    EXPECT_EQ(pointer_mode, variant.device_scalars ? CUBLAS_POINTER_MODE_DEVICE : CUBLAS_POINTER_MODE_HOST);
    api().cublasSetPointerMode_v2(handle, CUBLAS_POINTER_MODE_HOST);
}

/// Checks the result of one member of a batch. `before` and `after`: the bytes of C around the call.
void check_result(const ProductCase& product, const Variant& variant, const Problem& problem,
                  const unsigned char* before, const unsigned char* after,
                  const std::optional<std::string>& applied) {
    const Dtype c_type = result_type(product);
    check_unwritten(problem, c_type, before, after);
    Dense result(problem.c.rows, problem.c.columns);
    for (std::int64_t column = 0; column < result.columns; ++column)
        for (std::int64_t row = 0; row < result.rows; ++row)
            result.at(row, column) =
                decode(c_type, after + static_cast<std::size_t>(row + column * problem.c.ld) * size_of(c_type));
    if (result.values.empty()) return;
    // Below FP32 a small A may underflow. `unchanged` does not tell which format ran.
    if (variant.small_a && applied && rank_of(*applied) != rank_of("fp32")) return;
    check_format(product, measure(problem, result), variant.multiplies(product.operation) ? applied : "fp32");
}

}  // namespace

std::string Variant::text() const {
    std::string result = {trans_a, trans_b, ' ', side, uplo, diag};
    for (std::int64_t number : {m, n, k, batch}) result += ' ' + std::to_string(number);
    return result + (device_scalars ? " device scalars" : "") + (zero_beta ? " beta 0" : "") +
           (small_a ? " small A" : "");
}

bool Variant::multiplies(Operation operation) const {
    return batch > 0 && n > 0 && (m > 0 || is_rank_k(operation)) && (k > 0 || !has_k(operation));
}

void run_product(const Device& device, cublasHandle_t handle, const ProductCase& product, const Variant& variant) {
    SCOPED_TRACE(product.function + " " + variant.text());
    const std::vector<Problem> problems = make_batch(product, variant);
    // An empty batch has operands too; they must not change.
    Variant one = variant;
    one.batch = std::max<std::int64_t>(variant.batch, 1);
    const std::vector<Problem> in_memory = make_batch(product, one);
    const bool in_place = product.is_in_place();
    Operand a(product, product.dtype, in_memory, &Problem::a);
    Operand b(product, product.dtype, in_memory, &Problem::b);
    Operand c(product, result_type(product), in_memory, in_place ? &Problem::b : &Problem::c);

    Call call;
    call.handle = handle;
    fill_call(call, product, variant, in_memory.front());
    call.a = a.argument();
    call.b = b.argument();
    call.c = c.argument();
    if (product.batching == Batching::groups) call.groups = make_groups(problems);
    std::optional<DeviceMemory> scalars;
    if (variant.device_scalars) scalars.emplace(put_scalars_on_device(call));

    decision_log().read_new();
    const cublasStatus_t status = product.call(call);

    const bool multiplies = variant.multiplies(product.operation);
    if (multiplies || variant.batch == 0) {
        EXPECT_EQ(status, CUBLAS_STATUS_SUCCESS);
    }
    check_modes(handle, variant);
    const auto applied = check_decision(device, product, variant, status);
    EXPECT_EQ(api().cuCtxSynchronize(), CUDA_SUCCESS);
    const std::vector<unsigned char> after = c.after();
    if (variant.batch == 0) {
        EXPECT_EQ(after, c.before());
        return;
    }
    if (!multiplies) {
        check_answer(product.function + " " + std::to_string(data_type(product.dtype)) + " " + variant.text(), status,
                     after);
        if (after == c.before()) return;  // refused, or not scaled
    }
    for (std::size_t i = 0; i < problems.size(); ++i) {
        SCOPED_TRACE("product " + std::to_string(i));
        Problem problem = problems[i];
        if (in_place) problem.c = problem.b;
        check_result(product, variant, problem, c.before().data() + c.offset(i), after.data() + c.offset(i), applied);
    }
}

}  // namespace clients
