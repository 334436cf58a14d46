// Operands of 4x4 products. No function uses them: without a handle, all fail before.
#pragma once

#include <stdint.h>

enum { order = 4, batch_count = 2 };

struct Operands {
    float alpha[2], beta[2];
    float a[2 * order * order], b[2 * order * order], c[2 * order * order];
    void *a_array[batch_count], *b_array[batch_count], *c_array[batch_count];
    int32_t sizes[batch_count], group_size[batch_count];
    int64_t wide_sizes[batch_count], wide_group_size[batch_count];
    int operations[batch_count];
};

static inline struct Operands make_operands(void) {
    static float shared[3][2 * order * order];
    struct Operands operands = {.alpha = {1, 0}, .beta = {0.5F, 0}};
    for (int i = 0; i < 2 * order * order; ++i) {
        operands.a[i] = operands.b[i] = 1.0F + (float)i / 1024;
        operands.c[i] = -1.0F;
    }
    for (int i = 0; i < batch_count; ++i) {
        operands.a_array[i] = shared[0];
        operands.b_array[i] = shared[1];
        operands.c_array[i] = shared[2];
        operands.sizes[i] = order;
        operands.wide_sizes[i] = order;
        operands.group_size[i] = 1;
        operands.wide_group_size[i] = 1;
    }
    return operands;
}
