#include "cli/recordings/shared_text.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace fp32shim::cli {

class SharedTexts {
  public:
    std::uint32_t id_of(std::string_view text) {
        if (text.empty()) return 0;
        if (2 * texts_.size() >= ids_.size()) grow();
        std::uint32_t& id = place_of(text);
        if (id == 0) {
            id = static_cast<std::uint32_t>(texts_.size());
            texts_.push_back(copied(text));
        }
        return id;
    }
    std::string_view operator[](std::uint32_t id) const { return texts_[id]; }

  private:
    /// Returns the entry of the hash table `ids_` for a text; the entry is 0 if the text is new.
    std::uint32_t& place_of(std::string_view text) {
        const std::size_t mask = ids_.size() - 1;
        std::size_t place = std::hash<std::string_view>()(text) & mask;
        while (ids_[place] != 0 && texts_[ids_[place]] != text) place = (place + 1) & mask;
        return ids_[place];
    }
    void grow() {
        ids_.assign(ids_.empty() ? 1024 : 2 * ids_.size(), 0);
        for (std::uint32_t id = 1; id < texts_.size(); ++id) place_of(texts_[id]) = id;
    }
    /// Copies a text into a block that many texts share: a std::string for each would take twice the memory.
    std::string_view copied(std::string_view text) {
        constexpr std::size_t block_size = 65536;
        if (text.size() > left_) {
            left_ = std::max(block_size, text.size());
            blocks_.push_back(std::make_unique<char[]>(left_));
            free_ = blocks_.back().get();
        }
        char* copy = free_;
        std::memcpy(copy, text.data(), text.size());
        free_ += text.size();
        left_ -= text.size();
        return {copy, text.size()};
    }

    std::vector<std::string_view> texts_ = {{}};  // by id
    std::vector<std::uint32_t> ids_;              // by hash
    std::vector<std::unique_ptr<char[]>> blocks_;
    char* free_ = nullptr;
    std::size_t left_ = 0;
};

namespace {

SharedTexts*& texts_in_use() {
    static SharedTexts all;
    static SharedTexts* in_use = &all;
    return in_use;
}

SharedTexts& texts() { return *texts_in_use(); }

}  // namespace

TextsForAWhile::TextsForAWhile() : before_(std::exchange(texts_in_use(), new SharedTexts)) {}
TextsForAWhile::~TextsForAWhile() { delete std::exchange(texts_in_use(), before_); }

SharedText::SharedText(std::string_view text) : id_(texts().id_of(text)) {}

SharedText::operator std::string_view() const { return texts()[id_]; }

}  // namespace fp32shim::cli
