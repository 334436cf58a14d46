#include "cli/output/json_text.hpp"

#include "cli/output/json.hpp"

namespace fp32shim::cli {

JsonText& JsonText::json(const Json& value) {
    begin();
    if (layout_.indentation == 0) {
        out_ += dumped(value, -1);
        return *this;
    }
    for (const char c : dumped(value, static_cast<int>(layout_.indentation))) {
        out_ += c;
        if (c == '\n') out_.append(level_ * layout_.indentation, ' ');
    }
    return *this;
}

}  // namespace fp32shim::cli
