#include "cli/output/json_writer.hpp"

#include "cli/output/json.hpp"

namespace fp32shim::cli {

JsonWriter& JsonWriter::tree(const Json& value) {
    begin();
    if (layout_.indentation == 0) {
        text_ += text_of_json(value, -1);
        return *this;
    }
    for (const char c : text_of_json(value, static_cast<int>(layout_.indentation))) {
        text_ += c;
        if (c == '\n') text_.append(level_ * layout_.indentation, ' ');
    }
    return *this;
}

JsonWriter& JsonWriter::members(const Json& object) {
    for (const auto& [name, value] : object.items()) key(name).tree(value);
    return *this;
}

}  // namespace fp32shim::cli
