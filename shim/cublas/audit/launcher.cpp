#include "shim/cublas/audit/launcher.hpp"

#include "shim/cublas/arguments.hpp"
#include "shim/cublas/audit/singles.hpp"
#include "shim/cublas/environment.hpp"
#include "shim/cublas/lt_arguments.hpp"
#include "shim/cublas/routes.hpp"
#include "shim/thread/running.hpp"

namespace fp32shim::cublas {
namespace {

using blas::Level3;
using blas::Matrix;

bool is_gemm(const Site& site) { return site.function->product().operation == blas::Operation::gemm; }

std::int64_t operation_value(char letter) {
    return letter == 'N' ? op_n : letter == 'T' ? op_t : letter == 'C' ? op_c : op_conjg;
}

std::int32_t data_type(bool is_complex, bool is_double) {
    return is_complex ? (is_double ? type_c_64f : type_c_32f) : is_double ? type_r_64f : type_r_32f;
}

/// Returns the arguments of the product `single` for a function whose arguments have these positions.
ArgumentFrame arguments_of(const ArgumentPositions& positions, const HandleRecord& handle, const Level3& single,
                           Format format) {
    ArgumentFrame frame;
    const auto put = [&](Role role, auto value) { frame.set(positions.of(role), value); };
    put(Role::handle, static_cast<const void*>(handle.address()));
    put(Role::side, std::int64_t{single.side == 'L' ? side_left : side_right});
    put(Role::uplo, std::int64_t{single.uplo == 'U' ? fill_upper : fill_lower});
    put(Role::trans_a, operation_value(single.trans_a));
    put(Role::trans_b, operation_value(single.trans_b));
    put(Role::diag, std::int64_t{single.diag == 'U' ? diagonal_unit : diagonal_stored});
    for (const auto& [role, number] : numbers_of_products) put(role, single.*number);
    for (const auto& [role, address] : addresses_of_products) put(role, single.*address);
    put(Role::c, static_cast<const void*>(single.c));
    for (Role role : {Role::a_type, Role::b_type, Role::c_type})
        put(role, std::int64_t{data_type(single.is_complex, single.is_double)});
    put(Role::compute_type, std::int64_t{compute_type_for(format, true)});
    put(Role::algorithm, std::int64_t{gemm_default});
    return frame;
}

/// A cublasLtMatrixLayout_t that describes a matrix without gaps.
class PackedLayout {
  public:
    PackedLayout(const Library& library, const Matrix& matrix)
        : is_made_(library.layout_init(words_, sizeof words_, data_type(matrix.is_complex, matrix.is_double),
                                       static_cast<std::uint64_t>(matrix.rows),
                                       static_cast<std::uint64_t>(matrix.columns), matrix.ld) == status_success) {}
    bool is_made() const { return is_made_; }
    const void* address() const { return words_; }

  private:
    alignas(16) std::uint64_t words_[8] = {};
    bool is_made_;
};

/// Calls `launch()` as a part of the program's call, so that the shim forwards all calls that the library makes
/// inside it.
template <class Launch>
std::int32_t run_as_part_of_call(const AuditLauncher& launcher, const Launch& launch) {
    const RunningProduct outer = running;
    running = {launcher.site.provider, nullptr, &launcher.frame};
    note_permitted_format(launcher.frame, policy::AppliedFormat::unchanged);
    const std::int32_t status = launch();
    running = outer;
    return status;
}

}  // namespace

bool can_multiply_in(Format format, const Site& site, const Product& product) {
    if (format == Format::fp32) return true;
    if (product.device.compute_capability == 0 || !gpu_has_format(format, product.device.compute_capability))
        return false;
    if (format == Format::bf16 && site.function->product().control == FormatControl::math_mode) return false;
    if (format == Format::bf16x9) return site.cublas.library->has_bf16x9();
    if (product.asked.ignores_tf32_mode)
        return false;  // in TF32 mode, the function would still run in FP32, and the
                       // result would be compared with itself
    // The environment variable that turns TF32 off may turn BF16 off, too, so that a product in either format would
    // run in FP32.
    return !environment_in_force().tf32_is_off;
}

void set_up_cublas_launcher(AuditLauncher& launcher) {
    const Library& library = *launcher.site.cublas.library;
    auto* const handle = launcher.product.handle->address();
    std::int32_t pointer_mode = pointers_to_host;
    launcher.is_ready = library.get_stream != nullptr && library.get_pointer_mode != nullptr &&
                        library.gemm_ex != nullptr &&
                        library.get_stream(handle, &launcher.stream) == status_success &&
                        library.get_pointer_mode(handle, &pointer_mode) == status_success;
    launcher.scalars_on_device = pointer_mode == pointers_to_device;
}

void set_up_lt_launcher(AuditLauncher& launcher) {
    const Library& library = *launcher.site.cublas.library;
    std::int32_t pointer_mode = pointers_to_host;
    std::uint32_t epilogue = epilogue_none;
    constexpr std::uint32_t known_epilogues = epilogue_none | epilogue_relu | epilogue_bias | epilogue_gelu;
    // The pointer modes other than host and device are for vectors of alpha. Calls with these modes are not repeated.
    launcher.is_ready = read(library.desc_get, launcher.parts.desc, desc_pointer_mode, pointer_mode) &&
                        read(library.desc_get, launcher.parts.desc, desc_epilogue, epilogue) &&
                        (pointer_mode == pointers_to_host || pointer_mode == pointers_to_device) &&
                        (epilogue & ~known_epilogues) == 0;
    launcher.scalars_on_device = pointer_mode == pointers_to_device;
    launcher.adds_epilogue = epilogue != epilogue_none;
    launcher.stream = reinterpret_cast<Stream>(launcher.frame.word(argument_stream));
}

std::int32_t launch_by_cublas(const AuditLauncher& launcher, const Level3& single, Format format, bool /*is_bound*/) {
    const Library& library = *launcher.site.cublas.library;
    const bool by_type = is_gemm(launcher.site);
    const FunctionFamily& family =
        by_type ? static_cast<const FunctionFamily&>(families::cublas_gemm_ex) : *launcher.site.function->family;
    const ArgumentFrame frame = arguments_of(family.cblas, *launcher.product.handle, single, format);
    const auto multiply = [&] {
        void* const address = by_type ? library.gemm_ex : launcher.site.real;
        return static_cast<std::int32_t>(route_of(family)->as_called(address, frame.frame()));
    };
    return run_as_part_of_call(launcher, [&] {
        if (by_type) return multiply();
        // The mode is read again, since a logging callback of the program may have set another math mode in the
        // meantime.
        const std::int32_t mode = program_math_mode(*launcher.product.handle, library);
        return call_under_math_mode(*launcher.product.handle, library, mode, math_mode_for(format, true), multiply,
                                    kept_math_mode_bits(format));
    });
}

std::int32_t launch_by_lt(const AuditLauncher& launcher, const Level3& single, Format format, bool is_bound) {
    const Library& library = *launcher.site.cublas.library;
    ChangedDescriptor desc;
    constexpr std::uint32_t no_epilogue{epilogue_none};
    if (!desc.copy_from(library, launcher.parts.desc, compute_type_for(format, true)) ||
        (is_bound && launcher.adds_epilogue && !desc.set(library, desc_epilogue, no_epilogue)) ||
        (launcher.kept_bits != nullptr && !desc.set(library, desc_emulation, static_cast<const void*>(nullptr))))
        return status_not_supported;
    const PackedLayout a(library, operand_a(single));
    const PackedLayout b(library, operand_b(single));
    const PackedLayout c(library, operand_c(single));
    if (!a.is_made() || !b.is_made() || !c.is_made()) return status_not_supported;
    ArgumentFrame frame;  // argument_algorithm stays null, so the library chooses an algorithm
    frame.set(argument_handle, launcher.parts.handle);
    frame.set(argument_desc, desc.address());
    frame.set(argument_alpha, single.alpha);
    frame.set(argument_a, single.a);
    frame.set(argument_a_layout, a.address());
    frame.set(argument_b, single.b);
    frame.set(argument_b_layout, b.address());
    frame.set(argument_beta, single.beta);
    frame.set(argument_c, static_cast<const void*>(single.c));
    frame.set(argument_c_layout, c.address());
    frame.set(argument_d, static_cast<const void*>(single.c));
    frame.set(argument_d_layout, c.address());
    frame.set(argument_stream, static_cast<const void*>(launcher.stream));
    return run_as_part_of_call(launcher, [&] {
        return static_cast<std::int32_t>(launcher.site.cublas.route->as_called(launcher.site.real, frame.frame()));
    });
}

}  // namespace fp32shim::cublas
