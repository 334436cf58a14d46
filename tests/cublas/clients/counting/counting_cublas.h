// A libcublas.so.13 that multiplies nothing. It is so fast that threads often meet in it. It counts its calls, and
// the calls that permit less than float32. Its two files are linked in either order, so that the second library has
// every function at another address. Types are reduced to those that the calling convention distinguishes.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

struct CountedCalls {
    long long products;
    long long below_float32;
    int last_compute_type;  ///< 0: the function had no compute type
    int last_math_mode;
    int (*inside)(void);  ///< NULL, or a function that each product calls; the product's status is its result
};

extern struct CountedCalls counted_calls;

struct CountingHandle {
    int math_mode;
};

#ifdef __cplusplus
}
#endif
