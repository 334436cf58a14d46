#include "cli/output/json_writer.hpp"

#include "cli/output/json.hpp"

namespace fp32shim::cli {

JsonWriter& JsonWriter::json_value(const Json& value) {
    begin_item();
    if (layout_.indentation == 0) {
        text_ += dump_json(value, -1);
        return *this;
    }
    for (const char c : dump_json(value, static_cast<int>(layout_.indentation))) {
        text_ += c;
        if (c == '\n') text_.append(level_ * layout_.indentation, ' ');
    }
    return *this;
}

JsonWriter& JsonWriter::members(const Json& object) {
    for (const auto& [name, value] : object.items()) key(name).json_value(value);
    return *this;
}

}  // namespace fp32shim::cli
