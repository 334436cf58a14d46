// Declares the types and numbers of NVTX 3 that an injection library needs (nvtx3/nvToolsExt.h,
// nvtxDetail/nvtxTypes.h). They are part of NVTX's binary interface and do not change.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fp32shim::nvtx {

constexpr std::uint32_t callbacks_table = 1;  ///< NVTX's name is NVTX_ETID_CALLBACKS

enum class Module : std::int32_t { core = 1, core2 = 5 };  ///< NVTX's name is NvtxCallbackModule

namespace core {  ///< NVTX's name is NvtxCallbackIdCore
constexpr unsigned range_push_ex = 8, range_push_a = 9, range_push_w = 10, range_pop = 11;
}
namespace core2 {  ///< NVTX's name is NvtxCallbackIdCore2
constexpr unsigned range_push_ex = 4, range_pop = 5, register_string_a = 10, register_string_w = 11,
                   domain_create_a = 12, domain_create_w = 13;
}

using FunctionPointer = void (*)();

/// A table that NVTX exports. It gives, for each callback, the address of the function pointer through which NVTX
/// calls it.
struct ExportedCallbacks {  ///< NVTX's name is NvtxExportTableCallbacks
    std::size_t struct_size;
    int (*module_functions)(Module module, FunctionPointer*** table, unsigned* size);
};

constexpr int no_tracking = -2;  ///< NVTX's name is NVTX_NO_PUSH_POP_TRACKING

using GetExportTable = const void* (*)(std::uint32_t table);  ///< NVTX's name is NvtxGetExportTableFunc_t

/// NVTX's name is nvtxMessageType_t.
enum class MessageType : std::int32_t { unknown = 0, ascii = 1, unicode = 2, registered = 3 };

struct EventAttributes {  ///< NVTX's name is nvtxEventAttributes_t
    std::uint16_t version;
    std::uint16_t size;  ///< size of this object in bytes
    std::uint32_t category;
    std::int32_t color_type;
    std::uint32_t color;
    std::int32_t payload_type;
    std::int32_t reserved;
    std::uint64_t payload;
    MessageType message_type;
    const void* message;
};

}  // namespace fp32shim::nvtx
