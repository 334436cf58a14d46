// A function of another library that the shim calls for its own purposes.
#pragma once

#include <cerrno>
#include <cstddef>

#include "system/kept_state.hpp"

namespace fp32shim {

template <class Signature>
class ForeignFunction;

/// The address of a function, or nullptr. A call of the function leaves errno and the floating-point state as the
/// program had them, because a library may initialise itself in its first call, and then reads files and divides
/// numbers.
template <class Result, class... Arguments>
class ForeignFunction<Result(Arguments...)> {
  public:
    constexpr ForeignFunction() = default;
    constexpr ForeignFunction(std::nullptr_t) {}
    explicit ForeignFunction(void* address) : function_(reinterpret_cast<Result (*)(Arguments...)>(address)) {}

    Result operator()(Arguments... arguments) const {
        const system::ErrnoAndFloatGuard kept;
        return function_(arguments...);
    }
    /// Calls a short function that does not change the floating-point state, such as one that copies some bytes or
    /// records an event. Preserves only errno, because such functions are called in every product, and preserving the
    /// floating-point state too would cost more than the call.
    Result call_keeping_errno(Arguments... arguments) const {
        const int before = errno;
        const Result result = function_(arguments...);
        errno = before;
        return result;
    }
    bool operator==(std::nullptr_t) const { return function_ == nullptr; }

  private:
    Result (*function_)(Arguments...) = nullptr;
};

}  // namespace fp32shim
