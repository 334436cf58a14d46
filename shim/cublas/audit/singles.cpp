#include "shim/cublas/audit/singles.hpp"

#include <cstring>
#include <new>

#include "shim/cublas/arguments.hpp"
#include "shim/cublas/lt_arguments.hpp"
#include "shim/level3/roles.hpp"

namespace fp32shim::cublas {
namespace {

using blas::Level3;
using blas::Matrix;

/// Returns true for syrkx and herkx, which multiply two matrices and compute one triangle of the result.
bool is_rank_kx(const Function& function) { return function.name.find("rkx") != std::string_view::npos; }

char fill_letter(std::int32_t value) { return value == fill_upper ? 'U' : value == fill_lower ? 'L' : '?'; }

/// Sets the options of a product. An option whose value cuBLAS does not define becomes '?'.
void set_options(const ArgumentReader& arguments, Level3& single) {
    if (arguments.has(Role::side)) {
        const std::int32_t side = arguments.enumerator(Role::side);
        single.side = side == side_left ? 'L' : side == side_right ? 'R' : '?';
    }
    if (arguments.has(Role::uplo)) single.uplo = fill_letter(arguments.enumerator(Role::uplo));
    if (arguments.has(Role::diag)) {
        const std::int32_t diag = arguments.enumerator(Role::diag);
        single.diag = diag == diagonal_unit ? 'U' : diag == diagonal_stored ? 'N' : '?';
    }
    single.trans_a = arguments.operation(Role::trans_a);
    single.trans_b = arguments.operation(Role::trans_b);
}

void set_sizes_and_operands(const ArgumentReader& arguments, Level3& single) {
    const auto pointer = [&](Role role) { return arguments.has(role) ? arguments.array(role) : nullptr; };
    for (const auto& [role, number] : numbers_of_products) single.*number = arguments.integer(role, 0);
    for (const auto& [role, address] : addresses_of_products) single.*address = pointer(role);
    single.c = const_cast<void*>(pointer(Role::c));
}

/// Turns a rank-k update with two different matrices (syrkx, herkx) into the equivalent gemmt.
void make_gemmt(Level3& single) {
    const char turned = single.operation == blas::Operation::her2k ? 'C' : 'T';
    single.operation = blas::Operation::gemmt;
    single.trans_b = single.trans_a == 'N' ? turned : 'N';
}

bool has_valid_sizes(const Matrix& matrix) {
    constexpr std::int64_t most = INT32_MAX;
    return matrix.rows >= 1 && matrix.columns >= 1 && matrix.rows <= most && matrix.columns <= most &&
           matrix.ld >= matrix.rows;
}

const void* address_of_element(const void* data, std::int64_t elements, int width) {
    return data == nullptr ? nullptr : static_cast<const float*>(data) + elements * width;
}

bool has_audited_type(const Product& product) {
    return product.treatment == OperandTreatment::governed || product.treatment == OperandTreatment::as_called;
}

void set_type(policy::Dtype dtype, Level3& single) {
    single.is_complex = policy::is_complex(dtype);
    single.is_double = policy::is_double(dtype);
}

/// Returns the size of alpha or beta in bytes. `is_pair` is true if the scalar is complex.
std::size_t bytes_of_scalar(const Level3& single, bool is_pair) {
    return (single.is_double ? sizeof(double) : sizeof(float)) * (is_pair ? 2 : 1);
}

/// A matrix that a cublasLt layout describes.
struct LtMatrix {
    std::int32_t type = -1;
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    std::int64_t ld = 0;
    std::int32_t batch_count = 1;
    std::int64_t stride = 0;

    /// Reads a layout. Returns false if the layout cannot be read, is not column-major, separates real and imaginary
    /// parts, or describes a batch by pointers.
    bool read(const Library& library, const void* layout) {
        std::int32_t order = -1;
        std::int64_t plane_offset = 0;
        std::uint32_t batch_mode = 0;
        const auto get = [&](std::int32_t attribute, auto& value) {
            return cublas::read(library.layout_get, layout, attribute, value);
        };
        get(layout_plane_offset, plane_offset);
        get(layout_batch_mode, batch_mode);  // older libraries do not have batch modes
        return layout != nullptr && get(layout_type, type) && get(layout_order, order) && get(layout_rows, rows) &&
               get(layout_cols, columns) && get(layout_ld, ld) && get(layout_batch_count, batch_count) &&
               get(layout_batch_stride, stride) && order == 0 && plane_offset == 0 && batch_mode == 0;
    }
};

}  // namespace

bool AuditedBatch::read_arguments(const Site& site, const Frame& frame, const Product& product) {
    const Function& function = *site.function;
    const ProductFamily& family = function.product();
    if (family.treatment != Treatment::governed || family.control == FormatControl::lt_matmul ||
        family.control == FormatControl::none || product.handle == nullptr || !has_audited_type(product) ||
        family.operation == blas::Operation::trsm || family.batching == Batching::groups)
        return false;
    const ArgumentReader arguments(function, frame);
    for (Role role : {Role::b_type, Role::c_type})
        if (arguments.has(role) && arguments.enumerator(role) != arguments.enumerator(Role::a_type)) return false;
    first_.operation = family.operation;
    set_type(product.dtype, first_);
    set_options(arguments, first_);
    set_sizes_and_operands(arguments, first_);
    // This must precede make_gemmt(). cuBLAS's manual demands that the operands of syrkx and herkx give a symmetric
    // result, so these functions write the same triangle as a rank-k update.
    written_ = blas::written_region(first_);
    alpha_bytes_ = bytes_of_scalar(first_, has_complex_scalar(first_, false));
    beta_bytes_ = first_.beta == nullptr ? 0 : bytes_of_scalar(first_, has_complex_scalar(first_, true));
    if (is_rank_kx(function)) make_gemmt(first_);
    overwrites_b_ = first_.operation == blas::Operation::trmm && first_.b == first_.c;
    in_arrays_ = family.batching == Batching::pointers;
    if (family.batching != Batching::single && !choose_products(arguments.integer(Role::batch_count, 0)))
        return false;
    if (family.batching == Batching::strided)  // strides have 64 bits in functions of every name form
        for (std::int64_t* stride = strides_; const Role role : {Role::stride_a, Role::stride_b, Role::stride_c})
            *stride++ = reinterpret_cast<std::int64_t>(arguments.array(role));
    return has_valid_arguments();
}

/// Chooses which products of a batch are computed again. Returns false if the batch is empty.
bool AuditedBatch::choose_products(std::int64_t batch_count) {
    if (batch_count < 1) return false;
    step_ = (batch_count + max_of_a_batch - 1) / max_of_a_batch;
    count_ = (batch_count + step_ - 1) / step_;
    return true;
}

bool AuditedBatch::read_lt_arguments(const Library& library, const Frame& frame, const MatmulDescription& parts,
                                     const Product& product) {
    LtMatrix a;
    LtMatrix b;
    LtMatrix c;
    LtMatrix d;
    const auto pointer = [&](int position) { return reinterpret_cast<void*>(frame.word(position)); };
    const auto attribute = [&](std::int32_t which, auto fallback) {
        cublas::read(library.desc_get, parts.desc, which, fallback);
        return fallback;
    };
    if (!has_audited_type(product) || library.layout_init == nullptr || !a.read(library, parts.a_layout) ||
        !b.read(library, parts.b_layout) || !c.read(library, parts.c_layout) || !d.read(library, parts.d_layout))
        return false;
    if (b.type != a.type || c.type != a.type || d.type != a.type || b.batch_count != d.batch_count ||
        a.batch_count != d.batch_count || c.batch_count != d.batch_count || c.rows != d.rows ||
        c.columns != d.columns || attribute(desc_trans_c, std::int32_t{op_n}) != op_n ||
        attribute(desc_fill_mode, std::int32_t{fill_full}) != fill_full ||
        (d.batch_count > 1 && attribute(desc_bias_batch_stride, std::int64_t{0}) != 0))
        return false;
    set_type(product.dtype, first_);
    first_.trans_a = letter_of_operation(attribute(desc_trans_a, std::int32_t{op_n}));
    first_.trans_b = letter_of_operation(attribute(desc_trans_b, std::int32_t{op_n}));
    first_.m = d.rows;
    first_.n = d.columns;
    first_.k = first_.trans_a == 'N' || first_.trans_a == 'R' ? a.columns : a.rows;
    first_.alpha = pointer(argument_alpha);
    first_.a = pointer(argument_a);
    first_.lda = a.ld;
    first_.b = pointer(argument_b);
    first_.ldb = b.ld;
    first_.beta = pointer(argument_beta);
    first_.c = pointer(argument_d);
    first_.ldc = d.ld;
    lt_c_ = blas::operand_c(first_);
    lt_c_.data = static_cast<const float*>(pointer(argument_c));
    lt_c_.ld = c.ld;
    alpha_bytes_ = bytes_of_scalar(first_, first_.is_complex);
    beta_bytes_ = first_.beta == nullptr ? 0 : alpha_bytes_;
    for (std::int64_t* stride = strides_; const LtMatrix* matrix : {&a, &b, &d}) *stride++ = matrix->stride;
    lt_stride_c_ = c.stride;
    const Matrix stored_a = blas::operand_a(first_);
    const Matrix stored_b = blas::operand_b(first_);
    return choose_products(d.batch_count) && stored_a.rows == a.rows && stored_a.columns == a.columns &&
           stored_b.rows == b.rows && stored_b.columns == b.columns && has_valid_arguments();
}

bool AuditedBatch::has_valid_arguments() const {
    const Matrix b = blas::operand_b(first_);
    // Among the operations that are audited, only gemm can conjugate without transposing.
    if (first_.operation != blas::Operation::gemm && first_.trans_a == 'R') return false;
    for (const char option : {first_.side, first_.uplo, first_.trans_a, first_.trans_b, first_.diag})
        if (option == '?') return false;
    return first_.alpha != nullptr && first_.a != nullptr && first_.c != nullptr &&
           (!has_b(first_.operation) || (first_.b != nullptr && has_valid_sizes(b))) &&
           has_valid_sizes(blas::operand_a(first_)) && has_valid_sizes(blas::operand_c(first_));
}

bool AuditedBatch::read_pointers(const AuditStream& stream, const void* array, Pointers& pointers) const {
    constexpr std::size_t size = sizeof(void*);
    return array == nullptr || stream.read_rows(array, static_cast<std::size_t>(step_) * size, pointers.data(), size,
                                                size, static_cast<std::size_t>(count_));
}

bool AuditedBatch::read_from_device(const AuditStream& stream, bool scalars_on_device) {
    const HostMemory memory(stream, sizeof(DeviceArguments));
    if (memory.bytes().empty()) return false;
    auto& copied = *new (memory.bytes().data()) DeviceArguments(from_device_);
    if (scalars_on_device &&
        (!stream.read_bytes(first_.alpha, copied.scalars.alpha, alpha_bytes_) ||
         (beta_bytes_ != 0 && !stream.read_bytes(first_.beta, copied.scalars.beta, beta_bytes_))))
        return false;
    for (Pointers* pointers = copied.pointers;
         const void* array : {first_.a, first_.b, static_cast<const void*>(first_.c)})
        if (in_arrays_ && !read_pointers(stream, array, *pointers++)) return false;
    if (!stream.wait_for_audit()) return false;
    from_device_ = copied;
    return true;
}

bool AuditedBatch::read_device_arguments(const AuditStream& stream, bool scalars_on_device) {
    if (!scalars_on_device) {
        std::memcpy(from_device_.scalars.alpha, first_.alpha, alpha_bytes_);
        if (beta_bytes_ != 0) std::memcpy(from_device_.scalars.beta, first_.beta, beta_bytes_);
        if (!in_arrays_) return true;
    }
    return read_from_device(stream, scalars_on_device);
}

blas::Matrix AuditedBatch::old_result_at(std::int64_t index) const {
    if (lt_c_.rows == 0) return blas::operand_c(product_at(index));
    Matrix c = lt_c_;
    c.data = static_cast<const float*>(address_of_element(c.data, index * step_ * lt_stride_c_, first_.width()));
    return c;
}

blas::Level3 AuditedBatch::product_at(std::int64_t index) const {
    blas::Level3 single = first_;
    single.alpha = from_device_.scalars.alpha;
    single.beta = first_.beta == nullptr ? nullptr : from_device_.scalars.beta;
    single.a = operand_at(index, 0, first_.a);
    single.b = operand_at(index, 1, first_.b);
    single.c = const_cast<void*>(operand_at(index, 2, first_.c));
    return single;
}

/// Returns the address of A, B or C (operand 0, 1 or 2) of the audited product with the index `index`. `first` is the
/// address of the same operand of the first product.
const void* AuditedBatch::operand_at(std::int64_t index, int operand, const void* first) const {
    return in_arrays_ ? from_device_.pointers[operand][static_cast<std::size_t>(index)]
                      : address_of_element(first, index * step_ * strides_[operand], first_.width());
}

}  // namespace fp32shim::cublas
