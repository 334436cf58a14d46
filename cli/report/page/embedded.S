// Embeds the parts of the HTML pages as bytes in the command. report/html_page.cpp joins the parts.
#if defined(__aarch64__) || defined(__x86_64__)

    .macro embed name, file
    .global fp32shim_page_\name
    .global fp32shim_page_\name\()_end
fp32shim_page_\name:
    .incbin "\file"
fp32shim_page_\name\()_end:
    .byte 0
    .endm

    .section .rodata
    embed head, FP32SHIM_PAGE_HEAD
    embed style, FP32SHIM_PAGE_STYLE
    embed chart, FP32SHIM_PAGE_CHART
    embed report_html, FP32SHIM_PAGE_REPORT_HTML
    embed report_script, FP32SHIM_PAGE_REPORT_SCRIPT
    embed diff_html, FP32SHIM_PAGE_DIFF_HTML
    embed diff_script, FP32SHIM_PAGE_DIFF_SCRIPT

    .section .note.GNU-stack, "", %progbits

#else
#error "fp32shim is for x86-64 and aarch64"
#endif
