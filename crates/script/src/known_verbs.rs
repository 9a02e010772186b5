//! What can be said of a test's calls before anything runs: which options there are, and which addresses make sense.

use crate::error::SourcePlace;
use crate::unknown_options::OptionsOfVerb;

/// Why a text is no address of this kind; says nothing of its credentials.
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
    /// What is wrong with an address, if anything is.
    pub(crate) fn problem(&self, address: &str) -> Option<String> {
        (self.check)(address).err().map(|problem| format!("{}: {problem}", self.what))
    }
}

/// A call whose address is the value of a parameter, which is known later.
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

/// What the text alone does not decide.
#[derive(Debug, Default)]
pub(crate) struct JudgedLater {
    /// Calls whose address is a parameter.
    pub(crate) addresses: Vec<AddressParameter>,
    /// Every verb that is called on a user, where that is first; without those that the test may have added itself.
    pub(crate) verbs: Vec<CalledVerb>,
}

impl JudgedLater {
    pub(crate) fn extend(&mut self, of_file: Self) {
        self.addresses.extend(of_file.addresses);
        self.verbs.extend(of_file.verbs);
    }
}

/// Everything that users can do, as far as it can be looked at in the text.
#[derive(Debug, Default)]
pub(crate) struct KnownVerbs {
    pub(crate) options: Vec<OptionsOfVerb>,
    pub(crate) addresses: Vec<AddressOfVerb>,
}
