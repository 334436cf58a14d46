#include "cli/recordings/shared_text.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "cli/recordings/hash_table.hpp"

namespace fp32shim::cli {

class SharedTextPool {
  public:
    std::uint32_t id_of(std::string_view text) {
        if (text.empty()) return 0;
        const auto is_like = [&](std::uint32_t id) { return texts_[id] == text; };
        const auto hash_of = [&](std::uint32_t id) { return std::hash<std::string_view>()(texts_[id]); };
        const auto [id, is_new] = ids_.find_or_add(std::hash<std::string_view>()(text), is_like, hash_of);
        if (is_new) {
            id = static_cast<std::uint32_t>(texts_.size());
            texts_.push_back(copy_text(text));
        }
        return id;
    }
    std::string_view operator[](std::uint32_t id) const { return texts_[id]; }

  private:
    /// Copies a text into a block that many texts share. A std::string for each text would take twice the memory.
    std::string_view copy_text(std::string_view text) {
        constexpr std::size_t block_size = 65536;
        if (text.size() > free_size_) {
            free_size_ = std::max(block_size, text.size());
            blocks_.push_back(std::make_unique<char[]>(free_size_));
            free_ = blocks_.back().get();
        }
        char* copy = free_;
        std::memcpy(copy, text.data(), text.size());
        free_ += text.size();
        free_size_ -= text.size();
        return {copy, text.size()};
    }

    std::vector<std::string_view> texts_ = {{}};  // texts by id
    HashTable<std::uint32_t> ids_;
    std::vector<std::unique_ptr<char[]>> blocks_;
    char* free_ = nullptr;
    std::size_t free_size_ = 0;
};

namespace {

SharedTextPool*& texts_in_use() {
    static SharedTextPool all;
    static SharedTextPool* in_use = &all;
    return in_use;
}

SharedTextPool& texts() { return *texts_in_use(); }

}  // namespace

TemporaryTextScope::TemporaryTextScope() : before_(std::exchange(texts_in_use(), new SharedTextPool)) {}
TemporaryTextScope::~TemporaryTextScope() { delete std::exchange(texts_in_use(), before_); }

SharedText::SharedText(std::string_view text) : id_(texts().id_of(text)) {}

SharedText::operator std::string_view() const { return texts()[id_]; }

}  // namespace fp32shim::cli
