//! Values of the kernel by name (sysctlbyname(3)), on macOS.

use std::ffi::CString;
use std::ptr::null_mut;

/// Longer values are not read. Bytes.
const BYTES_MAX: usize = 4 << 20;

/// A number of 32 or 64 bits. `None` if the kernel has no such value.
pub fn number(name: &str) -> Option<u64> {
    let bytes = by_name(name)?;
    match bytes.len() {
        4 => Some(u64::from(u32::from_ne_bytes(bytes.try_into().ok()?))),
        8 => Some(u64::from_ne_bytes(bytes.try_into().ok()?)),
        _ => None,
    }
}

/// A text, without the zero at its end. `None` if the kernel has no such value.
pub fn text(name: &str) -> Option<String> {
    let bytes = by_name(name)?;
    Some(String::from_utf8_lossy(bytes.split(|byte| *byte == 0).next()?).into_owned())
}

fn by_name(name: &str) -> Option<Vec<u8>> {
    let name = CString::new(name).ok()?;
    read(|bytes, length| {
        // SAFETY: the name ends with a zero, and the kernel writes at most `length` bytes.
        unsafe { libc::sysctlbyname(name.as_ptr(), bytes, length, null_mut(), 0) }
    })
}

/// A value by its numbers (sysctl(3)).
pub(crate) fn by_numbers(numbers: &mut [libc::c_int]) -> Option<Vec<u8>> {
    let count = libc::c_uint::try_from(numbers.len()).ok()?;
    read(|bytes, length| {
        // SAFETY: as many numbers as stated, and the kernel writes at most `length` bytes.
        unsafe { libc::sysctl(numbers.as_mut_ptr(), count, bytes, length, null_mut(), 0) }
    })
}

/// Asks for the length, then for the value.
fn read(mut call: impl FnMut(*mut libc::c_void, *mut usize) -> libc::c_int) -> Option<Vec<u8>> {
    let mut length = 0;
    if call(null_mut(), &raw mut length) != 0 || length > BYTES_MAX {
        return None;
    }
    let mut bytes = vec![0_u8; length];
    if call(bytes.as_mut_ptr().cast(), &raw mut length) != 0 {
        return None;
    }
    bytes.truncate(length);
    Some(bytes)
}
