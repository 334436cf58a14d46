#include "shim/kernels/kernels.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>

#include "policy/precision.hpp"
#include "record/kernels/image.hpp"
#include "shim/cublas/driver.hpp"
#include "shim/loader/elf/objects.hpp"
#include "shim/loader/elf/readers.hpp"
#include "shim/memory/arena.hpp"
#include "system/fork_safe_lock.hpp"
#include "system/hash.hpp"
#include "system/inline_text.hpp"
#include "system/mapped_memory.hpp"
#include "system/raw_file.hpp"
#include "system/raw_syscall.hpp"

namespace fp32shim::kernels {

using record::KernelJudgement;
using record::TensorFormats;

/// The formats in which the code of one kernel multiplies. The entries of an image form a list.
struct KernelCode {
    std::uint64_t name_hash;
    TensorFormats formats;
    const KernelCode* next;
};

/// A loaded image, which contains code for a GPU.
struct GpuImage {
    const void* address;  ///< address of the image among an object's constants; nullptr if the image is in memory
                          ///< that may change
    const LoadedObject* object;  ///< the object whose constants contain the image
    std::uint32_t loads;  ///< value of LoadedObject::loads when the image was noted; the object's value changes if
                          ///< the object is loaded again
    bool is_of_nvidia;    ///< true if the image is NVIDIA's; its code is not read, because the names of its kernels
                          ///< tell their formats
    bool is_scanned;      ///< true if `codes` and `doubt` were filled from the image's code
    std::string_view doubt;  ///< a clause that says why the image's code does not tell all; empty if it does
    const KernelCode* codes;
    std::atomic<bool> is_loaded;
};

namespace {

// This lock is held while images are used and while the tables of handles are changed. A launch of a known kernel
// does not take it.
constinit system::ForkSafeLock lock;
constinit std::atomic<bool> loses_handles{false};
constinit std::uint64_t kernel_count = 0;

// ---- Handles

/// A hash table of handles, with open addressing. If the driver gives out a handle again, the handle gets a new
/// value. Readers take no lock. The table lies in pages that use no memory until they are touched.
template <class Value, unsigned bits>
class HandleTable {
  public:
    Value* find(Handle handle) const {
        for (std::size_t i = 0, at = first(handle); i < longest_probe; ++i, at = next(at)) {
            const Handle held = entries_[at].handle.load(std::memory_order_acquire);
            if (held == handle) return entries_[at].value.load(std::memory_order_acquire);
            if (held == nullptr) return nullptr;
        }
        return nullptr;
    }
    /// Returns false if there is no room. The lock must be held.
    bool set(Handle handle, Value* value) {
        for (std::size_t i = 0, at = first(handle); i < longest_probe; ++i, at = next(at)) {
            const Handle held = entries_[at].handle.load(std::memory_order_relaxed);
            if (held != nullptr && held != handle) continue;
            entries_[at].value.store(value, std::memory_order_release);
            entries_[at].handle.store(handle, std::memory_order_release);
            return true;
        }
        return false;
    }

  private:
    static constexpr std::size_t longest_probe = 256;
    static std::size_t first(Handle handle) {
        return system::table_index(reinterpret_cast<std::uintptr_t>(handle) >> 4, bits);
    }
    static std::size_t next(std::size_t at) { return (at + 1) & ((std::size_t{1} << bits) - 1); }

    struct HandleEntry {
        std::atomic<Handle> handle;
        std::atomic<Value*> value;
    };
    std::array<HandleEntry, std::size_t{1} << bits> entries_{};
};

constinit HandleTable<GpuImage, 14> images;
constinit HandleTable<Kernel, 17> kernels;
constinit HandleTable<Kernel, 17> kernels_by_name;  // kernels by a hash of the image and the kernel's name

template <class Table, class Value>
void set_or_lose(Table& table, Handle handle, Value* value) {
    if (!table.set(handle, value)) loses_handles.store(true, std::memory_order_relaxed);
}

// ---- Images

constexpr std::size_t largest_image = std::size_t{1} << 30;

/// Copies memory of this process. Returns the number of bytes that could be copied.
std::size_t copy_memory(const void* from, void* to, std::size_t size) {
    iovec local{to, size}, remote{const_cast<void*>(from), size};
    const long self = system::raw::syscall6(SYS_getpid);
    const long copied = system::raw::syscall6(SYS_process_vm_readv, self, &local, 1, &remote, 1, 0);
    return copied < 0 ? 0 : static_cast<std::size_t>(copied);
}

/// If there is a fatbin's wrapper at the address `image`, returns the address of the fatbin; otherwise returns
/// `image` itself.
const void* fatbin_of(const void* image) {
    record::FatbinWrapper wrapper{};
    if (copy_memory(image, &wrapper, sizeof wrapper) != sizeof wrapper ||
        wrapper.magic != record::fatbin_wrapper_magic)
        return image;
    const void* linked = nullptr;
    if (wrapper.version == 2 && wrapper.linked != nullptr) copy_memory(wrapper.linked, &linked, sizeof linked);
    return linked != nullptr ? linked : wrapper.data;
}

/// A copy of an image, for the duration of one function. The driver gets only the image's address, and headers in the
/// image tell its size. The size may be wrong, so the bytes are copied by a system call, which refuses addresses that
/// cannot be read.
class ImageCopy {
  public:
    /// Copies the image at the address `image`.
    explicit ImageCopy(const void* image) {
        std::array<std::byte, 64> head{};
        std::uint64_t wanted =
            record::image_size(std::span(head).first(copy_memory(image, head.data(), head.size())));
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
    /// Reads the image from the file at `path`.
    explicit ImageCopy(const char* path) {
        const system::RawFile file(path);
        struct stat facts {};
        if (!file.is_regular(facts) || facts.st_size <= 0 || static_cast<std::size_t>(facts.st_size) > largest_image)
            return;
        copy_.emplace(static_cast<std::size_t>(facts.st_size));
        size_ = file.read(0, copy_->bytes().data(), copy_->bytes().size());
    }

    /// Returns the copy; empty if the image could not be read.
    std::span<const std::byte> bytes() const {
        return copy_ ? std::as_bytes(copy_->bytes()).first(size_) : std::span<const std::byte>();
    }

  private:
    std::size_t size_ = 0;
    std::optional<MappedMemory> copy_;
};

constexpr std::string_view code_not_read = "is in code that was not read, and of no library of NVIDIA's";
constexpr std::string_view without_memory = "is not known: there was no memory to note it";

bool is_below_fp32(policy::AppliedFormat format) {
    const auto floor = policy::floor_met_by(format);
    return floor && *floor < policy::Floor::fp32 && format != policy::AppliedFormat::tf32x3;
}

std::uint64_t hash_of(std::string_view name) { return system::Hash().add(name).value(); }

void add_code(void* context, std::string_view name, TensorFormats formats) {
    GpuImage& image = *static_cast<GpuImage*>(context);
    auto* const code = arena_try_new<KernelCode>(hash_of(name), formats, image.codes);
    if (code == nullptr)
        image.doubt = without_memory;
    else
        image.codes = code;
}

/// Reads the kernels of an image. The lock must be held.
void scan(GpuImage& image, std::span<const std::byte> bytes) {
    image.is_scanned = true;
    if (bytes.empty()) image.doubt = "is in an image that could not be read";
    // A library is loaded for all devices, perhaps before the thread has a device. So a kernel gets the formats that
    // its code has for any of the devices.
    const auto devices = cublas::compute_capabilities();
    for (std::size_t i = 0; i == 0 || devices[i] != 0; ++i) {
        const auto facts = record::scan_image(bytes, devices[i], {add_code, &image});
        if (!image.doubt.empty()) return;
        image.doubt = facts.doubt;
        if (facts.doubt.empty() && facts.launches_kernels)
            image.doubt = "is beside code that may launch kernels from the GPU, which nobody sees";
    }
}

/// The loaded object that contains an image, and facts about it.
struct ImageLocation {
    const LoadedObject* object = nullptr;
    bool is_of_nvidia = false;
    bool is_constant = false;
};

/// Finds the loaded object that contains `address`. An elf::ReadGuard must be held.
ImageLocation locate_image(const void* address) {
    const auto wanted = reinterpret_cast<std::uintptr_t>(address);
    const link_map* const map = elf::object_at(wanted);
    if (map == nullptr) return {};
    ImageLocation place{loaded_object(map), record::is_nvidia_library(elf::name_of(map))};
    for (const ElfW(Phdr) & segment : elf::program_headers(map)) {
        const std::uintptr_t offset = wanted - map->l_addr - segment.p_vaddr;
        if (segment.p_type == PT_LOAD && offset < segment.p_filesz && (segment.p_flags & PF_W) == 0)
            place.is_constant = true;
    }
    return place;
}

/// Returns the formats in the code of a kernel; nullopt if the code was not read. The lock must be held.
std::optional<TensorFormats> formats_of(GpuImage& image, const Kernel& kernel) {
    if (image.is_of_nvidia) return std::nullopt;
    if (!image.is_scanned && image.address != nullptr) {
        // The image is copied first, because a dlclose in another thread waits only briefly for `reading`, so the
        // object may be gone before the scan ends.
        std::optional<ImageCopy> copy;
        {
            const elf::ReadGuard reading;
            const ImageLocation place = locate_image(image.address);
            if (place.object == image.object && place.object->loads == image.loads) copy.emplace(image.address);
        }
        scan(image, copy ? copy->bytes() : std::span<const std::byte>());
    }
    const std::uint64_t hash = hash_of(kernel.name);
    std::optional<TensorFormats> formats;
    for (const KernelCode* code = image.codes; code != nullptr; code = code->next)
        if (code->name_hash == hash) formats = formats.value_or(0) | code->formats;
    return formats;
}

}  // namespace

void note_image(Handle module, const void* code, const char* file, std::string_view caller) {
    const void* const address = file == nullptr ? fatbin_of(code) : nullptr;
    ImageLocation place;
    {
        const elf::ReadGuard reading;
        place = locate_image(address);
    }
    const system::HeldLock held(lock);
    auto* const image = held ? arena_try_new<GpuImage>() : nullptr;
    if (image == nullptr) return loses_handles.store(true, std::memory_order_relaxed);
    image->is_of_nvidia = place.object != nullptr ? place.is_of_nvidia : record::is_nvidia_library(caller);
    image->is_loaded.store(true, std::memory_order_relaxed);
    if (place.is_constant) {
        image->address = address;
        image->object = place.object;
        image->loads = place.object->loads;
    } else if (!image->is_of_nvidia) {
        scan(*image, (file == nullptr ? ImageCopy(address) : ImageCopy(file)).bytes());
    }
    set_or_lose(images, module, image);
}

void note_library_module(Handle module, Handle library) {
    const system::HeldLock held(lock);
    if (!held) return loses_handles.store(true, std::memory_order_relaxed);
    set_or_lose(images, module, images.find(library));
}

bool set_loaded(Handle module, bool is_loaded) {
    GpuImage* const image = images.find(module);
    return image != nullptr && image->is_loaded.exchange(is_loaded, std::memory_order_acq_rel);
}

void note_kernel(Handle handle, Handle module, const char* name) {
    const system::HeldLock held(lock);
    if (!held) return loses_handles.store(true, std::memory_order_relaxed);
    GpuImage* const image = images.find(module);
    const std::string_view text = system::view(name);
    // In each context, the driver has another handle for the same kernel. So the kernel is also found by image and
    // name.
    const auto key = reinterpret_cast<Handle>(system::Hash().add(image).add(text).value());
    Kernel* kernel = kernels_by_name.find(key);
    if (kernel == nullptr || kernel->image != image || !system::equal(kernel->name, text)) {
        const std::string_view copy = arena_try_copy(text);
        kernel = copy.data() == nullptr ? nullptr : arena_try_new<Kernel>(copy, image, kernel_count + 1);
        if (kernel == nullptr) return loses_handles.store(true, std::memory_order_relaxed);
        ++kernel_count;
        kernels_by_name.set(key, kernel);
    }
    set_or_lose(kernels, handle, kernel);
}

void note_function(Handle function, Handle kernel) {
    const system::HeldLock held(lock);
    if (!held) return loses_handles.store(true, std::memory_order_relaxed);
    set_or_lose(kernels, function, kernels.find(kernel));
}

Kernel* find_kernel(Handle handle) {
    Kernel* const kernel = kernels.find(handle);
    if (kernel == nullptr || kernel->image == nullptr) return kernel;
    return kernel->image->is_loaded.load(std::memory_order_acquire) ? kernel : nullptr;
}

const KernelJudgement& judgement_of(Kernel& kernel) {
    if (const KernelJudgement* const known = kernel.judgement.load(std::memory_order_acquire)) return *known;
    const system::HeldLock held(lock);
    auto* const made = held ? arena_try_new<KernelJudgement>() : nullptr;
    static constexpr KernelJudgement unknown = record::unknown_kernel(without_memory);
    if (made == nullptr) return unknown;
    record::KernelEvidence evidence{kernel.name, std::nullopt};
    if (kernel.image != nullptr) evidence.formats = formats_of(*kernel.image, kernel);
    *made = record::judge_kernel(evidence);
    // The names in record/kernels/names.def are those of kernels of known libraries. If neither the library nor the
    // code shows that a kernel is one of them, its name does not prove that it multiplies in float32. But a name
    // that tells a lower format is believed.
    const GpuImage* const image = kernel.image;
    const bool is_known = image != nullptr && (image->is_of_nvidia || (evidence.formats && image->doubt.empty()));
    if (!is_known && !is_below_fp32(made->applied))
        *made = record::unknown_kernel(image != nullptr && !image->doubt.empty() ? image->doubt : code_not_read);
    kernel.judgement.store(made, std::memory_order_release);
    return *made;
}

bool has_lost_handle() { return loses_handles.load(std::memory_order_relaxed); }

}  // namespace fp32shim::kernels
