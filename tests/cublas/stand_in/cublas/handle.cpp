#include "cublas/handle.hpp"

namespace stand_in {

Request request_of(cublasHandle_t handle) {
    Request request;
    request.math_mode = handle->math_mode.load(std::memory_order_relaxed);
    request.mode_was_lower = handle->mode_was_lower.load(std::memory_order_relaxed);
    request.strategy = handle->strategy.load(std::memory_order_relaxed);
    request.compute_capability = handle->head.compute_capability;
    return request;
}

}  // namespace stand_in
