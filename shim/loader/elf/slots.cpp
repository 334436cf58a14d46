#include "shim/loader/elf/slots.hpp"

#include <elf.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "shim/loader/elf/objects.hpp"
#include "system/fork_safe_lock.hpp"
#include "system/raw_syscall.hpp"

namespace fp32shim::elf {

WritablePages::WritablePages(ElfW(Addr) begin, ElfW(Addr) end, long protection)
    : begin_(begin & ~(getauxval(AT_PAGESZ) - 1)),
      size_(end - begin_),
      protection_(protection),
      was_writable_((protection & PROT_WRITE) != 0) {
    is_writable_ = was_writable_ || set_protection(protection | PROT_WRITE) == 0;
}

WritablePages::~WritablePages() {
    if (is_writable_ && !was_writable_) set_protection(protection_);
}

long WritablePages::set_protection(long protection) const {
    return system::raw::syscall6(SYS_mprotect, begin_, size_, protection);
}

long protection_at(const link_map* map, ElfW(Addr) slot) {
    const ElfW(Addr) page_mask = ~(getauxval(AT_PAGESZ) - 1);
    long protection = PROT_NONE;
    for (const ElfW(Phdr) & segment : program_headers(map)) {
        const ElfW(Addr) begin = map->l_addr + segment.p_vaddr, end = begin + segment.p_memsz;
        if (segment.p_type == PT_LOAD && slot >= begin && slot < end)
            protection |= ((segment.p_flags & PF_R) != 0 ? PROT_READ : 0) |
                          ((segment.p_flags & PF_W) != 0 ? PROT_WRITE : 0) |
                          ((segment.p_flags & PF_X) != 0 ? PROT_EXEC : 0);
        // The loader write-protects the pages of this range, and the last page only if the range contains the whole
        // page.
        if (segment.p_type == PT_GNU_RELRO && slot >= (begin & page_mask) && slot < (end & page_mask))
            return PROT_READ;
    }
    return protection;
}

bool change_slot(const link_map* map, ElfW(Addr) slot, ElfW(Addr) function) {
    const long protection = protection_at(map, slot);
    if (protection == PROT_NONE) return false;
    auto* const place = reinterpret_cast<ElfW(Addr)*>(slot);
    const WritablePages writable(slot, slot + sizeof *place, protection);
    if (!writable) return false;
    __atomic_store_n(place, function, __ATOMIC_RELEASE);
    return true;
}

void rebind_own_variables(const link_map* map, std::string_view name) {
    const ObjectTables object = read_object_tables(map);
    const ElfW(Sym)* const known = find_definition(object, name, {});
    if (known == nullptr || ELF64_ST_TYPE(known->st_info) != STT_OBJECT) return;
    static constinit system::ForkSafeLock lock;
    const system::HeldLock held(lock);
    if (!held) return;
    for_each_reference(object, [&](std::uint32_t symbol, const ElfW(Rela) & relocation) {
        const ElfW(Sym)& variable = object.symbols[symbol];
        const ElfW(Addr) slot = object.base + relocation.r_offset;
        if (variable.st_shndx != SHN_UNDEF && ELF64_ST_TYPE(variable.st_info) == STT_OBJECT &&
            is_own_code(*reinterpret_cast<const ElfW(Addr)*>(slot)))
            change_slot(map, slot, object.base + variable.st_value);
    });
}

}  // namespace fp32shim::elf
