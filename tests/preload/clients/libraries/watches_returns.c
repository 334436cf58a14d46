// A library for LD_AUDIT that watches functions return. The loader then calls these functions itself.

#define _GNU_SOURCE
#include <link.h>

unsigned la_version(unsigned version) { return version; }

unsigned la_objopen(struct link_map* map, Lmid_t namespace, uintptr_t* cookie) {
    (void)map;
    (void)namespace;
    (void)cookie;
    return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}

ElfW(Addr) la_x86_64_gnu_pltenter(ElfW(Sym) * symbol, unsigned index, uintptr_t* caller, uintptr_t* callee,
                                  La_x86_64_regs* registers, unsigned* flags, const char* name, long* frame_size) {
    (void)index;
    (void)caller;
    (void)callee;
    (void)registers;
    (void)flags;
    (void)name;
    *frame_size = 256;  // number of bytes of the stack that the loader copies
    return symbol->st_value;
}

unsigned la_x86_64_gnu_pltexit(ElfW(Sym) * symbol, unsigned index, uintptr_t* caller, uintptr_t* callee,
                               const La_x86_64_regs* registers, La_x86_64_retval* result, const char* name) {
    (void)symbol;
    (void)index;
    (void)caller;
    (void)callee;
    (void)registers;
    (void)result;
    (void)name;
    return 0;
}
