// Imitates libtorch_cpu.so: its NoTF32Guard, which is in force at every second query.
#include <stdbool.h>

__attribute__((visibility("default"))) bool _ZN2at11NoTF32Guard19should_disable_tf32Ev(void);

bool _ZN2at11NoTF32Guard19should_disable_tf32Ev(void) {
    static int questions = 0;
    return questions++ % 2 != 0;
}
