// Constants that assembly and C++ share.
#pragma once

// The number of entry points for addresses that dlsym returned.
#define FP32SHIM_DLSYM_ENTRY_COUNT 1024
// The index into a table of call sites is the return address times a multiplier, from this bit on. So a table has at
// most 2^14 ways.
#define FP32SHIM_TABLE_SHIFT 50

// The distances in bytes from one entry point to the next, for those of the table and those for dlsym.
#if defined(__x86_64__)
#define FP32SHIM_ENTRY_SPACING 64
#define FP32SHIM_DLSYM_ENTRY_SPACING 64
#else
#define FP32SHIM_ENTRY_SPACING 80
#define FP32SHIM_DLSYM_ENTRY_SPACING 128
#endif

// The distance in bytes from one resolver of a name to the next.
#define FP32SHIM_RESOLVER_SPACING 16
