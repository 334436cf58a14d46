#include "record/kernels/image.hpp"

#include "record/kernels/kinds.hpp"

namespace fp32shim::record {
namespace {

constexpr std::uint32_t elf_magic = 0x464c457f;

bool is_text(Bytes beginning) {
    const std::string_view text = text_at(beginning, 0);
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    return first == std::string_view::npos ? !text.empty() : text[first] == '.' || text[first] == '/';
}

/// Returns the size of a text with its terminating zero. If `beginning` has no zero, the text continues in the page
/// of the next byte, so the function returns the size up to the end of this page, which may be read as a whole.
std::uint64_t text_size(Bytes beginning) {
    constexpr std::uint64_t page = 4096;
    const std::uint64_t size = text_at(beginning, 0).size();
    if (size < beginning.size()) return size + 1;
    const auto next = reinterpret_cast<std::uint64_t>(beginning.data()) + size;
    return size + page - next % page;
}

}  // namespace

std::uint64_t image_size(Bytes beginning) {
    const auto magic = value_at<std::uint32_t>(beginning, 0);
    if (!magic) return sizeof *magic;
    if (*magic == elf_magic) return cubin_size(beginning);
    if (*magic == fatbin_magic) return fatbin_size(beginning);
    return is_text(beginning) ? text_size(beginning) : 0;
}

ImageFacts scan_image(Bytes image, int compute_capability, const KernelVisitor& visitor) {
    ImageFacts facts;
    const auto magic = value_at<std::uint32_t>(image, 0);
    if (magic == elf_magic)
        scan_cubin(image, visitor, facts);
    else if (magic == fatbin_magic)
        scan_fatbin(image, static_cast<unsigned>(compute_capability), visitor, facts);
    else if (is_text(image))
        scan_ptx(text_at(image, 0), visitor, facts);
    else
        facts.doubt = "is neither a cubin nor a fatbin nor PTX";
    return facts;
}

}  // namespace fp32shim::record
