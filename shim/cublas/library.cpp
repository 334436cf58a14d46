#include "shim/cublas/library.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "shim/cublas/lt_arguments.hpp"
#include "shim/loader/provider.hpp"
#include "shim/memory/arena.hpp"

namespace fp32shim::cublas {
namespace {

/// Returns the version of a library, as cublasGetProperty (MAJOR_VERSION, MINOR_VERSION and PATCH_LEVEL are
/// properties 0 to 2) or cublasLtGetVersion reports it.
std::int32_t version_of(const LoadedObject& object) {
    ForeignFunction<std::int32_t(std::int32_t, std::int32_t*)> get_property;
    find_symbol_in(object, "cublasGetProperty", get_property);
    std::int32_t version = 0;
    for (std::int32_t property = 0, part = 0; get_property != nullptr && property < 3; ++property) {
        if (get_property(property, &part) != status_success) {
            version = 0;
            break;
        }
        version = version * 100 + part;
    }
    ForeignFunction<std::size_t()> get_version;
    find_symbol_in(object, "cublasLtGetVersion", get_version);
    return version != 0 || get_version == nullptr ? version : static_cast<std::int32_t>(get_version());
}

/// Measures the size of the descriptor of each version. desc_init makes the newest version that fits into a given
/// size. So every size is tried, on memory filled with two different patterns. The last byte that changes in either
/// memory is the end of the descriptor.
const DescriptorSizes* measure_descriptors(const Library& library) {
    constexpr std::size_t smallest = 56;  // cublasLt refuses smaller sizes, and logs the refusal if logging is on
    constexpr std::size_t step = 8;
    auto* sizes = arena_new<DescriptorSizes>();
    alignas(16) unsigned char pattern[2][max_descriptor_size];
    std::size_t known = 0;
    for (std::size_t size = smallest; size <= max_descriptor_size && known < sizes->size(); size += step) {
        std::size_t written = 0;
        std::int32_t version = 0;
        bool is_made = true;
        for (int i = 0; i < 2 && is_made; ++i) {
            std::memset(pattern[i], i == 0 ? 0xa5 : 0x5a, max_descriptor_size);
            is_made = library.desc_init(pattern[i], size, compute_32f, type_r_32f) == status_success;
        }
        if (!is_made) continue;
        for (std::size_t byte = 0; byte < max_descriptor_size; ++byte)
            if (pattern[0][byte] != 0xa5 || pattern[1][byte] != 0x5a) written = byte + 1;
        std::memcpy(&version, pattern[0], sizeof version);
        if (known > 0 && (*sizes)[known - 1].version == version) continue;
        const std::size_t rounded = (written + step - 1) / step * step;
        if (rounded <= size) (*sizes)[known++] = {version, static_cast<std::uint32_t>(rounded)};
    }
    return sizes;
}

struct KnownLibrary {
    std::atomic<const LoadedObject*> object;
    std::atomic<const Library*> library;
};
constinit KnownLibrary known_libraries[64]{};

}  // namespace

Library::Library(const LoadedObject& library)
    : object(library), loads(library.loads.load(std::memory_order_acquire)), version(version_of(library)) {}

void* Library::symbol(const char* name) const { return find_symbol_in(object, name); }

const Library* library_of(const LoadedObject& object) {
    const std::uint32_t loads = object.loads.load(std::memory_order_acquire);
    for (KnownLibrary& entry : known_libraries) {
        const LoadedObject* holder = entry.object.load(std::memory_order_acquire);
        if (holder == nullptr && entry.object.compare_exchange_strong(holder, &object)) holder = &object;
        if (holder != &object) continue;
        // The functions are looked up again if the object was loaded again, perhaps from another file. If two threads
        // look them up at the same time, they find the same functions.
        const Library* library = entry.library.load(std::memory_order_acquire);
        if (library == nullptr || library->loads != loads) {
            library = arena_new<Library>(object);
            entry.library.store(library, std::memory_order_release);
        }
        return library;
    }
    return arena_new<Library>(object);
}

std::size_t descriptor_size(const Library& library, std::int32_t version) {
    // If two threads measure at the same time, they get the same sizes, so either result may be stored.
    const DescriptorSizes* sizes = library.desc_sizes.load(std::memory_order_acquire);
    if (sizes == nullptr) {
        sizes = measure_descriptors(library);
        library.desc_sizes.store(sizes, std::memory_order_release);
    }
    for (const DescriptorSize& known : *sizes)
        if (known.size != 0 && known.version == version) return known.size;
    return 0;
}

std::uint32_t min_alignment_of(const Library& library, const Algorithm64& algorithm) {
    std::uint32_t largest = 1;
    if (library.algo_capability == nullptr) return largest;
    for (std::int32_t i = capability_min_alignment_a_bytes; i <= capability_min_alignment_d_bytes; ++i) {
        std::uint32_t alignment = 1;
        if (read(library.algo_capability, algorithm.data(), i, alignment)) largest = std::max(largest, alignment);
    }
    return largest;
}

}  // namespace fp32shim::cublas
