// Reads fatbins. A fatbin contains cubins and PTX texts for several architectures; each of them may be compressed.
#include "record/kernels/kinds.hpp"
#include "system/mapped_memory.hpp"

#ifdef FP32SHIM_HAS_LZ4
#include <lz4.h>
#endif
#ifdef FP32SHIM_HAS_ZSTD
#define ZSTD_STATIC_LINKING_ONLY  // declares ZSTD_initStaticDCtx(), which needs no heap
#include <zstd.h>
#endif

#ifdef FP32SHIM_HAS_ZSTD
// zstd refers to these two functions weakly (lib/common/zstd_trace.h). Without a definition here, zstd would call
// functions of these names in the program.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" unsigned long long ZSTD_trace_decompress_begin(const ZSTD_DCtx*) { return 0; }
extern "C" void ZSTD_trace_decompress_end(unsigned long long, const void*) {}
// NOLINTEND(readability-identifier-naming)
#endif

namespace fp32shim::record {
namespace {

// ---- compression of entries

using Target = std::span<std::byte>;

constexpr std::uint64_t largest_unpacked = std::uint64_t{1} << 30;
constexpr std::size_t state_size = std::size_t{1} << 18;  // zstd needs 100 to 160 KiB for its state; pages that it
                                                          // does not touch cost nothing

/// Unpacks `packed` into `target`, and shortens `target` to the unpacked bytes. Returns an empty text on success, and
/// otherwise the reason for the failure.
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

enum class Compression : std::uint8_t { none, lz4, zstd };

/// The unpacked bytes of an entry. They are valid as long as this object exists; if the entry was not compressed,
/// they are the bytes `packed` themselves.
class UnpackedEntry {
  public:
    UnpackedEntry(Bytes packed, Compression packing, std::uint64_t unpacked_size) : bytes_(packed) {
        if (packing == Compression::none) return;
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
        doubt_ = packing == Compression::lz4 ? unpack_lz4(packed, target)
                                             : unpack_zstd(packed, target, pages.first(state_size));
        if (doubt_.empty()) bytes_ = target;
    }

    Bytes bytes() const { return bytes_; }
    /// Returns the reason why the bytes could not be unpacked, or an empty text if they were unpacked.
    std::string_view doubt() const { return doubt_; }

  private:
    Bytes bytes_;
    std::optional<MappedMemory> pages_;
    std::string_view doubt_;
};

// ---- entries

struct FatbinHeader {
    std::uint32_t magic;
    std::uint16_t version, header_size;
    std::uint64_t size;  ///< size of all entries together, in bytes
};

/// Header of an entry, as `fatbinary` of CUDA 11 to 13 writes it.
struct FatbinEntryHeader {
    std::uint16_t kind, version;
    std::uint32_t header_size;
    std::uint64_t size;  ///< size of the entry's contents as they are stored, compressed or not
    std::uint32_t packed_size, options_at;
    std::uint16_t minor, major;
    std::uint32_t architecture, name_at, name_size;
    std::uint64_t flags, reserved, unpacked_size;
};
constexpr std::uint16_t kind_ptx = 1, kind_cubin = 2;
constexpr std::uint64_t is_lz4 = 0x2000, is_zstd = 0x8000;
// Code with the flag `is_specific` runs on one architecture only, such as sm_90a. Code with the flag `is_for_family`
// runs on one family of architectures, such as sm_100f.
constexpr std::uint64_t is_specific = 0x100000, is_for_family = 0x200000;

struct FatbinEntry {
    FatbinEntryHeader header;
    Bytes contents;
};

/// Calls visit(entry) for each entry. Returns false if the fatbin is damaged.
bool visit_entries(Bytes fatbin, auto visit) {
    const auto header = value_at<FatbinHeader>(fatbin, 0);
    if (!header || header->header_size < sizeof *header) return false;
    const auto entries = part_of(fatbin, header->header_size, header->size);
    if (!entries) return false;
    for (Bytes rest = *entries; rest.size() >= sizeof(FatbinEntryHeader);) {
        const auto entry = *value_at<FatbinEntryHeader>(rest, 0);
        const auto contents = part_of(rest, entry.header_size, entry.size);
        if (!contents || entry.header_size < sizeof entry) return false;
        visit(FatbinEntry{entry, *contents});
        rest = rest.subspan(entry.header_size + entry.size);
    }
    return true;
}

/// Returns true if a device of architecture `device` can run the entry. Machine code runs on the same major
/// architecture with the same or a higher minor number, and PTX on the same or any later architecture. Code that is
/// specific to an architecture runs on this architecture only ("CUDA Programming Guide", binary and PTX
/// compatibility).
bool can_run(const FatbinEntryHeader& entry, unsigned device) {
    if ((entry.flags & is_specific) != 0) return entry.architecture == device;
    const bool is_bound = entry.kind == kind_cubin || (entry.flags & is_for_family) != 0;
    return entry.architecture <= device && (!is_bound || entry.architecture / 10 == device / 10);
}

void scan_entry(const FatbinEntry& entry, const KernelVisitor& visitor, ImageFacts& facts) {
    const FatbinEntryHeader& header = entry.header;
    const Compression packing = (header.flags & is_zstd) != 0  ? Compression::zstd
                                : (header.flags & is_lz4) != 0 ? Compression::lz4
                                                               : Compression::none;
    const auto packed = part_of(entry.contents, 0, header.packed_size);
    const UnpackedEntry unpacked(packing == Compression::none ? entry.contents : packed.value_or(Bytes()), packing,
                                 header.unpacked_size);
    if (!unpacked.doubt().empty())
        facts.doubt = unpacked.doubt();
    else if (header.kind == kind_cubin)
        scan_cubin(unpacked.bytes(), visitor, facts);
    else
        scan_ptx(text_at(unpacked.bytes(), 0), visitor, facts);
}

}  // namespace

std::uint64_t fatbin_size(Bytes beginning) {
    const auto header = value_at<FatbinHeader>(beginning, 0);
    if (!header) return sizeof(FatbinHeader);
    return header->size > largest_size ? 0 : header->header_size + header->size;
}

void scan_fatbin(Bytes fatbin, unsigned device, const KernelVisitor& visitor, ImageFacts& facts) {
    bool is_whole = true;
    for (const std::uint16_t kind : {kind_cubin, kind_ptx}) {
        unsigned chosen = 0;
        is_whole = visit_entries(fatbin, [&](const FatbinEntry& entry) {
            if (entry.header.kind == kind && can_run(entry.header, device))
                chosen = std::max(chosen, entry.header.architecture);
        });
        if (chosen == 0) continue;
        visit_entries(fatbin, [&](const FatbinEntry& entry) {
            if (entry.header.kind == kind && entry.header.architecture == chosen && can_run(entry.header, device))
                scan_entry(entry, visitor, facts);
        });
        facts.has_code = true;
        break;
    }
    if (!is_whole)
        facts.doubt = "is a damaged fatbin";
    else if (!facts.has_code)
        visit_entries(fatbin, [&](const FatbinEntry& entry) {
            // Kind 8 is NVVM, an intermediate code that is linked at run time.
            if (entry.header.kind != kind_cubin && entry.header.kind != kind_ptx)
                facts.doubt = "is in an intermediate code that is not known";
        });
}

}  // namespace fp32shim::record
