// Finds the functions of the C library, or of another preloaded library, that the shim replaces by its own and then
// calls.
#pragma once

#include <link.h>

#include <atomic>
#include <string_view>

namespace fp32shim {

/// Returns the address of the first definition of `name` after the shim in load order. If there is none, returns the
/// address of the first definition before the shim, or 0 if there is none either. The definition belongs to another
/// preloaded library or to the C library. Does not call the loader.
ElfW(Addr) next_definition(std::string_view name);

/// The function that a hook of the shim replaces and then calls. It belongs to the C library or to another preloaded
/// library, and is searched for on first use.
template <class Function>
class NextFunction {
  public:
    explicit constexpr NextFunction(const char* name) : name_(name) {}
    /// Returns the function, or nullptr if there is none.
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
