// A libcublas.so.13 that multiplies nothing, and so fast that threads meet in it all the time. It counts its calls,
// and those that permit less than float32. Its two files are linked in either order: the second library has every
// function at another place. Types are reduced to what the calling convention sees.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

struct CountedCalls {
    long long products;
    long long below_float32;
    int last_compute_type;  ///< 0: a function without one
    int last_math_mode;
    int (*inside)(void);  ///< NULL, or called within each product, whose status is what this returns
};

extern struct CountedCalls counted_calls;

struct CountingHandle {
    int math_mode;
};

#ifdef __cplusplus
}
#endif
