// Numbers that assembly and C++ share.
#pragma once

#define FP32SHIM_SLOT_COUNT 1024  // entry points for addresses obtained by dlsym
#define FP32SHIM_CACHE_WAYS 16    // call sites cached per entry point
#define FP32SHIM_SLOT_SPACING 64  // bytes from the code of one slot to the next
