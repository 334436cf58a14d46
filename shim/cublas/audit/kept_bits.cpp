#include "shim/cublas/audit/kept_bits.hpp"

#include <cstring>

#include "shim/cublas/emulation.hpp"

namespace fp32shim::cublas {

/// Before the product runs, the shim stores this number where cuBLAS will write the number of kept bits. cuBLAS
/// itself never writes it.
constexpr std::int32_t not_written = -2;

KeptBitsQuery::KeptBitsQuery(const AuditLauncher& launcher) : launcher_(launcher), driver_(find_cuda_driver()) {
    if (prepare() || address_ == 0) return;
    driver_.release(address_, launcher.stream);
    address_ = 0;
}

bool KeptBitsQuery::set_address(std::int32_t* address) const {
    return is_lt() || launcher_.site.cublas.library->set_count_pointer(launcher_.product.handle->address(),
                                                                       address) == status_success;
}

bool KeptBitsQuery::prepare() {
    const Library& library = *launcher_.site.cublas.library;
    if (!driver_.has_audit_functions() || current_device() != launcher_.product.device) return false;
    if (is_lt())
        own_ = program_count_pointer(library, launcher_.parts.desc);
    else if (!launcher_.is_ready || library.get_count_pointer == nullptr || library.set_count_pointer == nullptr ||
             library.get_count_pointer(launcher_.product.handle->address(), &own_) != status_success)
        return false;
    const AuditStream stream(driver_, launcher_.stream);
    if (!stream.is_not_capturing() || !stream.wait_until_idle()) return false;
    const HostMemory host(stream, sizeof not_written);
    if (host.bytes().empty() || driver_.allocate(&address_, sizeof not_written, launcher_.stream) != driver_success) {
        address_ = 0;
        return false;
    }
    std::memcpy(host.bytes().data(), &not_written, sizeof not_written);
    return stream.write_bytes(host.bytes().data(), address(), sizeof not_written) && stream.wait_for_audit() &&
           set_address(address());
}

KeptBitsQuery::~KeptBitsQuery() {
    if (address_ == 0) return;
    set_address(own_);
    driver_.release(address_, launcher_.stream);
}

void KeptBitsQuery::store_answer(bool has_run, ExecutionOutcome& done) const {
    if (address_ == 0) return;
    const AuditStream stream(driver_, launcher_.stream);
    const HostMemory host(stream, sizeof not_written);
    std::int32_t kept = not_written;
    const bool is_read = !host.bytes().empty() && stream.read_bytes(address(), host.bytes().data(), sizeof kept) &&
                         stream.wait_for_audit();
    if (is_read) std::memcpy(&kept, host.bytes().data(), sizeof kept);
    // If waiting took too long, the product may still be running. In nearly every case it will still write the
    // number, and the copy, which follows the product on the stream, will copy that number.
    if (own_ != nullptr && (kept != not_written || !is_read)) stream.copy_bytes(address(), own_, sizeof kept);
    if (!has_run || done.applied != policy::AppliedFormat::fp64_emulated) return;
    if (kept == not_emulated) done.actual = policy::AppliedFormat::fp64;
    if (kept <= 0 || kept > UINT8_MAX) return;
    done.actual = policy::AppliedFormat::fp64_emulated;
    done.mantissa_bits = static_cast<std::uint8_t>(kept);
}

}  // namespace fp32shim::cublas
