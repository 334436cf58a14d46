#include "cli/binaries/elf_file.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <type_traits>

#include "system/elf.hpp"
#include "system/raw_file.hpp"

namespace fp32shim::cli {
namespace {

/// A file whose bytes can be read as arrays of any trivially copyable type.
class BinaryFileReader {
  public:
    explicit BinaryFileReader(const std::string& path) : file_(path.c_str()) {
        struct stat facts = {};
        if (file_.is_regular(facts)) size_ = static_cast<std::uint64_t>(facts.st_size);
    }

    std::uint64_t size() const { return size_; }

    /// Returns at most `count` elements that start at byte `offset`. Returns fewer if the file ends before.
    template <class T>
    std::vector<T> array(std::uint64_t offset, std::uint64_t count) const {
        static_assert(std::is_trivially_copyable_v<T>);
        if (offset >= size_) return {};
        std::vector<T> elements(std::min(count, (size_ - offset) / sizeof(T)));
        const std::uint64_t got = file_.read(offset, elements.data(), elements.size() * sizeof(T));
        if (got < elements.size() * sizeof(T))
            elements.erase(elements.begin() + static_cast<std::ptrdiff_t>(got / sizeof(T)), elements.end());
        return elements;
    }

    template <class T>
    std::optional<T> element(std::uint64_t offset) const {
        const auto found = array<T>(offset, 1);
        return found.empty() ? std::nullopt : std::optional(found.front());
    }

  private:
    system::RawFile file_;
    std::uint64_t size_ = 0;
};

/// A table of zero-terminated names. A wrong offset yields an empty name.
class StringTable {
  public:
    StringTable() = default;
    explicit StringTable(std::vector<char> bytes) : bytes_(std::move(bytes)) {}

    std::string_view at(std::uint64_t offset) const {
        if (offset >= bytes_.size()) return {};
        const char* begin = bytes_.data() + offset;
        return {begin, strnlen(begin, bytes_.size() - offset)};
    }

  private:
    std::vector<char> bytes_;
};

std::vector<Elf64_Phdr> read_segments(const BinaryFileReader& file, const Elf64_Ehdr& header) {
    if (header.e_phentsize != sizeof(Elf64_Phdr)) return {};
    return file.array<Elf64_Phdr>(header.e_phoff, header.e_phnum);
}

/// The program headers and the dynamic section of a file, which are the parts that the loader reads.
class DynamicSection {
  public:
    DynamicSection(const BinaryFileReader& file, const Elf64_Ehdr& header)
        : file_(file), segments_(read_segments(file, header)) {
        for (const Elf64_Phdr& segment : segments_) {
            if (segment.p_type != PT_DYNAMIC) continue;
            for (const auto& entry : file.array<Elf64_Dyn>(segment.p_offset, segment.p_filesz / sizeof(Elf64_Dyn))) {
                if (entry.d_tag == DT_NULL) break;
                entries_.push_back(entry);
            }
        }
        names_ = StringTable(at<char>(DT_STRTAB, value(DT_STRSZ)));
    }

    const StringTable& names() const { return names_; }
    const std::vector<Elf64_Dyn>& entries() const { return entries_; }

    std::string interpreter() const {
        for (const Elf64_Phdr& segment : segments_) {
            if (segment.p_type != PT_INTERP) continue;
            const StringTable text(
                file_.array<char>(segment.p_offset, std::min<std::uint64_t>(segment.p_filesz, 4096)));
            return std::string(text.at(0));
        }
        return {};
    }

    std::uint64_t value(std::int64_t tag) const {
        for (const Elf64_Dyn& entry : entries_)
            if (entry.d_tag == tag) return entry.d_un.d_val;
        return 0;
    }

    /// Returns up to `count` elements from the address that the dynamic section stores under `tag` (DT_…).
    template <class T>
    std::vector<T> at(std::int64_t tag, std::uint64_t count) const {
        const auto offset = offset_of(value(tag));
        return value(tag) != 0 && offset ? file_.array<T>(*offset, count) : std::vector<T>();
    }

    std::optional<std::uint64_t> offset_of(std::uint64_t address) const {
        for (const Elf64_Phdr& segment : segments_)
            if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
                address - segment.p_vaddr < segment.p_filesz)
                return segment.p_offset + (address - segment.p_vaddr);
        return std::nullopt;
    }

    const BinaryFileReader& file() const { return file_; }

  private:
    const BinaryFileReader& file_;
    std::vector<Elf64_Phdr> segments_;
    std::vector<Elf64_Dyn> entries_;
    StringTable names_;
};

/// Returns the number of dynamic symbols. The number is read from DT_HASH or computed from DT_GNU_HASH, because the
/// symbol table has no length field.
std::uint64_t count_of_symbols(const DynamicSection& dynamic) {
    const auto counts = dynamic.at<std::uint32_t>(
        DT_HASH, 2);  // the numbers of buckets and of chains; there are as many chains as symbols
    if (counts.size() == 2) return counts[1];
    const auto table = dynamic.offset_of(dynamic.value(DT_GNU_HASH));
    if (dynamic.value(DT_GNU_HASH) == 0 || !table) return 0;
    return system::symbols_in_gnu_hash([&](std::uint64_t first, std::uint64_t count) {
        return dynamic.file().array<std::uint32_t>(*table + 4 * first, count);
    });
}

/// Returns the names of the required and the defined symbol versions. The keys are version indices.
std::map<std::uint16_t, std::string> read_versions(const DynamicSection& dynamic) {
    std::map<std::uint16_t, std::string> versions;
    const BinaryFileReader& file = dynamic.file();
    // The tables of versions are lists of lists, linked by relative offsets. The counts in the file limit the number
    // of steps, even if the offsets are wrong.
    auto offset = dynamic.offset_of(dynamic.value(DT_VERNEED));
    for (std::uint64_t i = 0; offset && i < std::min<std::uint64_t>(dynamic.value(DT_VERNEEDNUM), 4096); ++i) {
        const auto need = file.element<Elf64_Verneed>(*offset);
        if (!need) break;
        std::uint64_t inner = *offset + need->vn_aux;
        for (int j = 0; j < need->vn_cnt; ++j) {
            const auto version = file.element<Elf64_Vernaux>(inner);
            if (!version) break;
            versions[version->vna_other & 0x7fff] = dynamic.names().at(version->vna_name);
            if (version->vna_next == 0) break;
            inner += version->vna_next;
        }
        if (need->vn_next == 0) break;
        offset = *offset + need->vn_next;
    }
    offset = dynamic.offset_of(dynamic.value(DT_VERDEF));
    for (std::uint64_t i = 0; offset && i < std::min<std::uint64_t>(dynamic.value(DT_VERDEFNUM), 32768); ++i) {
        const auto definition = file.element<Elf64_Verdef>(*offset);
        if (!definition) break;
        const auto name = file.element<Elf64_Verdaux>(*offset + definition->vd_aux);
        // The base version is the name of the file and is not the version of a symbol.
        if (name && (definition->vd_flags & VER_FLG_BASE) == 0)
            versions[definition->vd_ndx & 0x7fff] = dynamic.names().at(name->vda_name);
        if (definition->vd_next == 0) break;
        offset = *offset + definition->vd_next;
    }
    return versions;
}

bool is_defined(const Elf64_Sym& symbol) {
    const unsigned char type = ELF64_ST_TYPE(symbol.st_info);
    return symbol.st_shndx != SHN_UNDEF && (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE);
}

bool is_exported(const Elf64_Sym& symbol) {
    const unsigned char binding = ELF64_ST_BIND(symbol.st_info);
    const unsigned char visibility = ELF64_ST_VISIBILITY(symbol.st_other);
    return is_defined(symbol) && (binding == STB_GLOBAL || binding == STB_WEAK || binding == STB_GNU_UNIQUE) &&
           (visibility == STV_DEFAULT || visibility == STV_PROTECTED);
}

void add_once(std::vector<ElfSymbol>& list, ElfSymbol symbol) {
    if (std::ranges::find(list, symbol) == list.end()) list.push_back(std::move(symbol));
}

void read_dynamic_symbols(const DynamicSection& dynamic, const NameFilter& wanted, ElfFile& result) {
    std::set<std::uint64_t> relocated;
    for (const auto& [table, size] : {std::pair{DT_RELA, DT_RELASZ}, std::pair{DT_JMPREL, DT_PLTRELSZ}})
        for (const auto& relocation : dynamic.at<Elf64_Rela>(table, dynamic.value(size) / sizeof(Elf64_Rela)))
            if (ELF64_R_SYM(relocation.r_info) != 0) relocated.insert(ELF64_R_SYM(relocation.r_info));
    const std::uint64_t count =
        std::max(count_of_symbols(dynamic), relocated.empty() ? std::uint64_t{0} : *relocated.rbegin() + 1);
    const auto symbols = dynamic.at<Elf64_Sym>(DT_SYMTAB, count);
    const auto version_indices = dynamic.at<std::uint16_t>(DT_VERSYM, symbols.size());
    const auto versions = read_versions(dynamic);
    for (std::uint64_t i = 0; i < symbols.size(); ++i) {
        const std::string_view name = dynamic.names().at(symbols[i].st_name);
        if (name.empty() || !wanted(name)) continue;
        const auto version = i < version_indices.size() ? versions.find(version_indices[i] & 0x7fff) : versions.end();
        const ElfSymbol symbol = {std::string(name), version == versions.end() ? std::string() : version->second};
        if (relocated.contains(i)) add_once(result.imports, symbol);
        if (is_exported(symbols[i])) add_once(result.exports, symbol);
    }
}

std::vector<Elf64_Shdr> read_sections(const BinaryFileReader& file, const Elf64_Ehdr& header) {
    if (header.e_shentsize != sizeof(Elf64_Shdr)) return {};
    return file.array<Elf64_Shdr>(header.e_shoff, header.e_shnum);
}

/// Returns the symbols of the first section of type `type` (SHT_…), with their names.
SymbolTable read_symbols(const BinaryFileReader& file, const std::vector<Elf64_Shdr>& sections, std::uint32_t type) {
    for (const Elf64_Shdr& section : sections) {
        if (section.sh_type != type || section.sh_link >= sections.size()) continue;
        const Elf64_Shdr& text = sections[section.sh_link];
        return {file.array<Elf64_Sym>(section.sh_offset, section.sh_size / sizeof(Elf64_Sym)),
                file.array<char>(text.sh_offset, text.sh_size)};
    }
    return {};
}

/// Adds to `result` the functions that the file defines but does not export. They are listed in the full symbol table
/// (.symtab), which strip removes.
void read_hidden_symbols(const BinaryFileReader& file, const Elf64_Ehdr& header, const NameFilter& wanted,
                         ElfFile& result) {
    SymbolTable table = read_symbols(file, read_sections(file, header), SHT_SYMTAB);
    const StringTable names(std::move(table.names));
    for (const Elf64_Sym& symbol : table.symbols) {
        // Symbols that are no functions, such as labels and file names, are skipped.
        const unsigned char type = ELF64_ST_TYPE(symbol.st_info);
        if (symbol.st_shndx == SHN_UNDEF || (type != STT_FUNC && type != STT_GNU_IFUNC)) continue;
        const std::string_view name = names.at(symbol.st_name);
        if (name.empty() || !wanted(name) ||
            std::ranges::find(result.exports, name, &ElfSymbol::name) != result.exports.end() ||
            std::ranges::find(result.hidden, name) != result.hidden.end())
            continue;
        result.hidden.emplace_back(name);
    }
}

/// Calls `visit` with the bytes of those sections for which `is_wanted(section, its name)` is true. If the file has
/// no sections, visits the loaded segments that have all `segment_flags`. The bytes come in pieces, each of which
/// overlaps the next one by `overlap` bytes.
template <class IsWanted>
void visit_parts(const BinaryFileReader& file, const Elf64_Ehdr& header, const IsWanted& is_wanted,
                 std::uint32_t segment_flags, std::size_t overlap, const CodeVisitor& visit) {
    const auto visit_part = [&](std::uint64_t offset, std::uint64_t size) {
        constexpr std::uint64_t chunk = 8U << 20;
        if (offset >= file.size()) return;
        const std::uint64_t end = offset + std::min(size, file.size() - offset);
        for (; offset < end; offset += chunk) {
            const auto bytes = file.array<std::uint8_t>(offset, std::min(end - offset, chunk + overlap));
            if (bytes.empty()) return;
            visit(bytes, std::min<std::size_t>(bytes.size(), chunk), offset);
        }
    };
    const auto sections = read_sections(file, header);
    const auto text = header.e_shstrndx < sections.size() ? sections[header.e_shstrndx] : Elf64_Shdr{};
    const StringTable names(file.array<char>(text.sh_offset, text.sh_size));
    for (const Elf64_Shdr& section : sections)
        if (is_wanted(section, names.at(section.sh_name))) visit_part(section.sh_offset, section.sh_size);
    if (!sections.empty()) return;
    for (const Elf64_Phdr& segment : read_segments(file, header))
        if (segment.p_type == PT_LOAD && (segment.p_flags & segment_flags) == segment_flags)
            visit_part(segment.p_offset, segment.p_filesz);
}

std::optional<Elf64_Ehdr> read_header(const BinaryFileReader& file) {
    const auto header = file.element<Elf64_Ehdr>(0);
    return header && system::is_elf(*header) ? header : std::nullopt;
}

bool is_of_this_machine(const Elf64_Ehdr& header) {
    return system::has_own_layout(header) && header.e_machine == system::own_machine;
}

std::vector<std::uint8_t> find_build_id(const BinaryFileReader& file, const Elf64_Ehdr& header) {
    for (const Elf64_Phdr& segment : read_segments(file, header)) {
        if (segment.p_type != PT_NOTE) continue;
        const auto notes = file.array<std::uint8_t>(segment.p_offset, segment.p_filesz);
        const auto id = system::build_id_in(notes, segment.p_align);
        if (!id.empty()) return {id.begin(), id.end()};
    }
    return {};
}

}  // namespace

std::optional<ElfFile> read_elf(const std::string& path, const NameFilter& wanted) {
    const BinaryFileReader file(path);
    const auto header = read_header(file);
    if (!header) return std::nullopt;
    ElfFile result;
    result.is_this_architecture = is_of_this_machine(*header);
    if (!result.is_this_architecture) return result;

    const DynamicSection dynamic(file, *header);
    result.interpreter = dynamic.interpreter();
    result.is_symbolic = (dynamic.value(DT_FLAGS) & DF_SYMBOLIC) != 0;
    for (const Elf64_Dyn& entry : dynamic.entries()) {
        if (entry.d_tag == DT_NEEDED) result.needed.emplace_back(dynamic.names().at(entry.d_un.d_val));
        if (entry.d_tag == DT_SYMBOLIC) result.is_symbolic = true;
        if (entry.d_tag == DT_RPATH || entry.d_tag == DT_RUNPATH) result.has_search_path = true;
    }
    result.build_id = find_build_id(file, *header);
    read_dynamic_symbols(dynamic, wanted, result);
    read_hidden_symbols(file, *header, wanted, result);
    return result;
}

SymbolTables read_symbol_tables(const std::string& path) {
    const BinaryFileReader file(path);
    const auto header = read_header(file);
    if (!header || !is_of_this_machine(*header)) return {};
    const auto sections = read_sections(file, *header);
    SymbolTables tables{read_symbols(file, sections, SHT_DYNSYM), read_symbols(file, sections, SHT_SYMTAB)};
    if (!sections.empty()) return tables;
    // A file without section headers still has the dynamic symbols, because the loader needs them.
    const DynamicSection dynamic(file, *header);
    tables.exported = {dynamic.at<Elf64_Sym>(DT_SYMTAB, count_of_symbols(dynamic)),
                       dynamic.at<char>(DT_STRTAB, dynamic.value(DT_STRSZ))};
    return tables;
}

std::optional<std::vector<std::uint8_t>> read_build_id(const std::string& path) {
    const BinaryFileReader file(path);
    const auto header = read_header(file);
    if (!header || !is_of_this_machine(*header)) return std::nullopt;
    return find_build_id(file, *header);
}

std::vector<std::byte> read_program_headers(const std::string& path) {
    const BinaryFileReader file(path);
    const auto header = read_header(file);
    if (!header || !system::has_own_layout(*header) || header->e_phentsize != sizeof(Elf64_Phdr)) return {};
    const std::uint64_t size = header->e_phnum * sizeof(Elf64_Phdr);
    const auto bytes = file.array<std::byte>(header->e_phoff, size);
    return bytes.size() == size ? bytes : std::vector<std::byte>();
}

Markers find_markers(const std::string& path, std::span<const std::string_view> markers) {
    Markers found;
    const BinaryFileReader file(path);
    const auto header = read_header(file);
    if (!header || !system::has_own_layout(*header)) return found;
    const auto is_wanted = [](const Elf64_Shdr& section, std::string_view name) {
        const bool is_code = (section.sh_flags & SHF_EXECINSTR) != 0 || name.starts_with(".nv");
        return !is_code && (section.sh_type == SHT_PROGBITS || section.sh_type == SHT_STRTAB);
    };
    std::size_t longest = 1;
    for (const std::string_view marker : markers) longest = std::max(longest, marker.size());
    visit_parts(file, *header, is_wanted, 0, longest - 1, [&](std::span<const std::uint8_t> piece, auto, auto) {
        for (const std::string_view marker : markers)
            if (!found.contains(marker) &&
                memmem(piece.data(), piece.size(), marker.data(), marker.size()) != nullptr)
                found.insert(marker);
    });
    return found;
}

void visit_machine_code(const std::string& path, std::size_t overlap, const CodeVisitor& visit) {
    const BinaryFileReader file(path);
    const auto header = read_header(file);
    if (!header || !is_of_this_machine(*header)) return;
    const auto is_wanted = [](const Elf64_Shdr& section, std::string_view) {
        return (section.sh_flags & SHF_EXECINSTR) != 0 && section.sh_type != SHT_NOBITS;
    };
    visit_parts(file, *header, is_wanted, PF_X, overlap, visit);
}

}  // namespace fp32shim::cli
