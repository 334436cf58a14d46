// Fatbins: cubins and texts in PTX for several architectures, each perhaps compressed.
#include "record/kernels/kinds.hpp"
#include "record/kernels/unpack.hpp"

namespace fp32shim::record {
namespace {

struct FatbinHeader {
    std::uint32_t magic;
    std::uint16_t version, header_size;
    std::uint64_t size;  ///< size of the entries
};

/// Header of an entry, as `fatbinary` of CUDA 11 to 13 writes it.
struct EntryHeader {
    std::uint16_t kind, version;
    std::uint32_t header_size;
    std::uint64_t size;  ///< size of the contents, as they are stored
    std::uint32_t packed_size, options_at;
    std::uint16_t minor, major;
    std::uint32_t architecture, name_at, name_size;
    std::uint64_t flags, reserved, unpacked_size;
};
constexpr std::uint16_t kind_ptx = 1, kind_cubin = 2;
constexpr std::uint64_t is_lz4 = 0x2000, is_zstd = 0x8000;
constexpr std::uint64_t is_specific = 0x100000, is_for_family = 0x200000;  // sm_90a, sm_100f

struct Entry {
    EntryHeader header;
    Bytes contents;
};

/// Calls visit(entry) for each entry. Returns false if the fatbin is damaged.
bool visit_entries(Bytes fatbin, auto visit) {
    const auto header = value_at<FatbinHeader>(fatbin, 0);
    if (!header || header->header_size < sizeof *header) return false;
    const auto entries = part_of(fatbin, header->header_size, header->size);
    if (!entries) return false;
    for (Bytes rest = *entries; rest.size() >= sizeof(EntryHeader);) {
        const auto entry = *value_at<EntryHeader>(rest, 0);
        const auto contents = part_of(rest, entry.header_size, entry.size);
        if (!contents || entry.header_size < sizeof entry) return false;
        visit(Entry{entry, *contents});
        rest = rest.subspan(entry.header_size + entry.size);
    }
    return true;
}

/// Returns true if the device can run an entry: machine code on the same major architecture from its minor on, PTX on
/// any later one; only on itself if it is specific ("CUDA Programming Guide", binary and PTX compatibility).
bool can_run(const EntryHeader& entry, unsigned device) {
    if ((entry.flags & is_specific) != 0) return entry.architecture == device;
    const bool is_bound = entry.kind == kind_cubin || (entry.flags & is_for_family) != 0;
    return entry.architecture <= device && (!is_bound || entry.architecture / 10 == device / 10);
}

void scan_entry(const Entry& entry, const KernelVisitor& visitor, ImageFacts& facts) {
    const EntryHeader& header = entry.header;
    const Packing packing = (header.flags & is_zstd) != 0  ? Packing::zstd
                            : (header.flags & is_lz4) != 0 ? Packing::lz4
                                                           : Packing::none;
    const auto packed = part_of(entry.contents, 0, header.packed_size);
    const Unpacked unpacked(packing == Packing::none ? entry.contents : packed.value_or(Bytes()), packing,
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
        is_whole = visit_entries(fatbin, [&](const Entry& entry) {
            if (entry.header.kind == kind && can_run(entry.header, device))
                chosen = std::max(chosen, entry.header.architecture);
        });
        if (chosen == 0) continue;
        visit_entries(fatbin, [&](const Entry& entry) {
            if (entry.header.kind == kind && entry.header.architecture == chosen && can_run(entry.header, device))
                scan_entry(entry, visitor, facts);
        });
        facts.has_code = true;
        break;
    }
    if (!is_whole)
        facts.doubt = "is a damaged fatbin";
    else if (!facts.has_code)
        visit_entries(fatbin, [&](const Entry& entry) {
            if (entry.header.kind != kind_cubin && entry.header.kind != kind_ptx)
                facts.doubt = "is in an intermediate code that is not known";  // 8: NVVM, for linking at run time
        });
}

}  // namespace fp32shim::record
