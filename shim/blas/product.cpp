#include "shim/blas/product.hpp"

#include <bit>

#include "shim/level3/groups.hpp"
#include "shim/level3/matrix.hpp"

namespace fp32shim::blas {
namespace {

/// The positions of the arguments of a dot product that returns its result by pointer.
constexpr ArgumentPositions dot_by_pointer =
    argument_positions(roles::dot_by_pointer, Role::other, ScalarPassing::by_pointer);

/// Reads the arguments of a call by role, in the Fortran or CBLAS convention, with 32-bit or 64-bit integers.
class ArgumentReader {
  public:
    ArgumentReader(const Site& site, const Frame& frame)
        : positions_(argument_positions(site)),
          frame_(frame),
          is_cblas_(site.function->convention == CallingConvention::cblas),
          is_wide_(site.cpu.width.load(std::memory_order_relaxed) == IntegerWidth::bits64) {}

    bool has(Role role) const { return positions_.of(role) >= 0; }
    std::int64_t word(Role role) const { return frame_.word(positions_.of(role)); }
    const void* pointer(Role role) const { return has(role) ? reinterpret_cast<const void*>(word(role)) : nullptr; }
    bool is_cblas() const { return is_cblas_; }
    const ArgumentPositions& positions() const { return positions_; }

    std::int64_t integer_at(const void* address, std::int64_t index = 0) const {
        return is_wide_ ? static_cast<const std::int64_t*>(address)[index]
                        : static_cast<const std::int32_t*>(address)[index];
    }

    /// Reads an integer, which CBLAS passes by value and Fortran passes by reference. Returns 0 if the function has
    /// no argument of this role.
    std::int64_t integer(Role role) const {
        if (!has(role)) return 0;
        if (!is_cblas_) return integer_at(pointer(role));
        return is_wide_ ? word(role) : static_cast<std::int32_t>(word(role));
    }

    /// Reads an option as the upper-case letter of the BLAS reference. Returns '?' for a value that CBLAS does not
    /// define, and 0 if the function has no argument of this role.
    char option(Role role) const {
        if (!has(role)) return 0;
        return is_cblas_ ? letter_of(static_cast<std::int32_t>(word(role)))
                         : upper(*static_cast<const char*>(pointer(role)));
    }
    char option(Role role, std::int64_t group) const {
        if (!has(role)) return 0;
        return is_cblas_ ? letter_of(static_cast<const std::int32_t*>(pointer(role))[group])
                         : upper(static_cast<const char*>(pointer(role))[group]);
    }

    std::int64_t integer_of_group(Role role, std::int64_t group) const {
        return has(role) ? integer_at(pointer(role), group) : 0;
    }

    /// Returns true if each option and integer that is passed by reference has a plausible address.
    bool all_references_present(const ArgumentKeyLayout& keyed) const {
        for (std::size_t i = 0; i < keyed.count; ++i)
            if (!is_plausible_pointer(frame_.word_at(keyed.offsets[i]))) return false;
        if (keyed.count != 0) return true;
        constexpr Role references[] = {
            Role::side, Role::uplo,     Role::trans_a,     Role::trans_b,     Role::diag,      Role::m,
            Role::n,    Role::k,        Role::lda,         Role::stride_a,    Role::ldb,       Role::stride_b,
            Role::ldc,  Role::stride_c, Role::batch_count, Role::group_count, Role::group_size};
        for (Role role : references) {
            if (is_cblas_ && role == Role::group_count) continue;  // CBLAS passes the number of groups by value
            if (has(role) && !is_plausible_pointer(word(role))) return false;
        }
        return true;
    }

    static bool is_plausible_pointer(std::int64_t word) {
        // The first page is never mapped. User space has 52 address bits on aarch64 and 56 bits on x86-64. The bits
        // of ordinary doubles are larger numbers, so they cannot be taken for addresses.
#if defined(__aarch64__)
        word &= 0x00ffffffffffffff;  // the processor ignores the top byte, where HWASan and MTE keep a tag
        constexpr int address_bits = 52;
#else
        constexpr int address_bits = 56;
#endif
        return word >= 4096 && word < std::int64_t{1} << address_bits;
    }

  private:
    static char upper(char letter) {
        return letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 32) : letter;
    }

    static char letter_of(std::int32_t value) {
        const auto index = static_cast<std::uint32_t>(value - first_option_of_cblas);
        return index < letters_of_cblas.size() ? letters_of_cblas[index] : '?';
    }

    const ArgumentPositions& positions_;
    const Frame& frame_;
    bool is_cblas_;
    bool is_wide_;
};

constexpr std::int32_t row_major_layout = 101;
constexpr std::int32_t column_major_layout = 102;

std::size_t element_size(const Level3& level3) { return sizeof(float) * static_cast<std::size_t>(level3.width()); }

void read_single_product(const ArgumentReader& arguments, const Frame& frame, Product& product) {
    Level3& level3 = product.level3;
    for (const auto& [role, member] : option_members) level3.*member = arguments.option(role);
    for (const auto& [role, member] : integer_members) level3.*member = arguments.integer(role);
    level3.a = arguments.pointer(Role::a);
    level3.b = arguments.pointer(Role::b);
    level3.c = const_cast<void*>(arguments.pointer(Role::c));
    const ArgumentPositions& positions = arguments.positions();
    if (positions.alpha_float >= 0) {
        product.alpha_value = frame.real_bits(positions.alpha_float);
        level3.alpha = &product.alpha_value;
    } else {
        level3.alpha = arguments.pointer(Role::alpha);
    }
    if (positions.beta_float >= 0) {
        product.beta_value = frame.real_bits(positions.beta_float);
        level3.beta = &product.beta_value;
    } else {
        level3.beta = arguments.pointer(Role::beta);
    }
    if (computes_number(level3.operation) && !arguments.has(Role::c)) level3.c = product.number.data();
}

/// Fills in the sizes of a call for the rules of the policy: C is m×n, and k is the summed dimension.
void set_sizes(const Level3& level3, policy::MatmulCall& call) {
    call.trans_a = level3.trans_a;
    call.trans_b = level3.trans_b;
    const Operation operation = level3.operation;
    if (has_vector(operation)) {
        const Matrix a = operand_a(level3);
        const bool swaps = operation == Operation::gemv && transposes(level3.trans_a);
        if (is_ger_or_gerc(operation) || is_symmetric_vector_update(operation)) {
            call.m = is_ger_or_gerc(operation) ? level3.m : level3.n;
            call.n = level3.n;
            call.k = 1;
            return;
        }
        call.m = !has_matrix(operation) ? 1 : swaps ? a.columns : a.rows;
        call.n = 1;
        call.k = !has_matrix(operation) ? level3.k : swaps ? a.rows : a.columns;
        return;
    }
    const bool is_sided = has_side_argument(operation);
    call.n = level3.n;
    call.m = is_sided || operation == Operation::gemm ? level3.m : level3.n;
    call.k = !is_sided ? level3.k : level3.side == 'R' ? level3.n : level3.m;
}

/// Returns a product of the group `group` of a batch. The caller has to set the product's operands and scalars.
Level3 single_of_group(const ArgumentReader& arguments, const Level3& level3, std::int64_t group) {
    Level3 single = level3;
    for (const auto& [role, member] : option_members) single.*member = arguments.option(role, group);
    for (const auto& [role, member] : integer_members) single.*member = arguments.integer_of_group(role, group);
    return single;
}

void read_groups(const ArgumentReader& arguments, Product& product) {
    product.group_count = arguments.integer(Role::group_count);
    describe_by_largest_group(product.group_count, product.call, [&](std::int64_t group, policy::MatmulCall& call) {
        set_sizes(single_of_group(arguments, product.level3, group), call);
        return arguments.integer_of_group(Role::group_size, group);
    });
}

}  // namespace

const ArgumentPositions& argument_positions(const Site& site) {
    return returns_complex_by_pointer(site) ? dot_by_pointer : site.function->positions();
}

// On aarch64, a function returns each part of a complex number in its own register. On x86-64, it returns a complex64
// in the lower half of one register.
#if defined(__aarch64__)
constexpr bool splits_complex64 = true;
#else
constexpr bool splits_complex64 = false;
#endif

void Product::read_returned_number(const Frame& frame) {
    number = {frame.real_bits(0), frame.real_bits(1)};
    if (splits_complex64 && call.dtype == policy::Dtype::complex64)
        number[0] = static_cast<std::uint32_t>(number[0]) | number[1] << 32;
}

void Product::write_returned_number(const Site& site, Frame& frame) const {
    if (returns_fortran_float32(*site.function) &&
        site.provider->real_results.load(std::memory_order_relaxed) == RealResults::float64) {
        const double wide = std::bit_cast<float>(static_cast<std::uint32_t>(number[0]));
        return frame.set_real_bits(0, std::bit_cast<std::uint64_t>(wide));
    }
    const bool is_split = splits_complex64 && call.dtype == policy::Dtype::complex64;
    frame.set_real_bits(0, number[0]);
    frame.set_real_bits(1, is_split ? number[0] >> 32 : number[1]);
}

bool arguments_look_like_pointers(const Function& function, const Frame& frame) {
    for (int i = 0; i < function.positions().words; ++i)
        if (!ArgumentReader::is_plausible_pointer(frame.word(i))) return false;
    return true;
}

void describe_call(const Site& site, const Frame& frame, Product& product) {
    const Function& function = *site.function;
    policy::MatmulCall& call = product.call;
    call.function = function.name;
    call.caller = site.caller_name();
    call.dtype = function.product().dtype;
    product.level3.operation = function.product().operation;
    product.level3.is_complex = is_complex(function.product().dtype);
    product.level3.is_double = is_double(function.product().dtype);

    if (site.cpu.width.load(std::memory_order_relaxed) == IntegerWidth::unknown) return;
    const ArgumentReader arguments(site, frame);
    if (arguments.has(Role::layout)) {
        const auto layout = static_cast<std::int32_t>(arguments.word(Role::layout));
        product.level3.row_major = layout == row_major_layout;
        if (layout != row_major_layout && layout != column_major_layout) return;
        if (function.product().batching == Batching::groups && !arguments.all_references_present(site.keyed)) return;
    } else if (!arguments.is_cblas() && !arguments.all_references_present(site.keyed)) {
        return;
    }
    product.readable = true;
    switch (function.product().batching) {
        case Batching::groups:
            read_groups(arguments, product);
            return;
        case Batching::strided:
            call.batch = arguments.integer(Role::batch_count);
            product.stride_a = arguments.integer(Role::stride_a);
            product.stride_b = arguments.integer(Role::stride_b);
            product.stride_c = arguments.integer(Role::stride_c);
            [[fallthrough]];
        case Batching::single:
            read_single_product(arguments, frame, product);
            set_sizes(product.level3, call);
            return;
        case Batching::pointers:
            return;  // only functions of cuBLAS take batches by pointers
    }
}

namespace {

bool for_each_of_groups(const Site& site, const Frame& frame, const Product& product,
                        bool (*visit)(const void*, const Level3&), const void* visitor) {
    const ArgumentReader arguments(site, frame);
    const auto* a = static_cast<const void* const*>(arguments.pointer(Role::a));
    const auto* b = static_cast<const void* const*>(arguments.pointer(Role::b));
    const auto* c = static_cast<void* const*>(arguments.pointer(Role::c));
    const auto* alpha = static_cast<const char*>(arguments.pointer(Role::alpha));
    const auto* beta = static_cast<const char*>(arguments.pointer(Role::beta));
    std::int64_t index = 0;
    for (std::int64_t group = 0; group < product.group_count; ++group) {
        Level3 single = single_of_group(arguments, product.level3, group);
        const auto scalar = static_cast<std::size_t>(group) * element_size(single);
        single.alpha = alpha == nullptr ? nullptr : alpha + scalar;
        single.beta = beta == nullptr ? nullptr : beta + scalar;
        const std::int64_t size = arguments.integer_of_group(Role::group_size, group);
        for (std::int64_t i = 0; i < size; ++i, ++index) {
            single.a = a == nullptr ? nullptr : a[index];
            single.b = b == nullptr ? nullptr : b[index];
            single.c = c == nullptr ? nullptr : c[index];
            if (!visit(visitor, single)) return false;
        }
    }
    return true;
}

bool for_each_of_stride(const Product& product, bool (*visit)(const void*, const Level3&), const void* visitor) {
    const auto size = static_cast<std::int64_t>(element_size(product.level3));
    for (std::int64_t i = 0; i < product.call.batch; ++i) {
        Level3 single = product.level3;
        single.a = static_cast<const char*>(single.a) + i * product.stride_a * size;
        if (single.b != nullptr) single.b = static_cast<const char*>(single.b) + i * product.stride_b * size;
        if (single.c != nullptr) single.c = static_cast<char*>(single.c) + i * product.stride_c * size;
        if (!visit(visitor, single)) return false;
    }
    return true;
}

}  // namespace

bool for_each_product_by(const Site& site, const Frame& frame, const Product& product,
                         bool (*visit)(const void* visitor, const Level3& single), const void* visitor) {
    switch (site.function->product().batching) {
        case Batching::groups:
            return for_each_of_groups(site, frame, product, visit, visitor);
        case Batching::strided:
            return for_each_of_stride(product, visit, visitor);
        case Batching::single:
        case Batching::pointers:
            break;
    }
    return visit(visitor, product.level3);
}

}  // namespace fp32shim::blas
