#include "decision_log.hpp"

#include <fstream>

#include "settings.hpp"

namespace clients {

bool DecisionLog::is_there() { return settings().log.has_value(); }

std::vector<nlohmann::json> DecisionLog::read_new() {
    std::vector<nlohmann::json> result;
    if (!is_there()) return result;
    std::ifstream file(*settings().log);
    file.seekg(position_);
    for (std::string line; std::getline(file, line);) {
        if (file.eof()) break;  // without its line feed a line is not yet complete
        position_ += static_cast<std::streamoff>(line.size()) + 1;
        auto event = nlohmann::json::parse(line);
        if (event["event"] == "decision") result.push_back(std::move(event));
    }
    return result;
}

DecisionLog& decision_log() {
    static DecisionLog log;
    return log;
}

}  // namespace clients
