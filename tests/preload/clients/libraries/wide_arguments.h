// Functions that have names of BLAS functions but take their arguments in whole vector registers.
#pragma once

typedef int int_8 __attribute__((vector_size(32)));
typedef int int_16 __attribute__((vector_size(64)));

__attribute__((target("avx2"))) int_8 sgemm(int_8 a, int_8 b, int_8 c, int_8 d, int_8 e, int_8 f, int_8 g, int_8 h);
__attribute__((target("avx512f"))) int_16 cgemm(int_16 a, int_16 b, int_16 c, int_16 d, int_16 e, int_16 f, int_16 g,
                                                int_16 h);
