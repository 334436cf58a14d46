#include "record/write/keys.hpp"

#include <sys/mman.h>

#include <cstring>

#include "record/write/memory.hpp"
#include "system/raw_syscall.hpp"

namespace fp32shim::record {

void CountersByKey::add(std::uint64_t key, CountersNumber counters) {
    if (2 * (std::size_t{used_} + 1) > capacity()) grow();
    if (entries_ == nullptr) return;
    // Some entries must stay free, because only a free entry ends the search for a key that is not in the table.
    if (4 * (std::size_t{used_} + 1) > 3 * capacity()) clear();
    free_entry(key) = {key, counters};
    ++used_;
    if (counters < capacity()) keys_by_number_[counters] = key;
}

void CountersByKey::clear() {
    std::memset(static_cast<void*>(entries_), 0, capacity() * sizeof(Entry));
    used_ = 0;
}

CountersByKey::Entry& CountersByKey::free_entry(std::uint64_t key) {
    std::uint64_t index = first_index(key, log2_capacity_);
    while (entries_[index].key != 0) index = (index + 1) & mask();
    return entries_[index];
}

/// Makes the table twice as large, unless the kernel refuses memory or the table has its largest size.
void CountersByKey::grow() {
    Entry* const before = entries_;
    const std::size_t capacity_before = capacity();
    const std::uint32_t bits = before == nullptr ? first_bits : log2_capacity_ + 1;
    if (bits > largest_bits) return;
    const std::size_t size = size_in_bytes(std::size_t{1} << bits);
    void* pages = map_private_pages(size, PagesInChild::none);
    if (pages == nullptr) return;
    // Look-ups in a large table touch many pages in random order, so huge pages save time. If the kernel has no huge
    // pages, it uses small ones.
    constexpr std::size_t huge_page = std::size_t{2} << 20;
    if (size >= huge_page) system::raw::syscall6(SYS_madvise, pages, size, MADV_HUGEPAGE);
    const std::uint64_t* const keys_before = keys_by_number_;
    entries_ = static_cast<Entry*>(pages);
    keys_by_number_ = reinterpret_cast<std::uint64_t*>(entries_ + (std::size_t{1} << bits));
    log2_capacity_ = bits;
    if (before == nullptr) return;
    for (std::size_t index = 0; index < capacity_before; ++index)
        if (before[index].key != 0) free_entry(before[index].key) = before[index];
    std::memcpy(keys_by_number_, keys_before, capacity_before * sizeof(std::uint64_t));
    unmap_pages(before, size_in_bytes(capacity_before));
}

}  // namespace fp32shim::record
