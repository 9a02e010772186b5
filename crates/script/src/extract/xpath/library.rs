//! The names of the function library (XPath 1.0, section 4), which expressions are checked against.

/// Names with the least and the largest number of arguments.
const FUNCTIONS: [(&str, usize, usize); 27] = [
    ("boolean", 1, 1),
    ("ceiling", 1, 1),
    ("concat", 2, usize::MAX),
    ("contains", 2, 2),
    ("count", 1, 1),
    ("false", 0, 0),
    ("floor", 1, 1),
    ("id", 1, 1),
    ("lang", 1, 1),
    ("last", 0, 0),
    ("local-name", 0, 1),
    ("name", 0, 1),
    ("namespace-uri", 0, 1),
    ("normalize-space", 0, 1),
    ("not", 1, 1),
    ("number", 0, 1),
    ("position", 0, 0),
    ("round", 1, 1),
    ("starts-with", 2, 2),
    ("string", 0, 1),
    ("string-length", 0, 1),
    ("substring", 2, 3),
    ("substring-after", 2, 2),
    ("substring-before", 2, 2),
    ("sum", 1, 1),
    ("translate", 3, 3),
    ("true", 0, 0),
];

/// Whether there is such a function, with this number of arguments.
pub(super) fn check(name: &str, arguments: usize) -> Result<(), String> {
    match FUNCTIONS.iter().find(|(known, ..)| *known == name) {
        Some((_, least, most)) if (*least..=*most).contains(&arguments) => Ok(()),
        Some(_) => Err(format!("{name}() does not take {arguments} arguments")),
        None => Err(format!("there is no function {name}()")),
    }
}
