// Numbers that assembly and C++ share.
#pragma once

#define FP32SHIM_SLOT_COUNT 1024  // entry points for addresses obtained by dlsym
#define FP32SHIM_TABLE_SHIFT 50   // a table of call sites is indexed by a product's bits from this one on: 2^14 ways

// Bytes from the code of one slot to the next.
#if defined(__x86_64__)
#define FP32SHIM_SLOT_SPACING 64
#else
#define FP32SHIM_SLOT_SPACING 128
#endif
