// The parts of the ELF format that both the reader of loaded objects and the readers of files need. The functions
// here call no function of the C library, because the shim's `dlsym` uses them before a sanitizer's library is ready.
#pragma once

#include <elf.h>

#include <cstdint>
#include <span>

#include "system/inline_text.hpp"

namespace fp32shim::system {

#if defined(__x86_64__)
inline constexpr std::uint16_t own_machine = EM_X86_64;
#elif defined(__aarch64__)
inline constexpr std::uint16_t own_machine = EM_AARCH64;
#else
#error "fp32shim knows x86-64 and aarch64"
#endif

/// Returns true if the header begins an ELF file, for any kind of machine.
inline bool is_elf(const Elf64_Ehdr& header) {
    return equal({reinterpret_cast<const char*>(header.e_ident), SELFMAG}, {ELFMAG, SELFMAG});
}

/// Returns true if the file has the word size, byte order and structure sizes of this machine. Precondition:
/// is_elf(header).
inline bool has_own_layout(const Elf64_Ehdr& header) {
    static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
    return header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ident[EI_DATA] == ELFDATA2LSB;
}

/// Returns the hash of `name` by which the table DT_GNU_HASH finds it.
constexpr std::uint32_t gnu_hash(std::string_view name) {
    std::uint32_t hash = 5381;
    for (char letter : name) hash = hash * 33 + static_cast<unsigned char>(letter);
    return hash;
}

/// Returns the number of an object's dynamic symbols. Computes it from the table DT_GNU_HASH, because no field of the
/// object holds it. `read(first, count)` returns `count` 32-bit words of the table from word `first` on, or fewer if
/// the file ends before them.
template <class Read>
std::uint64_t symbols_in_gnu_hash(Read read) {
    const auto head = read(0, 4);  // number of buckets, first symbol, size of the filter in 64-bit words, shift
    if (head.size() < 4) return 0;
    const std::uint64_t buckets_at = 4 + std::uint64_t{2} * head[2];
    const auto buckets = read(buckets_at, head[0]);
    std::uint64_t last = 0;
    for (const std::uint32_t bucket : buckets) last = bucket > last ? bucket : last;
    if (last < head[1]) return head[1];
    // The chain of hashes that begins at symbol `last` ends at the first hash whose lowest bit is set.
    constexpr std::uint64_t longest_chain = 1U << 16;
    const std::uint64_t chain_at = buckets_at + buckets.size() + (last - head[1]);
    for (std::uint64_t i = 0; i < longest_chain; ++i) {
        const auto hash = read(chain_at + i, 1);
        if (hash.empty()) return last + i;
        if ((hash[0] & 1) != 0) return last + i + 1;
    }
    return last + longest_chain;
}

/// Returns the build id (NT_GNU_BUILD_ID) that `notes` contains, or an empty span if there is none. `notes` holds the
/// bytes of a PT_NOTE segment, and `alignment` is the alignment of that segment.
inline std::span<const std::uint8_t> build_id_in(std::span<const std::uint8_t> notes, std::uint64_t alignment) {
    const std::uint64_t step = alignment == 8 ? 8 : 4;
    const auto aligned = [&](std::uint64_t size) { return (size + step - 1) / step * step; };
    for (std::uint64_t at = 0; at + sizeof(Elf64_Nhdr) <= notes.size();) {
        Elf64_Nhdr note;
        __builtin_memcpy(&note, notes.data() + at, sizeof note);
        const std::uint64_t content = at + aligned(sizeof note + note.n_namesz);
        if (content + note.n_descsz > notes.size()) break;
        const auto* const name = reinterpret_cast<const char*>(notes.data() + at + sizeof note);
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && equal({name, 4}, {"GNU\0", 4}))
            return notes.subspan(content, note.n_descsz);
        at = content + aligned(note.n_descsz);
    }
    return {};
}

}  // namespace fp32shim::system
