// Changes slots of a loaded object: the words in which the loader has stored the addresses of the functions that the
// object calls.
#pragma once

#include <link.h>

#include <string_view>

namespace fp32shim::elf {

/// Makes the pages that contain [begin, end) writable during its lifetime. `protection` is the protection of the
/// pages before and afterwards.
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

/// Returns the protection of the page that contains `slot`, after the loader has relocated the object. Returns
/// PROT_NONE if the address belongs to no segment of the object.
long protection_at(const link_map* map, ElfW(Addr) slot);

/// Stores the address of a function at the address `slot` in the object. Returns false if the kernel does not allow
/// it.
bool change_slot(const link_map* map, ElfW(Addr) slot, ElfW(Addr) function);

/// Makes an object's references to its own variables lead to these variables again. Some objects have variables named
/// like functions that the shim exports, in which they store addresses from dlsym. The loader binds references to
/// such variables to the shim's functions, because the shim comes first. This function changes nothing unless the
/// object has a variable called `name`, but then it corrects the references to all such variables of the object.
void rebind_own_variables(const link_map* map, std::string_view name);

}  // namespace fp32shim::elf
