#include "gpu_check/cuda/build_id.hpp"

#include <elf.h>
#include <link.h>

#include <cstring>

namespace gpu {

namespace {

struct Wanted {
    std::string_view name;
    std::string id;
};

/// Returns the id of the note NT_GNU_BUILD_ID in a segment of notes; empty where there is none.
std::string id_in(const unsigned char* notes, std::size_t bytes) {
    constexpr auto aligned = [](std::size_t size) { return (size + 3) & ~std::size_t{3}; };
    std::string result;
    for (std::size_t at = 0; at + sizeof(ElfW(Nhdr)) <= bytes;) {
        ElfW(Nhdr) header;
        std::memcpy(&header, notes + at, sizeof header);
        const std::size_t name = at + sizeof header;
        const std::size_t content = name + aligned(header.n_namesz);
        at = content + aligned(header.n_descsz);
        if (at > bytes) break;
        if (header.n_type != NT_GNU_BUILD_ID || header.n_namesz != 4 || std::memcmp(notes + name, "GNU", 4) != 0)
            continue;
        for (std::size_t i = 0; i < header.n_descsz; ++i) {
            constexpr const char* digits = "0123456789abcdef";
            result += digits[notes[content + i] >> 4];
            result += digits[notes[content + i] & 15];
        }
        break;
    }
    return result;
}

int look_at(dl_phdr_info* object, std::size_t, void* data) {
    auto& wanted = *static_cast<Wanted*>(data);
    const std::string_view path = object->dlpi_name;
    if (!path.substr(path.rfind('/') + 1).starts_with(wanted.name)) return 0;
    for (int i = 0; i < object->dlpi_phnum && wanted.id.empty(); ++i) {
        const ElfW(Phdr)& segment = object->dlpi_phdr[i];
        if (segment.p_type != PT_NOTE) continue;
        // The loader maps this address; it is a number in its own record.
        const auto* notes = reinterpret_cast<const unsigned char*>(object->dlpi_addr + segment.p_vaddr);
        wanted.id = id_in(notes, segment.p_memsz);
    }
    return 1;
}

}  // namespace

std::string build_id_of(std::string_view name) {
    Wanted wanted{name, {}};
    dl_iterate_phdr(look_at, &wanted);
    return wanted.id.empty() ? "unknown" : wanted.id;
}

}  // namespace gpu
