// Keeps handles forever, so that a destroyed handle can be recognised. A later create may reuse its address, as
// malloc does in the real libraries.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "library_handle.hpp"

namespace stand_in {

template <class Handle>
class HandlePool {
  public:
    Handle* take() {
        std::lock_guard lock(mutex_);
        if (free_.empty()) {
            all_.push_back(std::make_unique<Handle>());
            return all_.back().get();
        }
        Handle* const handle = free_.back();
        free_.pop_back();
        return handle;
    }
    void give_back(Handle* handle) {
        std::lock_guard lock(mutex_);
        free_.push_back(handle);
    }

  private:
    std::mutex mutex_;
    std::vector<std::unique_ptr<Handle>> all_;
    std::vector<Handle*> free_;
};

}  // namespace stand_in
