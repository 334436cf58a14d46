#include "gpu_check/sections/section.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace gpu {

Worker::Worker(std::vector<int> sizes, std::string variant, int first_row, unsigned row_seconds)
    : sizes(std::move(sizes)), variant(std::move(variant)), first_row_(first_row), row_seconds_(row_seconds) {
    alarm(row_seconds_);
}

const Device& Worker::device() {
    if (!device_) device_ = std::make_unique<Device>();
    return *device_;
}

const Cublas& Worker::cublas() {
    if (!cublas_) cublas_ = std::make_unique<Cublas>(device());
    return *cublas_;
}

void Worker::measure_row(const std::string& title, const std::string& prefix, const std::function<void()>& measure) {
    if (next_row_++ < first_row_) return;
    send_message(line::begins, {title, prefix});
    prefix_ = prefix;
    alarm(row_seconds_);
    measure();
    // A fault of the row's last kernel is reported by this call, and so it is counted for this row.
    if (device_) device_->synchronise();
    alarm(row_seconds_);
    send_message(line::ends, {});
}

void Worker::report_finding(const std::string& name, const std::string& value) const {
    send_message(line::found, {prefix_ + name, value});
}

void send_message(const char* word, const std::vector<std::string>& fields) {
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
