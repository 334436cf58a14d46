#include "gpu_check/sections/worker.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace gpu {

const Device& Worker::device() {
    if (!device_) device_ = std::make_unique<Device>();
    return *device_;
}

const Cublas& Worker::cublas() {
    if (!cublas_) cublas_ = std::make_unique<Cublas>(device());
    return *cublas_;
}

void Worker::row(const std::vector<std::string>& first_cells,
                 const std::function<std::vector<std::string>()>& measure) {
    if (next_row_++ < first_row_) return;
    tell(line::begins, first_cells);
    alarm(row_seconds_);
    const std::vector<std::string> cells = measure();
    // A fault of the row's last kernel shows up here and so belongs to this row.
    if (device_) device_->synchronise();
    alarm(row_seconds_);
    tell(line::ends, cells);
}

void Worker::found(const std::string& name, const std::string& value) const { tell(line::found, {name, value}); }

void tell(const char* word, const std::vector<std::string>& fields) {
    std::string text = word;
    for (std::string field : fields) {
        std::replace_if(
            field.begin(), field.end(), [](char c) { return c == '\t' || c == '\n'; }, ' ');
        text += '\t' + field;
    }
    std::printf("%s\n", text.c_str());
    std::fflush(stdout);
}

}  // namespace gpu
