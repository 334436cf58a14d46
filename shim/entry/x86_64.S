// The entry points for x86-64. Each exported function looks up its call site by the return address and jumps to the
// target of the call site, with all argument registers and the whole stack unchanged. So a call that the shim leaves
// alone costs only a few instructions, whatever its signature, and exceptions and longjmp pass as without the shim.
//
// Before it jumps to a target, an entry point changes only r10, r11 and the flags. The calling convention lets a
// function change these at its entry. A call site (shim/entry/site.hpp) has its return address at offset 0 and its
// target at offset 8. The gates save a call's arguments and call C++ functions, which shim/entry/gate.hpp declares.

#include "shim/entry/entry_layout.h"

.macro landing_pad
    endbr64
.endm

// A table of call sites (shim/sites/site_table.hpp) has its multiplier at offset 0, its mask at offset 8, and its
// entries, pointers to call sites, from offset 16 on. No entry is null, so the code does not test for null.
.macro entry_code
    movq    fp32shim_site_tables + entry_index * 8(%rip), %r10
    testq   %r10, %r10
    je      1f
    movq    (%rsp), %r11
    imulq   (%r10), %r11
    shrq    $FP32SHIM_TABLE_SHIFT, %r11
    andl    8(%r10), %r11d
    movq    16(%r10, %r11, 8), %r11
    movq    (%rsp), %r10
    cmpq    (%r11), %r10
    jne     1f
    jmpq    *8(%r11)
1:  movl    $entry_index, %r11d
    jmp     fp32shim_find_site_gate
.endm

.macro resolver_code
    movl    $resolver_index, %edi
    jmp     fp32shim_resolve
.endm

#include "shim/entry/entry_points.inc"

.macro push_words registers:vararg
    .irp    register, \registers
    pushq   %\register
    .cfi_adjust_cfa_offset 8
    .endr
.endm
.macro pop_words registers:vararg
    .irp    register, \registers
    popq    %\register
    .cfi_adjust_cfa_offset -8
    .endr
.endm

// Saves the registers in which a caller may pass arguments: six integer registers, rax (the number of vector registers
// of a variadic call), and the lower halves of eight vector registers.
//
// The frame that shim/entry/frame.hpp reads:
//     [xmm7..xmm0 below] | rdi rsi rdx rcx r8 r9 | return address | stack arguments
.macro save_arguments
    push_words r9, r8, rcx, rdx, rsi, rdi
    subq    $(8 * 16 + 24), %rsp
    .cfi_adjust_cfa_offset 8 * 16 + 24
    .irp    number, 0, 1, 2, 3, 4, 5, 6, 7
    movups  %xmm\number, 136 - 16 * \number(%rsp)
    .endr
    movq    %rax, 16(%rsp)
.endm

.macro restore_arguments
    .irp    number, 0, 1, 2, 3, 4, 5, 6, 7
    movups  136 - 16 * \number(%rsp), %xmm\number
    .endr
    movq    16(%rsp), %rax
    addq    $(8 * 16 + 24), %rsp
    .cfi_adjust_cfa_offset -(8 * 16 + 24)
    pop_words rdi, rsi, rdx, rcx, r8, r9
.endm

// The search for a call site calls the C library, whose vector code clears the upper parts of ymm and zmm registers. A
// function that only has the name of a BLAS function may take arguments in these parts, so fp32shim_find_site_gate
// saves the whole registers. It restores only parts that were in use, because writing a whole register, even with
// zeros, slows down each later SSE instruction of the thread until vzeroupper is executed. A part counts as in use if
// one of its saved bits is set. XINUSE (read by XGETBV) is not used, because it may report too many parts.
.macro for_each_vector instruction, arguments:vararg
    .irp    number, 0, 1, 2, 3, 4, 5, 6, 7
    \instruction \number, \arguments
    .endr
.endm
.macro save_vector number, kind
    vmovups %\kind\number, 64 * \number(%rsp)
.endm
.macro restore_vector number, kind
    vmovups 64 * \number(%rsp), %\kind\number
.endm
.macro add_saved number, offset, kind
    vorps   64 * \number + \offset(%rsp), %\kind\()0, %\kind\()0
.endm
// Clears the zero flag if a saved register has a bit set in the bytes from `offset` on: 16 bytes for xmm, 32 bytes for
// ymm.
.macro test_saved offset, kind
    vxorps  %xmm0, %xmm0, %xmm0
    for_each_vector add_saved \offset, \kind
    vptest  %\kind\()0, %\kind\()0
.endm

// Calls fp32shim_find_site() to find or make the call site, and then jumps to the call site's target. An entry point
// comes here if its table does not have the call site. On entry, r11 contains the index of the entry point.
    .balign 16
    begin_function fp32shim_find_site_gate
    save_arguments
    movq    %r11, 8(%rsp)
    call    fp32shim_vector_bytes
    movl    %eax, (%rsp)
    movl    8(%rsp), %edi
    movq    200(%rsp), %rsi
    subq    $(8 * 64), %rsp
    .cfi_adjust_cfa_offset 8 * 64
    cmpl    $32, %eax
    jb      2f
    ja      1f
    for_each_vector save_vector ymm
    jmp     2f
1:  for_each_vector save_vector zmm
2:  call    fp32shim_find_site
    movq    %rax, %r11
    movl    8 * 64(%rsp), %eax
    cmpl    $32, %eax
    jb      5f
    je      3f
    test_saved 32, ymm
    je      3f
    for_each_vector restore_vector zmm
    jmp     5f
3:  test_saved 16, xmm
    je      4f
    for_each_vector restore_vector ymm
    jmp     5f
4:  vzeroupper
5:  addq    $(8 * 64), %rsp
    .cfi_adjust_cfa_offset -(8 * 64)
    restore_arguments  // restores the lower halves by SSE instructions, which do not change the upper halves
    jmpq    *8(%r11)
    end_function fp32shim_find_site_gate

// Hands a call to fp32shim_govern, which returns in rdx the address to jump to with the arguments unchanged, or 0. If
// it returns 0, it has run the call, and the function's result is in rax or, if it is of a floating-point type, in the
// frame's xmm0 and xmm1. On entry, r11 contains the address of the call site.
    begin_gate fp32shim_govern_gate
    save_arguments
    movq    %r11, %rdi
    leaq    152(%rsp), %rsi
    call    fp32shim_govern
    testq   %rdx, %rdx
    jne     1f
    movups  136(%rsp), %xmm0
    movups  120(%rsp), %xmm1
    addq    $(8 * 16 + 24 + 48), %rsp
    .cfi_remember_state
    .cfi_adjust_cfa_offset -(8 * 16 + 24 + 48)
    ret
1:  .cfi_restore_state
    movq    %rdx, %r11
    restore_arguments
    jmpq    *%r11
    end_function fp32shim_govern_gate

// Handles a recorded call that probably needs no change. fp32shim_express counts it and returns the address to jump to,
// or 0 if the call needs fp32shim_govern. The function changes no vector registers, so they are not saved. On entry,
// r11 contains the address of the call site.
    begin_gate fp32shim_express_gate
    push_words r9, r8, rcx, rdx, rsi, rdi, r11
    movq    %r11, %rdi
    leaq    8(%rsp), %rsi
    call    fp32shim_express
    testq   %rax, %rax
    pop_words r11, rdi, rsi, rdx, rcx, r8, r9
    je      fp32shim_govern_gate
    jmpq    *%rax
    end_function fp32shim_express_gate

// Hands a call of cuBLAS or the CUDA driver to fp32shim_govern_cublas, which returns its outcome like fp32shim_govern.
// All arguments are of integer class, so vector registers are not saved. On entry, r11 contains the address of the call
// site.
    begin_gate fp32shim_cublas_gate
    push_words r9, r8, rcx, rdx, rsi, rdi
    subq    $8, %rsp
    .cfi_adjust_cfa_offset 8
    movq    %r11, %rdi
    leaq    8(%rsp), %rsi
    call    fp32shim_govern_cublas
    testq   %rdx, %rdx
    jne     1f
    addq    $56, %rsp
    .cfi_remember_state
    .cfi_adjust_cfa_offset -56
    ret
1:  .cfi_restore_state
    movq    %rdx, %r11
    addq    $8, %rsp
    .cfi_adjust_cfa_offset -8
    pop_words rdi, rsi, rdx, rcx, r8, r9
    jmpq    *%r11
    end_function fp32shim_cublas_gate

// void* dlsym(void* handle, const char* name)
// void* dlvsym(void* handle, const char* name, const char* version)
// The macro lookup_entry makes these functions, which the program calls. For a name that is not in the function table,
// they jump to the real function, whose result depends on the address of its caller.
.macro lookup_entry name, wants, answers, real
    .balign 16
    .globl  \name
    begin_function \name
    landing_pad
    push_words rdi, rsi, rdx
    movq    24(%rsp), %rdx
    call    \wants
    pop_words rdx, rsi, rdi
    testl   %eax, %eax
    jne     1f
    jmpq    *\real(%rip)
1:  movq    (%rsp), %rcx
    jmp     \answers
    end_function \name
.endm

    lookup_entry dlsym, fp32shim_wants_lookup, fp32shim_answer_dlsym, fp32shim_real_dlsym
    lookup_entry dlvsym, fp32shim_wants_lookup, fp32shim_answer_dlvsym, fp32shim_real_dlvsym

    .section .note.GNU-stack, "", @progbits
