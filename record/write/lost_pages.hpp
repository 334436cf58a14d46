// Mapped pages of a recording that cannot be stored to any more: somebody has cut the file, or its disk has failed.
// The kernel answers such a store with SIGBUS, which would end the program. Its handler puts private memory in their
// place.
#pragma once

namespace fp32shim::record {

class RecordingFile;

/// The part of forked children in guarded pages.
enum class AtFork : unsigned char {
    unmapped,  ///< children do not have the pages
    kept,      ///< children have them too
};

/// Notes that the segment mapped at `pages` is one of `file`. Thread-safe. Without memory for the note, does nothing.
void guard_pages(RecordingFile& file, void* pages, AtFork at_fork);
/// Takes the note back, before the pages are unmapped.
void release_pages(const void* pages);
/// Takes back all notes of a file. For files that are given up while no thread uses them.
void release_pages_of(const RecordingFile& file);

/// Handles SIGBUS, unless the program already does, or ignores it. A fault in guarded pages replaces the segment by
/// zeros and calls RecordingFile::lose(); any other SIGBUS has the effect that it has without a handler.
void install_lost_page_handler();

}  // namespace fp32shim::record
