#include "driver/image.hpp"

#include <elf.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace stand_in {
namespace {

constexpr std::uint32_t elf_magic = 0x464c457f;
constexpr std::uint32_t wrapper_magic = 0x466243b1;
constexpr std::uint32_t fatbin_magic = 0xba55ed50;

struct Wrapper {
    std::uint32_t magic, version;
    const void* data;
    const void* const* linked;
};

struct FatbinHeader {
    std::uint32_t magic;
    std::uint16_t version, header_size;
    std::uint64_t size;  // of the parts
};

struct PartHeader {
    std::uint16_t kind;  // 1: PTX, 2: cubin
    std::uint16_t version;
    std::uint32_t header_size;
    std::uint64_t size;
    std::uint64_t unused[3];
    std::uint64_t flags;
};
constexpr std::uint64_t compressed = 0x2000 | 0x8000;  // LZ4, Zstandard

template <class T>
T read_at(const void* address, std::size_t offset = 0) {
    T value;
    std::memcpy(&value, static_cast<const char*>(address) + offset, sizeof value);
    return value;
}

void add(Image& image, std::string_view name) {
    if (std::find(image.kernels.begin(), image.kernels.end(), name) == image.kernels.end())
        image.kernels.emplace_back(name);
}

// Each kernel has a section `.text.NAME`.
void read_cubin(const void* cubin, Image& image) {
    constexpr std::string_view prefix = ".text.";
    const auto header = read_at<Elf64_Ehdr>(cubin);
    const auto section = [&](unsigned i) {
        return read_at<Elf64_Shdr>(cubin, header.e_shoff + std::size_t{i} * header.e_shentsize);
    };
    if (header.e_shnum == 0) return;
    const char* const names = static_cast<const char*>(cubin) + section(header.e_shstrndx).sh_offset;
    for (unsigned i = 0; i < header.e_shnum; ++i) {
        const std::string_view name = names + section(i).sh_name;
        if (name.starts_with(prefix)) add(image, name.substr(prefix.size()));
    }
}

bool is_of_name(char c) {
    return c == '_' || c == '$' || c == '%' || std::isalnum(static_cast<unsigned char>(c)) != 0;
}

void read_ptx(std::string_view text, Image& image) {
    constexpr std::string_view entry = ".entry";
    for (std::size_t at = text.find(entry); at != std::string_view::npos; at = text.find(entry, at)) {
        at = text.find_first_not_of(" \t\r\n", at + entry.size());
        if (at == std::string_view::npos) return;
        const std::string_view rest = text.substr(at);
        add(image, rest.substr(0, static_cast<std::size_t>(std::find_if_not(rest.begin(), rest.end(), is_of_name) -
                                                           rest.begin())));
    }
}

void read_fatbin(const void* fatbin, Image& image) {
    const auto header = read_at<FatbinHeader>(fatbin);
    const char* at = static_cast<const char*>(fatbin) + header.header_size;
    const char* const end = at + header.size;
    while (at + sizeof(PartHeader) <= end) {
        const auto part = read_at<PartHeader>(at);
        const char* const data = at + part.header_size;
        if ((part.flags & compressed) != 0)
            image.names_all = false;
        else if (part.kind == 2)
            read_cubin(data, image);
        else if (part.kind == 1)
            read_ptx({data, part.size}, image);
        at = data + part.size;
    }
}

}  // namespace

std::optional<Image> read_image(const void* bytes) {
    Image image;
    // PTX may be shorter than the magic number of the other kinds.
    if (bytes == nullptr || *static_cast<const char*>(bytes) == '\0') return std::nullopt;
    switch (const char* const text = static_cast<const char*>(bytes); *text) {
        case '\x7f':
            if (read_at<std::uint32_t>(bytes) != elf_magic) return std::nullopt;
            read_cubin(bytes, image);
            return image;
        case '\x50':
            if (read_at<std::uint32_t>(bytes) != fatbin_magic) return std::nullopt;
            read_fatbin(bytes, image);
            return image;
        case '\xb1': {
            const auto wrapper = read_at<Wrapper>(bytes);
            if (wrapper.magic != wrapper_magic) return std::nullopt;
            // Version 2: fatbins that nvlink made. The first counts.
            return read_image(wrapper.version == 2 && wrapper.linked != nullptr ? *wrapper.linked : wrapper.data);
        }
        default:
            if (std::string_view(text).find(".version") == std::string_view::npos) return std::nullopt;
            read_ptx(text, image);
            return image;
    }
}

}  // namespace stand_in
