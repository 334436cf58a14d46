// Running a function on another stack, for work that needs more than a thread of 16 KB has. In assembly.
#pragma once

extern "C" void fp32shim_call_on_stack(void (*function)(void*), void* argument, void* stack_top);
