//! script

#[cfg_attr(not(test), expect(dead_code, reason = "used by the realm, which follows"))]
mod data;
#[cfg_attr(not(test), expect(dead_code, reason = "used by the response object, which follows"))]
mod extract;
#[cfg_attr(not(test), expect(dead_code, reason = "used by the realm, which follows"))]
mod globals;
mod module;
