// Declares the functions of the libraries that fake_onednn.c is built into.
#pragma once

/// Each of these prints a line if the level permits. Before the first line, it prints the head. `text` is the line
/// without its beginning and its time.
void fake_execute(const char* text);
void fake_create(const char* text);
void fake_fail(const char* text);

/// oneDNN's own function: 0 prints nothing, 1 executions, 2 also creations. Returns 0; 2: there is no such level.
int dnnl_set_verbose(int level);

/// Prints lines of another kind by printf and puts.
void fake_say(void);
void fake_flush(void);
