// Changes what the loader has stored in an object: the addresses of the functions that it calls.
#pragma once

#include <link.h>

#include <string_view>

namespace fp32shim::elf {

/// Makes the pages that contain [begin, end) writable during its lifetime. `protection` is the protection that they
/// have before and afterwards.
class WritablePages {
  public:
    WritablePages(ElfW(Addr) begin, ElfW(Addr) end, long protection);
    ~WritablePages();
    WritablePages(const WritablePages&) = delete;
    WritablePages& operator=(const WritablePages&) = delete;

    explicit operator bool() const { return is_writable_; }

  private:
    long set_protection(long protection) const;

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

/// Some objects have variables named like functions that the shim exports, in which they store the addresses that
/// they get from dlsym. The loader binds the object's references to these variables to the shim's functions, since
/// the shim comes first. If the object has a variable called `name`, undoes that for all such variables of the
/// object, whatever their names: its references lead to the variables again.
void rebind_own_variables(const link_map* map, std::string_view name);

}  // namespace fp32shim::elf
