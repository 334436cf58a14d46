// Constants that the assembly of the entry points and C++ share.
#pragma once

// The number of entry points that dlsym can hand out to programs.
#define FP32SHIM_DLSYM_ENTRY_COUNT 1024
// The index into a table of call sites is the product of the return address and a multiplier, shifted right by this
// number of bits. So a table has at most 2^14 entries.
#define FP32SHIM_TABLE_SHIFT 50

// The distances in bytes from one entry point to the next: for entry points of the function table, and for those that
// dlsym hands out.
#if defined(__x86_64__)
#define FP32SHIM_ENTRY_SPACING 64
#define FP32SHIM_DLSYM_ENTRY_SPACING 64
#else
#define FP32SHIM_ENTRY_SPACING 80
#define FP32SHIM_DLSYM_ENTRY_SPACING 128
#endif

// The distance in bytes from one resolver to the next. The loader calls the resolver of a name when it binds the
// name.
#define FP32SHIM_RESOLVER_SPACING 16
