// A file descriptor that is closed at the end of its scope.
#pragma once

#include <unistd.h>

namespace fp32shim {

/// Owns a file descriptor, and closes it. A negative number stands for a file that could not be opened.
class Descriptor {
  public:
    explicit Descriptor(int number) : number_(number) {}
    ~Descriptor() {
        if (number_ >= 0) close(number_);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    int number() const { return number_; }

  private:
    int number_;
};

}  // namespace fp32shim
