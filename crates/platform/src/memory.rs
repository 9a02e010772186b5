//! Returning memory of a mapping to the kernel.

/// Returns the pages of a range to the kernel. Their content is lost. Where the kernel does not support this, nothing changes.
///
/// # Safety
/// The range begins and ends at a page, belongs to a private mapping without a file, and nothing refers to its content any more.
pub unsafe fn release_pages(begin: usize, bytes: usize) {
    // On macOS, MADV_DONTNEED is only advice about paging. MADV_FREE lets the kernel take the pages when it needs memory (madvise(2)).
    let advice = if cfg!(target_os = "macos") { libc::MADV_FREE } else { libc::MADV_DONTNEED };
    // SAFETY: by this function's contract.
    unsafe { libc::madvise(begin as *mut libc::c_void, bytes, advice) };
}

/// Bytes of a page.
pub fn page_bytes() -> usize {
    rustix::param::page_size()
}
