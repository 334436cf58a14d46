// Images of GPU code as the stand-in reads them: only what kind they are, and the names of their kernels. Nothing in
// them is executed.
//
// Sources: the ELF specification; NVIDIA's "PTX ISA" (directive .entry); fatbinary_section.h of the CUDA toolkit for
// the wrapper. The headers of a fatbin and of its parts are not documented: their fields are read as fatbinary of
// CUDA 13 writes them.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace stand_in {

struct Image {
    std::vector<std::string> kernels;  // without duplicates
    bool names_all = true;             // false if a part is compressed: it may have more kernels
};

/// Reads an image: a cubin, a fatbin, a wrapper of one, or the text of PTX that ends with a zero byte. Returns
/// nothing for other bytes. Like the driver, it relies on the sizes that the image tells.
std::optional<Image> read_image(const void* image);

}  // namespace stand_in
