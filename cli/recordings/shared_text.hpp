// Stores texts that rows share. The million rows of a report have only some hundred different names.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace fp32shim::cli {

/// A text that is stored only once and kept until the command ends. Only one thread may use such texts.
class SharedText {
  public:
    SharedText() = default;
    explicit SharedText(std::string_view text);
    SharedText& operator=(std::string_view text) { return *this = SharedText(text); }

    operator std::string_view() const;
    operator std::string() const { return std::string(std::string_view(*this)); }
    bool empty() const { return id_ == 0; }
    /// Returns a number that is unique to this text; 0 for the empty text.
    std::uint32_t id() const { return id_; }

    /// Compares the numbers id(), so that the order is not alphabetical.
    auto operator<=>(const SharedText&) const = default;
    friend bool operator==(SharedText a, std::string_view b) { return std::string_view(a) == b; }
    friend std::string operator+(std::string a, SharedText b) { return a += std::string_view(b); }
    friend std::string operator+(SharedText a, std::string_view b) { return std::string(a).append(b); }

  private:
    std::uint32_t id_ = 0;
};

/// Discards on destruction all texts that were made during its lifetime. Texts from before must not be used in that
/// time.
class TemporaryTextScope {
  public:
    TemporaryTextScope();
    ~TemporaryTextScope();
    TemporaryTextScope(const TemporaryTextScope&) = delete;
    TemporaryTextScope& operator=(const TemporaryTextScope&) = delete;

  private:
    class SharedTextPool* before_;
};

}  // namespace fp32shim::cli

template <>
struct fmt::formatter<fp32shim::cli::SharedText> : fmt::formatter<std::string_view> {
    template <class Context>
    auto format(fp32shim::cli::SharedText text, Context& context) const {
        return fmt::formatter<std::string_view>::format(text, context);
    }
};
