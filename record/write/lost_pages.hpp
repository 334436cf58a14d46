// Handles stores to mapped pages of a recording that no longer work, because somebody truncated the file or its disk
// failed. The kernel answers such a store with SIGBUS, which would end the program. The handler maps private memory
// in place of the pages.
#pragma once

#include "record/write/memory.hpp"

namespace fp32shim::record {

class RecordingFile;

/// Notes that the segment mapped at `pages` belongs to `file`. `in_child`: state of these pages in
/// forked children. Thread-safe. Without memory for the note, does nothing.
void guard_pages(RecordingFile& file, void* pages, PagesInChild in_child);
/// Removes the note about a segment. Call this before unmapping the segment's pages.
void unguard_pages(const void* pages);
/// Removes all notes about a file. For files that are given up while no thread uses them.
void unguard_pages_of(const RecordingFile& file);

/// Installs a handler for SIGBUS, unless the program already handles or ignores that signal. A fault in guarded pages
/// replaces the segment by zeros and calls RecordingFile::end_lost_recording(). Any other SIGBUS has the effect that
/// it would have without a handler.
void install_lost_page_handler();

}  // namespace fp32shim::record
