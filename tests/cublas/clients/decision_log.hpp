// The decisions that the shim logged for this process, as docs/log-format.md describes them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace clients {

class DecisionLog {
  public:
    /// Returns true under a shim that logs: CLIENT_LOG is set.
    static bool is_there();

    /// The decisions since the last call, in order.
    std::vector<nlohmann::json> read_new();

  private:
    std::streamoff position_ = 0;
};

/// One log for the whole process: each test reads what its own calls added.
DecisionLog& decision_log();

}  // namespace clients
