#include "shim/loader/elf/objects.hpp"

#include <elf.h>
#include <pthread.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/syscall.h>

#include <atomic>

#include "system/elf.hpp"
#include "system/inline_text.hpp"
#include "system/is_readable.hpp"
#include "system/raw_syscall.hpp"
#include "system/this_process.hpp"

// The dynamic section of this library. The linker defines this symbol in every shared object. link.h declares it too,
// but only a hidden declaration is sure not to bind to the program's symbol.
extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));  // NOLINT(readability-redundant-declaration)

namespace fp32shim::elf {
namespace {

// Access to the loader's private data: the search scope and the program headers of each object.
//
// struct link_map has public fields (l_addr, l_name, l_ld, l_next, l_prev) and private ones after them. glibc has
// kept this order of some private fields in all versions from 2.17 to 2.41 (include/link.h):
//     const ElfW(Phdr) *l_phdr; ElfW(Addr) l_entry; ElfW(Half) l_phnum, l_ldnum;
//     struct r_scope_elem { link_map **r_list; unsigned r_nlist; } l_searchlist;
// The auxiliary vector also has the main program's l_phdr, l_entry and l_phnum. So the offset of the private fields
// is found by searching for these three values. If the search fails, no private field is used.
struct PrivateLinkMapFields {
    const ElfW(Phdr) * headers;
    ElfW(Addr) entry;
    ElfW(Half) header_count;
    ElfW(Half) dynamic_count;
    const link_map* const* search_list;
    unsigned search_count;
};

constexpr std::size_t not_searched = ~std::size_t{0};
constexpr std::size_t not_found = 0;
constinit std::atomic<std::size_t> private_offset{not_searched};

template <class T>
const T* at_offset(const void* from, std::size_t offset) {
    return reinterpret_cast<const T*>(static_cast<const char*>(from) + offset);
}

std::size_t find_private_offset() {
    const link_map* main_program = first_object();
    const auto headers = getauxval(AT_PHDR);
    const auto entry = getauxval(AT_ENTRY);
    const auto count = getauxval(AT_PHNUM);
    if (main_program == nullptr || headers == 0) return not_found;
    for (std::size_t offset = sizeof(link_map); offset < 1536; offset += sizeof(void*)) {
        const PrivateLinkMapFields* fields = at_offset<PrivateLinkMapFields>(main_program, offset);
        if (reinterpret_cast<ElfW(Addr)>(fields->headers) != headers || fields->entry != entry) continue;
        if (fields->header_count != count || fields->search_list == nullptr || fields->search_count == 0) continue;
        if (fields->search_list[0] != main_program) continue;
        bool all_known = true;
        for (unsigned i = 0; i < fields->search_count; ++i)
            all_known = all_known && is_in_loader_list(fields->search_list[i]);
        if (all_known) return offset;
    }
    return not_found;
}

/// Returns the fields of an object's link_map that glibc keeps private, or nullptr if their offset was not found.
const PrivateLinkMapFields* private_fields(const link_map* map) {
    std::size_t offset = private_offset.load(std::memory_order_relaxed);
    if (offset == not_searched) {
        offset = find_private_offset();
        private_offset.store(offset, std::memory_order_relaxed);
    }
    return offset == not_found ? nullptr : at_offset<PrivateLinkMapFields>(map, offset);
}

template <class T>
const T* at(ElfW(Addr) base, ElfW(Addr) value) {
    // glibc stores absolute addresses in the dynamic section, except where the section is read-only (the kernel's
    // vdso).
    return reinterpret_cast<const T*>(value < base ? base + value : value);
}

const ElfW(Sym) * check_definition(const ObjectTables& object, std::size_t index, std::string_view name,
                                   std::string_view version, const ElfW(Sym) * *fallback) {
    const ElfW(Sym)& symbol = object.symbols[index];
    const unsigned type = ELF64_ST_TYPE(symbol.st_info);
    const unsigned binding = ELF64_ST_BIND(symbol.st_info);
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_value == 0) return nullptr;
    if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE && type != STT_OBJECT) return nullptr;
    if (binding != STB_GLOBAL && binding != STB_WEAK && binding != STB_GNU_UNIQUE) return nullptr;
    if (!system::equal(system::view(object.strings + symbol.st_name), name)) return nullptr;
    const SymbolVersion defined = version_of(object, index);
    if (version.empty()) {
        // A reference without a version binds to the default version or, if there is no default version, to any
        // version.
        if (!defined.hidden) return &symbol;
        if (*fallback == nullptr) *fallback = &symbol;
        return nullptr;
    }
    // An object without any versions also satisfies references with a version. Preloading relies on this.
    if (defined.name.empty() || system::equal(defined.name, version)) return &symbol;
    return nullptr;
}

const ElfW(Sym) * find_by_gnu_hash(const ObjectTables& object, std::string_view name, std::string_view version) {
    const std::uint32_t bucket_count = object.gnu_hash[0];
    const std::uint32_t first_symbol = object.gnu_hash[1];
    const std::uint32_t bloom_size = object.gnu_hash[2];
    const std::uint32_t bloom_shift = object.gnu_hash[3];
    const auto* bloom = reinterpret_cast<const ElfW(Addr)*>(object.gnu_hash + 4);
    const auto* buckets = reinterpret_cast<const std::uint32_t*>(bloom + bloom_size);
    const std::uint32_t* chain = buckets + bucket_count;
    if (bucket_count == 0) return nullptr;

    const std::uint32_t hash = system::gnu_hash(name);
    constexpr std::uint32_t word_bits = 8 * sizeof(ElfW(Addr));
    const ElfW(Addr) word = bloom[(hash / word_bits) & (bloom_size - 1)];
    const ElfW(Addr) mask =
        (ElfW(Addr){1} << (hash % word_bits)) | (ElfW(Addr){1} << ((hash >> bloom_shift) % word_bits));
    if ((word & mask) != mask) return nullptr;

    std::uint32_t index = buckets[hash % bucket_count];
    if (index < first_symbol) return nullptr;
    const ElfW(Sym)* fallback = nullptr;
    for (;; ++index) {
        const std::uint32_t chained = chain[index - first_symbol];
        if ((chained | 1) == (hash | 1))
            if (const ElfW(Sym)* found = check_definition(object, index, name, version, &fallback)) return found;
        if ((chained & 1) != 0) return fallback;
    }
}

const ElfW(Sym) * find_by_sysv_hash(const ObjectTables& object, std::string_view name, std::string_view version) {
    const std::uint32_t bucket_count = object.sysv_hash[0];
    if (bucket_count == 0) return nullptr;
    std::uint32_t hash = 0;
    for (char letter : name) {
        hash = (hash << 4) + static_cast<unsigned char>(letter);
        const std::uint32_t high = hash & 0xf0000000U;
        hash = (hash ^ (high >> 24)) & ~high;
    }
    const std::uint32_t* chain = object.sysv_hash + 2 + bucket_count;
    const ElfW(Sym)* fallback = nullptr;
    for (std::uint32_t index = object.sysv_hash[2 + hash % bucket_count]; index != STN_UNDEF; index = chain[index])
        if (const ElfW(Sym)* found = check_definition(object, index, name, version, &fallback)) return found;
    return fallback;
}

}  // namespace

std::string_view ObjectTables::name() const { return name_of(map); }

std::uint32_t ObjectTables::undefined_symbol_end() const {
    if (gnu_hash == nullptr) return sysv_hash != nullptr ? sysv_hash[1] : 0;
    // The GNU hash table has only defined symbols, which come last in the symbol table. If the table has no symbols,
    // its index of the first defined symbol is not reliable.
    const std::uint32_t bucket_count = gnu_hash[0], bloom_size = gnu_hash[2];
    const std::uint32_t* buckets = gnu_hash + 4 + std::size_t{2} * bloom_size;
    for (std::uint32_t i = 0; i < bucket_count; ++i)
        if (buckets[i] != 0) return gnu_hash[1];
    return 0;
}

std::string_view name_of(const link_map* map) {
    if (map == nullptr) return {};
    std::string_view path = system::view(map->l_name);
    if (path.empty() && map == first_object()) {
        const auto* executable = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
        if (executable != nullptr) path = system::view(executable);
    }
    return system::base_name(path);
}

ObjectTables read_object_tables(const link_map* map) {
    ObjectTables object;
    object.map = map;
    object.base = map->l_addr;
    if (!is_mapped(map)) return object;
    for (const ElfW(Dyn)* entry = map->l_ld; entry != nullptr && entry->d_tag != DT_NULL; ++entry) {
        const ElfW(Addr) value = entry->d_un.d_ptr;
        switch (entry->d_tag) {
            case DT_SYMTAB:
                object.symbols = at<ElfW(Sym)>(object.base, value);
                break;
            case DT_STRTAB:
                object.strings = at<char>(object.base, value);
                break;
            case DT_GNU_HASH:
                object.gnu_hash = at<std::uint32_t>(object.base, value);
                break;
            case DT_HASH:
                object.sysv_hash = at<std::uint32_t>(object.base, value);
                break;
            case DT_VERSYM:
                object.versions = at<ElfW(Half)>(object.base, value);
                break;
            case DT_VERDEF:
                object.version_definitions = at<ElfW(Verdef)>(object.base, value);
                break;
            case DT_VERNEED:
                object.version_needs = at<ElfW(Verneed)>(object.base, value);
                break;
            case DT_RELA:
                object.relocations = at<ElfW(Rela)>(object.base, value);
                break;
            case DT_RELASZ:
                object.relocation_count = value / sizeof(ElfW(Rela));
                break;
            case DT_RELACOUNT:
                object.relative_count = value;
                break;
            case DT_JMPREL:
                object.plt_relocations = at<ElfW(Rela)>(object.base, value);
                break;
            case DT_PLTRELSZ:
                object.plt_relocation_count = value / sizeof(ElfW(Rela));
                break;
            default:
                break;
        }
    }
    return object;
}

const link_map* first_object() { return _r_debug.r_map; }

bool is_in_loader_list(const link_map* wanted) {
    for (const link_map* map = first_object(); map != nullptr; map = map->l_next)
        if (map == wanted) return true;
    return false;
}

namespace {

// glibc's struct rtld_global (sysdeps/generic/ldsodefs.h) has kept this order in all versions from 2.17 to 2.41:
//     struct link_namespaces { link_map *_ns_loaded; unsigned _ns_nloaded; … } _dl_ns[16]; size_t _dl_nns;
//     two recursive locks, three from 2.35 on; unsigned long long _dl_load_adds;
// The fields between _ns_nloaded and _dl_nns differ between versions, so the offset is found by the values that must
// be there. The result was compared with dl_iterate_phdr on glibc 2.31, 2.36 and 2.41.
struct LinkNamespace {
    const link_map* list;
    std::uint32_t count;
};

bool is_recursive_lock(const pthread_mutex_t& lock) {
    return lock.__data.__kind == PTHREAD_MUTEX_RECURSIVE_NP && lock.__data.__list.__next == nullptr;
}

std::uint32_t count_objects() {
    std::uint32_t count = 0;
    for (const link_map* map = first_object(); map != nullptr; map = map->l_next) ++count;
    return count;
}

LoaderCounters find_counts_in(const char* rtld_global, std::size_t size) {
    const auto& first = *reinterpret_cast<const LinkNamespace*>(rtld_global);
    if (first.list != first_object()) return {};
    const std::uint32_t* loaded = first.count == count_objects() ? &first.count : nullptr;
    constexpr std::size_t namespaces = 16, fewest_locks = 2, most_locks = 3;
    constexpr std::size_t longest = sizeof(std::uint64_t) * 2 + most_locks * sizeof(pthread_mutex_t);
    for (std::size_t offset = sizeof first; offset + longest <= size; offset += sizeof(std::uint64_t)) {
        const auto used_namespaces = *reinterpret_cast<const std::uint64_t*>(rtld_global + offset);
        if (used_namespaces < 1 || used_namespaces > namespaces) continue;
        const auto* locks = reinterpret_cast<const pthread_mutex_t*>(rtld_global + offset + sizeof used_namespaces);
        std::size_t count = 0;
        while (count < most_locks && is_recursive_lock(locks[count])) ++count;
        const auto* adds = reinterpret_cast<const std::uint64_t*>(locks + count);
        constexpr std::uint64_t absurd = std::uint64_t{1} << 32;
        if (count >= fewest_locks && *adds >= first.count && *adds < absurd) return {adds, loaded};
    }
    return {};
}

}  // namespace

LoaderCounters find_loader_counters() {
    for (const link_map* map = first_object(); map != nullptr; map = map->l_next) {
        const ObjectTables object = read_object_tables(map);
        const ElfW(Sym)* symbol = find_definition(object, "_rtld_global", {});
        if (symbol == nullptr || symbol->st_size < sizeof(LinkNamespace)) continue;
        const auto* found = reinterpret_cast<const char*>(address_of(object, *symbol));
        if (const LoaderCounters counts = find_counts_in(found, symbol->st_size); counts.adds != nullptr)
            return counts;
    }
    return {};
}

const link_map* own_object() {
    // The value stays valid because this library is never unloaded.
    static constinit std::atomic<const link_map*> known{nullptr};
    const link_map* own = known.load(std::memory_order_relaxed);
    if (own != nullptr) return own;
    own = first_object();
    while (own != nullptr && own->l_ld != _DYNAMIC) own = own->l_next;
    known.store(own, std::memory_order_relaxed);
    return own;
}

using ProgramHeaders = std::span<const ElfW(Phdr)>;

// Takes the headers from the loader's private fields or, if these were not found, from the auxiliary vector (for the
// main program) or the file's header in memory.
ProgramHeaders program_headers(const link_map* map) {
    if (const PrivateLinkMapFields* fields = private_fields(map)) return {fields->headers, fields->header_count};
    if (map == first_object()) return {reinterpret_cast<const ElfW(Phdr)*>(getauxval(AT_PHDR)), getauxval(AT_PHNUM)};
    // Ordinary linkers lay out a shared object so that the file's header lies at the object's base (`l_addr`).
    const auto* header = reinterpret_cast<const ElfW(Ehdr)*>(map->l_addr);
    if (header == nullptr || !system::is_readable(map->l_addr) || header->e_ident[0] != ELFMAG0 ||
        header->e_ident[1] != ELFMAG1)
        return {};
    return {reinterpret_cast<const ElfW(Phdr)*>(map->l_addr + header->e_phoff), header->e_phnum};
}

namespace {

bool has_segment_at(const link_map* map, ElfW(Addr) address, ElfW(Word) flags) {
    for (const ElfW(Phdr) & segment : program_headers(map)) {
        if (segment.p_type != PT_LOAD || (segment.p_flags & flags) != flags) continue;
        const ElfW(Addr) begin = map->l_addr + segment.p_vaddr;
        if (address >= begin && address < begin + segment.p_memsz) return true;
    }
    return false;
}

const link_map* object_with_segment_at(ElfW(Addr) address, ElfW(Word) flags) {
    for (const link_map* map = first_object(); map != nullptr; map = map->l_next)
        if (is_mapped(map) && has_segment_at(map, address, flags)) return map;
    return nullptr;
}

/// Returns true if the object is still mapped, that is, if its headers lead to the dynamic section that the loader
/// knows. After an unmapping, something else may lie at the address.
bool is_still_mapped(const link_map* map) {
    const ProgramHeaders headers = program_headers(map);
    const auto dynamic = reinterpret_cast<ElfW(Addr)>(map->l_ld);
    if (!system::is_readable(dynamic)) return false;
    if (headers.empty()) return true;
    if (!system::is_readable(reinterpret_cast<ElfW(Addr)>(headers.data())) ||
        !system::is_readable(reinterpret_cast<ElfW(Addr)>(headers.data() + headers.size()) - 1))
        return false;
    for (const ElfW(Phdr) & segment : headers)
        if (segment.p_type == PT_DYNAMIC && map->l_addr + segment.p_vaddr == dynamic) return true;
    return false;
}

// The result of is_loader_list_complete() in a forked child: the child's fork_generation(), and a bit that is set if
// every object of the loader's list was mapped.
//
//     63                32 31 1     0
//     | fork_generation() | 0 | whole |
constinit std::atomic<std::uint64_t> list_check{0};

}  // namespace

bool is_loader_list_complete() {
    if (!system::is_forked_child()) return true;
    const std::uint64_t self = std::uint64_t{system::fork_generation()} << 32;
    std::uint64_t known = list_check.load(std::memory_order_relaxed);
    if (known >> 32 != self >> 32) {
        known = self | 1;
        for (const link_map* map = first_object(); map != nullptr; map = map->l_next)
            if (!is_still_mapped(map)) known = self;
        list_check.store(known, std::memory_order_relaxed);
    }
    return (known & 1) != 0;
}

bool is_mapped(const link_map* map) {
    const bool is_unloading = _r_debug.r_state == r_debug::RT_DELETE;
    return (!is_unloading && is_loader_list_complete()) || is_still_mapped(map);
}

bool object_contains(const link_map* map, ElfW(Addr) address) {
    return is_mapped(map) && has_segment_at(map, address, 0);
}

std::span<const std::uint8_t> build_id(const link_map* map) {
    if (!is_mapped(map)) return {};
    for (const ElfW(Phdr) & segment : program_headers(map)) {
        if (segment.p_type != PT_NOTE) continue;
        const ElfW(Addr) begin = map->l_addr + segment.p_vaddr;
        // Notes outside the loaded segments cannot be read.
        if (!object_contains(map, begin + segment.p_memsz - 1)) continue;
        const auto id =
            system::build_id_in({reinterpret_cast<const std::uint8_t*>(begin), segment.p_memsz}, segment.p_align);
        if (!id.empty()) return id;
    }
    return {};
}

bool is_own_code(ElfW(Addr) address) {
    const link_map* own = own_object();
    return own != nullptr && object_contains(own, address);
}

const link_map* object_at(ElfW(Addr) address) { return object_with_segment_at(address, 0); }

const link_map* object_with_code_at(ElfW(Addr) address) { return object_with_segment_at(address, PF_X); }

SymbolVersion version_of(const ObjectTables& object, std::size_t index) {
    if (object.versions == nullptr) return {};
    constexpr ElfW(Half) hidden_bit = 0x8000;
    const ElfW(Half) number = object.versions[index] & static_cast<ElfW(Half)>(~hidden_bit);
    SymbolVersion version;
    version.hidden = (object.versions[index] & hidden_bit) != 0;
    if (number <= VER_NDX_GLOBAL) return version;
    const auto name_it = [&](ElfW(Word) name) {
        version.name = system::view(object.strings + name);
        return version;
    };
    for (const ElfW(Verdef)* definition = object.version_definitions; definition != nullptr;
         definition = definition->vd_next == 0 ? nullptr : at_offset<ElfW(Verdef)>(definition, definition->vd_next))
        if (definition->vd_ndx == number)
            return name_it(at_offset<ElfW(Verdaux)>(definition, definition->vd_aux)->vda_name);
    for (const ElfW(Verneed)* need = object.version_needs; need != nullptr;
         need = need->vn_next == 0 ? nullptr : at_offset<ElfW(Verneed)>(need, need->vn_next)) {
        const auto* auxiliary = at_offset<ElfW(Vernaux)>(need, need->vn_aux);
        for (ElfW(Half) i = 0; i < need->vn_cnt; ++i) {
            if (auxiliary->vna_other == number) return name_it(auxiliary->vna_name);
            auxiliary = at_offset<ElfW(Vernaux)>(auxiliary, auxiliary->vna_next);
        }
    }
    return version;
}

const ElfW(Sym) * find_definition(const ObjectTables& object, std::string_view name, std::string_view version) {
    if (object.symbols == nullptr || object.strings == nullptr) return nullptr;
    if (object.gnu_hash != nullptr) return find_by_gnu_hash(object, name, version);
    if (object.sysv_hash != nullptr) return find_by_sysv_hash(object, name, version);
    return nullptr;
}

ElfW(Addr) address_of(const ObjectTables& object, const ElfW(Sym) & symbol) {
    const ElfW(Addr) address = object.base + symbol.st_value;
    if (ELF64_ST_TYPE(symbol.st_info) != STT_GNU_IFUNC) return address;
#if defined(__aarch64__)
    struct IfuncArgument {  // __ifunc_arg_t of sys/ifunc.h
        unsigned long size, hwcap, hwcap2;
    } argument{sizeof(IfuncArgument), getauxval(AT_HWCAP), getauxval(AT_HWCAP2)};
    constexpr unsigned long has_argument = 1UL << 62;
    return reinterpret_cast<ElfW(Addr) (*)(unsigned long, const IfuncArgument*)>(address)(
        argument.hwcap | has_argument, &argument);
#else
    return reinterpret_cast<ElfW(Addr) (*)()>(address)();
#endif
}

std::size_t SearchScope::count() const {
    const auto* fields = static_cast<const PrivateLinkMapFields*>(fields_);
    if (fields == nullptr || __atomic_load_n(&fields->search_list, __ATOMIC_ACQUIRE) == nullptr) return 0;
    return __atomic_load_n(&fields->search_count, __ATOMIC_ACQUIRE);
}

const link_map* SearchScope::at(std::size_t index) const {
    const auto* fields = static_cast<const PrivateLinkMapFields*>(fields_);
    for (;;) {
        const link_map* const* list = __atomic_load_n(&fields->search_list, __ATOMIC_ACQUIRE);
        const link_map* object = __atomic_load_n(&list[index], __ATOMIC_ACQUIRE);
        // The loader stores the new array before it frees the old one. So if the array has not changed, `object` was
        // read from valid memory.
        if (__atomic_load_n(&fields->search_list, __ATOMIC_ACQUIRE) == list) return object;
    }
}

bool SearchScope::contains(const link_map* map) const {
    for (std::size_t i = 0; i < count(); ++i)
        if (at(i) == map) return true;
    return false;
}

SearchScope global_scope() { return SearchScope(private_fields(first_object())); }

SearchScope local_scope(const link_map* map) { return SearchScope(private_fields(map)); }

}  // namespace fp32shim::elf
