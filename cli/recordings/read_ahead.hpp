// Opens recordings on a second thread before they are needed.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "record/read/reader.hpp"

namespace fp32shim::cli {

/// Opens recordings in the order of their paths, while the caller reads earlier ones. Opening takes half of the time
/// that a report spends on a recording. Only small recordings are opened ahead, so that memory use stays bounded.
class ReadAhead {
  public:
    /// Keeps a reference to `paths`, which must outlive this object.
    explicit ReadAhead(const std::vector<std::string>& paths);
    ~ReadAhead();
    ReadAhead(const ReadAhead&) = delete;
    ReadAhead& operator=(const ReadAhead&) = delete;

    /// Returns the next recording, or the reason why it cannot be read. Must be called once for each path. The caller
    /// must have finished with the previous recording.
    record::RecordingReader::Opened next();

  private:
    struct Item {
        record::RecordingReader::Opened opened;
        std::exception_ptr failure;  ///< exception thrown while opening, which next() throws again; null: none
    };
    static Item open(const std::string& path);
    void open_all();
    bool has_room() const;

    const std::vector<std::string>& paths_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Item> ready_;
    std::size_t rows_ready_ = 0;  ///< number of rows of the recordings in `ready_`
    std::size_t rows_taken_ = 0;  ///< number of rows of the recording that next() last returned
    std::size_t taken_ = 0;       ///< number of recordings that next() has returned
    bool is_ended_ = false;
    std::thread opener_;  ///< not joinable if no thread could be started; then next() opens recordings itself
};

}  // namespace fp32shim::cli
