// Reads one flat JSON object, strictly (RFC 8259), so that tests can judge the lines of a log.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fp32shim::test {

struct FlatJson {
    std::vector<std::pair<std::string, std::string>> members;  ///< members in order; strings keep quotes and escapes

    /// Returns the value as written, including quotes; empty: there is no such key.
    std::string operator[](std::string_view key) const {
        for (const auto& [name, value] : members)
            if (name == key) return value;
        return {};
    }
    std::vector<std::string> keys() const {
        std::vector<std::string> result;
        for (const auto& member : members) result.push_back(member.first);
        return result;
    }
};

class FlatJsonReader {
  public:
    explicit FlatJsonReader(std::string_view line) : rest_(line) {}

    /// Returns the object; nullopt unless the whole line is one object of strings, integers, true, false and null.
    std::optional<FlatJson> read() {
        FlatJson object;
        if (!take("{")) return std::nullopt;
        do {
            const auto key = string();
            if (!key || !take(":")) return std::nullopt;
            const auto item = value();
            if (!item) return std::nullopt;
            object.members.emplace_back(key->substr(1, key->size() - 2), *item);
        } while (take(","));
        if (!take("}") || !rest_.empty()) return std::nullopt;
        return object;
    }

  private:
    bool take(std::string_view expected) {
        if (!rest_.starts_with(expected)) return false;
        rest_.remove_prefix(expected.size());
        return true;
    }

    std::string cut(std::size_t size) {
        std::string result(rest_.substr(0, size));
        rest_.remove_prefix(size);
        return result;
    }

    std::optional<std::string> string() {
        if (!rest_.starts_with('"')) return std::nullopt;
        std::size_t i = 1;
        while (i < rest_.size() && rest_[i] != '"') {
            if (static_cast<unsigned char>(rest_[i]) < 0x20) return std::nullopt;
            if (rest_[i] == '\\') {
                ++i;
                if (i >= rest_.size()) return std::nullopt;
                if (rest_[i] == 'u') {
                    const auto hex = rest_.substr(i + 1, 4);
                    if (hex.size() != 4 || hex.find_first_not_of("0123456789abcdef") != hex.npos) return std::nullopt;
                } else if (std::string_view("\"\\/bfnrt").find(rest_[i]) == std::string_view::npos) {
                    return std::nullopt;
                }
            }
            ++i;
        }
        if (i >= rest_.size()) return std::nullopt;
        return cut(i + 1);
    }

    std::optional<std::string> value() {
        if (rest_.starts_with('"')) return string();
        for (const std::string_view word : {"null", "true", "false"})
            if (take(word)) return std::string(word);
        std::size_t size = rest_.starts_with('-') ? 1 : 0;
        const std::size_t sign = size;
        while (size < rest_.size() && rest_[size] >= '0' && rest_[size] <= '9') ++size;
        if (size == sign || (rest_[sign] == '0' && size > sign + 1)) return std::nullopt;
        return cut(size);
    }

    std::string_view rest_;
};

inline std::optional<FlatJson> read_flat_json(std::string_view line) { return FlatJsonReader(line).read(); }

}  // namespace fp32shim::test
