// Numbers that assembly and C++ share.
#pragma once

// Entry points for addresses obtained by dlsym.
#define FP32SHIM_DLSYM_ENTRY_COUNT 1024
// A table of call sites is indexed by return address times multiplier, from this bit on: 2^14 ways at most.
#define FP32SHIM_TABLE_SHIFT 50

// Bytes from one of them to the next.
#if defined(__x86_64__)
#define FP32SHIM_DLSYM_ENTRY_SPACING 64
#else
#define FP32SHIM_DLSYM_ENTRY_SPACING 128
#endif
