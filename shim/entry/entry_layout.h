// Numbers that assembly and C++ share.
#pragma once

// Entry points for addresses obtained by dlsym.
#define FP32SHIM_SLOT_COUNT 1024
// A table of call sites is indexed by return address times multiplier, from this bit on: 2^14 ways at most.
#define FP32SHIM_TABLE_SHIFT 50

// Bytes from the code of one slot to the next.
#if defined(__x86_64__)
#define FP32SHIM_SLOT_SPACING 64
#else
#define FP32SHIM_SLOT_SPACING 128
#endif
