#include "record/utf8.hpp"

namespace fp32shim::record {

std::size_t utf8_length(std::string_view text) {
    const auto byte = [&](std::size_t i) -> unsigned { return static_cast<unsigned char>(text[i]); };
    const auto continues = [&](std::size_t i, unsigned lowest = 0x80, unsigned highest = 0xBF) {
        return i < text.size() && byte(i) >= lowest && byte(i) <= highest;
    };
    const unsigned lead = byte(0);
    if (lead < 0x80) return 1;
    if (lead >= 0xC2 && lead <= 0xDF) return continues(1) ? 2 : 0;
    if (lead >= 0xE0 && lead <= 0xEF) {
        const unsigned lowest = lead == 0xE0 ? 0xA0 : 0x80;
        const unsigned highest = lead == 0xED ? 0x9F : 0xBF;
        return continues(1, lowest, highest) && continues(2) ? 3 : 0;
    }
    if (lead >= 0xF0 && lead <= 0xF4) {
        const unsigned lowest = lead == 0xF0 ? 0x90 : 0x80;
        const unsigned highest = lead == 0xF4 ? 0x8F : 0xBF;
        return continues(1, lowest, highest) && continues(2) && continues(3) ? 4 : 0;
    }
    return 0;
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

}  // namespace fp32shim::record
