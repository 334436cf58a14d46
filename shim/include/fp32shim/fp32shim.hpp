// The C++17 interface of fp32shim: a scope object, and a function that tells what ran. There is nothing to link.
// Without the shim, these functions do nothing, and their results say so. fp32shim.h describes the names, the errors
// and the rules for threads.
#ifndef FP32SHIM_FP32SHIM_HPP
#define FP32SHIM_FP32SHIM_HPP

#include <optional>
#include <string>

#include "fp32shim/fp32shim.h"

namespace fp32shim {

/// Returns true if the process runs under the shim.
inline bool is_loaded() noexcept { return fp32shim_is_loaded() != 0; }

/// Opens a scope on this thread, and closes it when the object is destroyed. The products in between have the scope's
/// label in recordings, run at its precision, and run at or above its floor. Objects must be destroyed in the reverse
/// order of their construction, on the thread that made them.
class scope {
  public:
    /// If `precision` or `floor` is null, the outer scopes and the policy decide it.
    explicit scope(const char* label, const char* precision = nullptr, const char* floor = nullptr) noexcept
        : status_(fp32shim_push_scope(label, precision, floor)) {}
    ~scope() {
        if (status_ == FP32SHIM_OK) fp32shim_pop_scope();
    }
    scope(const scope&) = delete;
    scope& operator=(const scope&) = delete;

    /// Returns the fp32shim_status of opening the scope. If it is not FP32SHIM_OK, no scope was opened, and products
    /// run as before.
    int status() const noexcept { return status_; }

  private:
    int status_;
};

/// Returns the precision of this thread's products that no rule matches, such as "high"; empty without the shim.
inline std::string precision() {
    char name[FP32SHIM_NAME_SIZE] = {};
    fp32shim_get_precision(name, sizeof name, nullptr, 0);
    return name;
}

/// Returns what the recording says of this thread's last product. Returns nullopt without the shim, without a
/// recording, or if there was no product.
inline std::optional<fp32shim_product> last_product() noexcept {
    fp32shim_product product;
    if (fp32shim_last_product(&product, sizeof product) != FP32SHIM_OK) return std::nullopt;
    return product;
}

}  // namespace fp32shim

#endif
