// Tests that the formats of tensor-core instructions are found in images, and that no byte outside of an image is
// read, whatever its bytes are. kernel_images/make_images.py made the images.
#include "record/kernels/image.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "record/kernels/kinds.hpp"

namespace fp32shim::record::test {
namespace {

using Formats = std::map<std::string, TensorFormats>;

/// The first parts of the kernels' names in kernel_images/.
const Formats format_names = {{"none", 0},           {"fp16", tensor_fp16},      {"bf16", tensor_bf16},
                              {"tf32", tensor_tf32}, {"fp8", tensor_fp8},        {"integer", tensor_integer},
                              {"fp64", tensor_fp64}, {"unknown", tensor_unknown}};

std::string read_image(const std::string& name) {
    std::ifstream file(std::string(FP32SHIM_KERNEL_IMAGES "/") + name, std::ios::binary);
    std::ostringstream bytes;
    bytes << file.rdbuf();
    EXPECT_FALSE(bytes.str().empty()) << name;
    return bytes.str() + (name.ends_with(".ptx") ? std::string(1, '\0') : "");
}

std::vector<std::string> all_images() {
    std::vector<std::string> images;
    for (const auto& entry : std::filesystem::directory_iterator(FP32SHIM_KERNEL_IMAGES))
        if (entry.path().extension() != ".py") images.push_back(read_image(entry.path().filename()));
    EXPECT_GE(images.size(), 9U);
    return images;
}

/// An image in memory that ends where the image ends, so that a sanitizer sees each read behind it.
class Image {
  public:
    explicit Image(std::string_view bytes) : size_(bytes.size()), memory_(std::make_unique<std::byte[]>(size_)) {
        if (size_ > 0) std::memcpy(memory_.get(), bytes.data(), size_);
    }
    std::span<const std::byte> bytes() const { return {memory_.get(), size_}; }

  private:
    std::size_t size_;
    std::unique_ptr<std::byte[]> memory_;
};

struct Scanned {
    Formats kernels;
    ImageFacts facts;
};

Scanned scan(std::string_view bytes, int device = 80) {
    Scanned scanned;
    const auto visit = [](void* context, std::string_view name, TensorFormats formats) {
        (*static_cast<Formats*>(context))[std::string(name)] |= formats;
    };
    scanned.facts = scan_image(Image(bytes).bytes(), device, {visit, &scanned.kernels});
    return scanned;
}

/// Returns the formats of the kernel `k` with this body.
TensorFormats formats_of_ptx(const std::string& body) {
    const Scanned scanned =
        scan(".version 9.0\n.target sm_90a\n.visible .entry k(.param .u64 p)\n{\n" + body + "\n}\n");
    EXPECT_EQ(scanned.kernels.size(), 1U);
    return scanned.kernels.at("k");
}

void expect_formats_of_their_names(const Scanned& scanned) {
    EXPECT_TRUE(scanned.facts.has_code);
    EXPECT_EQ(scanned.facts.doubt, "");
    for (const auto& [name, formats] : scanned.kernels)
        EXPECT_EQ(formats, format_names.at(name.substr(0, name.find("__")))) << name;
}

bool is_read_by_this_build(const std::string& image) {
    return scan(image).facts.doubt.find("which this build of fp32shim does not read") == std::string_view::npos;
}

TEST(KernelImages, EachFormOfAnInstructionHasTheFormatThatItsKernelIsNamedAfter) {
    const std::string image = read_image("formats.fatbin");
    if (!is_read_by_this_build(image)) GTEST_SKIP() << "built without zstd";
    constexpr struct {
        int device;
        std::size_t kernels;
    } cases[] = {{75, 17}, {80, 41}, {89, 45}, {90, 68}, {100, 125}, {120, 64}};
    for (const auto& [device, kernels] : cases) {
        SCOPED_TRACE(device);
        const Scanned scanned = scan(image, device);
        expect_formats_of_their_names(scanned);
        EXPECT_EQ(scanned.kernels.size(), kernels);
    }
}

TEST(KernelImages, PtxHasTheSameFormatsAsTheCodeThatIsMadeOfIt) {
    const Scanned scanned = scan(read_image("formats.ptx"), 90);
    expect_formats_of_their_names(scanned);
    EXPECT_GE(scanned.kernels.size(), 50U);
}

TEST(KernelImages, TheKernelsThatTheDeviceRunsAreChosenFromAFatbinInEachCompression) {
    for (const char* const name : {"choice_none.fatbin", "choice_speed.fatbin", "choice_size.fatbin"}) {
        SCOPED_TRACE(name);
        const std::string image = read_image(name);
        if (!is_read_by_this_build(image)) GTEST_SKIP() << "built without LZ4 or zstd";
        const auto chosen = [&](int device) { return scan(image, device).kernels; };
        EXPECT_EQ(chosen(80), (Formats{{"chosen", tensor_fp16}}));
        EXPECT_EQ(chosen(86), (Formats{{"chosen", tensor_bf16}}));
        EXPECT_EQ(chosen(89), (Formats{{"chosen", tensor_bf16}}));
        EXPECT_EQ(chosen(90), (Formats{{"chosen", tensor_tf32 | tensor_integer}})) << "sm_90 and sm_90a";
        EXPECT_EQ(chosen(100), (Formats{{"chosen", tensor_fp64}}));
        EXPECT_EQ(chosen(103), (Formats{{"chosen", tensor_fp64}})) << "of the family of sm_100f";
        EXPECT_EQ(chosen(120), (Formats{{"chosen", tensor_bf16}})) << "the PTX for sm_90";
        EXPECT_EQ(chosen(75), Formats());
        EXPECT_FALSE(scan(image, 75).facts.has_code);
    }
}

TEST(KernelImages, WhatAFunctionMultipliesInCountsForEachKernelThatMayCallIt) {
    for (const char* const name : {"functions.cubin", "functions.ptx"}) {
        const Scanned scanned = scan(read_image(name));
        EXPECT_EQ(scanned.kernels, (Formats{{"calls", tensor_bf16}, {"calls_nothing", tensor_bf16}})) << name;
        EXPECT_EQ(scanned.facts.doubt, "");
        EXPECT_FALSE(scanned.facts.launches_kernels);
    }
}

TEST(KernelImages, AFunctionThatIsElsewhereIsADoubt) {
    EXPECT_EQ(scan(read_image("unlinked.cubin")).facts.doubt, "calls functions that are not in its image");
    EXPECT_EQ(scan(".version 9.0\n.extern .func (.param .b32 r) f (.param .b32 p);").facts.doubt,
              "calls functions that are not in its image");
    EXPECT_EQ(scan(".version 9.0\n.extern .func (.param .b32 r) vprintf (.param .b32 p);").facts.doubt, "");
}

TEST(KernelImages, KernelsThatLaunchKernelsAreNoted) {
    const Scanned scanned = scan(read_image("launches.cubin"));
    EXPECT_TRUE(scanned.facts.launches_kernels);
    EXPECT_EQ(scanned.facts.doubt, "");
    EXPECT_TRUE(scan(".version 9.0\n.extern .func (.param .b32 r) cudaLaunchDeviceV2 ();").facts.launches_kernels);
}

TEST(KernelImages, TypesInPtxAreThoseOfTheOperands) {
    EXPECT_EQ(formats_of_ptx("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {a}, {b}, {c}, {d};"), tensor_tf32);
    EXPECT_EQ(formats_of_ptx("@p mma.sync.aligned.m16n8k16.row.col.f16.e4m3.e5m2.f16 {a}, {b};"), tensor_fp8);
    EXPECT_EQ(formats_of_ptx("L1:wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {a}, {b};"), tensor_fp16);
    EXPECT_EQ(formats_of_ptx("{wgmma.mma_async.sp.sync.aligned.m64n8k16.f32.bf16.bf16 {a};}"), tensor_bf16);
    EXPECT_EQ(formats_of_ptx("tcgen05.mma.cta_group::1.kind::tf32 [d], a, b, i, p;"), tensor_tf32);
    EXPECT_EQ(formats_of_ptx("tcgen05.mma.cta_group::2.kind::f16 [d], a, b, i, p;"), tensor_fp16 | tensor_bf16);
    EXPECT_EQ(formats_of_ptx("tcgen05.mma.sp.cta_group::1.kind::mxf4.block_scale [d], a;"), tensor_fp8);
    EXPECT_EQ(formats_of_ptx("mma.sync.aligned.m16n8k8.row.col.f32.new.new.f32 {a}, {b};"), tensor_unknown);
    EXPECT_EQ(formats_of_ptx("tcgen05.mma.cta_group::1.kind::new [d], a, b;"), tensor_unknown);
}

TEST(KernelImages, PtxMayHaveNoSpacesBetweenDirectivesAndSpacesInInstructions) {
    EXPECT_EQ(formats_of_ptx("@%p mma\n.sync/**/.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {a};"), tensor_unknown);
    const std::string function = ".visible.func(.reg.b32 r)f(.reg.b32 p) { mma.sync.m16n8k8.f32.tf32.tf32.f32; }\n";
    EXPECT_EQ(scan(".version 9.0\n" + function + ".weak.entry k() { call (r), f, (p); }").kernels,
              (Formats{{"k", tensor_tf32}}));
    EXPECT_NE(scan(".version 9.0\n.extern.func f;\n.visible.entry k() { call f; }").facts.doubt, "");
}

TEST(KernelImages, CommentsAndTextsInPtxAndOtherInstructionsAreNoProducts) {
    EXPECT_EQ(formats_of_ptx("// mma.sync.m16n8k8.f32.tf32.tf32.f32\n/* mma.sync.f32.tf32.tf32.f32\n*/ ret;"), 0);
    EXPECT_EQ(formats_of_ptx(".file 1 \"mma.sync.m16n8k8.f32.tf32.tf32.f32 x\"\nfma.rn.bf16 a, b, c, d;"), 0);
    EXPECT_EQ(formats_of_ptx("wgmma.fence.sync.aligned; tcgen05.commit.cta_group::1.b64 [x]; mov.b32 mma, x;"), 0);
}

TEST(KernelImages, TheDescriptorOfUtcmmaIsTheLastThatItsRegisterGot) {
    using Instructions = std::vector<std::uint64_t>;  // two words each, as nvdisasm prints them for sm_100a
    const Instructions tf32 = {0x0820091000057882, 0x000fe20000000000};       // UMOV UR5, 0x8200910
    const Instructions bf16 = {0x0820049000057882, 0x000fe20000000000};       // UMOV UR5, 0x8200490
    const Instructions perhaps = {0x0820049000050882, 0x000fe20000000000};    // @UP0 UMOV UR5, 0x8200490
    const Instructions changed = {0x0000000c02057292, 0x000fe2000f8e0004};    // ULOP3.LUT UR5, UR2, UR12, UR4
    const Instructions neighbour = {0x0000700000047897, 0x000fe20000000006};  // UIADD3.64 UR4
    const Instructions product = {0x00ff0408070079ea, 0x0011d80008000006};    // UTCHMMA, idesc[UR5]
    const auto formats = [](std::initializer_list<Instructions> parts) {
        Instructions code;
        for (const Instructions& part : parts) code.insert(code.end(), part.begin(), part.end());
        return tensor_formats_in_code(std::as_bytes(std::span(code)), 100);
    };
    EXPECT_EQ(formats({tf32, product}), tensor_tf32);
    EXPECT_EQ(formats({tf32, bf16, product}), tensor_bf16);
    EXPECT_EQ(formats({tf32, product, bf16, product}), tensor_tf32 | tensor_bf16);
    EXPECT_EQ(formats({product}), tensor_unknown);
    EXPECT_EQ(formats({tf32, changed, product}), tensor_unknown);
    EXPECT_EQ(formats({tf32, perhaps, product}), tensor_unknown);
    EXPECT_EQ(formats({tf32, neighbour, product}), tensor_unknown);
}

TEST(KernelImages, AnArchitectureThatIsNotInTheTableIsADoubt) {
    std::string image = read_image("functions.cubin");
    constexpr std::size_t architecture_in_flags = 0x31;
    ASSERT_EQ(image[architecture_in_flags], 80);
    EXPECT_EQ(scan(image).facts.doubt, "");
    image[architecture_in_flags] = 79;
    EXPECT_EQ(scan(image).facts.doubt, "is for an architecture whose instructions are not known");
}

TEST(KernelImages, TheSizeOfAnImageIsFoundFromItsBeginning) {
    for (const std::string& image : all_images()) {
        const std::string behind = image + std::string(8192, 'x');
        std::uint64_t size = 16, known = 0;
        for (int step = 0; size > known && size <= behind.size() && step < 100; ++step) {
            known = size;
            size = image_size(Image(behind.substr(0, known)).bytes());
        }
        EXPECT_EQ(size, image.size());
    }
}

TEST(KernelImages, OtherBytesBeginNoImage) {
    constexpr FatbinWrapper wrapper = {fatbin_wrapper_magic, 1, nullptr, nullptr};
    EXPECT_EQ(image_size(std::as_bytes(std::span(&wrapper, 1))), 0U);
    EXPECT_EQ(image_size(std::as_bytes(std::span("PK\3\4 and more"))), 0U);
    EXPECT_NE(scan("PK\3\4 and more").facts.doubt, "");
    EXPECT_NE(scan("").facts.doubt, "");
}

/// Reads an image in each way, and each byte that it hands out.
void read_everything(std::string_view bytes, int device) {
    const Image image(bytes);
    image_size(image.bytes());
    unsigned letters = 0;
    const auto visit = [](void* context, std::string_view name, TensorFormats formats) {
        for (const char letter : name)
            *static_cast<unsigned*>(context) += static_cast<unsigned char>(letter) + formats;
    };
    const ImageFacts facts = scan_image(image.bytes(), device, {visit, &letters});
    ASSERT_NE(letters + facts.doubt.size() + 1, 0U);
}

TEST(KernelImages, AnImageThatIsCutOffAnywhereIsReadWithinItsBytes) {
    for (const std::string& image : all_images())
        for (std::size_t size = 0; size < image.size(); size += image.size() < 10'000 ? 7 : 211)
            for (const int device : {80, 90, 100}) read_everything(std::string_view(image).substr(0, size), device);
}

/// FP32SHIM_MUTATIONS: number of images, for a longer run with sanitizers.
TEST(KernelImages, MutatedImagesAreReadWithinTheirBytes) {
    const char* const wanted = std::getenv("FP32SHIM_MUTATIONS");
    const std::vector<std::string> images = all_images();
    std::mt19937 random(1);
    const auto below = [&](std::size_t limit) { return random() % limit; };
    for (long left = wanted != nullptr ? std::atol(wanted) : 2000; left > 0; --left) {
        std::string image = images[below(images.size())];
        // Most fields that lead somewhere are in headers and tables, at the beginning and at the end.
        const std::size_t range = below(2) == 0 ? image.size() : std::min<std::size_t>(image.size(), 256);
        for (std::size_t changes = 1 + below(8); changes > 0; --changes) {
            const std::size_t at = below(4) == 0 ? image.size() - 1 - below(range) : below(range);
            constexpr unsigned char extremes[] = {0, 1, 0x7f, 0x80, 0xff};
            image[at] = static_cast<char>(below(2) == 0 ? image[at] ^ 1 << below(8) : extremes[below(5)]);
        }
        if (below(8) == 0) image.resize(below(image.size()));
        constexpr int devices[] = {75, 80, 86, 89, 90, 100, 103, 120};
        read_everything(image, devices[below(std::size(devices))]);
    }
}

}  // namespace
}  // namespace fp32shim::record::test
