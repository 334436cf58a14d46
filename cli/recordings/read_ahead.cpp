#include "cli/recordings/read_ahead.hpp"

#include <system_error>
#include <utility>

namespace fp32shim::cli {
namespace {

constexpr std::size_t max_ready = 16;         // recordings; each keeps a file open
constexpr std::size_t max_rows_open = 65536;  // rows take 64 bytes each

std::size_t rows_of(const record::RecordingReader::Opened& opened) {
    return opened.reader ? opened.reader->counters().size() : 0;
}

}  // namespace

ReadAhead::ReadAhead(const std::vector<std::string>& paths) : paths_(paths) {
    if (paths.size() < 2) return;
    try {
        opener_ = std::thread([this] { open_all(); });
    } catch (const std::system_error&) {  // without a thread, next() opens the recordings itself
    }
}

ReadAhead::~ReadAhead() {
    {
        const std::lock_guard lock(mutex_);
        is_ended_ = true;
    }
    changed_.notify_all();
    if (opener_.joinable()) opener_.join();
}

ReadAhead::Item ReadAhead::open(const std::string& path) {
    try {
        return {record::RecordingReader::open(path), nullptr};
    } catch (...) {
        return {{}, std::current_exception()};
    }
}

/// Returns true if one more recording may be opened ahead.
bool ReadAhead::has_room() const { return ready_.size() < max_ready && rows_ready_ + rows_taken_ < max_rows_open; }

void ReadAhead::open_all() {
    for (const std::string& path : paths_) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return is_ended_ || has_room(); });
        if (is_ended_) return;
        lock.unlock();
        Item item = open(path);
        lock.lock();
        rows_ready_ += rows_of(item.opened);
        ready_.push_back(std::move(item));
        lock.unlock();
        changed_.notify_all();
    }
}

record::RecordingReader::Opened ReadAhead::next() {
    if (!opener_.joinable()) return record::RecordingReader::open(paths_[taken_++]);
    std::unique_lock lock(mutex_);
    rows_taken_ = 0;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !ready_.empty(); });
    Item item = std::move(ready_.front());
    ready_.pop_front();
    ++taken_;
    rows_taken_ = rows_of(item.opened);
    rows_ready_ -= rows_taken_;
    lock.unlock();
    changed_.notify_all();
    if (item.failure) std::rethrow_exception(item.failure);
    return std::move(item.opened);
}

}  // namespace fp32shim::cli
