// void fp32shim_call_on_stack(void (*function)(void*), void* argument, void* stack_top)
// calls function(argument) on the stack whose upper end is stack_top.

    .text
    .balign 16
    .hidden fp32shim_call_on_stack
    .globl  fp32shim_call_on_stack
    .type   fp32shim_call_on_stack, %function
fp32shim_call_on_stack:
    .cfi_startproc
#if defined(__x86_64__)
    endbr64
    pushq   %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    movq    %rsp, %rbp
    .cfi_def_cfa_register %rbp
    movq    %rdx, %rsp
    andq    $-16, %rsp
    movq    %rdi, %rax
    movq    %rsi, %rdi
    call    *%rax
    movq    %rbp, %rsp
    popq    %rbp
    .cfi_def_cfa %rsp, 8
#else
    hint    #34
    stp     x29, x30, [sp, #-16]!
    .cfi_def_cfa_offset 16
    .cfi_offset x29, -16
    .cfi_offset x30, -8
    mov     x29, sp
    .cfi_def_cfa_register x29
    mov     x9, x0
    mov     x0, x1
    and     x2, x2, #-16
    mov     sp, x2
    blr     x9
    mov     sp, x29
    .cfi_def_cfa_register sp
    ldp     x29, x30, [sp], #16
    .cfi_restore x30
    .cfi_restore x29
    .cfi_def_cfa_offset 0
#endif
    ret
    .cfi_endproc
    .size   fp32shim_call_on_stack, . - fp32shim_call_on_stack

    .section .note.GNU-stack, "", %progbits
