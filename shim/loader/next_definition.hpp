// The functions of the C library that the shim stands before.
#pragma once

#include <link.h>

#include <atomic>
#include <string_view>

namespace fp32shim {

/// Returns the address of the next definition of a name after the shim's in load order: another preload's, else the C
/// library's; 0: there is none. Calls nothing outside this library.
ElfW(Addr) next_definition(std::string_view name);

/// The function that a hook of the shim goes on to (the C library's, or another preload's), found on first use.
template <class Function>
class Next {
  public:
    explicit constexpr Next(const char* name) : name_(name) {}
    /// Returns nullptr if there is no such function.
    Function* get() {
        Function* known = function_.load(std::memory_order_relaxed);
        if (known != nullptr) return known;
        known = reinterpret_cast<Function*>(next_definition(name_));
        function_.store(known, std::memory_order_relaxed);
        return known;
    }

  private:
    const char* name_;
    std::atomic<Function*> function_{nullptr};
};

}  // namespace fp32shim
