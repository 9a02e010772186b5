//! Files that `std` cannot create.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Creates a named pipe for this user alone (mkfifo(3)).
///
/// # Errors
/// Something exists at the path, or this user may not write to its folder.
pub fn make_pipe(path: &Path) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: the path ends with a zero and lives until the call returns.
    match unsafe { libc::mkfifo(path.as_ptr(), libc::S_IRUSR | libc::S_IWUSR) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
