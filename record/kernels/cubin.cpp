// Reads cubins. A cubin is an ELF file with a section `.text.NAME` for each kernel and for each separately compiled
// function that kernels call. A function that is compiled together with a kernel lies in the kernel's section.
#include <elf.h>

#include "record/kernels/kinds.hpp"

namespace fp32shim::record {
namespace {

constexpr std::uint16_t machine_cuda = 190;   // EM_CUDA
constexpr unsigned char is_kernel_flag = 16;  // STO_CUDA_ENTRY

std::optional<Elf64_Ehdr> header_of(Bytes cubin) {
    const auto header = value_at<Elf64_Ehdr>(cubin, 0);
    // If e_shnum is 0, the file has 65,280 or more sections. Such a file is not read.
    if (!header || header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_machine != machine_cuda ||
        header->e_shentsize != sizeof(Elf64_Shdr) || header->e_shnum == 0)
        return std::nullopt;
    return header;
}

/// Returns the architecture of a cubin from e_flags. CUDA 13 moved the architecture to other bits of e_flags; its
/// cubins have the value 0x41 in e_ident[EI_OSABI].
unsigned architecture_of(const Elf64_Ehdr& header) {
    constexpr unsigned char since_cuda_13 = 0x41;
    return (header.e_ident[EI_OSABI] == since_cuda_13 ? header.e_flags >> 8 : header.e_flags) & 255;
}

enum class FunctionKind { function, kernel, either };

class Cubin {
  public:
    Cubin(Bytes bytes, const Elf64_Ehdr& header) : bytes_(bytes), header_(header), names_(section_names()) {
        for (unsigned i = 0; i < header_.e_shnum; ++i) {
            const auto section = section_at(i);
            if (!section || section->sh_type != SHT_SYMTAB) continue;
            symbols_ = contents(*section);
            if (const auto names = section_at(section->sh_link)) symbol_names_ = contents(*names);
        }
    }

    std::optional<Elf64_Shdr> section_at(std::uint64_t index) const {
        if (index >= header_.e_shnum) return std::nullopt;
        return value_at<Elf64_Shdr>(bytes_, header_.e_shoff + index * sizeof(Elf64_Shdr));
    }

    Bytes contents(const Elf64_Shdr& section) const {
        if (section.sh_type == SHT_NOBITS) return {};
        return part_of(bytes_, section.sh_offset, section.sh_size).value_or(Bytes());
    }

    std::string_view name(const Elf64_Shdr& section) const { return text_at(names_, section.sh_name); }

    /// Returns the kind of the code in section number `index`; `either` means that the kind is not known. The low 24
    /// bits of the section's sh_info are the number of the symbol for the code.
    FunctionKind function_kind(const Elf64_Shdr& section, unsigned index) const {
        const auto symbol = value_at<Elf64_Sym>(symbols_, (section.sh_info & 0xffffff) * sizeof(Elf64_Sym));
        if (!symbol || ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx != index)
            return FunctionKind::either;
        return (symbol->st_other & is_kernel_flag) != 0 ? FunctionKind::kernel : FunctionKind::function;
    }

    void add_symbols(ImageFacts& facts) const {
        for (std::uint64_t at = 0; const auto symbol = value_at<Elf64_Sym>(symbols_, at); at += sizeof *symbol) {
            if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC) continue;
            const std::string_view name = text_at(symbol_names_, symbol->st_name);
            if (is_launch_function(name)) facts.launches_kernels = true;
            if (symbol->st_shndx == SHN_UNDEF && !is_function_of_driver(name)) facts.doubt = other_image;
        }
    }

  private:
    Bytes section_names() const {
        const auto section = section_at(header_.e_shstrndx);
        return section ? contents(*section) : Bytes();
    }

    Bytes bytes_;
    const Elf64_Ehdr& header_;
    Bytes names_, symbols_, symbol_names_;
};

}  // namespace

std::uint64_t cubin_size(Bytes beginning) {
    if (beginning.size() < sizeof(Elf64_Ehdr)) return sizeof(Elf64_Ehdr);
    const auto header = header_of(beginning);
    if (!header || header->e_shoff > largest_size || header->e_phoff > largest_size) return 0;
    std::uint64_t size = std::max(header->e_shoff + header->e_shnum * sizeof(Elf64_Shdr),
                                  header->e_phoff + header->e_phnum * sizeof(Elf64_Phdr));
    if (size > beginning.size()) return size;
    const Cubin cubin(beginning, *header);
    for (unsigned i = 0; const auto section = cubin.section_at(i); ++i) {
        if (section->sh_type == SHT_NOBITS) continue;
        if (section->sh_offset > largest_size || section->sh_size > largest_size) return 0;
        size = std::max(size, section->sh_offset + section->sh_size);
    }
    return size;
}

void scan_cubin(Bytes bytes, const KernelVisitor& visitor, ImageFacts& facts) {
    const auto header = header_of(bytes);
    if (!header || cubin_size(bytes) > bytes.size()) {
        facts.doubt = "is a damaged ELF file";
        return;
    }
    const unsigned architecture = architecture_of(*header);
    if (!knows_instructions_of(architecture)) facts.doubt = "is for an architecture whose instructions are not known";
    const Cubin cubin(bytes, *header);
    cubin.add_symbols(facts);
    TensorFormats in_functions = 0;  // formats in functions, which any kernel may call by pointers
    for (const bool is_again : {false, true}) {
        if (is_again && in_functions == 0) break;
        for (unsigned i = 0; const auto section = cubin.section_at(i); ++i) {
            constexpr std::string_view beginning = ".text.";
            const std::string_view name = cubin.name(*section);
            if (section->sh_type != SHT_PROGBITS || (section->sh_flags & SHF_EXECINSTR) == 0 ||
                !name.starts_with(beginning))
                continue;
            facts.has_code = true;
            const FunctionKind kind = cubin.function_kind(*section, i);
            const TensorFormats formats =
                is_again ? in_functions : tensor_formats_in_code(cubin.contents(*section), architecture);
            if (kind != FunctionKind::kernel) in_functions |= formats;
            if (kind != FunctionKind::function)
                visitor.visit(visitor.context, name.substr(beginning.size()), formats);
        }
    }
}

}  // namespace fp32shim::record
