// Decisions that the shim logged for this process. docs/schema.md describes them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace clients {

class DecisionLog {
  public:
    /// Returns true if the shim is loaded and logs: CLIENT_LOG is set.
    static bool is_there();

    /// Returns the decisions since the last call, in order.
    std::vector<nlohmann::json> read_new();

  private:
    std::streamoff position_ = 0;
};

/// Returns the only log of the process. Each test reads the decisions that its own calls added.
DecisionLog& decision_log();

}  // namespace clients
