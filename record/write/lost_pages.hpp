// Handles stores to mapped pages of a recording that fail because somebody truncated the file or its disk failed. The
// kernel raises SIGBUS at such a store, which would end the program. A signal handler maps private memory in place of
// the pages.
#pragma once

#include "record/write/memory.hpp"

namespace fp32shim::record {

class RecordingFile;

/// Adds a note that the segment mapped at `pages` belongs to `file`. `in_child` tells what forked children have at
/// these pages. Does nothing if there is no memory for the note. Thread-safe.
void guard_pages(RecordingFile& file, void* pages, PagesInChild in_child);
/// Removes the note about the segment at `pages`. This must be called before the pages are unmapped.
void unguard_pages(const void* pages);
/// Removes all notes about a file. No thread may use the file any more.
void unguard_pages_of(const RecordingFile& file);

/// Installs a handler for SIGBUS, unless the program already handles or ignores SIGBUS. At a fault in pages that
/// guard_pages() has noted, the handler replaces the segment by zeros and calls RecordingFile::end_lost_recording().
/// Any other SIGBUS ends the program, as without a handler.
void install_lost_page_handler();

}  // namespace fp32shim::record
