#include "shim/kernels/image_memory.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <array>

#include "record/kernels/image.hpp"
#include "system/raw_file.hpp"

namespace fp32shim::kernels {
namespace {

constexpr std::size_t largest_image = std::size_t{1} << 30;

/// Copies memory of this process. Returns the number of bytes that could be copied.
std::size_t copy_memory(const void* from, void* to, std::size_t size) {
    iovec local{to, size}, remote{const_cast<void*>(from), size};
    const long self = system::raw::syscall6(SYS_getpid);
    const long copied = system::raw::syscall6(SYS_process_vm_readv, self, &local, 1, &remote, 1, 0);
    return copied < 0 ? 0 : static_cast<std::size_t>(copied);
}

}  // namespace

const void* fatbin_of(const void* image) {
    record::FatbinWrapper wrapper{};
    if (copy_memory(image, &wrapper, sizeof wrapper) != sizeof wrapper ||
        wrapper.magic != record::fatbin_wrapper_magic)
        return image;
    const void* linked = nullptr;
    if (wrapper.version == 2 && wrapper.linked != nullptr) copy_memory(wrapper.linked, &linked, sizeof linked);
    return linked != nullptr ? linked : wrapper.data;
}

ImageCopy::ImageCopy(const void* image) {
    std::array<std::byte, 64> head{};
    std::uint64_t wanted = record::image_size(std::span(head).first(copy_memory(image, head.data(), head.size())));
    while (wanted > size_ && wanted <= largest_image) {
        copy_.emplace(wanted);
        const std::size_t copied = copy_memory(image, copy_->bytes().data(), copy_->bytes().size());
        if (copied <= size_) break;  // there is no more memory to read
        size_ = copied;
        wanted = record::image_size(bytes());
        // The size of PTX text is known only once its end has been read, so the text is read in larger and larger
        // parts.
        if (wanted > size_) wanted = std::max<std::uint64_t>(wanted, 2 * size_);
    }
    if (record::image_size(bytes()) > size_) size_ = 0;
}

ImageCopy::ImageCopy(const char* path) {
    const system::RawFile file(path);
    struct stat facts {};
    if (!file.is_regular(facts) || facts.st_size <= 0 || static_cast<std::size_t>(facts.st_size) > largest_image)
        return;
    copy_.emplace(static_cast<std::size_t>(facts.st_size));
    size_ = file.read(0, copy_->bytes().data(), copy_->bytes().size());
}

std::span<const std::byte> ImageCopy::bytes() const {
    return copy_ ? std::as_bytes(copy_->bytes()).first(size_) : std::span<const std::byte>();
}

}  // namespace fp32shim::kernels
