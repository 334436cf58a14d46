#include "gpu_check/cuda/build_id.hpp"

#include <link.h>

#include <cstdint>
#include <span>
#include <string>

#include "system/elf.hpp"

namespace gpu {

namespace {

struct Wanted {
    std::string_view name;
    std::string id;
};

std::string in_hex(std::span<const std::uint8_t> id) {
    constexpr const char* digits = "0123456789abcdef";
    std::string result;
    for (const std::uint8_t byte : id) {
        result += digits[byte >> 4];
        result += digits[byte & 15];
    }
    return result;
}

int visit_object(dl_phdr_info* object, std::size_t, void* data) {
    auto& wanted = *static_cast<Wanted*>(data);
    const std::string_view path = object->dlpi_name;
    if (!path.substr(path.rfind('/') + 1).starts_with(wanted.name)) return 0;
    for (int i = 0; i < object->dlpi_phnum && wanted.id.empty(); ++i) {
        const ElfW(Phdr)& segment = object->dlpi_phdr[i];
        if (segment.p_type != PT_NOTE) continue;
        // The address is mapped by the loader, whose record has it as a number.
        const auto* notes = reinterpret_cast<const std::uint8_t*>(object->dlpi_addr + segment.p_vaddr);
        wanted.id = in_hex(fp32shim::system::build_id_in({notes, segment.p_memsz}, segment.p_align));
    }
    return 1;
}

}  // namespace

std::string build_id_of(std::string_view name) {
    Wanted wanted{name, {}};
    dl_iterate_phdr(visit_object, &wanted);
    return wanted.id.empty() ? "unknown" : wanted.id;
}

}  // namespace gpu
