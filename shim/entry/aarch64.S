// The entry points for aarch64. They work like the entry points for x86-64, which entry/x86_64.S explains.
//
// Before it jumps to a target, an entry point changes only x16, x17 and the flags. The calling convention lets a
// function change these at its entry. The return address is in x30.

#include "shim/entry/entry_layout.h"

.macro landing_pad
    hint    #34                     // bti c
.endm

// A table of call sites (shim/sites/site_table.hpp) has its multiplier at offset 0, its mask at offset 8, and its
// entries, pointers to call sites, from offset 16 on. No entry is null, so the code does not test for null. There are
// too few free registers to keep the table's address, so the address is loaded twice. If the table was replaced between
// the two loads, the new table has more entries: the computed index exists in it, and at worst its entry holds another
// call site. The call site's return address is loaded with acquire order, so that its target is not read earlier.
.macro entry_code
    adrp    x16, fp32shim_site_tables + entry_index * 8
    ldr     x16, [x16, :lo12:fp32shim_site_tables + entry_index * 8]
    cbz     x16, 1f
    ldr     x17, [x16]
    mul     x17, x17, x30
    ldr     x16, [x16, #8]
    and     x17, x16, x17, lsr #FP32SHIM_TABLE_SHIFT
    adrp    x16, fp32shim_site_tables + entry_index * 8
    ldr     x16, [x16, :lo12:fp32shim_site_tables + entry_index * 8]
    add     x16, x16, x17, lsl #3
    ldr     x16, [x16, #16]
    ldar    x17, [x16]
    cmp     x17, x30
    b.ne    1f
    ldr     x17, [x16, #8]
    br      x17
1:  mov     w16, #entry_index
    b       fp32shim_find_site_gate
.endm

.macro resolver_code
    mov     w0, #resolver_index
    b       fp32shim_resolve
.endm

#include "shim/entry/entry_points.inc"

.macro enter_frame size
    stp     x29, x30, [sp, #-(\size)]!
    .cfi_def_cfa_offset \size
    .cfi_offset x29, -(\size)
    .cfi_offset x30, -(\size) + 8
.endm
.macro leave_frame size
    ldp     x29, x30, [sp], #\size
    .cfi_restore x30
    .cfi_restore x29
    .cfi_def_cfa_offset 0
.endm

// Stores (stp) or loads (ldp) the registers of integer arguments.
.macro word_pairs instruction, offset
    \instruction x0, x1, [sp, #\offset]
    \instruction x2, x3, [sp, #\offset + 16]
    \instruction x4, x5, [sp, #\offset + 32]
    \instruction x6, x7, [sp, #\offset + 48]
.endm

// The frame that shim/entry/frame.hpp reads:  x29 x30 x8 | q0..q7 | x0..x7 | stack arguments
#define FRAME_SIZE (32 + 128 + 64)
.macro save_arguments
    enter_frame FRAME_SIZE
    mov     x29, sp
    str     x8, [sp, #16]
    stp     q0, q1, [sp, #32]
    stp     q2, q3, [sp, #64]
    stp     q4, q5, [sp, #96]
    stp     q6, q7, [sp, #128]
    word_pairs stp, 160
.endm

.macro restore_arguments
    ldr     x8, [sp, #16]
    ldp     q0, q1, [sp, #32]
    ldp     q2, q3, [sp, #64]
    ldp     q4, q5, [sp, #96]
    ldp     q6, q7, [sp, #128]
    word_pairs ldp, 160
    leave_frame FRAME_SIZE
.endm

// Calls fp32shim_find_site() to find or make the call site, and then jumps to the call site's target. An entry point
// comes here if its table does not have the call site. On entry, w16 contains the index of the entry point.
    .balign 16
    begin_function fp32shim_find_site_gate
    save_arguments
    mov     w0, w16
    mov     x1, x30
    bl      fp32shim_find_site
    mov     x16, x0
    restore_arguments
    ldr     x17, [x16, #8]
    br      x17
    end_function fp32shim_find_site_gate

// Hands a call to fp32shim_govern, which returns in x1 the address to jump to with the arguments unchanged, or 0. If it
// returns 0, it has run the call, and the function's result is in x0 or, if it is of a floating-point type, in the
// frame's q0 and q1. On entry, x16 contains the address of the call site.
    begin_gate fp32shim_govern_gate
    save_arguments
    mov     x0, x16
    add     x1, sp, #160
    bl      fp32shim_govern
    cbnz    x1, 1f
    ldp     q0, q1, [sp, #32]
    .cfi_remember_state
    leave_frame FRAME_SIZE
    ret
1:  .cfi_restore_state
    mov     x17, x1
    restore_arguments
    br      x17
    end_function fp32shim_govern_gate

// Handles a recorded call that probably needs no change. fp32shim_express counts it and returns the address to jump to,
// or 0 if the call needs fp32shim_govern. The function changes no vector registers, so they are not saved. On entry,
// x16 contains the address of the call site. x8 (the address for a large result) is not saved, because no function that
// uses this gate has a large result.
#define WORDS_SIZE (16 + 64)
    begin_gate fp32shim_express_gate
    enter_frame (WORDS_SIZE + 16)
    mov     x29, sp
    str     x16, [sp, #16]
    word_pairs stp, 32
    mov     x0, x16
    add     x1, sp, #32
    bl      fp32shim_express
    mov     x17, x0
    ldr     x16, [sp, #16]
    word_pairs ldp, 32
    leave_frame (WORDS_SIZE + 16)
    cbz     x17, fp32shim_govern_gate
    br      x17
    end_function fp32shim_express_gate

// Hands a call of cuBLAS or the CUDA driver to fp32shim_govern_cublas, which returns its outcome like fp32shim_govern.
// All arguments are of integer class, so vector registers are not saved. On entry, x16 contains the address of the call
// site.
    begin_gate fp32shim_cublas_gate
    enter_frame WORDS_SIZE
    mov     x29, sp
    word_pairs stp, 16
    mov     x0, x16
    add     x1, sp, #16
    bl      fp32shim_govern_cublas
    mov     x17, x1
    cbnz    x17, 1f
    .cfi_remember_state
    leave_frame WORDS_SIZE
    ret
1:  .cfi_restore_state
    word_pairs ldp, 16
    leave_frame WORDS_SIZE
    br      x17
    end_function fp32shim_cublas_gate

.macro lookup_entry name, wants, answers, real
    .balign 16
    .globl  \name
    begin_function \name
    landing_pad
    enter_frame 48
    stp     x0, x1, [sp, #16]
    str     x2, [sp, #32]
    mov     x2, x30
    bl      \wants
    mov     w16, w0
    ldp     x0, x1, [sp, #16]
    ldr     x2, [sp, #32]
    leave_frame 48
    cbnz    w16, 1f
    adrp    x16, \real
    ldr     x16, [x16, :lo12:\real]
    br      x16
1:  mov     x3, x30
    b       \answers
    end_function \name
.endm

    lookup_entry dlsym, fp32shim_wants_lookup, fp32shim_answer_dlsym, fp32shim_real_dlsym
    lookup_entry dlvsym, fp32shim_wants_lookup, fp32shim_answer_dlvsym, fp32shim_real_dlvsym

    .section .note.GNU-stack, "", %progbits
