//! HTTP methods that have a verb.

use std::rc::Rc;

/// Their names on the wire.
pub(super) const METHODS: [&str; 7] = ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"];
/// Their verbs.
pub(super) const NAMES: [&str; METHODS.len()] = ["get", "head", "options", "post", "put", "patch", "delete"];

/// Their verbs for functions that are resumed with the response, as `compile::stepped` writes them.
pub(super) const STEPPED_NAMES: [&str; METHODS.len()] = [
    "$loadstone_get",
    "$loadstone_head",
    "$loadstone_options",
    "$loadstone_post",
    "$loadstone_put",
    "$loadstone_patch",
    "$loadstone_delete",
];

/// The method of a call: the index in [`METHODS`], or any other.
pub(super) enum RequestMethod {
    Known(u8),
    Other(Rc<str>),
}
