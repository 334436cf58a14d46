// Finds the functions that the shim replaces and calls: those of the C library, or of another preloaded library.
#pragma once

#include <link.h>

#include <atomic>
#include <string_view>

namespace fp32shim {

/// Returns the address of the definition of a name that comes next after the shim in load order, or else of the
/// first one before the shim; 0 if there is none. It belongs to another preloaded library or to the C library. Calls
/// nothing outside this library.
ElfW(Addr) next_definition(std::string_view name);

/// The function that a hook of the shim calls in turn: the C library's, or that of another preloaded library. Found
/// on first use.
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
