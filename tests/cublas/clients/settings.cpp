#include "settings.hpp"

#include <cstdlib>

namespace clients {
namespace {

std::optional<std::string> variable(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr || *value == '\0' ? std::nullopt : std::optional<std::string>(value);
}

template <class Enum>
void read_number(const char* name, Enum& value) {
    if (const auto text = variable(name)) value = static_cast<Enum>(std::stoi(*text));
}

}  // namespace

const Settings& settings() {
    static const Settings result = [] {
        Settings read;
        read.log = variable("CLIENT_LOG");
        read.expect = variable("CLIENT_EXPECT");
        read.exact = variable("CLIENT_EXACT").has_value();
        read.uses = "," + variable("CLIENT_USES").value_or("");
        read.assume_aligned = variable("CLIENT_ASSUME_ALIGNED").has_value();
        read.lowers_solves = variable("CLIENT_LOWERS_SOLVES").has_value();
        read_number("CLIENT_MATH_MODE", read.math_mode);
        read_number("CLIENT_COMPUTE_TYPE", read.compute_type);
        read_number("CLIENT_ALGO", read.algo);
        return read;
    }();
    return result;
}

}  // namespace clients
