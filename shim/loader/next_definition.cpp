#include "shim/loader/next_definition.hpp"

#include "shim/loader/elf/objects.hpp"

namespace fp32shim {

/// Searches the objects after this library in the loader's list first. So the dlsym of a GPU-sharing layer among them
/// is found before that of the C library. Then searches the objects before this library: the C library is among them
/// if this library was opened late.
ElfW(Addr) next_definition(std::string_view name) {
    const link_map* own = elf::own_object();
    const auto search = [&](const link_map* begin, const link_map* end) -> ElfW(Addr) {
        for (const link_map* map = begin; map != end; map = map->l_next) {
            if (map == own) continue;
            const elf::ObjectTables object = elf::read_object_tables(map);
            if (const ElfW(Sym)* symbol = elf::find_definition(object, name, {}))
                return elf::address_of(object, *symbol);
        }
        return 0;
    };
    if (own != nullptr)
        if (const ElfW(Addr) found = search(own->l_next, nullptr)) return found;
    return search(elf::first_object(), own);
}

}  // namespace fp32shim
