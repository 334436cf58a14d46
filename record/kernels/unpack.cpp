#include "record/kernels/unpack.hpp"

#ifdef FP32SHIM_HAS_LZ4
#include <lz4.h>
#endif
#ifdef FP32SHIM_HAS_ZSTD
#define ZSTD_STATIC_LINKING_ONLY  // for a state that is not on the heap
#include <zstd.h>
#endif

#ifdef FP32SHIM_HAS_ZSTD
// zstd refers to these two weakly (lib/common/zstd_trace.h). Without a definition here, it would call the program's.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" unsigned long long ZSTD_trace_decompress_begin(const ZSTD_DCtx*) { return 0; }
extern "C" void ZSTD_trace_decompress_end(unsigned long long, const void*) {}
// NOLINTEND(readability-identifier-naming)
#endif

namespace fp32shim::record {
namespace {

using Target = std::span<std::byte>;

constexpr std::uint64_t largest_unpacked = std::uint64_t{1} << 30;
constexpr std::size_t state_size = std::size_t{1} << 18;  // zstd's, 100 to 160 KiB; its pages are made when touched

/// Returns why the bytes were not unpacked; empty: they were, and `target` was cut to them.
std::string_view unpack_lz4([[maybe_unused]] Bytes packed, [[maybe_unused]] Target& target) {
#ifdef FP32SHIM_HAS_LZ4
    if (packed.size() > LZ4_MAX_INPUT_SIZE) return "is too large";
    const int size =
        LZ4_decompress_safe(reinterpret_cast<const char*>(packed.data()), reinterpret_cast<char*>(target.data()),
                            static_cast<int>(packed.size()), static_cast<int>(target.size()));
    if (size < 0) return "is damaged";
    target = target.first(static_cast<std::size_t>(size));
    return {};
#else
    return "is compressed by LZ4, which this build of fp32shim does not read";
#endif
}

std::string_view unpack_zstd([[maybe_unused]] Bytes packed, [[maybe_unused]] Target& target,
                             [[maybe_unused]] Target state) {
#ifdef FP32SHIM_HAS_ZSTD
    ZSTD_DCtx* const context = ZSTD_initStaticDCtx(state.data(), state.size());
    if (context == nullptr) return "cannot be unpacked by this version of zstd";
    const std::size_t size = ZSTD_decompressDCtx(context, target.data(), target.size(), packed.data(), packed.size());
    if (ZSTD_isError(size) != 0) return "is damaged";
    target = target.first(size);
    return {};
#else
    return "is compressed by zstd, which this build of fp32shim does not read";
#endif
}

}  // namespace

Unpacked::Unpacked(Bytes packed, Packing packing, std::uint64_t unpacked_size) : bytes_(packed) {
    if (packing == Packing::none) return;
    bytes_ = {};
    if (unpacked_size > largest_unpacked) {
        doubt_ = "is too large";
        return;
    }
    const Target pages = std::as_writable_bytes(pages_.emplace(unpacked_size + state_size).bytes());
    if (pages.empty()) {
        doubt_ = "cannot be unpacked: there is no memory for it";
        return;
    }
    Target target = pages.subspan(state_size);
    doubt_ =
        packing == Packing::lz4 ? unpack_lz4(packed, target) : unpack_zstd(packed, target, pages.first(state_size));
    if (doubt_.empty()) bytes_ = target;
}

}  // namespace fp32shim::record
