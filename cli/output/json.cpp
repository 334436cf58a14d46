#include "cli/output/json.hpp"

#include <fmt/format.h>

#include "cli/output/json_writer.hpp"
#include "system/plain_text.hpp"

namespace fp32shim::cli {

std::string dump_json(const Json& json, int indent) {
    std::string text = json.dump(indent, ' ', false, Json::error_handler_t::replace);
    std::string_view rest = text;
    std::string result;
    for (;;) {
        const std::size_t plain = system::plain_prefix_length(rest);
        if (plain == text.size()) return text;
        result += rest.substr(0, plain);
        rest.remove_prefix(plain);
        if (rest.empty()) return result;
        const system::Character character = system::first_character(rest);
        if (rest.front() == '\n') {  // a line feed between values; line feeds in strings are escaped
            result += '\n';
        } else if (character.code > 0xffff) {
            const std::uint32_t offset = character.code - 0x10000;
            result += fmt::format("\\u{:04x}\\u{:04x}", 0xd800U + (offset >> 10), 0xdc00U + (offset & 0x3ff));
        } else {
            result += fmt::format("\\u{:04x}", std::uint32_t{character.code});
        }
        rest.remove_prefix(character.length);
    }
}

void make_texts_printable(Json& json) {
    if (json.is_string()) {
        auto& text = json.get_ref<std::string&>();
        if (system::plain_prefix_length(text) < text.size()) text = system::plain_text(text, "\n\t");
    } else if (json.is_structured()) {
        for (Json& value : json) make_texts_printable(value);
    }
}

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
