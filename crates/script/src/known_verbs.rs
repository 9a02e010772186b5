//! Checks on a test's calls before anything runs: known options and valid addresses.

use crate::error::SourcePlace;
use crate::unknown_options::OptionsOfVerb;

/// Why a string is no address of this kind. The message contains no credentials.
pub(crate) type AddressCheck = fn(&str) -> Result<(), String>;

/// A function of users whose first argument is an address.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AddressOfVerb {
    pub(crate) verb: &'static str,
    /// Such as `the URL of the database`.
    pub(crate) what: &'static str,
    pub(crate) check: AddressCheck,
}

impl AddressOfVerb {
    /// The problem with an address, if there is one.
    pub(crate) fn problem(&self, address: &str) -> Option<String> {
        (self.check)(address).err().map(|problem| format!("{}: {problem}", self.what))
    }
}

/// A call whose address is the value of a parameter, which is resolved later.
#[derive(Debug)]
pub(crate) struct AddressParameter {
    pub(crate) of: AddressOfVerb,
    pub(crate) parameter: String,
    pub(crate) at: SourcePlace,
}

/// A call of a verb that users may not have.
#[derive(Debug)]
pub(crate) struct CalledVerb {
    pub(crate) verb: String,
    pub(crate) at: SourcePlace,
}

/// Calls that cannot be checked by their text alone.
#[derive(Debug, Default)]
pub(crate) struct CheckedLater {
    /// Calls whose address is a parameter.
    pub(crate) addresses: Vec<AddressParameter>,
    /// Every verb that is called on a user, with its first call. Verbs that the test may have added itself are omitted.
    pub(crate) verbs: Vec<CalledVerb>,
}

impl CheckedLater {
    pub(crate) fn extend(&mut self, of_file: Self) {
        self.addresses.extend(of_file.addresses);
        self.verbs.extend(of_file.verbs);
    }
}

/// The functions of users, as far as calls can be checked by their text.
#[derive(Debug, Default)]
pub(crate) struct KnownVerbs {
    pub(crate) options: Vec<OptionsOfVerb>,
    pub(crate) addresses: Vec<AddressOfVerb>,
}
