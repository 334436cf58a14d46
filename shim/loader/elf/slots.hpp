// Changes what the loader has stored in an object: the addresses of the functions that it calls.
#pragma once

#include <link.h>

#include <string_view>

namespace fp32shim::elf {

/// Makes whole pages around [begin, end) writable for its lifetime. `protection` is what they have otherwise.
class WritablePages {
  public:
    WritablePages(ElfW(Addr) begin, ElfW(Addr) end, long protection);
    ~WritablePages();
    WritablePages(const WritablePages&) = delete;
    WritablePages& operator=(const WritablePages&) = delete;

    explicit operator bool() const { return is_writable_; }

  private:
    long protect(long protection) const;

    ElfW(Addr) begin_;
    ElfW(Addr) size_;
    long protection_;
    bool was_writable_, is_writable_;
};

/// Returns the protection of the page with this slot after the loader has relocated the object. Returns PROT_NONE if
/// the address belongs to no segment of the object.
long protection_at(const link_map* map, ElfW(Addr) slot);

/// Stores a function's address in a slot of the object. Returns false if the kernel does not allow that.
bool change_slot(const link_map* map, ElfW(Addr) slot, ElfW(Addr) function);

/// Some objects have variables with the names of functions that the shim exports, for the addresses that dlsym gives.
/// The loader binds the object's references to the shim, since it comes first. If the object has a variable of this
/// name, gives it all such variables back.
void give_variables_back(const link_map* map, std::string_view name);

}  // namespace fp32shim::elf
