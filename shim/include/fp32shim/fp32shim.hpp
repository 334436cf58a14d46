// fp32shim for C++17: a scope object, and what ran. There is nothing to link; without the shim everything here does
// nothing and says so. fp32shim.h describes the words, the errors and the rules for threads.
#ifndef FP32SHIM_FP32SHIM_HPP
#define FP32SHIM_FP32SHIM_HPP

#include <optional>
#include <string>

#include "fp32shim/fp32shim.h"

namespace fp32shim {

/// Returns true if the process runs under the shim.
inline bool is_loaded() noexcept { return fp32shim_is_loaded() != 0; }

/// Opens a scope on this thread, and closes it at the end of its own life: the products in between have its label in
/// recordings, and run at its precision and not below its floor. Objects must end in the reverse order of their
/// beginning, on the thread that made them.
class scope {
  public:
    /// A null pointer leaves the precision or the floor to the scopes around it, and to the policy.
    explicit scope(const char* label, const char* precision = nullptr, const char* floor = nullptr) noexcept
        : status_(fp32shim_push_scope(label, precision, floor)) {}
    ~scope() {
        if (status_ == FP32SHIM_OK) fp32shim_pop_scope();
    }
    scope(const scope&) = delete;
    scope& operator=(const scope&) = delete;

    /// The fp32shim_status of opening it. Other than FP32SHIM_OK: there is no such scope, and products run as before.
    int status() const noexcept { return status_; }

  private:
    int status_;
};

/// Returns the precision of this thread's products that no rule matches, such as "high"; empty: without the shim.
inline std::string precision() {
    char name[FP32SHIM_NAME_SIZE] = {};
    fp32shim_get_precision(name, sizeof name, nullptr, 0);
    return name;
}

/// Returns what the recording says of this thread's last product; nullopt: without the shim or a recording, or if
/// there was no product.
inline std::optional<fp32shim_product> last_product() noexcept {
    fp32shim_product product;
    if (fp32shim_last_product(&product, sizeof product) != FP32SHIM_OK) return std::nullopt;
    return product;
}

}  // namespace fp32shim

#endif
