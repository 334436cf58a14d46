#include "system/utf8.hpp"

#include "system/plain_text.hpp"

namespace fp32shim::system {

std::size_t utf8_length(std::string_view text) {
    const Character character = first_character(text);
    return character.is_utf8 ? character.length : 0;
}

std::string with_valid_utf8(std::string_view text) {
    std::string result;
    while (!text.empty()) {
        const std::size_t length = utf8_length(text);
        result += length == 0 ? utf8_replacement : text.substr(0, length);
        text.remove_prefix(length == 0 ? 1 : length);
    }
    return result;
}

}  // namespace fp32shim::system
